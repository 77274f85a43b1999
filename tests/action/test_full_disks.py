"""A runner whose disks are full: the verdict is the gate's, and what could not be copied is a warning."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.support.act import TOKEN, Act
from tests.support.consumer_repository import PROMPT, Repositories
from tests.support.github_server import GithubState, github_server
from tests.support.hosted_runner import HostedRunner
from tests.support.small_disk import fill, small_disk
from tests.support.step_outputs import read_outputs

pytestmark = pytest.mark.docker
OWNER = (4321, 4322)
PAGE = 4096


@pytest.fixture
def runner(act: Act, repositories: Repositories, tmp_path: Path) -> Iterator[HostedRunner]:
    """A job for a pull request that edits a prompt, whose one scenario fails."""
    repository = repositories.small('reply {"state": "ELSEWHERE"}')
    repository.propose({PROMPT: "Say Bonjour, warmly.\n"})
    github = GithubState(heads={7: repository.head})
    with github_server(github) as api:
        yield HostedRunner(
            act.action,
            repository,
            tmp_path,
            repository.pull_request_event(),
            {"image": act.image, "github-token": TOKEN},
            {"GITHUB_API_URL": api, "SSL_CERT_FILE": ""},  # no copy of certificates that takes room
        )


@pytest.fixture
def disk() -> Iterator[Callable[[Path, int], Path]]:
    """Mounts a disk with this much room on a new folder."""
    with ExitStack() as mounted:

        def mount(folder: Path, room: int) -> Path:
            mounted.enter_context(small_disk(folder, 1 << 20))
            (folder / "kept").write_bytes(bytes(room))
            fill(folder)
            (folder / "kept").unlink()
            return folder

        yield mount


def give_away(runner: HostedRunner) -> None:
    for path in (runner.repository.folder, *runner.repository.folder.rglob("*")):
        shutil.chown(path, *OWNER)


def assert_failed_verdict(runner: HostedRunner, done: CompletedProcess[str]) -> None:
    assert done.returncode == 1, done.stdout
    outputs = read_outputs(runner.folder / "output")
    assert (outputs["conclusion"], outputs["failed"]) == ("failed", "1"), done.stdout
    assert "## Failed" in runner.summary


@pytest.mark.parametrize("pages", [0, 5])
def test_a_full_report_directory(runner: HostedRunner, disk: Callable[[Path, int], Path], pages: int) -> None:
    report = disk(runner.repository.folder / "ratiba-report", pages * PAGE)
    give_away(runner)
    done = runner.gate()
    assert_failed_verdict(runner, done)
    assert "::warning title=Ratiba Eval Gate::The report in" in done.stdout
    assert "report.html" in done.stdout.partition("is not complete:")[2]
    assert {path.name for path in report.iterdir() if path.name.startswith(".ratiba")} == set()
    if (report / "results.json").exists():
        assert json.loads((report / "results.json").read_text())["outputs"]["conclusion"] == "failed"


@pytest.mark.parametrize("pages", [12, 20, 40])
def test_a_full_folder_for_temporary_files(
    runner: HostedRunner, disk: Callable[[Path, int], Path], tmp_path: Path, pages: int
) -> None:
    give_away(runner)
    temporary = disk(tmp_path / "small", pages * PAGE)
    done = replace(runner, variables={**runner.variables, "RUNNER_TEMP": str(temporary)}).gate()
    assert_failed_verdict(runner, done)
    results = runner.repository.folder / "ratiba-report/results.json"
    if results.exists():
        assert json.loads(results.read_text())["outputs"]["conclusion"] == "failed"
    else:
        assert "::warning title=Ratiba Eval Gate::The report" in done.stdout


def test_without_any_room_the_gate_is_not_started_and_the_reason_is_reported(
    runner: HostedRunner, disk: Callable[[Path, int], Path], tmp_path: Path
) -> None:
    give_away(runner)
    full = replace(runner, variables={**runner.variables, "RUNNER_TEMP": str(disk(tmp_path / "small", 0))})
    done = full.run("evaluate")
    assert "cannot be written to, so the gate was not started" in done.stdout
    assert "ended=disk" in runner.outputs
    concluded = full.run("conclude", RATIBA_ENDED="disk")
    assert concluded.returncode == 3, concluded.stdout
    assert "Make room on the runner's disk" in runner.summary
