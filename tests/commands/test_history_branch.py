"""``ratiba report --to-branch``: what of a run comes to the branch, and what does not."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from ratiba_action.history.run_files import find_runs
from ratiba_action.main import run
from ratiba_action.model.shard import Shard
from ratiba_action.model.verdict import Report, ShardReport
from ratiba_action.reporting.results_json import render_results
from ratiba_action.reporting.summary import summarise
from ratiba_action.util.git import Git
from tests.support.command_run import CommandRun
from tests.support.git_repository import GitRepository
from tests.support.run_history import branch_run
from tests.support.sample_report import sample_check, sample_report, sample_score, sample_scored

REPLY = "Nafasi ipo saa nane mchana. Piga 0712 345 432."


@pytest.fixture
def remote(repository: GitRepository, tmp_path: Path) -> Path:
    folder = tmp_path / "remote.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(folder)], check=True)
    repository.git("remote", "add", "origin", str(folder))
    repository.commit({"README.md": "A system."})
    return folder


def leave(report: Report, folder: Path) -> dict[str, str]:
    """The environment of a step whose run has left this report."""
    place = folder / "report"
    place.mkdir(exist_ok=True)
    (place / "results.json").write_text(render_results(summarise(report)))
    return {"PATH": os.environ["PATH"], "RATIBA_REPORT_DIR": str(place), "GITHUB_WORKSPACE": str(folder / "checkout")}


def kept(repository: GitRepository, remote: Path) -> Report:
    repository.git("fetch", "--quiet", str(remote), "+ratiba-history:ratiba-history")
    ((_, report),) = find_runs("ratiba-history", lambda: Git(repository.folder, os.environ)).read(lambda r: r).runs
    return report


def talked() -> Report:
    passed = sample_scored("passes", scores=(sample_score(),), reply=REPLY)
    failed = sample_scored("fails", (sample_check(passed=False),), (sample_score(0.2),), reply=f"{REPLY} No.")
    return branch_run(0, (passed, failed))


def test_by_default_a_run_is_kept_without_any_conversation(
    repository: GitRepository, remote: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", "--to-branch", "ratiba-history"], leave(talked(), tmp_path)) == 0
    assert "was added to ratiba-history without conversations: runs/2026/20260801T060000Z-" in capsys.readouterr().out
    report = kept(repository, remote)
    text = render_results(summarise(report))
    assert not [word for word in ("Nafasi", "naomba", "COLLECTING", "Natural", "0712") if word in text]
    assert [result.passed for result in report.results if hasattr(result, "passed")] == [True, False]
    scores = [score.value for result in report.results if hasattr(result, "scores") for score in result.scores]
    assert scores == [0.9, 0.2]


def test_a_remote_by_a_relative_path_is_that_of_the_checkout(
    repository: GitRepository, remote: Path, tmp_path: Path
) -> None:
    repository.git("remote", "set-url", "origin", f"../{remote.name}")
    assert run(["report", "--to-branch", "ratiba-history"], leave(talked(), tmp_path)) == 0
    assert len(kept(repository, remote).results) == 2


@pytest.mark.usefixtures("remote")
def test_a_folder_of_the_checkout_that_is_named_like_the_remote_is_not_pushed_to(
    repository: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.git("remote", "set-url", "origin", "git://127.0.0.1:1/widgets.git")
    planted = repository.folder / "git:" / "127.0.0.1:1" / "widgets.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(planted)], check=True)
    assert run(["report", "--to-branch", "ratiba-history"], leave(talked(), tmp_path)) == 3
    assert "transport 'git' not allowed" in capsys.readouterr().err
    assert not subprocess.run(["git", "for-each-ref"], cwd=planted, check=True, capture_output=True).stdout


@pytest.mark.parametrize(("setting", "count"), [("failing", 1), ("all", 2)])
def test_the_configuration_says_which_conversations_are_kept_and_they_are_masked(
    setting: str, count: int, repository: GitRepository, remote: Path, tmp_path: Path
) -> None:
    configuration = f"system: {{adapter: 'a.b:C'}}\nsite: {{transcripts: {setting}}}\n"
    repository.commit({".github/ratiba.yml": configuration})
    assert run(["report", "--to-branch", "ratiba-history"], leave(talked(), tmp_path)) == 0
    text = render_results(summarise(kept(repository, remote)))
    assert text.count("Nafasi") == count
    assert "0712 345 432" not in text


def test_a_run_of_a_pull_request_is_refused_and_nothing_is_pushed(
    remote: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", "--to-branch", "ratiba-history"], leave(sample_report(), tmp_path)) == 2
    assert "runs of branches alone" in capsys.readouterr().err
    assert run(["report", "--to-branch", "x"], leave(branch_run(0), tmp_path) | {"GITHUB_EVENT_NAME": "pull_request"})
    assert not subprocess.run(["git", "for-each-ref"], cwd=remote, check=True, capture_output=True).stdout


@pytest.mark.usefixtures("remote")
def test_the_same_run_again_is_said_as_json_too(tmp_path: Path, ratiba: CommandRun) -> None:
    variables = leave(branch_run(0), tmp_path)
    for new in (True, False):
        found = ratiba.json("report", "--to-branch", "ratiba-history", environment=variables)
        assert (found["branch"], found["new"], found["runs"], found["removed"]) == ("ratiba-history", new, 1, 0)


@pytest.mark.parametrize("option", ["--keep-days", "--keep-mb"])
@pytest.mark.usefixtures("remote")
def test_limits_are_numbers(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "--to-branch", "h", option, "none"], leave(branch_run(0), tmp_path)) == 2
    assert option in capsys.readouterr().err


@pytest.mark.usefixtures("remote")
@pytest.mark.parametrize("sign", ["CI", "TF_BUILD", "JENKINS_URL", "TEAMCITY_VERSION", "CODEBUILD_BUILD_ID"])
def test_in_ci_the_checkouts_own_remote_is_not_pushed_to(sign: str, tmp_path: Path, ratiba: CommandRun) -> None:
    environment = {**leave(talked(), tmp_path), sign: "true"}
    ratiba("report", "--to-branch", "ratiba-history", code=2, environment=environment)
    assert "Give --remote URL." in ratiba.err


def test_a_repository_without_a_remote_is_named(
    repository: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.commit({"a": "b"})
    assert run(["report", "--to-branch", "ratiba-history"], leave(branch_run(0), tmp_path)) == 2
    assert "no remote 'origin'" in capsys.readouterr().err


@pytest.mark.usefixtures("remote")
def test_a_shard_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = replace(branch_run(0), shard=ShardReport(Shard(1, 2)))
    assert run(["report", "--to-branch", "ratiba-history"], leave(report, tmp_path)) == 2
    assert "ratiba merge" in capsys.readouterr().err
