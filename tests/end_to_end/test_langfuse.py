"""The gate as a process with the keys of Langfuse: sent to a server in health, and never held up by one that is not."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("langfuse", reason="needs the extra 'langfuse'")

from ratiba_action.main import run
from tests.support.import_times import ASKED_FOR, imported
from tests.support.langfuse_server import LangfuseState, Mode, langfuse_server
from tests.support.langfuse_state import NEWEST, older_langfuse
from tests.support.small_repository import SmallRepository


def keys(host: str, state: LangfuseState) -> dict[str, str]:
    return state.environment(host)


def resend(events: Path, **variables: str) -> int:
    return run(["report", "--resend-langfuse", str(events)], dict(variables))


def test_conversations_are_in_langfuse_and_linked_in_the_comment(small: SmallRepository) -> None:
    state = LangfuseState()
    small.scenario("holds", "say hello")
    small.scenario("fails", "say hello", expect="NEVER")
    with langfuse_server(state) as host:
        ended = small.gate(**keys(host, state), RATIBA_LANGFUSE_SECONDS="60")
        links = ended.results["report"]["traces"]["links"]
    assert ended.code == 1, ended.printed
    assert {span.name for span in state.spans if not span.parent_id} == {"holds", "fails"}
    assert {score["name"] for score in state.scores.values()} == {"ratiba_passed"}
    assert "2 scenarios in Langfuse" in ended.comment
    assert ended.comment.index("[fails](") < ended.comment.index("[holds](")
    assert f"[holds]({next(link['url'] for link in links if link['label'] == 'holds')})" in ended.comment
    assert "Langfuse lacks" not in ended.comment
    assert state.secret_key not in ended.printed + ended.comment + json.dumps(ended.results)


@contextmanager
def dead_port() -> Iterator[str]:
    """An address at which nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.parametrize(
    ("mode", "expect", "verdict"),
    [
        (Mode.BLACK_HOLE, "SAID", (0, "passed")),
        (Mode.FAILING, "NEVER", (1, "failed")),
        (Mode.REJECTING, "SAID", (0, "passed")),
        (None, "NEVER", (1, "failed")),
    ],
    ids=["black hole", "500", "207", "dead"],
)
def test_a_server_that_is_not_well_changes_no_verdict_and_what_is_missing_is_sent_later_once(
    small: SmallRepository,
    capsys: pytest.CaptureFixture[str],
    mode: Mode | None,
    expect: str,
    verdict: tuple[int, str],
) -> None:
    seconds = "1" if mode is Mode.BLACK_HOLE else "60"
    state = LangfuseState(mode=mode or Mode.HEALTHY)
    small.scenario("one", "say hello", expect=expect)
    with langfuse_server(state) as host, dead_port() as dead:
        ended = small.gate(**keys(host if mode else dead, state), RATIBA_LANGFUSE_SECONDS=seconds)
        assert (ended.code, ended.outputs["conclusion"]) == verdict, ended.printed
        assert "Langfuse lacks" in ended.comment
        assert "ratiba report --resend-langfuse" in ended.comment
        assert bool(state.spans) is (mode is Mode.REJECTING)
        state.mode = Mode.HEALTHY
        codes = [resend(ended.report / "events.jsonl", **keys(host, state)) for _ in range(2)]
    assert codes == [0, 0]
    assert capsys.readouterr().out.count("has everything: 1 scenario with") == 2
    assert set(state.span_copies.values()) == set(state.score_copies.values()) == {1}


@pytest.mark.parametrize(
    ("lacks", "expect", "verdict"),
    [(NEWEST, "NEVER", (1, "failed")), (NEWEST | {"GET /traces"}, "SAID", (0, "passed"))],
    ids=["verified by the older list", "not verified"],
)
def test_an_older_server_gets_the_run_and_changes_no_verdict(
    small: SmallRepository,
    capsys: pytest.CaptureFixture[str],
    lacks: frozenset[str],
    expect: str,
    verdict: tuple[int, str],
) -> None:
    state = older_langfuse(lacks)
    small.scenario("one", "say hello", expect=expect)
    with langfuse_server(state) as host:
        ended = small.gate(**keys(host, state), RATIBA_LANGFUSE_SECONDS="60")
        code = resend(ended.report / "events.jsonl", **keys(host, state))
    assert (ended.code, ended.outputs["conclusion"]) == verdict, ended.printed
    assert set(state.span_copies.values()) == set(state.score_copies.values()) == {1}
    assert "Langfuse lacks" not in ended.comment
    verified = lacks == NEWEST
    assert ("was sent to Langfuse and not verified: it has neither" in ended.comment) is not verified
    assert code == (0 if verified else 3)
    output = capsys.readouterr().out
    assert ("has everything: 1 scenario with" if verified else "may store it twice") in output


def test_without_keys_nothing_of_langfuse_is_imported_or_said(small: SmallRepository) -> None:
    small.scenario("holds", "say hello")
    ended = small.gate(RATIBA_LANGFUSE_HOST="https://langfuse.example", **ASKED_FOR)
    assert ended.code == 0
    assert imported(ended.printed) & {"langfuse", "opentelemetry", "httpx"} == set()
    assert ended.results["report"]["traces"] is None
    assert "Langfuse" not in ended.comment


def test_a_dead_server_is_reported_by_a_resend(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "events.jsonl").write_text("torn\n")
    with dead_port() as host:
        assert resend(tmp_path / "events.jsonl", **keys(host, LangfuseState())) == 3
    printed = capsys.readouterr()
    assert "events.jsonl:1: it is not JSON" in printed.err
    assert "it cannot be reached" in printed.out


def test_a_resend_without_keys_or_file_is_a_misuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert resend(tmp_path / "events.jsonl") == 2
    assert resend(tmp_path / "events.jsonl", **keys("http://127.0.0.1:1", LangfuseState())) == 2
    stderr = capsys.readouterr().err
    assert "The keys of Langfuse are not set" in stderr
    assert "cannot be read" in stderr
