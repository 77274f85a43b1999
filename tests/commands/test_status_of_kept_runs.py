"""``ratiba status`` without a database."""

import os
from pathlib import Path

import pytest

from ratiba_action.reporting.results_json import packed, render_results
from ratiba_action.reporting.summary import summarise
from tests.support.command_run import CommandRun
from tests.support.git_repository import GitRepository
from tests.support.run_history import branch_run, long_history, write_history

pytestmark = pytest.mark.processes


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return str(write_history(tmp_path / "runs", long_history(4, 2)))


def test_the_last_runs_are_listed_and_the_source_is_said(runs: str, ratiba: CommandRun) -> None:
    ratiba("status", "--from", runs, "--last", "2")
    assert ratiba.out.splitlines() == [
        f"run 1003  2026-08-02 18:00:00Z  {f'{4:040x}'[:12]}  passed: 2 passed, 0 failed",
        f"run 1002  2026-08-02 06:00:00Z  {f'{3:040x}'[:12]}  passed: 2 passed, 0 failed",
    ]
    assert ratiba.err == "ratiba: runs of the folder 'runs'\n"


def test_one_run_is_looked_up_by_the_id_of_its_workflow_run(runs: str, ratiba: CommandRun) -> None:
    found = ratiba.json("status", "1001", "--from", runs)
    assert (found["run_id"], found["conclusion"], found["passed"]) == (1001, "passed", 2)
    assert "No run of this gate is in the folder 'runs'." in ratiba("status", "9", "--from", runs, code=3)
    ratiba("status", "4f0c9a52-8a44-4a6e-9c0e-1d2f3a4b5c6d", "--from", runs, code=2)
    assert "Kept runs have no execution id." in ratiba.err


def test_without_a_ledger_the_branch_of_the_configuration_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ratiba: CommandRun
) -> None:
    repository = GitRepository(tmp_path / "checkout")
    content = packed(render_results(summarise(branch_run(0))).encode())
    commit = repository.commit({"runs/1.json.gz": content})
    repository.git("update-ref", "refs/heads/kept", commit)
    (repository.folder / ".github").mkdir()
    (repository.folder / ".github/ratiba.yml").write_text("system: {adapter: 'a.b:C'}\nhistory: {branch: kept}\n")
    monkeypatch.chdir(repository.folder)
    variables = {"PATH": os.environ["PATH"]}
    ratiba("status", environment=variables)
    assert ratiba.out.startswith("run 1000  2026-08-01 06:00:00Z")
    assert ratiba.err == "ratiba: runs of the branch 'kept'\n"
    ratiba("report", "--trends", "--branch", "main", environment=variables)
    assert "SwahiliFluencyMetric" in ratiba.out
    assert ratiba.err == "ratiba: runs of the branch 'kept'\n"


def test_without_both_the_command_says_what_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ratiba: CommandRun
) -> None:
    monkeypatch.chdir(tmp_path)
    ratiba("status", code=2)
    assert "Without a database, read kept runs: ratiba status --from ratiba-history" in ratiba.err
