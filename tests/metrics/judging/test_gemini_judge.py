"""A judge in Gemini's own format: what is asked, and what its answer means."""

from typing import Any

import pytest

from ratiba_action.errors import JudgeError
from ratiba_action.llm.providers.bounds import OutputLimits, bounded
from ratiba_action.metrics.judging.answer import JudgeModel
from ratiba_action.metrics.judging.structured_request import answer_text, structured_request
from tests.support.live_calls import paid_request

SCHEMA = {"title": "score", "type": "object", "properties": {"score": {"type": "number"}}}


def test_the_answer_is_bound_to_the_schema_and_its_cost_is_bounded() -> None:
    model = JudgeModel("google", "gemini-2.5-flash", 300, "gemini")
    body = structured_request(model, "Grade.", "Habari", SCHEMA)
    assert body["systemInstruction"] == {"parts": [{"text": "Grade."}]}
    assert body["generationConfig"]["responseJsonSchema"]["properties"] == SCHEMA["properties"]
    assert bounded(paid_request("generateContent", **body), OutputLimits()).output_tokens == 300


def answered(*parts: dict[str, Any], reason: str = "STOP") -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": reason}]}


def test_thoughts_are_no_part_of_the_answer() -> None:
    body = answered({"text": "Hm.", "thought": True}, {"text": '{"score"'}, {"text": ": 9}"})
    assert answer_text("gemini", body) == '{"score": 9}'


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (answered({"text": "x"}, reason="MAX_TOKENS"), "cut off"),
        (answered({"text": "x"}, reason="SAFETY"), "refused to answer"),
        (answered({"text": "x"}, reason="MALFORMED_FUNCTION_CALL"), "unexpected stop reason"),
        ({"candidates": [], "promptFeedback": {"blockReason": "SAFETY"}}, "refused to answer: 'SAFETY'"),
        ({"candidates": answered({"text": "x"})["candidates"] * 2}, "unexpected candidates"),
        ({}, "unexpected candidates"),
        (answered({"text": 5}), "unexpected content"),
        (answered({"text": " "}), "is empty"),
    ],
)
def test_what_is_no_answer_is_an_error_and_never_a_score(body: dict[str, Any], message: str) -> None:
    with pytest.raises(JudgeError, match=message):
        answer_text("gemini", body)
