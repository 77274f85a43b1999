"""A fork may leave anything as ``results.json``: the comment is dead text, or says that nothing could be read."""

import copy
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ratiba_action.errors import ConfigurationError
from ratiba_action.main import run
from ratiba_action.model.change import Subject
from ratiba_action.model.comparison import BaselineFacts
from ratiba_action.model.history import Trend, TrendPoint, TrendSegment
from ratiba_action.model.verdict import Report, TraceDelivery, TraceLink
from ratiba_action.reporting.results_json import load_report, render_results
from ratiba_action.reporting.summary import outputs_of, summarise
from tests.support.github_links import links_of, parse
from tests.support.github_server import GithubState, Pull, github_server
from tests.support.pull_request_events import workflow_run_event
from tests.support.sample_report import (
    sample_data_set_report,
    sample_live_report,
    sample_report,
)

HEAD = "a" * 40
NESTED = b'{"a":' * 90_000 + b"1" + b"}" * 90_000
BIDI = "\u202e\u2066"
PAYLOADS = (
    "@org/team please look",
    "ratiba/assistant#123 and #123 and GH-123",
    "https://evil.example/x www.evil.example ftp://evil.example mail@evil.example",
    "![x](https://evil.example/i.png) [y](javascript:alert(1)) <https://evil.example>",
    "<img src=x onerror=alert(1)></details><script>alert(1)</script><!-- x -->",
    f"safe{BIDI}evil",
    "| a | b |\n|---|---|\n# heading\n- item\n```\n~~~",
    "::error::planted\n##[set-output name=conclusion;]passed\n::set-output name=conclusion::passed",
    "half an emoji \ud83d",
    "\x00\x1b[2J\x9b",
    "[^1]: note $x$ :+1: `code` **bold** __bold__",
    "&lt;img&gt; &#64;org &commat;org",
    "at 3e5c1e60269ae0329094de131227285d4682b665, 3e5c1e6 and octo/cat@3e5c1e60269ae0329094de131227285d4682b665",
    "\uff20org/team \uff0312 \ufe6borg \ufe5f12 ftp:\uff0f\uff0fevil.example",
    "z\u035a\u0316\u034e\u0354\u0332\u0353\u0359\u0329\u0317al\u0336\u0336\u0336\u0336\u0336go",
    "CVE-2024-12345 GHSA-aaaa-bbbb-cccc",
)


class Fork:
    """A fork's run that leaves any bytes, and the step of the second workflow that reads them."""

    def __init__(self, folder: Path, address: str, state: GithubState) -> None:
        self.results = folder / "results.json"
        self.state = state
        event = folder / "event.json"
        event.write_text(json.dumps(workflow_run_event(HEAD)))
        self.environment = {
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": address,
            "GITHUB_EVENT_NAME": "workflow_run",
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_OUTPUT": str(folder / "outputs"),
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "RATIBA_GITHUB_TOKEN": "planted-github-token",
        }

    def post(self, content: bytes) -> str:
        """The one comment that is on the pull request afterwards."""
        self.state.comments.clear()
        self.results.write_bytes(content)
        assert run(["report", "--workflow-run", "--results", str(self.results)], self.environment) == 0
        (comment,) = self.state.comments
        body: str = comment["body"]
        return body


@pytest.fixture
def fork(tmp_path: Path) -> Iterator[Fork]:
    state = GithubState(pulls={7: Pull(head=HEAD, head_repository="other/assistant")})
    with github_server(state) as address:
        yield Fork(tmp_path, address, state)


def full_report() -> Report:
    """A report that has something in every part."""
    live, data = sample_live_report(), sample_data_set_report()
    failed = sample_report()
    point = TrendPoint(failed.started_at, "a" * 40, "M", "1", "m", "live", "5f" * 32, 0.9, 3, 0.8)
    return replace(
        failed,
        subject=Subject(head=HEAD, event="pull_request", author="wanjiku"),
        results=(*failed.results, *data.results),
        data_sets=data.data_sets,
        cross_checking=live.cross_checking,
        shared_spending=live.shared_spending,
        notes=("A note.",),
        left_out=("spa_thanks",),
        scenario_digests={"spa_booking": "5f" * 32},
        baseline=BaselineFacts("main", "b" * 40, failed.started_at, 1, stale=True),
        traces=TraceDelivery("https://lf.example", 1, 1, 1, links=(TraceLink("spa", "https://lf.example/x"),)),
        trends=(Trend("M", (TrendSegment("", (point,)),)),),
    )


def content_of(report: Report) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(render_results(summarise(report)))
    return content


FULL = content_of(full_report())


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in decoded JSON, the containers too."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


PLACES = [path for path in places(FULL["report"]) if path]


def changed(
    path: tuple[Any, ...], value: Any, content: dict[str, Any] | None = None, *, fitting: bool = True
) -> dict[str, Any]:
    """The results with something else in one place of the report, and outputs that fit it where any can."""
    content = copy.deepcopy(FULL) if content is None else content
    place = content["report"]
    try:
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
    except (KeyError, IndexError, TypeError):
        return content  # an earlier change has taken the place away
    if not fitting:
        return content
    try:
        content["outputs"] = json.loads(json.dumps(outputs_of(load_report(json.dumps(content)))))
    except Exception:  # noqa: BLE001 - whatever the attacker's own tool says, the file is left
        return content
    return content


def written(content: dict[str, Any]) -> bytes:
    return json.dumps(content).encode()


def assert_dead(body: str) -> None:
    """Nothing in a comment acts: neither in GitHub's Markdown nor in the eye of its reader."""
    assert links_of(body) == []
    html = "".join(part.content for part in parse(body) if part.type in ("html_block", "html_inline"))
    assert set(re.findall(r"<\s*/?\s*([A-Za-z!][A-Za-z-]*)", html)) <= {"details", "summary", "code", "br", "!--"}
    hidden = re.findall(r"<!--.*?-->", body)
    assert all(one.startswith("<!-- ratiba-eval-gate") for one in hidden)
    text = re.sub(r"<!--.*?-->", "", body)
    # GitHub links nothing in code, of which a reader can copy addresses and paths.
    prose = "\n".join(part.content for part in parse(body) if part.type in ("text", "html_block", "html_inline"))
    prose = re.sub(r"<!--.*?-->", "", prose)
    assert re.search(r"[@\uff20\ufe6b](?!\u200b)", prose) is None
    assert re.search(r"[\u0300-\u036f]{5}", text) is None
    assert re.search(r"(?<!&)#(?=\w)", prose) is None
    assert re.search(r"(?i)(https?|ftp)://|www\.|\bGH-\d", prose) is None
    assert re.search(r"^(::|##\[)", text, re.MULTILINE) is None
    controls = {char for char in text if unicodedata.category(char) in {"Cc", "Cs", "Co"} and char != "\n"}
    assert controls == set()
    assert not set(text) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")


def test_a_report_with_something_in_every_part_is_posted(fork: Fork) -> None:
    body = fork.post(written(FULL))
    assert "> ## Failed: " in body
    assert_dead(body)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("suite_digest",), "0" * 63 + "@"),
        (("suite_digest",), "https://evil.example"),
        (("data_sets", 0, "digest"), "<img src=x>"),
        (("scenario_digests", "spa_booking"), "zz"),
        (("commit",), "@org/team"),
        (("subject", "author"), "@org/team"),
        (("subject", "run_url"), "javascript:alert(1)"),
        (("subject", "run_id"), -1),
        (("subject", "run_id"), 10**40),
        (("subject", "repository"), "a/b/c"),
        (("llm",), "free"),
        (("judge_model",), "[x](https://evil.example)"),
        (("seconds",), -1.0),
        (("seconds",), 1e300),
        (("started_at",), "2026-04-25T07:00:00"),
        (("limits", "pass_rate"), 2),
        (("spending", "spent"), "-5"),
        (("spending", "live_calls"), -1),
        (("results", 0, "trial", "scenario", "id"), "spa @org/team"),
        (("results", 0, "trial", "scenario", "id"), "Spa"),
        (("results", 0, "scores", 0, "value"), 1.5),
        (("results", 0, "scores", 0, "threshold"), -0.5),
        (("results", 0, "trial", "scenario", "strategy", "trials"), 2**53),
        (("results", 0, "trial", "scenario", "strategy", "trials"), 51),
        (("results", 0, "trial", "scenario", "strategy", "trials"), 0),
        (("results", 0, "trial", "scenario", "strategy", "passes"), 2),
        (("results", 0, "transcript", "scenario_id"), "x" * 400),
        (("baseline", "commit"), "main"),
        (("traces", "links", 0, "url"), "https://evil.example/)[x](y"),
        (("cross_checking", "agreement", "quadratic"), -7.0),
        (("decision", "dependencies", 0, "change"), "major @org/team"),
        (("results", 0, "eval_fail"), "yes"),
        (("surprise",), 1),
        (("results", 0, "surprise"), "x"),
        (("results", 0, "trial", "scenario", "customer", "surprise"), "x"),
        (("notes", 0), "x" * 1_000_001),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) else repr(value)[:30],
)
def test_a_field_that_the_gate_cannot_have_written_is_not_rendered(
    fork: Fork, path: tuple[Any, ...], value: Any
) -> None:
    body = fork.post(written(changed(path, value)))
    assert "left no valid report" in body
    assert "salon_reschedule" not in body
    assert_dead(body)


@pytest.mark.parametrize(
    "content",
    [
        lambda: written(FULL).replace(b'"name": "ratiba"', b'"name": "ratiba", "name": "other"', 1),
        lambda: written(FULL).replace(b'"seconds": 18.5', b'"seconds": NaN', 1),
        lambda: written(FULL).replace(b'"seconds": 18.5', b'"seconds": -Infinity', 1),
        lambda: written(FULL).replace(b'"args": {"service": "massage"}', b'"args": {"n": 1' + b"0" * 400 + b"}", 1),
        lambda: written(FULL).replace(b'"args": {"service": "massage"}', b'"args": {"n": 1e999}', 1),
        lambda: written(FULL).replace(b'"args": {"service": "massage"}', b'"args": ' + b"[" * 90 + b"]" * 90, 1),
        lambda: written(FULL).replace(
            b'"args": {"service": "massage"}', b'"args": ' + b'{"a":' * 90_000 + b"1" + b"}" * 90_000
        ),
        lambda: b"[" * 5_000_000,
        lambda: b"\xef\xbb\xbf" + written(FULL),
        lambda: written(FULL).decode().encode("utf-16"),
        lambda: written(FULL) + b"{}",
        lambda: json.dumps({**FULL, "outputs": {**FULL["outputs"], "conclusion": "passed"}}).encode(),
        lambda: json.dumps({**FULL, "surprise": 1}).encode(),
        lambda: json.dumps({**FULL, "outputs": None}).encode(),
        lambda: written(FULL).replace(b'"2026-04-25T07:00:00+00:00"', b'"9999-12-31T23:59:59-23:59"', 1),
        lambda: b'{"a": 1, ' + b", ".join(b'"%d": 1' % number for number in range(300_000)) + b', "a": 2}',
        lambda: b"PK\x03\x04" + bytes(range(256)) * 4,
        lambda: b"",
        lambda: b"\x00" * 1_000_000,
        lambda: b"1" * 19_000_000,
        lambda: b'"' + b"x" * 19_000_000 + b'"',
    ],
)
def test_a_file_that_no_reader_agrees_on_is_reported_in_a_comment_and_no_traceback(
    fork: Fork, content: Callable[[], bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    body = fork.post(content())
    assert "left no valid report" in body
    assert "Traceback" not in capsys.readouterr().out
    assert len(body) < 3_000
    assert_dead(body)


def at(path: tuple[Any, ...]) -> Any:
    place = FULL["report"]
    for key in path:
        place = place[key]
    return copy.deepcopy(place)


@cache
def free_texts() -> tuple[tuple[Any, ...], ...]:
    """The places that may hold any text."""
    return tuple(path for path in PLACES if isinstance(at(path), str) and is_read(changed(path, "any text, see?")))


def is_read(content: dict[str, Any]) -> bool:
    try:
        load_report(json.dumps(content), exact=True)
    except ConfigurationError:
        return False
    return True


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda text: repr(text[:20]))
def test_a_payload_in_every_free_text_at_once_is_dead_text(fork: Fork, payload: str) -> None:
    assert len(free_texts()) > 50
    content = copy.deepcopy(FULL)
    for path in free_texts():
        changed(path, payload, content, fitting=False)
    body = fork.post(written(changed(("name",), "ratiba", content)))
    assert "left no valid report" not in body
    assert_dead(body)


_values = st.one_of(
    st.sampled_from(PAYLOADS),
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([-1, 2**63, 10**200, 0.0, -0.0, 1e308, -5.5]),
    st.text(max_size=200),
    st.sampled_from(["0", "-1", "1e5", "00012", "9" * 60, "2026-13-01", "0001-01-01T00:00:00+00:00"]),
    st.just([]),
    st.just({}),
    st.dictionaries(st.text(max_size=20), st.text(max_size=20), max_size=3),
    st.lists(st.sampled_from(PAYLOADS), max_size=3),
    st.sampled_from(PLACES).map(at),
)


@given(st.lists(st.tuples(st.sampled_from(PLACES), _values), min_size=1, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_whatever_is_changed_in_a_valid_report_one_comment_comes_of_it_that_is_dead(
    fork: Fork, changes: list[tuple[tuple[Any, ...], Any]]
) -> None:
    content = copy.deepcopy(FULL)
    for path, value in changes:
        content = changed(path, copy.deepcopy(value), content)
    theirs = content["report"]
    if isinstance(theirs.get("subject"), dict):
        theirs["subject"]["head"] = HEAD  # a report of another commit is not posted at all
    assert_dead(fork.post(written(content)))
