"""Which artifact of GitHub's is believed to be the base branch's, and what an archive may hold."""

import io
import json
import socket
import stat
import threading
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ratiba_action.errors import GithubError
from ratiba_action.github.clients import by_pygithub
from ratiba_action.github.github_api import GithubApi
from ratiba_action.history.artifacts import WantedResults, find_artifacts
from ratiba_action.history.attempts import Attempt, attempts_on_github
from ratiba_action.history.files import FoundBaseline
from ratiba_action.model.change import Subject
from ratiba_action.ports import GithubRepository
from ratiba_action.reporting.results_json import render_results
from ratiba_action.reporting.summary import summarise
from tests.support.github_server import GithubState, github_server
from tests.support.github_state import Artifact, Run
from tests.support.raw_server import raw_server
from tests.support.sample_report import sample_report, sample_score, sample_scored

REPOSITORY = "ratiba/assistant"
BASE, OLDER, OLDEST, ELSEWHERE = "b" * 40, "c" * 40, "d" * 40, "e" * 40
MORNING = datetime(2026, 4, 25, 7, tzinfo=UTC)
WANTED = WantedResults(REPOSITORY, "ratiba", "main", BASE, 3)
TOKEN = "ghs_planted"
PUSH = Subject(repository=REPOSITORY, head=BASE, event="push", run_id=1)


@pytest.fixture
def state() -> GithubState:
    return GithubState(ancestors={(OLDER, BASE), (OLDEST, BASE)})


@pytest.fixture
def address(state: GithubState) -> Iterator[str]:
    with github_server(state) as base:
        yield base


def results(head: str = BASE, **changes: Any) -> bytes:
    subject = replace(PUSH, head=head)
    reported = {"results": (sample_scored(scores=(sample_score(),)),), "started_at": MORNING, "subject": subject}
    return render_results(summarise(sample_report(**reported | changes))).encode()


def packed(content: bytes, name: str = "results.json", mode: int = 0o100644) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        entry = zipfile.ZipInfo(name)
        entry.external_attr = mode << 16
        archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return written.getvalue()


def artifact(number: int, commit: str = BASE, content: bytes | None = None, **changes: Any) -> Artifact:
    run = Run(number=changes.pop("run", 100 + number), commit=commit, **changes.pop("of", {}))
    archive = packed(results(commit)) if content is None else content
    return replace(Artifact(number, "ratiba-baseline", run, archive), **changes)


def search(address: str, **changes: Any) -> FoundBaseline:
    return find_artifacts(by_pygithub(GithubApi(REPOSITORY, TOKEN, address, {}, **changes)), WANTED)


def commits(found: FoundBaseline) -> Sequence[str | None]:
    return [run.commit for run in found.runs]


def test_the_run_of_the_commit_itself_is_taken_though_a_newer_one_exists(state: GithubState, address: str) -> None:
    state.kept += [artifact(1), artifact(2, OLDER, created_at="2026-04-26T07:00:00Z")]
    found = search(address)
    assert (commits(found), found.source, found.notes) == ([BASE], "main", ())


def test_without_one_the_newest_that_the_change_starts_from_is_taken(state: GithubState, address: str) -> None:
    state.kept += [
        artifact(1, OLDEST, created_at="2026-04-23T07:00:00Z"),
        artifact(2, OLDER, created_at="2026-04-24T07:00:00Z"),
        artifact(3, ELSEWHERE, created_at="2026-04-26T07:00:00Z"),
    ]
    assert commits(search(address)) == [OLDER]


def test_what_was_left_after_the_last_moment_is_not_there_yet(state: GithubState, address: str) -> None:
    state.kept = [artifact(2, created_at="2026-04-25T08:00:01Z"), artifact(1, OLDER, created_at="2026-04-25T08:00:00Z")]
    assert commits(search(address)) == [BASE]
    wanted = replace(WANTED, until="2026-04-25T08:00:00Z")
    found = find_artifacts(by_pygithub(GithubApi(REPOSITORY, TOKEN, address, {})), wanted)
    assert commits(found) == [OLDER]


def test_several_runs_of_one_commit_are_pooled(state: GithubState, address: str) -> None:
    for number in range(1, 6):
        reported = results(started_at=MORNING + timedelta(hours=number))
        state.kept.append(artifact(number, content=packed(reported), created_at=f"2026-04-25T0{number}:00:00Z"))
    assert [run.started_at.hour for run in search(address).runs] == [12, 11, 10]


def test_the_token_stays_with_the_api(state: GithubState, address: str) -> None:
    state.kept.append(artifact(1))
    assert search(address).runs
    (stored,) = [request for request in state.received if request.path.startswith("/storage/")]
    assert "authorization" not in stored.headers
    assert TOKEN not in repr(dict(stored.headers))


@pytest.mark.parametrize(
    "planted",
    [
        pytest.param({"of": {"head_repository": "mallory/assistant", "event": "pull_request"}}, id="of a fork"),
        pytest.param({"of": {"head_repository": "mallory/assistant"}}, id="of a fork that says push"),
        pytest.param({"of": {"event": "pull_request"}}, id="of a pull request"),
        pytest.param({"of": {"event": "pull_request_target"}}, id="of a pull request's target"),
        pytest.param({"of": {"event": "workflow_run"}}, id="of a workflow after a fork's"),
        pytest.param({"of": {"branch": "change"}}, id="of another branch"),
        pytest.param({"of": {"conclusion": "failure"}}, id="of a failed run"),
        pytest.param({"of": {"conclusion": None}}, id="of a run that goes on"),
        pytest.param({"expired": True}, id="expired"),
        pytest.param({"name": "other-baseline"}, id="of another gate"),
    ],
)
def test_what_another_may_have_planted_is_not_even_downloaded(
    state: GithubState, address: str, planted: dict[str, Any]
) -> None:
    state.kept += [artifact(1, OLDER), artifact(2, created_at="2026-04-27T07:00:00Z", **planted)]
    assert commits(search(address)) == [OLDER]
    assert not [path for _, path in state.requests if "artifacts/2/zip" in path]


def test_a_hundred_artifacts_of_a_fork_do_not_hide_the_branchs_own(state: GithubState, address: str) -> None:
    fork = {"head_repository": "mallory/assistant", "event": "pull_request"}
    state.kept += [artifact(number, created_at="2026-04-27T07:00:00Z", of=fork) for number in range(2, 152)]
    state.kept.append(artifact(1))
    assert commits(search(address)) == [BASE]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"subject": Subject(repository=REPOSITORY, head=BASE, event="workflow_dispatch", pull_request=7)},
            "of a pull request",
        ),
        ({"subject": Subject(repository=REPOSITORY, head=BASE, event="pull_request")}, "of a pull request"),
        ({"subject": Subject(repository="someone/else", head=BASE, event="push")}, "of the repository 'someone/else'"),
        ({"subject": Subject(repository=REPOSITORY, head=ELSEWHERE, event="push")}, f"of the commit '{ELSEWHERE}'"),
        ({"commit": ELSEWHERE}, f"of the commit '{ELSEWHERE}'"),
        ({"name": "another"}, "of the gate 'another'"),
        ({"results": ()}, "no measured scenario"),
    ],
)
def test_results_that_are_not_the_branchs_own_are_a_note_and_the_next_are_taken(
    state: GithubState, address: str, changes: dict[str, Any], why: str
) -> None:
    state.kept += [artifact(1, OLDER), artifact(2, content=packed(results(**changes)))]
    found = search(address)
    assert commits(found) == [OLDER]
    assert why in found.notes[0]


def bomb() -> bytes:
    written = io.BytesIO()
    with (
        zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("results.json", "w") as file,
    ):
        for _ in range(251):
            file.write(b"0" * 1_000_000)
    return written.getvalue()


def twice() -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("results.json", "{}")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("results.json", results())
    return written.getvalue()


@pytest.mark.parametrize(
    ("archive", "why"),
    [
        pytest.param(lambda: b"", "damaged", id="empty"),
        pytest.param(lambda: packed(results())[:-40], "damaged", id="truncated"),
        pytest.param(lambda: b"PK" + b"\x00" * 500, "damaged", id="no archive"),
        pytest.param(lambda: packed(b"/etc/passwd", mode=stat.S_IFLNK | 0o777), "is a link", id="symbolic link"),
        pytest.param(lambda: packed(results(), "../results.json"), "leads out", id="path traversal"),
        pytest.param(lambda: packed(results(), "/results.json"), "leads out", id="absolute path"),
        pytest.param(lambda: packed(results(), "other/results.json"), "0 times", id="elsewhere"),
        pytest.param(twice, "2 times", id="twice"),
        pytest.param(bomb, "more than 250,000,000 bytes", id="bomb"),
        pytest.param(lambda: packed(b"not json"), "JSON", id="no JSON"),
        pytest.param(lambda: packed(b'{"schema": 2}'), "schema 2", id="another version"),
    ],
)
def test_a_hostile_archive_is_a_note_and_nothing_more(state: GithubState, address: str, archive: Any, why: str) -> None:
    state.kept.append(artifact(1, content=archive()))
    found = search(address)
    assert found.runs == ()
    assert why in " ".join(found.notes)


def test_a_size_that_an_archive_claims_is_never_reserved(state: GithubState, address: str) -> None:
    good = packed(results())
    directory = good.rindex(b"PK\x01\x02")
    claimed = good[: directory + 24] + b"\xf0\xff\xff\xff" + good[directory + 28 :]
    state.kept.append(artifact(1, content=claimed))
    found = search(address)
    assert found.runs == ()
    assert "more than 250,000,000 bytes" in found.notes[0]


def test_a_missing_right_is_reported_with_its_name(state: GithubState, address: str) -> None:
    state.failure = (403, "Resource not accessible by integration")
    found = search(address)
    assert found.runs == ()
    assert "actions: read" in found.notes[0]
    assert not found.unanswered, "nor will it be answered in a minute"


def test_too_many_requests_are_no_missing_right(state: GithubState, address: str) -> None:
    state.failure = (403, "You have exceeded a secondary rate limit.")
    found = search(address, deadline_seconds=0.2)
    assert (found.runs, found.unanswered) == ((), True)
    assert "actions: read" not in found.notes[0]


class Gone:
    """GitHub, where an artifact has been replaced since it was listed."""

    def __init__(self, github: GithubRepository) -> None:
        self._github = github

    def __getattr__(self, name: str) -> Any:
        return getattr(self._github, name)

    def download_artifact(self, artifact: int) -> bytes:
        raise GithubError(f"GitHub answered 404 to {artifact}.", status=404)


def test_an_artifact_that_goes_away_after_it_was_listed_is_no_answer(state: GithubState, address: str) -> None:
    state.kept.append(artifact(1))
    github: Any = Gone(by_pygithub(GithubApi(REPOSITORY, TOKEN, address, {})))
    found = find_artifacts(github, WANTED)
    assert (found.runs, found.unanswered) == ((), True)


def test_a_github_that_does_not_answer_ends_the_search_in_time(state: GithubState, address: str) -> None:
    state.gate.clear()
    found = search(address, deadline_seconds=0.2)
    assert (found.notes, found.unanswered) == (("No baseline: GitHub took too long.",), True)


@pytest.mark.parametrize("content", [[], {}, {"artifacts": None}, {"artifacts": [None, 3, {"workflow_run": []}]}, "no"])
def test_an_answer_of_another_shape_is_a_note_or_nothing(state: GithubState, address: str, content: Any) -> None:
    state.answers["/repos/ratiba/assistant/actions/artifacts?name=ratiba-baseline&per_page=100&page=1"] = content
    assert search(address).runs == ()


@pytest.mark.parametrize(
    "location",
    ["http://storage.example/file", "ftp://127.0.0.1/file", "https://user@storage.example/f", "", "file:///etc/passwd"],
)
def test_a_file_is_fetched_only_from_behind_https_and_its_signature_stays_secret(location: str) -> None:
    redirect = f"HTTP/1.1 302 Found\r\nLocation: {location}?sig=planted\r\nContent-Length: 0\r\n\r\n".encode()

    def serve(connection: socket.socket, _: threading.Event) -> None:
        connection.recv(65_536)
        connection.sendall(redirect)

    with raw_server(serve) as base, pytest.raises(GithubError, match="no address behind https") as caught:
        GithubApi(REPOSITORY, TOKEN, f"http://{base}", {}).download("actions/artifacts/1/zip")
    assert "planted" not in str(caught.value)


ATTEMPT = Attempt("ratiba", BASE, "5f" * 32, "claude-opus-5-5", run_id=1001, run_attempt=3)


def attempt(number: int, run_attempt: int, **changes: Any) -> Artifact:
    subject = Subject(
        repository=REPOSITORY, pull_request=7, head="a" * 40, event="pull_request", run_id=1001, run_attempt=run_attempt
    )
    reported = results(subject=subject, **{"commit": BASE, "llm": "live"} | changes)
    return artifact(
        number,
        "a" * 40,
        packed(reported),
        name="ratiba-report",
        run=1001,
        of={"event": "pull_request", "conclusion": None},
    )


def test_earlier_attempts_of_a_run_are_added_in_their_order(state: GithubState, address: str) -> None:
    state.kept += [attempt(1, 2), attempt(2, 1), attempt(3, 3)]
    runs = attempts_on_github(by_pygithub(GithubApi(REPOSITORY, TOKEN, address, {})), ATTEMPT)
    assert [run.answers for run in runs] == ["live", "live"]


@pytest.mark.parametrize(
    "changes",
    [
        {"commit": OLDER},
        {"commit": ""},
        {"suite_digest": "00" * 32},
        {"judge_model": "gpt-6"},
        {"llm": "replay"},
        {"name": "other"},
    ],
)
def test_an_attempt_that_measured_anything_else_adds_nothing(
    state: GithubState, address: str, changes: dict[str, Any]
) -> None:
    state.kept.append(attempt(1, 1, **changes))
    assert attempts_on_github(by_pygithub(GithubApi(REPOSITORY, TOKEN, address, {})), ATTEMPT) == ()


@pytest.mark.parametrize("llm", [[], {}, None, 3])
def test_an_attempt_with_any_other_source_of_answers_adds_nothing(state: GithubState, address: str, llm: Any) -> None:
    content = json.loads(results(commit=BASE, llm="live", subject=replace(PUSH, run_id=1001)))
    content["report"]["llm"] = llm
    state.kept.append(replace(attempt(1, 1), content=packed(json.dumps(content).encode())))
    assert attempts_on_github(by_pygithub(GithubApi(REPOSITORY, TOKEN, address, {})), ATTEMPT) == ()


def test_a_first_attempt_asks_nothing(state: GithubState, address: str) -> None:
    assert (
        attempts_on_github(by_pygithub(GithubApi(REPOSITORY, TOKEN, address, {})), replace(ATTEMPT, run_attempt=1))
        == ()
    )
    assert state.requests == []


def test_the_results_hold_no_more_than_json(state: GithubState, address: str) -> None:
    state.kept.append(artifact(1, content=packed(json.dumps({"schema": 1, "report": {"results": 7}}).encode())))
    assert "could not be read" in search(address).notes[0]
