"""Runs that a signal cancels: while they start, measure, or write their report."""

import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.eventually import eventually
from tests.support.gate_forks import StartedGate
from tests.support.github_server import Fault, GithubState, github_server
from tests.support.pull_request_events import pull_request_event
from tests.support.small_repository import SmallRepository

if TYPE_CHECKING:
    import subprocess


@pytest.fixture
def github() -> Iterator[tuple[GithubState, str]]:
    state = GithubState()
    with github_server(state) as api:
        yield state, api


def begin(small: SmallRepository, github: tuple[GithubState, str], message: str) -> StartedGate:
    """A run about a pull request, begun."""
    state, api = github
    small.scenario("talks", message)
    base = small.commit()
    small.write("prompts/one.md", "Be kind.\n")
    state.heads[7] = small.commit()
    event = small.report.with_name("event.json")
    event.write_text(json.dumps(pull_request_event(base, state.heads[7])))
    variables = {"GITHUB_REPOSITORY": "salon/assistant", "GITHUB_RUN_ID": "31", "RATIBA_GITHUB_TOKEN": "a-token"}
    return small.start("--event", str(event), "--event-name", "pull_request", GITHUB_API_URL=api, **variables)


def ended(process: StartedGate) -> "subprocess.CompletedProcess[str]":
    done = process.wait()
    assert done.returncode in (1, 3), done.stderr
    return done


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_signal_while_the_comment_is_written_makes_it_incomplete(
    small: SmallRepository, github: tuple[GithubState, str], method: str, number: signal.Signals
) -> None:
    state, _ = github
    signalled = threading.Event()
    state.faults.append(Fault(method=method, path="/comments", until=signalled, done=True))
    process = begin(small, github, "say hello")
    eventually(lambda: any(one.method == method and "/comments" in one.path for one in state.received))
    process.send_signal(number)
    signalled.set()
    done = ended(process)
    assert done.returncode == 3, done.stderr
    (comment,) = state.comments
    assert "## Incomplete" in comment["body"], done.stdout
    assert f"cancelled by {number.name}" in comment["body"]
    outputs = json.loads((small.report / "results.json").read_text())["outputs"]
    assert (outputs["conclusion"], outputs["passed"]) == ("incomplete", 1)
    assert comment["body"] == (small.report / "comment.md").read_text()


def test_a_failure_that_was_measured_stays_one_and_the_comment_says_what_happened(
    small: SmallRepository, github: tuple[GithubState, str]
) -> None:
    state, _ = github
    signalled = threading.Event()
    state.faults.append(Fault(method="POST", path="/comments", until=signalled, done=True))
    process = begin(small, github, 'reply {"state": "LOST"}')
    eventually(lambda: any(one.method == "POST" for one in state.received))
    process.send_signal(signal.SIGTERM)
    signalled.set()
    assert ended(process).returncode == 1
    (comment,) = state.comments
    assert "## Failed" in comment["body"]
    assert "cancelled by SIGTERM" in comment["body"]


def test_many_signals_are_one_wish(
    small: SmallRepository, github: tuple[GithubState, str], meeting_place: Path
) -> None:
    """As the action sends them: SIGTERM until the run has ended."""
    state, _ = github
    process = begin(small, github, f"signal {meeting_place}")
    eventually(lambda: list(meeting_place.glob("begun-*")))

    def again() -> bool:
        process.send_signal(signal.SIGTERM)
        return not process.is_running()

    eventually(again)
    ended(process)
    (comment,) = state.comments
    assert "## Incomplete" in comment["body"]
    assert "cancelled by SIGTERM" in comment["body"]
