"""The only holder of real keys: what it sends, where it does not go, and what it never lets out."""

import dataclasses
import json
import logging
from typing import Any

import pytest

from ratiba_action.errors import ConfigurationError, ProviderError
from ratiba_action.llm.providers.answers import Answered, NotSent, Refused, Unknown
from ratiba_action.llm.providers.client import ProviderClient, ProviderRoute
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.conversation import Usage
from tests.support.live_calls import KEY, live_calls, paid_request
from tests.support.model_servers import ModelServer
from tests.support.provider_faults import Failure, Raw, Served, Stalled

HELLO = Step("anthropic", text="Karibu!", usage=Usage(40, 12))
ASKED = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "Habari"}]}


async def test_anthropic_is_given_its_own_headers() -> None:
    async with live_calls([HELLO]) as rig:
        assert isinstance(await rig.client.post("anthropic", "messages", ASKED), Answered)
        (received,) = rig.server.received
    assert received.path == "/v1/messages"
    assert received.headers["x-api-key"] == KEY
    assert received.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in received.headers
    assert received.body == ASKED


@pytest.mark.parametrize("endpoint", ["chat/completions", "responses", "embeddings"])
async def test_openai_is_given_a_bearer(endpoint: str) -> None:
    async with live_calls([HELLO]) as rig:
        body = dict(paid_request(endpoint).body)
        assert isinstance(await rig.client.post("openai", endpoint, body), Answered)
        (received,) = rig.server.received
    assert received.path == f"/v1/{endpoint}"
    assert received.headers["authorization"] == f"Bearer {KEY}"


async def test_azure_is_given_its_query_and_header() -> None:
    async with ModelServer([HELLO], KEY) as server:
        base = f"{server.url}/openai/deployments/gpt?api-version=2026-01-01"
        async with ProviderClient((ProviderRoute("openai", KEY, base),), {}) as client:
            await client.post("openai", "chat/completions", ASKED)
        (received,) = server.received
    assert received.path == "/openai/deployments/gpt/chat/completions?api-version=2026-01-01"
    assert received.headers["api-key"] == KEY
    assert "authorization" not in received.headers


async def test_text_beyond_ascii_and_half_a_character_arrive_as_they_are() -> None:
    text = "Nitafika saa nane \N{SMILING FACE WITH OPEN MOUTH} \ud800"
    async with live_calls([HELLO]) as rig:
        await rig.client.post("anthropic", "messages", {**ASKED, "system": text})
        assert rig.server.received[0].body["system"] == text


async def test_a_redirect_is_not_followed_for_it_would_carry_the_key_elsewhere() -> None:
    async with ModelServer([], KEY) as elsewhere:
        away = Raw(b"", status=307, headers={"Location": f"{elsewhere.url}/v1/messages"})
        async with live_calls([away]) as rig:
            outcome = await rig.client.post("anthropic", "messages", ASKED)
        assert isinstance(outcome, Refused)
        assert outcome.permanent
        assert elsewhere.received == ()


async def test_a_client_that_is_closed_sends_nothing() -> None:
    client = ProviderClient((ProviderRoute("openai", KEY),), {})
    assert await client.post("openai", "responses", {}) == NotSent("the client is closed")


async def test_a_declared_provider_without_a_key_names_the_setting_that_says_which() -> None:
    with pytest.raises(ConfigurationError, match=r"the variable that providers\.groq\.key names"):
        ProviderClient((), {}).require("groq")


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
async def test_the_limit_of_an_answer_is_sent_in_the_one_field_that_the_provider_knows(field: str) -> None:
    asked = {"model": "m", "max_completion_tokens": 5, "messages": [{"role": "user", "content": "Habari"}]}
    async with ModelServer([HELLO], KEY) as server:
        route = ProviderRoute("house", KEY, f"{server.url}/v1", "openai", field)
        async with ProviderClient((route,), {}) as client:
            await client.post("house", "chat/completions", asked)
        (received,) = server.received
    assert {name: value for name, value in received.body.items() if name.startswith("max_")} == {field: 5}


async def test_a_provider_without_a_key_is_named_before_anything_is_sent() -> None:
    client = ProviderClient((ProviderRoute("openai", KEY),), {})
    client.require("openai")
    with pytest.raises(ConfigurationError, match="anthropic-api-key"):
        client.require("anthropic")


@pytest.mark.parametrize("limit", [1_000, 1_001])
async def test_an_answer_is_read_up_to_a_bound(limit: int) -> None:
    body = json.dumps({"text": "x" * 1_001}).encode()[:1_001]
    async with live_calls([Raw(body, step=HELLO)], answer_limit=limit) as rig:
        outcome = await rig.client.post("anthropic", "messages", ASKED)
    assert isinstance(outcome, Unknown)
    assert (outcome.reason == "the answer is larger than 1000 bytes") == (limit == 1_000)


def echoing(status: int, **shape: Any) -> Raw:
    words = f"Incorrect key Bearer {KEY}; you sent x-api-key: {KEY}"
    return Raw(json.dumps({**shape, "error": {"message": words}}).encode(), status=status)


ECHOES: list[Served] = [
    *(echoing(status) for status in (400, 401, 403, 404, 429, 500, 529, 200)),
    Raw(f"<html>{KEY}</html>".encode(), "text/html", 403),
    Raw(f"<html>{KEY}</html>".encode(), "text/html", 418),
    Raw(f"<html>{KEY}</html>".encode(), f"text/{KEY}"),
    Raw(f'{{"usage": {{"input_tokens": "{KEY}"}}}}'.encode()),
    Failure(400, f"\x1b[31m{KEY}\n::set-output name=x::{KEY}"),
    Stalled(Failure(400, KEY), 150),
]


@pytest.mark.parametrize("echo", ECHOES)
async def test_no_error_repeats_the_key_whatever_the_other_side_echoes(
    echo: Served, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with live_calls(lambda _: echo, total_seconds=0.3) as rig:
        with pytest.raises(ProviderError) as caught:
            await rig.calls.call(paid_request())
        shown = [str(caught.value), repr(caught.value), caplog.text, repr(rig.client), repr(rig.calls)]
        assert not [text for text in shown if KEY in text]
        assert str(caught.value).isprintable()


async def test_an_answer_that_echoes_the_key_reaches_nobody_with_it() -> None:
    async with live_calls([Step("anthropic", text=f"Your key is {KEY}", usage=Usage(9, 9))]) as rig:
        answer = await rig.calls.call(paid_request())
    assert answer.body["content"][0]["text"] == "Your key is ***"


def test_a_route_does_not_show_its_key() -> None:
    route = ProviderRoute("openai", KEY)
    assert KEY not in repr(route)
    assert KEY not in str(dataclasses.replace(route, base_url="https://models.example/v1"))
