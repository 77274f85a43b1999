"""Runners without Python or Docker, events that say too much or too little, and checkouts that lay traps."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.act import TOKEN, Act
from tests.support.consumer_repository import PROMPT, ConsumerRepository, Repositories
from tests.support.github_server import GithubState, Pull, github_server
from tests.support.hosted_runner import HostedRunner, path_without

pytestmark = pytest.mark.docker
MakeRunner = Callable[..., HostedRunner]
MISSING = "localhost:1/nobody/has-this:v0"


@pytest.fixture
def github() -> GithubState:
    return GithubState()


@pytest.fixture
def repository(repositories: Repositories) -> ConsumerRepository:
    return repositories.small()


@pytest.fixture
def make_runner(act: Act, repository: ConsumerRepository, github: GithubState, tmp_path: Path) -> Iterator[MakeRunner]:
    """Makes a job for a pull request."""

    def make(
        changed: Mapping[str, str | bytes | None], event: Mapping[str, Any] | None = None, **variables: str
    ) -> HostedRunner:
        repository.propose(changed)
        github.heads[7] = repository.head
        environment = {"GITHUB_API_URL": api, **variables}
        inputs = {"image": act.image, "github-token": TOKEN}
        happened = repository.pull_request_event(**(event or {}))
        return HostedRunner(act.action, repository, tmp_path, happened, inputs, environment)

    with github_server(github) as api:
        yield make


def test_without_python_the_mode_is_decided_in_the_container(make_runner: MakeRunner, tmp_path: Path) -> None:
    runner = make_runner({"README.md": "# Hello\n"}, PATH=path_without(r"python[0-9.]*", tmp_path / "bin"))
    decided = runner.run("decide")
    assert (decided.returncode, "no Python 3.11" in decided.stdout) == (0, True)
    evaluated = runner.gate()
    assert evaluated.returncode == 0, evaluated.stdout
    assert "skipped" in runner.outputs


@pytest.mark.parametrize(("enforce", "code"), [("true", 3), ("false", 0)])
def test_without_python_the_end_of_a_run_is_concluded_in_the_container(
    make_runner: MakeRunner, github: GithubState, tmp_path: Path, enforce: str, code: int
) -> None:
    runner = make_runner({PROMPT: "Say Bonjour, warmly.\n"}, PATH=path_without(r"python[0-9.]*", tmp_path / "bin"))
    runner = replace(runner, inputs={**runner.inputs, "enforce": enforce})
    concluded = runner.run("conclude", RATIBA_ENDED="killed")
    assert (concluded.returncode, "no comment could be written" in concluded.stdout) == (code, False), concluded.stdout
    (comment,) = github.comments
    assert "container ended before it could report" in comment["body"]


def test_without_python_and_image_the_end_of_a_run_is_reported_in_the_log(
    make_runner: MakeRunner, tmp_path: Path
) -> None:
    runner = make_runner({PROMPT: "Say Bonjour, warmly.\n"}, PATH=path_without(r"python[0-9.]*", tmp_path / "bin"))
    concluded = replace(runner, inputs={**runner.inputs, "image": MISSING}).run("conclude", RATIBA_ENDED="image")
    assert concluded.returncode == 3, concluded.stdout
    assert "no comment could be written" in concluded.stdout


def test_without_docker_the_run_is_incomplete_and_says_what_to_do(
    make_runner: MakeRunner, github: GithubState, tmp_path: Path
) -> None:
    runner = make_runner({PROMPT: "Say Bonjour, warmly.\n"}, PATH=path_without("docker", tmp_path / "bin"))
    evaluated = runner.run("evaluate")
    assert evaluated.returncode == 0, evaluated.stdout
    assert "job with 'container:'" in evaluated.stdout
    assert "ended=docker" in runner.outputs
    concluded = runner.run("conclude", RATIBA_ENDED="docker")
    assert concluded.returncode == 3, concluded.stdout
    (comment,) = github.comments
    assert "no Docker daemon" in comment["body"]


def test_pull_request_target_is_refused_on_the_runner(make_runner: MakeRunner) -> None:
    runner = make_runner({PROMPT: "Say Bonjour, warmly.\n"}, GITHUB_EVENT_NAME="pull_request_target")
    decided = runner.run("decide")
    assert decided.returncode == 2, decided.stdout
    assert "pull_request_target" in decided.stdout


def test_a_change_of_more_files_than_github_lists_is_blocking(make_runner: MakeRunner, github: GithubState) -> None:
    missing = "c" * 40
    files = tuple(f"docs/{number}.md" for number in range(3_500))
    runner = make_runner(
        {"docs/0.md": "x\n"}, {"changed_files": len(files), "head": {"sha": missing, "ref": "change", "repo": None}}
    )
    github.heads.clear()
    github.pulls[7] = Pull(missing, files=files)
    decided = runner.run("decide")
    assert decided.returncode == 0, decided.stdout
    assert "Mode: blocking" in decided.stdout
    assert "3500" in decided.stdout.replace(",", "")


@pytest.mark.parametrize("step", ["decide", "evaluate"])
def test_modules_of_the_checkout_are_not_imported(
    make_runner: MakeRunner, repository: ConsumerRepository, tmp_path: Path, step: str
) -> None:
    trap = f"import os\nos.close(os.open({str(tmp_path / 'sprung')!r}, os.O_CREAT))\n"
    planted = dict.fromkeys(("json.py", "sitecustomize.py", "usercustomize.py", "entrypoint.py"), trap)
    runner = make_runner({PROMPT: "Say Bonjour, warmly.\n", **planted}, PYTHONPATH=str(repository.folder))
    done = runner.run(step)
    assert done.returncode == 0, done.stdout
    assert not (tmp_path / "sprung").exists()


def test_a_report_folder_that_is_a_link_is_refused(make_runner: MakeRunner, repository: ConsumerRepository) -> None:
    outside = repository.folder.parent / f"{repository.folder.name}-outside"
    outside.mkdir()
    (repository.folder / "ratiba-report").symlink_to(outside)
    runner = make_runner({PROMPT: "Say Bonjour, warmly.\n"})
    done = runner.run("evaluate")
    assert done.returncode == 2, done.stdout
    assert "symbolic link" in done.stdout
    assert list(outside.iterdir()) == []


def test_results_that_lie_there_already_do_not_stand_for_a_run_that_measured_nothing(
    make_runner: MakeRunner, github: GithubState
) -> None:
    first = make_runner({PROMPT: "Say Bonjour, warmly.\n"})
    assert first.gate().returncode == 0
    second = replace(first, inputs={**first.inputs, "image": MISSING, "name": "second"})
    evaluated = second.run("evaluate")
    assert evaluated.returncode == 0, evaluated.stdout
    concluded = second.run("conclude", RATIBA_ENDED="image")
    assert concluded.returncode == 3, concluded.stdout
    assert "## Incomplete" in github.comments[-1]["body"]


def test_what_a_change_lays_in_the_place_of_the_report_is_replaced(
    make_runner: MakeRunner, repository: ConsumerRepository
) -> None:
    runner = make_runner({PROMPT: "Say Bonjour, warmly.\n", "ratiba-report/results.json/planted": "x\n"})
    done = runner.gate()
    assert done.returncode == 0, done.stdout
    assert (repository.folder / "ratiba-report" / "results.json").is_file()


def test_a_report_folder_that_is_a_file_is_refused_before_anything_is_run(make_runner: MakeRunner) -> None:
    done = make_runner({PROMPT: "Say Bonjour, warmly.\n", "ratiba-report": "planted\n"}).run("evaluate")
    assert (done.returncode, "report-dir is a file" in done.stdout) == (2, True), done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give the checkout to another user")
def test_the_folders_above_the_report_belong_to_the_owner_of_the_checkout_too(
    make_runner: MakeRunner, repository: ConsumerRepository
) -> None:
    runner = make_runner({PROMPT: "Say Bonjour, warmly.\n"})
    for path in (repository.folder, *repository.folder.rglob("*")):
        shutil.chown(path, 4321, 4322)
    runner = replace(runner, inputs={**runner.inputs, "report-dir": "out/of/the-way"})
    done = runner.gate()
    assert done.returncode == 0, done.stdout
    assert (repository.folder / "out/of/the-way/results.json").is_file()
    owners = {(path.stat().st_uid, path.stat().st_gid) for path in repository.folder.rglob("*")}
    assert owners == {(4321, 4322)}
