"""Both providers' own SDKs through the gateway in live mode, against asking the provider directly."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any

import anthropic
import openai
import pytest

from ratiba_action.errors import BudgetError, ConfigurationError, ProviderError
from ratiba_action.llm.access import gateway_environment
from ratiba_action.llm.answers import LiveAnswers
from ratiba_action.llm.providers.bounds import OutputLimits
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.llm.server import Gateway
from ratiba_action.model.conversation import Party, ToolCall, Usage
from tests.support.eventually import eventually_async
from tests.support.live_calls import KEY, LiveRig, live_calls
from tests.support.provider_faults import (
    Altered,
    Cut,
    Drip,
    Failure,
    Raw,
    Served,
    Stalled,
    declined,
    truncated,
    without_usage,
)
from tests.support.sdk_talk import GPT, HAIKU, SdkTalk, Talk

CHECK = ToolCall("check_availability", {"service": "massage", "start": "saa nane"})
TEXT_STEP = Step("any", text='{"intent": "book"}', usage=Usage(60, 9, cache_read_tokens=20))
CALLED = Step("any", text="Naangalia…", tools=(CHECK,), usage=Usage(60, 30))
LONG = Step("any", text="x", usage=Usage(200, 200))


@asynccontextmanager
async def live_gateway(script: Any, **settings: Any) -> AsyncIterator[tuple[LiveRig, Gateway]]:
    async with live_calls(script, **settings) as rig:
        gateway = Gateway(LiveAnswers(rig.calls), forbidden_models=["claude-opus-5-5"])
        await gateway.start()
        try:
            yield rig, gateway
        finally:
            await gateway.close()


async def message(talk: SdkTalk) -> Any:
    return await talk.message()


async def streamed_message(talk: SdkTalk) -> Any:
    return await talk.streamed_message()


async def completion(talk: SdkTalk) -> Any:
    return await talk.completion()


async def streamed_completion(talk: SdkTalk) -> Any:
    return await talk.streamed_completion()


async def response(talk: SdkTalk) -> Any:
    return await talk.response()


async def streamed_response(talk: SdkTalk) -> Any:
    return await talk.streamed_response()


async def embedding(talk: SdkTalk) -> Any:
    return await talk.embedding()


def content(answer: Any) -> Any:
    """What an answer says and reports, without ids and what the SDK's stream helpers add."""
    found = answer.to_dict()
    text = {name: found.get(name) for name in ("stop_reason", "model", "data", "status")}
    text["usage"] = {name: value for name, value in found["usage"].items() if value}
    text["content"] = [{**block, "id": None} for block in found.get("content") or []]
    for choice in found.get("choices") or []:
        calls = [(call["function"]["name"], call["function"]["arguments"]) for call in tool_calls(choice)]
        text["choice"] = (choice["message"].get("content"), choice["finish_reason"], calls)
    if "output" in found:
        text["output"] = [(item["type"], item.get("arguments"), texts(item)) for item in found["output"]]
    return text


def tool_calls(choice: Any) -> list[Any]:
    return choice["message"].get("tool_calls") or []


def texts(item: Any) -> list[str]:
    return [part["text"] for part in item.get("content") or []]


@pytest.mark.parametrize("step", [TEXT_STEP, CALLED], ids=["text", "tools"])
@pytest.mark.parametrize(
    ("through", "directly"),
    [
        (message, message),
        (streamed_message, message),
        (completion, completion),
        (streamed_completion, completion),
        (response, response),
        (streamed_response, response),
        (embedding, embedding),
    ],
)
async def test_the_gateway_says_what_the_provider_says_streamed_or_not(
    through: Talk, directly: Talk, step: Step
) -> None:
    async with live_gateway(lambda _: step, limits=OutputLimits(default=500)) as (rig, gateway):
        direct = await directly(SdkTalk(gateway_environment(rig.server.url, KEY)))
        charged_before = rig.server.bill.total
        with gateway.open_scenario("spa") as access:
            passed = await through(SdkTalk(access.environment))
        assert content(passed) == content(direct)
        assert access.problems == ()
        assert rig.reservations.done == ("reserve", "settle")
        assert rig.reservations.spent == rig.server.bill.total - charged_before


async def test_the_systems_token_stays_here_and_the_key_stays_there() -> None:
    async with live_gateway([TEXT_STEP, TEXT_STEP]) as (rig, gateway):
        with gateway.open_scenario("spa") as access:
            await SdkTalk(access.environment).message()
            await SdkTalk(access.environment).completion()
            assert KEY not in repr(dict(access.environment))
        sent = [repr(dict(received.headers)) + repr(received.body) for received in rig.server.received]
    assert [KEY in each for each in sent] == [True, True]
    assert [access.token in each for each in sent] == [False, False]


FAULTS: dict[str, tuple[Served, int]] = {
    "429": (Failure(429, "slow down", retry_after="1"), 429),
    "500": (Failure(500, "oops"), 500),
    "529": (Failure(529, "overloaded"), 529),
    "400": (Failure(400, "bad"), 400),
    "401": (Failure(401, f"wrong key {KEY}"), 401),
    "before the status line": (Cut(LONG, 0), 502),
    "in the status line": (Cut(LONG, 12), 502),
    "in the headers": (Cut(LONG, 50), 502),
    "in the body": (Cut(LONG, 200), 502),
    "in the body of an error": (Cut(Failure(500), 130), 502),
    "a stall": (Stalled(LONG, 150), 502),
    "a slow drip": (Drip(LONG, 0.05), 502),
    "malformed JSON": (Raw(b'{"id":', step=LONG), 502),
    "a wrong content type": (Raw(b"{}", "text/plain", step=LONG), 502),
    "garbage": (Raw(b'{"hello": 1}', step=LONG), 502),
    "no usage": (Altered(LONG, without_usage), 502),
    "a page of another server": (Raw(f"<html>{KEY}</html>".encode(), "text/html", step=LONG), 502),
}


@pytest.mark.parametrize(("fault", "status"), FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("ask", [message, streamed_completion, streamed_response, embedding])
async def test_each_fault_is_one_typed_problem_of_the_scenario_and_one_error_of_the_sdk(
    ask: Talk, fault: Served, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    # A short limit only where it is what ends the call: a busy machine needs long for any other.
    seconds = 1.0 if isinstance(fault, Stalled | Drip) else 20.0
    async with live_gateway(lambda _: fault, total_seconds=seconds) as (rig, gateway):
        expected: Any = (anthropic.APIStatusError, openai.APIStatusError)
        with gateway.open_scenario("spa") as access, pytest.raises(expected) as caught:
            await ask(SdkTalk(access.environment))
        assert caught.value.status_code == status
        assert caught.value.response.headers["x-should-retry"] == "false"
        assert [type(problem) for problem in access.problems] == [ProviderError]
        shown = [str(caught.value), caught.value.response.text, str(access.problems), caplog.text]
        assert not [text for text in shown if KEY in text]
        assert rig.reservations.reserved == 0
        assert rig.paid_enough()


@pytest.mark.parametrize("change", [truncated, declined], ids=["truncated", "declined"])
@pytest.mark.parametrize("ask", [message, streamed_message, completion, response])
async def test_a_truncated_answer_or_a_refusal_reaches_the_system_as_the_provider_gave_it(
    ask: Talk, change: Any
) -> None:
    async with live_gateway(lambda _: Altered(TEXT_STEP, change)) as (rig, gateway):
        with gateway.open_scenario("spa") as access:
            answer: Any = await ask(SdkTalk(access.environment))
        text = str(answer.to_dict())
        assert any(word in text for word in ("max_tokens", "max_output_tokens", "'length'", "refusal"))
        assert access.problems == ()
        assert rig.paid_enough()


async def test_the_forbidden_model_and_an_empty_purse_are_refused_before_anything_is_sent(
    start_gateway: Callable[..., Awaitable[Gateway]],
) -> None:
    async with live_calls([TEXT_STEP], cap=Decimal("0.00001")) as rig:
        gateway = await start_gateway(LiveAnswers(rig.calls), forbidden_models=[HAIKU])
        with gateway.open_scenario("spa", party=Party.SIMULATOR) as access:
            with pytest.raises(anthropic.PermissionDeniedError, match="no model may judge"):
                await SdkTalk(access.environment).message()
            with pytest.raises(openai.BadRequestError, match="may cost"):
                await SdkTalk(access.environment).response()
        assert [type(problem) for problem in access.problems] == [ConfigurationError, BudgetError]
        assert rig.server.received == ()


async def hang_up(talk: SdkTalk, rig: LiveRig) -> None:
    """Ask, and give the call up once the provider has it."""
    asking = asyncio.ensure_future(talk.message())

    async def received() -> bool:
        return bool(rig.server.received)

    await eventually_async(received)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_a_system_that_hangs_up_is_paid_for_all_the_same() -> None:
    async with live_gateway([Stalled(LONG, 100)], total_seconds=1.0) as (rig, gateway):
        with gateway.open_scenario("spa") as access:
            await hang_up(SdkTalk(access.environment), rig)
        await gateway.close()
        assert rig.reservations.reserved == 0
        assert rig.paid_enough()


async def test_a_call_that_hangs_ends_with_its_conversation_and_frees_its_place() -> None:
    script = [Stalled(LONG, 0), TEXT_STEP]
    async with live_gateway(script, total_seconds=60, concurrency=1) as (rig, gateway):
        began = time.monotonic()
        with gateway.open_scenario("hangs") as access:
            await hang_up(SdkTalk(access.environment), rig)
        with gateway.open_scenario("next") as access:
            await SdkTalk(access.environment).message()
        assert time.monotonic() - began < 30
        assert len(rig.server.received) == 2
        assert rig.reservations.reserved == 0
        assert rig.paid_enough()


async def test_a_request_that_cannot_be_bounded_is_the_systems_problem() -> None:
    async with live_gateway([TEXT_STEP]) as (rig, gateway):
        with gateway.open_scenario("spa") as access:
            async with SdkTalk(access.environment).openai() as client:
                with pytest.raises(openai.PermissionDeniedError, match="'web_search'"):
                    await client.responses.create(model=GPT, input="Habari", tools=[{"type": "web_search"}])
        assert isinstance(access.problems[0], ConfigurationError)
        assert rig.server.received == ()


async def test_the_sdk_of_azure_is_answered_below_its_deployment_by_the_provider_of_the_route() -> None:
    async with live_calls([TEXT_STEP]) as rig:
        gateway = Gateway(LiveAnswers(rig.calls), routes={"anthropic": "nobody"})
        await gateway.start()
        try:
            with gateway.open_scenario("spa") as access:
                client = openai.AsyncAzureOpenAI(
                    azure_endpoint=gateway.url, api_key=access.token, api_version="2024-10-21", max_retries=0
                )
                async with client:
                    answer = await client.chat.completions.create(
                        model=GPT, messages=[{"role": "user", "content": "Habari"}], max_completion_tokens=50
                    )
        finally:
            await gateway.close()
        (received,) = rig.server.received
    assert answer.choices[0].message.content == '{"intent": "book"}'
    assert received.path == "/v1/chat/completions"
    assert rig.reservations.spent == rig.server.bill.total
