"""The workflow that proposes candidates each week: what its jobs may do, and what their scripts do."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.git_repository import GitRepository
from tests.support.workflow_files import run_block

PROJECT = Path(__file__).parents[2]
TEXT = (PROJECT / "examples" / "workflows" / "promote-feedback.yml").read_text("utf-8")
RATIBA = """#!/bin/sh
printf '%s\\n' "$@" >"$SAID"
cp "$5" "$COPY"
if [ -n "$WRITES" ]; then mkdir -p scenarios/from_production; echo "id: a" >scenarios/from_production/a.yaml; fi
exit "$ENDS"
"""
GH = """#!/bin/sh
printf '%s\\n' "$@" >>"$SAID"
"""


def jobs() -> Mapping[str, Any]:
    found: Mapping[str, Any] = yaml.safe_load(TEXT)["jobs"]
    return found


def script(name: str, tmp_path: Path, program: str, content: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a step in a checkout, with a stand-in for the one program that it calls."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / program).write_text(content)
    (programs / program).chmod(0o755)
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_OUTPUT": str(tmp_path / "outputs"),
        "SAID": str(tmp_path / "said"),
        **variables,
    }
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", run_block(TEXT, name)]
    return subprocess.run(
        command, cwd=tmp_path / "checkout", env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def checkout(tmp_path: Path) -> GitRepository:
    made = GitRepository(tmp_path / "checkout")
    made.commit({"scenarios/first.yaml": "id: first\n"})
    return made


def test_it_starts_by_the_clock_or_by_hand() -> None:
    assert set(yaml.safe_load(TEXT)[True]) == {"schedule", "workflow_dispatch"}


def test_what_holds_the_keys_writes_nothing_and_what_writes_holds_no_key() -> None:
    assert jobs()["promote"]["permissions"] == {"contents": "read"}
    assert jobs()["propose"]["permissions"] == {"contents": "write", "pull-requests": "write"}
    assert "secrets." not in yaml.safe_dump(jobs()["propose"])
    assert "github.token" not in yaml.safe_dump(jobs()["promote"])


def test_nothing_in_it_merges_or_approves() -> None:
    assert [
        word for word in ("merge", "--auto", "review", "approve") if f" {word} " in run_block(TEXT, "Open a draft")
    ] == []
    assert "gh pr create --draft" in TEXT
    assert TEXT.count("gh pr") == 1


@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize(("writes", "ends"), [("yes", 0), ("", 0), ("yes", 2), ("", 2), ("yes", 3)])
def test_candidates_are_handed_over_however_the_promotion_ended_and_the_job_says_how(
    tmp_path: Path, writes: str, ends: int
) -> None:
    tenants = "tenants: {spa: {names: [Wanjiku]}}"
    copy = tmp_path / "copy"
    done = script(
        "Write the candidates",
        tmp_path,
        "ratiba",
        RATIBA,
        TENANTS=tenants,
        WRITES=writes,
        ENDS=str(ends),
        COPY=str(copy),
    )
    assert done.returncode == ends, done.stderr
    assert (tmp_path / "outputs").read_text() == f"written={'true' if writes else 'false'}\n"
    assert copy.read_text() == f"{tenants}\n"
    assert not (tmp_path / "tenants.yaml").exists()
    assert "Wanjiku" not in done.stdout + done.stderr


def test_a_draft_is_opened_for_a_branch_of_its_own(checkout: GitRepository, tmp_path: Path) -> None:
    remote = GitRepository(tmp_path / "remote")
    checkout.git("remote", "add", "origin", str(remote.folder))
    checkout.write({"scenarios/from_production/a.yaml": "id: a\n", "elsewhere.txt": "not a candidate"})
    done = script("Open a draft", tmp_path, "gh", GH, BASE="main", BRANCH="ratiba/candidates-1-1", GH_TOKEN="none")
    assert done.returncode == 0, done.stderr
    changed = remote.git("diff-tree", "-r", "--name-only", "--no-commit-id", "ratiba/candidates-1-1")
    assert changed == "scenarios/from_production/a.yaml"
    answers = (tmp_path / "said").read_text().splitlines()
    assert answers[:9] == [
        "auth",
        "setup-git",
        "pr",
        "create",
        "--draft",
        "--base",
        "main",
        "--head",
        "ratiba/candidates-1-1",
    ]
