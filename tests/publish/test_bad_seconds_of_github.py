"""GitHub has a bad second, or a bad hour: one comment all the same, or a warning that nobody overlooks."""

import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ratiba_action.github.attempts import read_attempts
from ratiba_action.github.comment import ACTIONS_BOT
from ratiba_action.github.marker import Marker
from ratiba_action.main import run
from ratiba_action.model.verdict import Conclusion
from ratiba_action.reporting.results_json import load_report
from tests.support.eventually import eventually
from tests.support.git_repository import GitRepository
from tests.support.github_server import Fault, GithubState, Pull, github_server
from tests.support.pull_request_events import pull_request_event
from tests.support.step_outputs import read_outputs, step_environment

UNCLEAR = [
    Fault("POST", "/comments", done=True, status=502),
    Fault("POST", "/comments", done=False, status=502),
    Fault("POST", "/comments", done=True, status=500),
    Fault("POST", "/comments", done=True, status=504),
    Fault("POST", "/comments", done=True, reset=True),
    Fault("POST", "/comments", done=False, reset=True, times=2),
    Fault("POST", "/comments", done=True, cut=True),
    Fault("POST", "/comments", reset=True, late=True),
    Fault("POST", "/comments", status=502, late=True),
]
BEFORE_ANYTHING_IS_DONE = [
    Fault("GET", "/comments", status=502),
    Fault("GET", "/comments", status=503, times=3),
    Fault("GET", "/comments", status=503, headers={"Retry-After": "1"}),
    Fault("GET", "/comments", status=504, message=""),
    Fault("GET", "/comments", reset=True, times=2),
    Fault("GET", "/comments", cut=True),
    Fault("", "", status=502, times=2),
    Fault(
        "GET", "/comments", status=403, message="You have exceeded a secondary rate limit", headers={"Retry-After": "1"}
    ),
    Fault("POST", "/comments", status=429, message="Slow down", headers={"Retry-After": "1"}),
    Fault("POST", "/comments", status=403, headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}),
    Fault("POST", "/comments", status=503, headers={"Retry-After": "1"}),
]


class Step:
    """The step that concludes a run, with the stand-in for GitHub and what the step leaves."""

    def __init__(self, folder: Path, address: str) -> None:
        repository = GitRepository(folder / "checkout")
        self.base = repository.commit({"README.md": "1"})
        self.head = repository.commit({"prompts/greeting.md": "2"})
        self._folder = folder
        self.environment = step_environment(folder, address) | {"RATIBA_GITHUB_TOKEN": "planted-github-token"}
        self.event(pull_request_event(self.base, self.head, files=1))

    def event(self, payload: object) -> None:
        """Let the event be this one."""
        (self._folder / "event.json").write_text(json.dumps(payload))

    def run(self, **variables: str) -> int:
        """Run ``ratiba report --unfinished``; its exit code."""
        return run(["report", "--unfinished"], self.environment | variables)

    @property
    def summary(self) -> str:
        """What the run's page shows."""
        return (self._folder / "summary.md").read_text()

    @property
    def address(self) -> str:
        """The output ``comment-url``."""
        return read_outputs(self._folder / "outputs")["comment-url"]

    @property
    def report(self) -> Path:
        """The report directory."""
        return self._folder / "report"


@pytest.fixture
def state() -> GithubState:
    return GithubState()


@pytest.fixture
def step(tmp_path: Path, state: GithubState) -> Iterator[Step]:
    with github_server(state) as address:
        found = Step(tmp_path, address)
        state.pulls[7] = Pull(found.head, base=found.base, files=("prompts/greeting.md",))
        yield found


def shown(fault: Fault) -> str:
    what = "reset" if fault.reset else "cut" if fault.cut else str(fault.status)
    how = f"{'done' if fault.done else 'late' if fault.late else 'not done'}"
    return f"{fault.method or 'any'} {what} {how} {fault.times} {' '.join(fault.headers)}"


@pytest.mark.usefixtures("short_waits")
@pytest.mark.parametrize("fault", [*UNCLEAR, *BEFORE_ANYTHING_IS_DONE], ids=shown)
def test_a_bad_second_costs_no_comment_and_makes_no_second_one(
    step: Step, state: GithubState, fault: Fault, capsys: pytest.CaptureFixture[str]
) -> None:
    state.faults = [fault := replace(fault)]
    assert step.run() == 3
    (comment,) = state.comments
    assert "## Incomplete" in comment["body"]
    assert step.address == f"https://github.com/salon/assistant/pull/7#issuecomment-{comment['id']}"
    assert "::warning" not in capsys.readouterr().out
    assert fault.times == 0


@pytest.mark.usefixtures("short_waits")
@pytest.mark.parametrize(
    "fault",
    [
        Fault("PATCH", done=True, status=502),
        Fault("PATCH", done=False, status=502, times=2),
        Fault("PATCH", done=True, reset=True),
        Fault("PATCH", done=True, cut=True),
    ],
    ids=shown,
)
def test_an_update_of_unknown_outcome_lists_the_run_once(step: Step, state: GithubState, fault: Fault) -> None:
    assert step.run() == 3
    state.faults = [fault := replace(fault)]
    (step.report / "results.json").unlink()
    assert step.run(GITHUB_RUN_ATTEMPT="2") == 3
    (comment,) = state.comments
    assert [attempt.number for attempt in read_attempts(comment["body"])] == [1, 2]


def test_an_update_of_unknown_outcome_does_not_hide_a_newer_run_that_came_in_between(
    step: Step, state: GithubState, capsys: pytest.CaptureFixture[str]
) -> None:
    """The newer run writes its comment while GitHub does not say what came of ours."""
    old = state.add_comment(f"{Marker('ratiba', step.head, 1, 1)}\nold", ACTIONS_BOT)
    newer = f"{Marker('ratiba', step.head, 2_000, 1)}\nnewer"
    state.faults = [Fault("PATCH", status=502)]

    def write() -> None:
        eventually(lambda: any(method == "PATCH" for method, _ in state.requests))
        old["body"] = newer

    writer = threading.Thread(target=write)
    writer.start()
    assert step.run() == 3
    writer.join()
    assert old["body"] == newer
    assert "is newer than run 1001" in capsys.readouterr().out


def test_an_answer_that_is_slow_and_arrives_is_no_failure(
    step: Step, state: GithubState, capsys: pytest.CaptureFixture[str]
) -> None:
    state.faults = [Fault("POST", "/comments", seconds=11.0)]
    assert step.run() == 3
    assert len(state.comments) == 1
    assert step.address
    assert "::warning" not in capsys.readouterr().out
    assert [method for method, _ in state.requests] == ["GET", "POST"]


def test_a_server_that_is_there_a_second_later(tmp_path: Path, state: GithubState) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    step = Step(tmp_path, f"http://127.0.0.1:{port}")
    state.heads[7] = step.head
    ended = threading.Event()

    def serve() -> None:
        # Connections are refused until GitHub's own description is loaded, about a second.
        with github_server(state, port=port):
            ended.wait()

    server = threading.Thread(target=serve)
    server.start()
    try:
        assert step.run() == 3
    finally:
        ended.set()
        server.join()
    assert len(state.comments) == 1


@pytest.mark.usefixtures("short_waits")
@pytest.mark.parametrize(
    "fault",
    [
        Fault(times=10_000, status=503),
        Fault("POST", times=10_000, status=502),
        Fault("POST", times=10_000, reset=True),
        Fault(times=10_000, status=403, message="secondary rate limit", headers={"Retry-After": "3600"}),
    ],
    ids=shown,
)
def test_a_bad_hour_is_a_warning_in_log_and_summary_and_leaves_the_comments_file(
    step: Step, state: GithubState, fault: Fault, capsys: pytest.CaptureFixture[str]
) -> None:
    state.faults = [fault := replace(fault)]
    assert step.run() == 3
    assert state.comments == []
    assert "::warning title=Ratiba Eval Gate::The comment could not be posted: " in capsys.readouterr().out
    assert "> **Warning:** The comment could not be posted: " in step.summary
    assert (step.report / "comment.md").read_text().startswith("<!-- ratiba-eval-gate name=")
    report = load_report((step.report / "results.json").read_bytes())
    assert report.verdict.conclusion is Conclusion.INCOMPLETE
    assert step.address == ""
    assert len(state.requests) < 20


@pytest.mark.usefixtures("short_waits")
@pytest.mark.parametrize(
    "fault",
    [
        Fault("POST", "/statuses/", done=True, status=502, times=2),
        Fault("POST", "/statuses/", done=False, reset=True),
        Fault("POST", "/statuses/", done=True, cut=True),
    ],
    ids=shown,
)
def test_a_status_is_set_again_until_github_says_that_it_has_it(step: Step, state: GithubState, fault: Fault) -> None:
    step.event({"ref": "refs/heads/main", "inputs": {}, "repository": {"full_name": "salon/assistant"}})
    state.faults = [fault := replace(fault)]
    step.run(GITHUB_EVENT_NAME="workflow_dispatch", RATIBA_PULL_REQUEST="7")
    assert {status["state"] for status in state.statuses} == {"error"}
    assert fault.times == 0
