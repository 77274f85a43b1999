"""What an HTTP answer means for the money, and for how long it asks to wait."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.llm.endpoints import FORMATS
from ratiba_action.llm.providers.answers import Answered, Refused, Unknown, read_answer

OWN = FORMATS["openai"].own_error
ERROR = json.dumps({"error": {"message": "busy"}})


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0"}, 0.0),
        ({"Retry-After": "7", "Retry-After-Ms": "250"}, 0.25),
        ({"Retry-After": "Sun, 22 Nov 2026 10:00:30 GMT", "Date": "Sun, 22 Nov 2026 10:00:00 GMT"}, 30.0),
        ({"Retry-After": "Sun, 22 Nov 2026 09:00:00 GMT", "Date": "Sun, 22 Nov 2026 10:00:00 GMT"}, 0.0),
        ({"Retry-After": "Sun, 22 Nov 2026 10:00:30 GMT"}, None),
        ({"Retry-After": "-1"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "1e9"}, None),
        ({}, None),
    ],
)
def test_the_wait_is_read_as_seconds_or_as_a_date(headers: dict[str, str], seconds: float | None) -> None:
    outcome = read_answer(429, headers, ERROR, OWN)
    assert isinstance(outcome, Refused)
    assert outcome.retry_after == seconds


@pytest.mark.parametrize("status", [500, 502, 503, 504, 520, 524, 529])
def test_a_server_error_without_the_providers_own_body_may_have_been_charged_for(status: int) -> None:
    assert isinstance(read_answer(status, {}, ERROR, OWN), Refused)
    for text in ("", "<html>", "[]", '{"error": "busy"}', '{"detail": 1}'):
        assert isinstance(read_answer(status, {}, text, OWN), Unknown)


@pytest.mark.parametrize("status", [400, 404, 413, 429])
def test_a_refusal_needs_no_particular_body(status: int) -> None:
    outcome = read_answer(status, {"Content-Type": "text/html"}, "<html>\n::error::no</html>", OWN)
    assert isinstance(outcome, Refused)
    assert outcome.message.isprintable()
    assert outcome.message.startswith("<html>")


@given(
    status=st.integers(100, 599),
    kind=st.sampled_from(["application/json", "application/json; charset=utf-8", "text/html", ""]),
    text=st.text() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps),
)
def test_only_a_whole_json_object_with_status_200_is_an_answer(status: int, kind: str, text: str) -> None:
    outcome = read_answer(status, {"Content-Type": kind}, text, OWN)
    assert not isinstance(outcome, Answered)
    if isinstance(outcome, Refused):
        assert status >= 300
        assert len(outcome.message) <= 3_000
        assert outcome.message.isprintable()


@pytest.mark.parametrize(
    "broken",
    [
        {"choices": [{"message": {"content": "Half an"}}], "error": {"code": 502, "message": "upstream broke"}},
        {"choices": [{"message": {"content": "Half"}, "error": {"code": 502, "message": "upstream broke"}}]},
        {"choices": [{"message": {"content": "Half an"}, "finish_reason": "error"}]},
        {"object": "response", "status": "failed", "error": {"code": "server_error", "message": "upstream broke"}},
    ],
)
def test_an_answer_that_ended_early_with_an_error_is_none(broken: dict[str, object]) -> None:
    outcome = read_answer(200, {"Content-Type": "application/json"}, json.dumps(broken), OWN)
    assert isinstance(outcome, Unknown)
    assert outcome.reason.startswith("it ended early with an error: ")


@pytest.mark.parametrize("error", [None, {}, ""])
def test_an_error_that_is_empty_is_none(error: object) -> None:
    text = json.dumps({"choices": [{"finish_reason": "stop", "error": error}], "error": error})
    assert isinstance(read_answer(200, {"Content-Type": "application/json"}, text, OWN), Answered)


def test_an_answer_with_a_key_twice_has_no_known_cost() -> None:
    text = '{"usage": {"completion_tokens": 900000}, "usage": {"completion_tokens": 9}}'
    assert isinstance(read_answer(200, {"Content-Type": "application/json"}, text, OWN), Unknown)


@pytest.mark.parametrize(
    ("error", "named"),
    [
        ({"code": "unsupported_country_region_territory", "message": "x"}, " (unsupported_country_region_territory)"),
        ({"type": "permission_error", "message": "no right of sk-ant-abc"}, " (permission_error)"),
        ({"code": "sk-proj-abc", "message": "x"}, ""),
        ({"code": 403, "message": "x"}, ""),
    ],
)
def test_a_refused_key_is_answered_with_the_code_and_without_the_words(error: dict[str, object], named: str) -> None:
    outcome = read_answer(403, {}, json.dumps({"error": error}), OWN)
    assert isinstance(outcome, Refused)
    assert outcome.message == f"the key is wrong, or has no right to this model{named}"
