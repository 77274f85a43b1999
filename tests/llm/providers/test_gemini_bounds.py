"""What a request in Gemini's format can cost at most, and which requests nobody can tell that of."""

from typing import Any

import pytest

from ratiba_action.errors import ConfigurationError
from ratiba_action.llm.providers.bounds import OutputLimits, bounded
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.conversation import Usage
from tests.support.live_calls import live_calls, paid_request
from tests.support.provider_faults import Altered

LIMITS = OutputLimits(default=100, ceiling=1_000)
NAME = "generateContent"
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}


def request(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": list(parts)}]}


@pytest.mark.parametrize(
    ("generation", "output"),
    [
        (None, 100),
        ({}, 100),
        ({"temperature": 1}, 100),
        ({"maxOutputTokens": None, "candidateCount": None}, 100),
        ({"maxOutputTokens": 1_000}, 1_000),
        ({"candidateCount": 3}, 300),
        ({"maxOutputTokens": 7, "candidateCount": 2, "thinkingConfig": {"thinkingBudget": 5}}, 14),
    ],
)
def test_each_candidate_may_use_the_whole_limit_and_a_missing_one_is_added(generation: Any, output: int) -> None:
    work = bounded(paid_request(NAME, generationConfig=generation), LIMITS)
    assert work.output_tokens == output
    assert work.body["generationConfig"]["maxOutputTokens"] * max(1, output // 100 if output > 100 else 1) >= 7
    assert "service_tier" not in work.body


def test_an_image_is_bounded_and_text_by_its_bytes() -> None:
    plain, seen = (bounded(paid_request(NAME, **request(*parts)), LIMITS) for parts in ([], [IMAGE, IMAGE]))
    assert seen.input_tokens - plain.input_tokens >= 2 * 60_000


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"generationConfig": {"maxOutputTokens": 1_001}}, "maxOutputTokens is not a whole number from 1 to 1000"),
        ({"generationConfig": {"maxOutputTokens": "10"}}, "maxOutputTokens is not a whole number"),
        ({"generationConfig": {"maxOutputTokens": True}}, "maxOutputTokens is not a whole number"),
        ({"generationConfig": {"candidateCount": 129}}, "candidateCount is not a whole number from 1 to 128"),
        ({"generationConfig": 5}, "a generationConfig that is not an object"),
        ({"generationConfig": {"responseModalities": ["TEXT", "AUDIO"]}}, "responseModalities"),
        ({"generationConfig": {"speechConfig": {}}}, "the field 'generationConfig.speechConfig'"),
        ({"generationConfig": {"maxoutputtokens": 5}}, "the field 'generationConfig.maxoutputtokens'"),
        ({"serviceTier": "PRIORITY"}, "serviceTier 'PRIORITY'"),
        ({"cachedContent": "cachedContents/1"}, "the field 'cachedContent'"),
        ({"tools": [{"functionDeclarations": [], "googleSearch": {}}]}, "the tool 'googleSearch'"),
        ({"tools": [{"codeExecution": {}}]}, "the tool 'codeExecution'"),
        ({"tools": {"googleSearch": {}}}, "tools that are not a list"),
        ({"toolConfig": {"retrievalConfig": {}}}, "toolConfig"),
        (
            request({"fileData": {"fileUri": "https://x.example/1"}}),
            "content of type 'fileData': send the image itself",
        ),
        (request({"inlineData": {"mimeType": "application/pdf", "data": "x"}}), "content of type 'application/pdf'"),
        (request({"inlineData": {"mimeType": "audio/wav", "data": "x"}}), "content of type 'audio/wav'"),
        (request({"inlineData": 5}), "content of type '5'"),
        (request({"functionResponse": {"parts": [{"fileData": {}}]}}), "content of type 'fileData'"),
        (request({"functionResponse": {"parts": ["x"]}}), "functionResponse.parts that are no list of objects"),
        (request({"functionResponse": {"parts": 5}}), "functionResponse.parts that are no list of objects"),
        ({"systemInstruction": {"parts": [{"videoMetadata": {"fps": 9}}]}}, "content of type 'videoMetadata'"),
    ],
)
def test_what_cannot_be_bounded_is_refused_before_anything_is_spent(changes: dict[str, Any], what: str) -> None:
    with pytest.raises(ConfigurationError, match="was not sent") as caught:
        bounded(paid_request(NAME, **changes), LIMITS)
    assert what in str(caught.value)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"usageMetadata": {"trafficType": "PROVISIONED_THROUGHPUT"}}, "whose prices are not known"),
        ({"usageMetadata": {"toolUsePromptTokenCount": 1}}, "the provider ran tools of its own"),
        ({"candidates": [{"groundingMetadata": {"webSearchQueries": ["x"]}}]}, "the provider ran tools of its own"),
        ({"usageMetadata": {"promptTokensDetails": [{"modality": "AUDIO", "tokenCount": 5}]}}, "it holds sound"),
        ({"usageMetadata": {"candidatesTokensDetails": [{"modality": "IMAGE", "tokenCount": 5}]}}, "it holds an image"),
    ],
)
async def test_an_answer_that_was_billed_in_another_way_costs_what_was_reserved(
    change: dict[str, Any], why: str
) -> None:
    def altered(body: dict[str, Any]) -> dict[str, Any]:
        counts = {**body["usageMetadata"], **change.get("usageMetadata", {})}
        return {**body, **change, "usageMetadata": {**counts, "totalTokenCount": 50}}

    answer = Altered(Step("gemini", text="x", usage=Usage(5, 5)), altered)
    async with live_calls([answer, answer]) as rig:
        paid = await rig.calls.call(paid_request(NAME))
        assert paid.usd == rig.reservations.spent == rig.reservations.events[0].amount > 0
        (note,) = rig.notes
        assert why in note
        assert rig.paid_enough()
