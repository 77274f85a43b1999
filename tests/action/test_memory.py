"""A container whose memory is used up: whichever process the kernel ends, the run is never green and names memory."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.support.act import TOKEN, Act
from tests.support.consumer_repository import PROMPT, Repositories
from tests.support.github_server import GithubState, github_server
from tests.support.hosted_runner import HostedRunner
from tests.support.small_repository import SCENARIO

pytestmark = pytest.mark.docker
OWNER = (4321, 4322) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
Conclude = Callable[[str], tuple[CompletedProcess[str], str]]
ADAPTER = """\
import os


class Adapter:
    def migrate(self, database_url):
        pass

    def open(self, context):
        return self

    def send(self, message):
        kept = []
        while message == "keep":
            kept.append(os.urandom(1 << 22))
        with open("filler", "wb", 0) as file:
            while message == "write":
                file.write(bytes(1 << 22))
        return {"text": "Bonjour", "state": "SAID"}
"""


@pytest.fixture
def action(act: Act, tmp_path: Path) -> Path:
    """The action on a machine whose container has little memory."""
    copied = tmp_path / "action"
    shutil.copytree(act.action, copied)
    script = copied / "action" / "container.sh"
    before = script.read_text()
    script.write_text(before.replace('--memory "$(memory_limit)"', "--memory 500m --memory-swap 500m"))
    assert script.read_text() != before
    return copied


@pytest.fixture
def conclude(act: Act, action: Path, repositories: Repositories, tmp_path: Path) -> Conclude:
    """Runs a pull request with a scenario that fails and one that uses up all memory; returns its end and comment."""

    def run(message: str) -> tuple[CompletedProcess[str], str]:
        greedy = SCENARIO.format(name="greedy", turns=f"  - user: {message}")
        repository = repositories.small("greet", "ELSEWHERE", {"adapter.py": ADAPTER, "scenarios/greedy.yaml": greedy})
        repository.propose({PROMPT: "Say Bonjour, warmly.\n"})
        for path in (repository.folder, *repository.folder.rglob("*")):
            shutil.chown(path, *OWNER)
        github = GithubState(heads={7: repository.head})
        with github_server(github) as api:
            inputs, event = {"image": act.image, "github-token": TOKEN}, repository.pull_request_event()
            runner = HostedRunner(action, repository, tmp_path, event, inputs, {"GITHUB_API_URL": api})
            done = runner.gate()
        (comment,) = github.comments
        return done, str(comment["body"])

    return run


def test_a_system_that_is_ended_leaves_the_failure_of_another_scenario(conclude: Conclude) -> None:
    done, comment = conclude("keep")
    assert done.returncode == 1, done.stdout
    assert "## Failed" in comment
    assert "`greeting`" in comment
    assert "ended by SIGKILL (the kernel sends SIGKILL when memory runs out)" in comment


def test_a_gate_that_is_ended_is_incomplete(conclude: Conclude) -> None:
    done, comment = conclude("write")
    assert done.returncode == 3, done.stdout
    assert "## Incomplete" in comment
    assert "The gate's container was ended because it used up its memory" in comment
