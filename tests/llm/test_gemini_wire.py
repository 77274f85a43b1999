"""Gemini's own format at the gateway, byte by byte; its SDK is in ``tests/conformance/test_model_clients.py``."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from ratiba_action.errors import RecordingError
from ratiba_action.llm.access import ScenarioAccess
from ratiba_action.llm.endpoints import endpoint_named
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.conversation import ToolCall, Usage
from tests.llm.conftest import Start
from tests.support.scripted_answers import ScriptedAnswers
from tests.support.sdk_talk import GEMINI

ENDPOINT = endpoint_named("generateContent")
WHOLE, STREAM = (f"/v1beta/models/{GEMINI}:{method}" for method in ("generateContent", "streamGenerateContent"))
ASKED = {
    "systemInstruction": {"parts": [{"text": "You book appointments."}]},
    "contents": [{"role": "user", "parts": [{"text": "Habari"}]}],
    "generationConfig": {"maxOutputTokens": 200},
}
SNAKE = {
    "system_instruction": {"role": "user", "parts": [{"text": "You book appointments.", "thought": None}]},
    "contents": [{"parts": [{"text": "Habari"}]}],
    "generation_config": {"max_output_tokens": 200.0, "temperature": None},
    "labels": {"team_name": "spa"},
}
CHECK = ToolCall("check_availability", {"service": "massage", "at_hour": 14})
STEPS = [Step("gemini", text="Naangalia…", tools=(CHECK, CHECK))]


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def post(
    http: aiohttp.ClientSession, access: ScenarioAccess, path: str = WHOLE, body: Any = None, **headers: str
) -> tuple[int, str, str]:
    url = access.environment["GOOGLE_GEMINI_BASE_URL"] + path
    given = headers or {"x-goog-api-key": access.token}
    async with http.post(url, json=ASKED if body is None else body, headers=given) as response:
        return response.status, response.content_type, await response.text()


async def test_the_token_is_taken_where_googles_clients_put_a_key(
    start_gateway: Start, http: aiohttp.ClientSession
) -> None:
    gateway = await start_gateway(ScriptedAnswers({"spa": STEPS * 3}))
    with gateway.open_scenario("spa") as access:
        statuses = [
            (await post(http, access))[0],
            (await post(http, access, f"{WHOLE}?key={access.token}", **{"x-goog-api-key": ""}))[0],
            (await post(http, access, Authorization=f"Bearer {access.token}"))[0],
        ]
        stranger = await post(http, access, f"{WHOLE}?key=AIza-planted", **{"x-goog-api-key": "AIza-planted"})
    assert statuses == [200, 200, 200]
    assert stranger[0] == 401
    assert json.loads(stranger[2])["error"]["status"] == "UNAUTHENTICATED"
    assert "AIza" not in stranger[2]


async def test_whole_and_streamed_answers_share_one_recording_in_every_spelling(
    start_gateway: Start, http: aiohttp.ClientSession, start_replay: Start
) -> None:
    scripted = ScriptedAnswers({"spa": STEPS})
    with (await start_gateway(scripted)).open_scenario("spa") as access:
        _, _, whole = await post(http, access)
    (line,) = scripted.recordings("spa")
    assert (line.provider, line.model, line.asked) == ("gemini", GEMINI, "Habari")
    gateway = await start_replay(spa=[line])
    answers = []
    for path, body in ((WHOLE, SNAKE), (f"{STREAM}?alt=sse", ASKED), (f"/v1{STREAM[7:]}", SNAKE)):
        with gateway.open_scenario("spa") as access:
            status, kind, text = await post(http, access, path, body)
            assert (status, access.problems, access.models) == (200, (), (GEMINI,))
        answers.append((kind, text))
    assert [kind for kind, _ in answers] == ["application/json", "text/event-stream", "application/json"]
    events = [json.loads(event.removeprefix("data: ")) for event in answers[1][1].split("\n\n") if event]
    assert json.loads(answers[0][1]) == json.loads(whole)
    assert json.loads(answers[2][1]) == events
    assert merged(events) == json.loads(whole)


def merged(events: list[dict[str, Any]]) -> dict[str, Any]:
    """A stream put together as a client does."""
    parts = [part for event in events for part in event["candidates"][0]["content"]["parts"]]
    last = events[-1]["candidates"][0]
    return {**events[-1], "candidates": [{**last, "content": {**last["content"], "parts": parts}}]}


@given(st.lists(st.lists(st.fixed_dictionaries({"text": st.text(max_size=5)}), max_size=4), max_size=3))
def test_a_stream_leaves_no_part_out_and_ends_with_the_usage(candidates: list[list[dict[str, str]]]) -> None:
    answer = {
        "candidates": [
            {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": index}
            for index, parts in enumerate(candidates)
        ],
        "usageMetadata": {"promptTokenCount": 5, "totalTokenCount": 7},
    }
    (listed,) = ENDPOINT.stream({}, answer, {})[1]
    streamed = json.loads(listed)
    assert [("usageMetadata" in chunk) for chunk in streamed] == [False] * (len(streamed) - 1) + [True]
    for index, parts in enumerate(candidates):
        mine = [each for chunk in streamed for each in chunk["candidates"] if each["index"] == index]
        assert [part for each in mine for part in each["content"]["parts"]] == parts
        assert [each.get("finishReason") for each in mine] == [None] * (len(mine) - 1) + ["STOP"]


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        (WHOLE, {}, "contents is not specified"),
        (WHOLE, {"contents": "Habari"}, "contents is not specified"),
        (WHOLE, {"contents": ["Habari"]}, "Each content is an object with a list of parts"),
        (WHOLE, {"contents": [{"parts": ["Habari"]}]}, "Each content is an object with a list of parts"),
        (WHOLE, {**ASKED, "systemInstruction": "Be kind."}, "Each content is an object with a list of parts"),
        (WHOLE, {**ASKED, "generation_config": {}}, "'generationConfig' stands there in two spellings"),
        (
            WHOLE,
            {**ASKED, "generationConfig": {"maxOutputTokens": 5, "max_output_tokens": 50_000}},
            "'maxOutputTokens' stands there in two spellings",
        ),
        ("/v1beta/models/..%2F..%2Ffiles:generateContent", ASKED, "'../../files' is not the name of a model"),
        (WHOLE, [], "not a JSON object"),
    ],
)
async def test_a_request_that_gemini_would_refuse_is_refused_in_its_shape(
    path: str, body: Any, message: str, start_gateway: Start, http: aiohttp.ClientSession
) -> None:
    gateway = await start_gateway(ScriptedAnswers({"spa": STEPS}))
    with gateway.open_scenario("spa") as access:
        url = URL(gateway.url + path, encoded=True)
        async with http.post(url, json=body, headers={"x-goog-api-key": access.token}) as response:
            error = (await response.json())["error"]
    assert (response.status, error["code"], error["status"]) == (400, 400, "INVALID_ARGUMENT")
    assert message in error["message"]
    assert len(access.problems) == 1


def test_keys_of_the_system_itself_keep_their_spelling() -> None:
    called = {"functionCall": {"name": "book", "args": {"at_hour": 14}}}
    given = {"function_response": {"name": "book", "response": {"order_id": 5}}}
    address = {"model": "gemini-3-pro", "method": "generateContent"}
    shape: dict[str, Any] = {"properties": {"at_hour": {}}}
    schema = {"function_declarations": [{"name": "book", "parameters_json_schema": shape}]}
    body = ENDPOINT.received({"contents": [{"parts": [called, given]}], "tools": [schema]}, address)
    assert body == {
        "contents": [{"parts": [called, {"functionResponse": given["function_response"]}]}],
        "tools": [{"functionDeclarations": [{"name": "book", "parametersJsonSchema": shape}]}],
        "model": "gemini-3-pro",
        "stream": False,
    }


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ({"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}, Usage(10, 5)),
        (
            {
                "promptTokenCount": 551,
                "candidatesTokenCount": 923,
                "thoughtsTokenCount": 785,
                "totalTokenCount": 2259,
            },
            Usage(551, 1708),
        ),
        (
            {"promptTokenCount": 10, "cachedContentTokenCount": 8, "candidatesTokenCount": 5, "totalTokenCount": 15},
            Usage(2, 5, cache_read_tokens=8),
        ),
        ({"promptTokenCount": 8, "totalTokenCount": 8}, Usage(8, 0)),
        ({"promptTokenCount": 8, "thoughtsTokenCount": 90, "totalTokenCount": 98}, Usage(8, 90)),
        ({"promptTokenCount": 8, "candidatesTokenCount": 5, "totalTokenCount": 60}, Usage(8, 52)),
        ({"promptTokenCount": 8, "toolUsePromptTokenCount": 3, "totalTokenCount": 12}, Usage(11, 1)),
    ],
)
def test_thoughts_are_output_and_the_total_leaves_nothing_out(counts: Mapping[str, int], usage: Usage) -> None:
    assert ENDPOINT.usage({"usageMetadata": counts}) == usage


@pytest.mark.parametrize(
    "counts",
    [
        None,
        {},
        {"promptTokenCount": 5},
        {"candidatesTokenCount": 5, "totalTokenCount": 5},
        {"promptTokenCount": 0, "totalTokenCount": 5},
        {"promptTokenCount": 5, "totalTokenCount": 4},
        {"promptTokenCount": 5, "totalTokenCount": "9"},
        {"promptTokenCount": 5, "totalTokenCount": 9, "thoughtsTokenCount": -1},
        {"promptTokenCount": 5, "cachedContentTokenCount": 6, "totalTokenCount": 9},
    ],
)
def test_counts_that_cannot_be_are_unknown_and_never_nothing(counts: Any) -> None:
    with pytest.raises(RecordingError):
        ENDPOINT.usage({"usageMetadata": counts})
