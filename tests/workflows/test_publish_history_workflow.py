"""The workflow that keeps each run of the default branch and publishes the history: its own commands, run in order."""

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from ratiba_action.main import run
from tests.support.git_repository import GitRepository
from tests.support.run_history import branch_run, write_history

PROJECT = Path(__file__).parents[2]
JOBS = yaml.safe_load((PROJECT / "examples/workflows/publish-history.yml").read_text("utf-8"))["jobs"]


def command(job: str, name: str) -> list[str]:
    """The arguments of the step's one command, without the program's name."""
    (step,) = (step for step in JOBS[job]["steps"] if step["name"] == name)
    program, *arguments = shlex.split(step["run"])
    assert program == "ratiba"
    return arguments


def test_a_run_is_kept_and_stands_in_the_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remote, report = tmp_path / "owner/name", branch_run(0)
    subprocess.run(["git", "init", "--quiet", "--bare", str(remote)], check=True)
    checkout = GitRepository(tmp_path / "checkout")
    checkout.commit({"README.md": "A system."})
    write_history(checkout.folder / "finished", [report], compressed=False)
    (checkout.folder / "finished/00000.json").rename(checkout.folder / "finished/results.json")
    followed = {
        "id": report.subject.run_id,
        "run_attempt": 1,
        "event": "push",
        "conclusion": "success",
        "head_branch": "main",
        "head_sha": report.commit,
        "head_repository": {"full_name": "owner/name"},
    }
    event = {"workflow_run": followed, "repository": {"full_name": "owner/name"}}
    (tmp_path / "event.json").write_text(json.dumps(event))
    variables = {
        "PATH": os.environ["PATH"],
        "GITHUB_EVENT_NAME": "workflow_run",
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_WORKSPACE": str(checkout.folder),
        "GITHUB_SERVER_URL": tmp_path.as_uri(),
        "GITHUB_REPOSITORY": "owner/name",
    }
    monkeypatch.chdir(checkout.folder)
    assert run(command("keep", "Keep the run"), variables) == 0
    checkout.git("clone", "--quiet", "--branch", "ratiba-history", str(remote), "history")
    assert run(command("build", "Build the site"), variables) == 0
    assert "All 1 scenarios passed" in (checkout.folder / "site/runs.html").read_text("utf-8")


def test_the_job_that_may_push_runs_no_code_of_the_repository() -> None:
    steps = [step for step in JOBS["keep"]["steps"] if "run" in step]
    assert [step["run"].split()[0] for step in steps] == ["pip", "ratiba"]
    assert all(job["permissions"] != {} and "contents: write" not in str(job) for job in JOBS.values())
    assert [name for name, job in JOBS.items() if job["permissions"].get("contents") == "write"] == ["keep"]
