"""A pull request that gets another head or another base while its run goes on."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.github.comment import ACTIONS_BOT
from ratiba_action.github.marker import Marker
from tests.support.act import TOKEN, Act
from tests.support.consumer_repository import PROMPT, ConsumerRepository, Repositories
from tests.support.github_server import GithubState, Pull, github_server
from tests.support.hosted_runner import HostedRunner

pytestmark = pytest.mark.docker
OWNER = (4321, 4322)
PUSHED = "c" * 40
MakeRunner = Callable[..., HostedRunner]


@pytest.fixture
def github() -> GithubState:
    return GithubState()


@pytest.fixture
def repository(repositories: Repositories, github: GithubState) -> ConsumerRepository:
    repository = repositories.small()
    repository.propose({PROMPT: "Say Bonjour, warmly.\n"})
    for path in (repository.folder, *repository.folder.rglob("*")):
        shutil.chown(path, *OWNER)
    github.pulls[7] = Pull(repository.head, repository.base, files=(PROMPT,))
    return repository


@pytest.fixture
def make_runner(act: Act, repository: ConsumerRepository, github: GithubState, tmp_path: Path) -> Iterator[MakeRunner]:
    """Makes a job whose first step has run; what a test changes afterwards happens during the run."""

    def make(event: Mapping[str, Any], name: str) -> HostedRunner:
        variables = {"GITHUB_API_URL": api, "GITHUB_EVENT_NAME": name}
        inputs = {"image": act.image, "github-token": TOKEN}
        runner = HostedRunner(act.action, repository, tmp_path, event, inputs, variables)
        assert "Mode: blocking" in runner.run("decide").stdout
        return runner

    with github_server(github) as api:
        yield make


@pytest.mark.parametrize("pushed", [True, False], ids=["a force-push", "a new base"])
def test_the_comment_of_the_newer_run_stays(
    make_runner: MakeRunner, repository: ConsumerRepository, github: GithubState, *, pushed: bool
) -> None:
    runner = make_runner(repository.pull_request_event(), "pull_request")
    head = PUSHED if pushed else repository.head
    github.pulls[7] = Pull(head, repository.base if pushed else "d" * 40, files=(PROMPT,))
    newer = f"{Marker('ratiba', head, 99, 1)}\n## Failed"
    github.add_comment(newer, ACTIONS_BOT)
    done = runner.gate()
    assert done.returncode == 0, done.stdout
    assert [comment["body"] for comment in github.comments] == [newer]
    assert "which is newer than run 31" in done.stdout


def test_a_run_by_hand_says_nothing_of_a_head_that_it_did_not_check_out(
    make_runner: MakeRunner, repository: ConsumerRepository, github: GithubState
) -> None:
    runner = make_runner(repository.dispatch_event(**{"pull-request": "7"}), "workflow_dispatch")
    github.pulls[7] = Pull(PUSHED, repository.base, files=(PROMPT,))
    done = runner.gate()
    assert done.returncode == 3, done.stdout
    (comment,) = github.comments
    assert "neither the pull request's head" in comment["body"]
    assert f"head={repository.merged} " in comment["body"]
    assert {(status["sha"], status["state"]) for status in github.statuses} == {(repository.merged, "error")}
