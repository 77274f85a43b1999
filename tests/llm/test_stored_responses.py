"""A conversation that OpenAI would store is completed by the gateway: it is billed, recorded and replayed whole."""

import contextlib
import dataclasses
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.llm.answers import LiveAnswers
from ratiba_action.llm.providers.openai_stored import StoredResponses
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.conversation import ToolCall
from tests.llm.conftest import Record, Start
from tests.support.live_calls import live_calls
from tests.support.sdk_talk import GPT, SYSTEM, SdkTalk

FIRST, SECOND = Step("openai", text="Which day?"), Step("openai", text="Friday at ten.")
LOOK_UP = Step("openai", tools=(ToolCall("check_availability", {"day": "Friday"}),))
CREATE: dict[str, Any] = {"model": GPT, "instructions": SYSTEM}


async def by_previous_response(talk: SdkTalk) -> list[str]:
    async with talk.openai() as client:
        first = await client.responses.create(**CREATE, input="A massage, please.")
        second = await client.responses.create(**CREATE, input="Friday", previous_response_id=first.id)
        assert second.previous_response_id == first.id
        return [first.output_text, second.output_text]


async def by_conversation(talk: SdkTalk) -> list[str]:
    async with talk.openai() as client:
        conversation = (await client.conversations.create()).id
        asked = ("A massage, please.", "Friday")
        answers = [await client.responses.create(**CREATE, input=text, conversation=conversation) for text in asked]
        assert [answer.conversation.id for answer in answers if answer.conversation] == [conversation] * 2
        return [answer.output_text for answer in answers]


async def by_reference_to_items(talk: SdkTalk) -> list[str]:
    async with talk.openai() as client:
        first = await client.responses.create(**CREATE, input="A massage, please.")
        asked = {"role": "user", "content": "A massage, please."}
        reference = {"type": "item_reference", "id": first.output[0].id}
        given: Any = [asked, reference, {"role": "user", "content": "Friday"}]
        second = await client.responses.create(**CREATE, input=given)
        return [first.output_text, second.output_text]


async def in_the_background(talk: SdkTalk) -> list[str]:
    async with talk.openai() as client:
        first = await client.responses.create(**CREATE, input="A massage, please.", background=True)
        assert (first.background, first.status) == (True, "completed")
        seen = await client.responses.retrieve(first.id)
        second = await client.responses.create(**CREATE, input="Friday", previous_response_id=seen.id, background=True)
        return [seen.output_text, (await client.responses.cancel(second.id)).output_text]


async def streamed(talk: SdkTalk) -> list[str]:
    async with talk.openai() as client:
        async with client.responses.stream(**CREATE, input="A massage, please.") as stream:
            first = await stream.get_final_response()
        async with client.responses.stream(**CREATE, input="Friday", previous_response_id=first.id) as stream:
            return [first.output_text, (await stream.get_final_response()).output_text]


async def whole(talk: SdkTalk) -> list[str]:
    async with talk.openai() as client:
        first = await client.responses.create(**CREATE, input="A massage, please.")
        items: Any = [{"role": "user", "content": "A massage, please."}]
        items += [item.model_dump(exclude_none=True) for item in first.output]
        second = await client.responses.create(**CREATE, input=[*items, {"role": "user", "content": "Friday"}])
        return [first.output_text, second.output_text]


WAYS = [by_previous_response, by_conversation, by_reference_to_items, in_the_background, streamed]


@pytest.mark.parametrize("way", WAYS)
async def test_what_is_stored_is_recorded_as_if_it_were_sent_whole(
    way: Any, record: Record, start_replay: Start
) -> None:
    recorded = await record([FIRST, SECOND], whole)
    gateway = await start_replay(spa=recorded)
    for _ in range(2):  # a second trial knows nothing of what the first one stored
        with gateway.open_scenario("spa") as access:
            assert await way(SdkTalk(access.environment)) == ["Which day?", "Friday at ten."]
        assert access.problems == ()
    assert [line.key for line in await record([FIRST, SECOND], way)] == [line.key for line in recorded]


async def test_a_tools_result_follows_the_call_that_is_stored(record: Record, start_replay: Start) -> None:
    async def calls(talk: SdkTalk) -> str:
        async with talk.openai() as client:
            first = await client.responses.create(**CREATE, input="Is Friday free?")
            (call,) = (item for item in first.output if item.type == "function_call")
            result: Any = [{"type": "function_call_output", "call_id": call.call_id, "output": "free"}]
            second = await client.responses.create(**CREATE, input=result, previous_response_id=first.id)
            return str(second.output_text)

    recorded = await record([LOOK_UP, SECOND], calls)
    assert recorded[1].asked == "Is Friday free?"
    assert recorded[1].inputs is not None
    assert recorded[1].inputs["results"] == [{"tool": "check_availability", "text": "free"}]
    gateway = await start_replay(spa=recorded)
    with gateway.open_scenario("spa") as access:
        assert await calls(SdkTalk(access.environment)) == "Friday at ten."


async def test_a_live_call_is_sent_whole_and_within_its_reservation(start_gateway: Start) -> None:
    async with live_calls([FIRST, SECOND, FIRST]) as rig:
        gateway = await start_gateway(LiveAnswers(rig.calls))
        with gateway.open_scenario("spa") as access:
            await by_previous_response(SdkTalk(access.environment))
            async with SdkTalk(access.environment).openai() as client:
                await client.responses.create(**CREATE, input="Habari", background=True)
        assert access.problems == ()
        sent = [received.body for received in rig.server.received]
        assert [item.get("role") for item in sent[1]["input"]] == ["user", "assistant", "user"]
        assert not {"previous_response_id", "conversation", "background"} & {name for body in sent for name in body}
        assert rig.paid_enough()


@pytest.fixture
async def client(record: Record, start_replay: Start) -> AsyncIterator[openai.AsyncOpenAI]:
    gateway = await start_replay(spa=await record([FIRST, SECOND], whole))
    with gateway.open_scenario("spa") as access:
        async with SdkTalk(access.environment).openai() as opened:
            yield opened
        assert access.problems == ()


def text_of(item: Any) -> str:
    (part,) = item.content
    return str(part.text)


async def test_the_items_of_a_conversation_are_listed_added_and_taken_back(client: openai.AsyncOpenAI) -> None:
    asked: Any = [{"role": "user", "content": text} for text in ("one", "two", "three")]
    made = await client.conversations.create(items=asked[:1])
    await client.conversations.items.create(made.id, items=asked[1:])
    assert (await client.conversations.retrieve(made.id)).id == made.id

    async def texts(**options: Any) -> list[Any]:
        return [text_of(item) async for item in client.conversations.items.list(made.id, **options)]

    assert await texts(order="asc") == ["one", "two", "three"]
    assert await texts(limit=2) == ["three", "two", "one"], "the SDK asks for the next page by itself"
    newest = (await client.conversations.items.list(made.id, limit=1)).data[0]
    await client.conversations.items.delete(str(newest.id), conversation_id=made.id)
    assert await texts(order="asc") == ["one", "two"]
    await client.conversations.delete(made.id)
    with pytest.raises(openai.NotFoundError, match="No conversation 'conv_"):
        await client.conversations.retrieve(made.id)


async def test_a_response_is_found_with_its_input_until_it_is_deleted(client: openai.AsyncOpenAI) -> None:
    first = await client.responses.create(**CREATE, input="A massage, please.")
    listed = await client.responses.input_items.list(first.id)
    assert text_of(listed.data[0]) == "A massage, please."
    await client.responses.delete(first.id)
    with pytest.raises(openai.NotFoundError, match="No response 'resp_"):
        await client.responses.retrieve(first.id)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"previous_response_id": "resp_of_another_run"}, "No response 'resp_of_another_run' was stored"),
        ({"conversation": "conv_of_another_run"}, "No conversation 'conv_of_another_run' was made"),
        ({"input": [{"type": "item_reference", "id": "msg_x"}]}, "No item 'msg_x' was stored"),
        ({"conversation": "conv_x", "previous_response_id": "resp_x"}, "cannot be used together"),
        ({"conversation": {"id": 5}}, "No conversation '' was made"),
        ({"conversation": ""}, "No conversation '' was made"),
        ({"previous_response_id": ""}, "No response '' was stored"),
        ({"input": [{"type": "item_reference", "id": ["msg_x"]}]}, "No item ['msg_x'] was stored"),
        ({"background": True, "store": False}, "must be stored"),
    ],
)
async def test_what_was_not_stored_in_this_trial_is_a_problem_of_the_scenario(
    changes: dict[str, Any], words: str, start_replay: Start
) -> None:
    gateway = await start_replay()
    with gateway.open_scenario("spa") as access:
        async with SdkTalk(access.environment).openai() as client:
            with pytest.raises(openai.BadRequestError, match=re.escape(words)):
                await client.responses.create(**{**CREATE, "input": "Habari", **changes})
    assert words in str(access.problems[0])


async def test_an_answer_that_is_not_to_be_stored_is_not(record: Record, start_replay: Start) -> None:
    gateway = await start_replay(spa=await record([FIRST, SECOND], whole))
    with gateway.open_scenario("spa") as access:
        async with SdkTalk(access.environment).openai() as client:
            first = await client.responses.create(**CREATE, input="A massage, please.", store=False)
            with pytest.raises(openai.BadRequestError, match="No response"):
                await client.responses.create(**CREATE, input="Friday", previous_response_id=first.id)


async def test_nobody_without_the_trials_token_sees_what_is_stored(start_replay: Start) -> None:
    gateway = await start_replay()
    with gateway.open_scenario("spa") as one, gateway.open_scenario("salon") as other:
        async with SdkTalk(one.environment).openai() as client:
            made = await client.conversations.create()
        async with SdkTalk(other.environment).openai() as client:
            with pytest.raises(openai.NotFoundError, match="No conversation"):
                await client.conversations.retrieve(made.id)
        async with SdkTalk({**one.environment, "OPENAI_API_KEY": "guess"}).openai() as client:
            with pytest.raises(openai.NotFoundError, match="does not serve GET"):
                await client.conversations.retrieve(made.id)


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "type", "items", "content", "role"]), inner, max_size=4)
    ),
)
QUERIES = st.dictionaries(st.just("limit"), st.text())
PATHS = st.lists(st.sampled_from(["v1", "conversations", "responses", "items", "input_items", "cancel", "x", ""]))


@given(
    st.dictionaries(st.sampled_from(["input", "conversation", "previous_response_id", "store", "background"]), JSON),
    JSON,
    st.lists(
        st.tuples(st.sampled_from(["GET", "POST", "DELETE"]), PATHS, st.dictionaries(st.just("limit"), st.text()))
    ),
)
def test_whatever_is_sent_is_kept_or_refused(body: dict[str, Any], output: Any, asked: list[Any]) -> None:
    stored = StoredResponses("spa/0")
    try:
        sent = stored.completed(body)
    except ValueError:
        return
    stored.kept(body, sent, {"id": "resp_1", "output": output})
    for method, path, query in asked:
        with contextlib.suppress(ValueError):
            json.dumps(stored.served(method, "/".join(path), query, {"items": output}))


async def test_answers_with_the_provider_s_own_tools_are_replayed_and_streamed_whole(
    record: Record, start_replay: Start
) -> None:
    tools: Any = [{"type": "web_search"}]
    request: Any = {"model": GPT, "input": "How warm is it?", "tools": tools, "max_tool_calls": 2}

    async def talk(given: SdkTalk) -> list[list[str]]:
        async with given.openai() as client:
            whole = await client.responses.create(**request)
            async with client.responses.stream(**request) as stream:
                streamed = await stream.get_final_response()
            after = await client.responses.create(model=GPT, input="Tomorrow?", previous_response_id=streamed.id)
            return [[item.type for item in answer.output] for answer in (whole, streamed, after)]

    search = {
        "id": "ws_1",
        "type": "web_search_call",
        "status": "completed",
        "action": {"type": "search", "query": "x"},
    }
    recorded = await record([FIRST, FIRST, SECOND], talk)
    lines = [
        dataclasses.replace(line, response={**line.response, "output": [search, *line.response["output"]]})
        for line in recorded
    ]
    gateway = await start_replay(spa=lines)
    with gateway.open_scenario("spa") as access:
        assert await talk(SdkTalk(access.environment)) == [["web_search_call", "message"]] * 3
    assert access.problems == ()
