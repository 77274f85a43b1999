"""A fork's report is posted by the second workflow: nothing in it is believed but what it says about itself."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from markdown_it import MarkdownIt

from ratiba_action.github.marker import read_marker
from ratiba_action.main import run
from ratiba_action.model.change import ModeDecision, Subject
from ratiba_action.model.verdict import Conclusion, Report, TraceDelivery, TraceLink, Verdict
from ratiba_action.reporting.results_json import render_results
from ratiba_action.reporting.summary import summarise
from tests.support.github_server import GithubState, Pull, github_server
from tests.support.pull_request_events import workflow_run_event
from tests.support.sample_report import sample_check, sample_report, sample_scored
from tests.support.step_outputs import read_outputs

pytestmark = pytest.mark.usefixtures("short_waits")

REPORT = Path(__file__).parents[2] / "report"
HEAD, OLD = "a" * 40, "c" * 40
HOSTILE = (
    "</details> <!-- ratiba-eval-gate name=ratiba head=0 run=9 attempt=9 --> @org/team ![x](https://e.example/i.png) "
    "[y](https://e.example) <img src=https://e.example/i.png>\n::error::planted\n##[error]planted | cell ```"
)


class Post:
    """The second workflow's step, with what the fork's run left and the stand-in for GitHub."""

    def __init__(self, folder: Path, address: str, state: GithubState) -> None:
        self.results = folder / "results.json"
        self.state = state
        self.outputs = folder / "outputs"
        self._event = folder / "event.json"
        self.environment = {
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": address,
            "GITHUB_EVENT_NAME": "workflow_run",
            "GITHUB_EVENT_PATH": str(self._event),
            "GITHUB_OUTPUT": str(self.outputs),
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "RATIBA_GITHUB_TOKEN": "planted-github-token",
        }
        self.event(workflow_run_event(HEAD))

    def event(self, payload: object) -> None:
        """Let the event be this one."""
        self._event.write_text(json.dumps(payload))

    def leave(self, report: Report) -> None:
        """Let the fork's run have left this."""
        self.results.write_text(render_results(summarise(report)))

    def run(self, **variables: str) -> int:
        """Run the step; its exit code."""
        arguments = ["report", "--workflow-run", "--results", str(self.results)]
        return run(arguments, self.environment | variables)

    @property
    def body(self) -> str:
        """The one comment on the pull request."""
        (comment,) = self.state.comments
        body: str = comment["body"]
        return body


@pytest.fixture
def post(tmp_path: Path) -> Iterator[Post]:
    state = GithubState(pulls={7: Pull(head=HEAD, head_repository="other/assistant")})
    with github_server(state) as address:
        yield Post(tmp_path, address, state)


def report_of(head: str = HEAD, **changes: Any) -> Report:
    """What the run of a fork has left; it claims another pull request, run and repository."""
    report = sample_report(**changes)
    claimed = Subject(repository="victim/other", pull_request=99, head=head, run_id=1, run_url="https://e.example/x")
    return replace(report, subject=claimed)


def test_the_report_is_posted_with_githubs_facts_and_not_the_forks(post: Post) -> None:
    post.leave(report_of(name="another-gate"))

    assert post.run(RATIBA_NAME="ratiba") == 0

    marker = read_marker(post.body)
    assert marker is not None
    assert (marker.name, marker.head, marker.run_id, marker.run_attempt) == ("ratiba", HEAD, 555, 2)
    assert post.state.comments[0]["number"] == 7
    assert {path.split("?")[0].rsplit("/", 1)[0] for _, path in post.state.requests} == {
        "/repos/salon/assistant",
        "/repos/salon/assistant/issues/7",
    }
    assert "e.example" not in post.body
    assert "https://github.com/salon/assistant/actions/runs/555" in post.body
    assert read_outputs(post.outputs)["comment-url"].endswith("#issuecomment-1000")


def test_links_that_the_fork_has_made_up_are_not_posted(post: Post) -> None:
    link = TraceLink("spa_booking", "https://e.example/project/p/traces/1")
    post.leave(replace(report_of(), traces=TraceDelivery("https://e.example", 1, 1, 1, links=(link,))))

    assert post.run() == 0

    assert "e.example" not in post.body
    assert "Langfuse" not in post.body


def test_a_green_run_without_a_report_posts_nothing_over_the_comment_that_is_there(
    post: Post, capsys: pytest.CaptureFixture[str]
) -> None:
    post.event(workflow_run_event(HEAD, conclusion="success"))
    assert post.run() == 0
    assert post.state.comments == []
    assert "left no report, as one for an edited title does" in capsys.readouterr().out


@pytest.mark.processes
def test_the_sub_action_posts_it_with_nothing_installed(post: Post, tmp_path: Path) -> None:
    post.leave(report_of())
    (tmp_path / "bin").mkdir()
    # What the runner calls python3, without whatever is installed for these tests.
    bare = tmp_path / "bin/python3"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    bare.chmod(0o755)
    (step,) = yaml.safe_load((REPORT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
    own = {"GITHUB_ACTION_PATH": str(REPORT), "RESULTS": "results.json", "PATH": f"{bare.parent}:{os.defpath}"}
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        env=post.environment | own,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "> ## Failed: " in post.body


@pytest.mark.processes
def test_the_sub_action_says_that_python_is_missing(post: Post, tmp_path: Path) -> None:
    (step,) = yaml.safe_load((REPORT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
    own = {"GITHUB_ACTION_PATH": str(REPORT), "RESULTS": "results.json", "PATH": str(tmp_path)}
    bash = shutil.which("bash")
    assert bash is not None
    done = subprocess.run(
        [bash, "-e", "-c", step["run"]], env=post.environment | own, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "no Python 3.11 or newer" in done.stdout


def test_it_says_whose_figures_these_are_and_how_the_run_ended(post: Post) -> None:
    post.leave(report_of(verdict=Verdict(Conclusion.PASSED, "All scenarios passed."), notes=("theirs",) * 30))

    assert post.run() == 0

    note = next(line for line in post.body.splitlines() if "**Warning:**" in line)
    assert "the pull request's own run left" in note
    assert "ended with 'failure'" in note


def _is_own(address: str) -> bool:
    """Whether it is an address of the run, or of a line of its scenario."""
    return address.startswith(("https://github.com/salon/assistant/actions/runs/555", f"{BLOB}/scenarios/"))


BLOB = f"https://github.com/salon/assistant/blob/{'a' * 40}"


def test_hostile_text_is_shown_as_text(post: Post, capsys: pytest.CaptureFixture[str]) -> None:
    reply = sample_scored("spa_booking", checks=(sample_check(passed=False, got=HOSTILE, what=HOSTILE),), reply=HOSTILE)
    verdict = Verdict(Conclusion.FAILED, HOSTILE, HOSTILE, (HOSTILE,))
    post.leave(report_of(verdict=verdict, notes=(HOSTILE,), results=(reply,)))

    assert post.run() == 0

    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(post.body)
    inner = [child for token in tokens for child in token.children or ()]
    assert [
        child.type
        for child in inner
        if child.type == "image" or (child.type == "link_open" and not _is_own(str(child.attrs["href"])))
    ] == []
    html = "".join(part.content for part in [*tokens, *inner] if part.type in ("html_block", "html_inline"))
    assert "<img" not in html
    prose = [part.content for part in [*tokens, *inner] if part.type in ("text", "html_block", "html_inline")]
    assert not any("@org/team" in part for part in prose)  # in code, nobody is mentioned
    assert [line for line in post.body.splitlines() if "<!-- ratiba-eval-gate name" in line] == [
        f"<!-- ratiba-eval-gate name=ratiba head={HEAD} run=555 attempt=2 -->"
    ]
    log = capsys.readouterr().out
    assert "##[" not in log
    assert [line for line in log.splitlines() if line.startswith(("::error", "::set"))] == []


def test_the_reason_of_a_skipped_run_is_no_command_either(post: Post, capsys: pytest.CaptureFixture[str]) -> None:
    skipped = Verdict(Conclusion.SKIPPED, "::error::planted\n##[error]planted")
    post.leave(report_of(verdict=skipped, results=(), decision=ModeDecision(report_of().decision.mode, ())))

    assert post.run() == 0

    assert post.state.comments == []
    log = capsys.readouterr().out
    assert "##[" not in log
    assert [line for line in log.splitlines() if line.strip().startswith("::error")] == []


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(20_000_001)


def linked(path: Path) -> None:
    target = path.with_name("elsewhere.json")
    target.write_text(render_results(summarise(report_of())))
    path.symlink_to(target)


def with_number(path: Path, before: str, number: str) -> None:
    text = render_results(summarise(report_of()))
    assert before in text
    path.write_text(text.replace(before, number))


@pytest.mark.parametrize(
    "leave",
    [
        lambda _: None,
        lambda path: path.write_text("{"),
        lambda path: path.write_text('{"schema": 1, "report": {"name": "ratiba"}}'),
        lambda path: path.write_bytes(b"\xff\x00"),
        lambda path: path.write_text("[" * 200_000),
        lambda path: path.mkdir(),
        huge,
        linked,
        lambda path: with_number(path, '"spent": "1.25"', '"spent": "1E+999999999"'),
        lambda path: with_number(path, '"spent": "1.25"', '"spent": "NaN"'),
        lambda path: with_number(path, '"seconds": 18.5', '"seconds": 1e999'),
        lambda path: with_number(path, '"seconds": 18.5', f'"seconds": 1{"0" * 400}'),
    ],
)
def test_whatever_is_no_report_is_reported_on_the_pull_request(post: Post, leave: Any) -> None:
    leave(post.results)

    assert post.run() == 0

    assert "## Incomplete: " in post.body
    assert "left no valid report" in post.body
    assert len(post.body) < 3_000


def test_a_report_of_another_commit_is_not_posted(post: Post, capsys: pytest.CaptureFixture[str]) -> None:
    post.leave(report_of(head=OLD))
    assert post.run() == 0
    assert post.state.comments == []
    assert "::warning title=Ratiba Eval Gate::Nothing was posted: the report is about" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("pulls", "message"),
    [
        ({}, "has no open pull request"),
        ({7: Pull(head=HEAD, head_repository="other/assistant", state="closed")}, "has no open pull request"),
        ({7: Pull(head=HEAD, head_repository="other/copy")}, "has no open pull request"),
        ({7: Pull(head=OLD, head_repository="other/assistant")}, "gone on from aaaaaaaaaaaa to cccccccccccc"),
        (dict.fromkeys((7, 8), Pull(head=HEAD, head_repository="other/assistant")), "8, 7 have the same head"),
    ],
)
def test_without_exactly_one_pull_request_at_that_commit_nothing_is_posted(
    post: Post, capsys: pytest.CaptureFixture[str], pulls: dict[int, Pull], message: str
) -> None:
    post.state.pulls = pulls
    post.leave(report_of())
    assert post.run() == 0
    assert post.state.comments == []
    assert message in capsys.readouterr().out


@pytest.mark.parametrize(
    "changes",
    [
        {"head_repository": None},
        {"event": "push"},
        {"conclusion": "action_required"},
        {"conclusion": "skipped"},
    ],
)
def test_runs_that_need_no_help_are_left_alone_without_asking_github(
    post: Post, capsys: pytest.CaptureFixture[str], changes: dict[str, Any]
) -> None:
    post.event(workflow_run_event(HEAD, **changes))
    post.leave(report_of())
    assert post.run() == 0
    assert post.state.requests == []
    assert "Nothing to do" in capsys.readouterr().out


def test_a_run_of_this_repository_whose_comment_was_lost_is_posted_once(post: Post) -> None:
    """GitHub was down when the run wanted to comment; its artifact has what it would have said."""
    post.state.pulls = {7: Pull(head=HEAD)}
    post.event(workflow_run_event(HEAD, head_repository={"full_name": "salon/assistant"}))
    post.leave(report_of())
    assert post.run() == 0
    assert "> ## Failed: " in post.body


def test_a_run_of_this_repository_that_has_commented_is_left_alone(post: Post) -> None:
    post.state.pulls = {7: Pull(head=HEAD)}
    post.event(workflow_run_event(HEAD, head_repository={"full_name": "salon/assistant"}))
    theirs = f"<!-- ratiba-eval-gate name=ratiba head={HEAD} run=555 attempt=2 -->\nwritten by the run"
    post.state.add_comment(theirs, "github-actions[bot]")
    post.leave(report_of())
    assert post.run() == 0
    assert post.body == theirs


def test_dependabots_runs_cannot_write_either(post: Post) -> None:
    changes = {"head_repository": {"full_name": "salon/assistant"}, "head_branch": "dependabot/pip/langgraph-1.2.0"}
    post.state.pulls = {7: Pull(head=HEAD, branch="dependabot/pip/langgraph-1.2.0", author="dependabot[bot]")}
    post.event(workflow_run_event(HEAD, **changes))
    post.leave(report_of())
    assert post.run() == 0
    assert "> ## Failed: " in post.body


@pytest.mark.parametrize(
    "payload",
    [
        {},
        [],
        {"workflow_run": None},
        workflow_run_event("main"),
        workflow_run_event(HEAD, head_branch=None),
        workflow_run_event(HEAD, head_branch="a\nb"),
        workflow_run_event(HEAD, id="555"),
        workflow_run_event(HEAD, head_repository={"full_name": "../../victim"}),
        workflow_run_event(HEAD, conclusion="::error::"),
        {**workflow_run_event(HEAD), "repository": {}},
    ],
)
def test_a_malformed_event_is_a_misuse(post: Post, payload: object) -> None:
    post.event(payload)
    post.leave(report_of())
    assert post.run() == 2
    assert post.state.requests == []


@pytest.mark.parametrize(
    "variables",
    [
        {"GITHUB_EVENT_NAME": "pull_request"},
        {"GITHUB_EVENT_PATH": ""},
        {"RATIBA_GITHUB_TOKEN": ""},
        {"RATIBA_NAME": "--> x"},
    ],
)
def test_a_wrong_place_is_a_misuse(post: Post, variables: dict[str, str]) -> None:
    post.leave(report_of())
    assert post.run(**variables) == 2
    assert post.state.requests == []


def test_a_token_that_may_not_write_is_a_warning(post: Post, capsys: pytest.CaptureFixture[str]) -> None:
    post.state.writable = False
    post.leave(report_of())
    assert post.run() == 0
    assert "::warning title=Ratiba Eval Gate::The comment could not be posted" in capsys.readouterr().out


def test_without_an_answer_to_the_search_the_step_fails(post: Post, capsys: pytest.CaptureFixture[str]) -> None:
    post.state.failure = (500, "Server Error")
    post.leave(report_of())
    assert post.run() == 3
    assert "GitHub answered 500" in capsys.readouterr().err
