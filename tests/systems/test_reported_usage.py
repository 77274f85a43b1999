"""The usage that a reply tells of is read strictly: it becomes money."""

from typing import Any

import pytest

from ratiba_action.errors import WorkerError
from ratiba_action.model.conversation import ReportedUsage, Usage
from ratiba_action.systems.dialogue import parse_reported_usage

CALL = {"model": "gpt-5", "input_tokens": 10, "output_tokens": 2}


def test_each_call_is_read_with_its_cached_tokens() -> None:
    cached = {**CALL, "provider": "openai", "cache_read_tokens": 3, "cache_write_tokens": 4}
    assert parse_reported_usage({"text": "x", "usage": [CALL, cached]}) == (
        ReportedUsage("gpt-5", "", Usage(10, 2)),
        ReportedUsage("gpt-5", "openai", Usage(10, 2, 3, 4)),
    )


@pytest.mark.parametrize("answer", [{}, {"usage": None}, {"usage": []}])
def test_a_reply_may_tell_nothing(answer: dict[str, Any]) -> None:
    assert parse_reported_usage(answer) == ()


@pytest.mark.parametrize(
    ("usage", "message"),
    [
        ({"model": "gpt-5"}, "not a list"),
        ([CALL] * 1_001, "not a list of at most 1000"),
        ([None], r"usage\[0\]` is not an object"),
        ([CALL, {**CALL, "cost": 0}], r"usage\[1\]` is not an object of model"),
        ([{**CALL, "model": " "}], r"usage\[0\]\.model"),
        ([{**CALL, "model": "a\nb"}], r"usage\[0\]\.model"),
        ([{**CALL, "provider": "mine"}], r"usage\[0\]\.provider"),
        ([{**CALL, "provider": ["openai"]}], r"usage\[0\]\.provider"),
        ([{**CALL, "input_tokens": -1}], r"usage\[0\]\.input_tokens"),
        ([{**CALL, "input_tokens": True}], r"usage\[0\]\.input_tokens"),
        ([{**CALL, "output_tokens": 1.5}], r"usage\[0\]\.output_tokens"),
        ([{**CALL, "output_tokens": 10**10}], r"usage\[0\]\.output_tokens"),
        ([{"model": "gpt-5", "input_tokens": 1}], r"usage\[0\]\.output_tokens"),
        ([{**CALL, "cache_read_tokens": None}], r"usage\[0\]\.cache_read_tokens"),
    ],
)
def test_what_is_no_usage_is_named(usage: Any, message: str) -> None:
    with pytest.raises(WorkerError, match=message):
        parse_reported_usage({"text": "x", "usage": usage})
