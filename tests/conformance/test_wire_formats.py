"""What every wire format keeps, whichever provider speaks it: one suite over the table of formats."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest

from ratiba_action.errors import ConfigurationError, JudgeError
from ratiba_action.llm.canonical_request import VOLATILE, request_key
from ratiba_action.llm.cut_answers import cut_off
from ratiba_action.llm.endpoints import ENDPOINTS, FORMATS, endpoint_named, endpoint_of_answer
from ratiba_action.llm.providers.bounds import OutputLimits, bounded
from ratiba_action.llm.request_inputs import request_inputs
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.llm.server import Gateway
from ratiba_action.llm.wire_format import Endpoint, WireFormat
from ratiba_action.metrics.judging.answer import JudgeModel
from ratiba_action.metrics.judging.structured_request import answer_text, structured_request
from ratiba_action.model.conversation import Party, ToolCall, Usage
from ratiba_action.model.model_request import ModelAnswer, ModelRequest, PaidRequest
from ratiba_action.money.answer_usage import answer_usage
from tests.support.sdk_talk import GEMINI, GPT, HAIKU, NOVA

ASKED: Mapping[str, Mapping[str, Any]] = {
    "messages": {
        "model": HAIKU, "max_tokens": 200, "system": "Be kind.", "messages": [{"role": "user", "content": "Habari"}],
    },
    "chat/completions": {
        "model": GPT, "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Habari"}],
    },
    "responses": {"model": GPT, "instructions": "Be kind.", "input": "Habari"},
    "embeddings": {"model": "text-embedding-3-small", "input": "Habari"},
    "generateContent": {
        "model": GEMINI, "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "contents": [{"role": "user", "parts": [{"text": "Habari"}]}],
    },
    "converse": {
        "model": NOVA, "system": [{"text": "Be kind."}],
        "messages": [{"role": "user", "content": [{"text": "Habari"}]}],
    },
}  # fmt: skip
"""A small request to each endpoint: what a new format adds here."""
USAGE = Usage(40, 12, 8)
CHECK = ToolCall("check_availability", {"service": "massage"})
TALKING = [endpoint for endpoint in ENDPOINTS if endpoint.conversational]
ANSWER_STEP = Step(None, text="Karibu", tools=(CHECK,))
SCHEMA = {"title": "grade", "type": "object", "properties": {"score": {"type": "integer"}}}
every_endpoint = pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.name)
every_talk = pytest.mark.parametrize("endpoint", TALKING, ids=lambda endpoint: endpoint.name)
every_format = pytest.mark.parametrize("wire", FORMATS.values(), ids=FORMATS)


def answer(endpoint: Endpoint, step: Step = ANSWER_STEP) -> Any:
    return endpoint.scripted(step.scripted(ASKED[endpoint.name]["model"], "seed", USAGE))


def paid(endpoint: Endpoint, **changes: Any) -> PaidRequest:
    body = {**ASKED[endpoint.name], **changes}
    return PaidRequest(Party.SYSTEM, "spa", 0, endpoint.provider, endpoint.name, body["model"], "k" * 64, 0, body)


def asked(endpoint: Endpoint, **changes: Any) -> ModelRequest:
    body = {**ASKED[endpoint.name], **changes}
    prompt, last = endpoint.system_prompt(body), endpoint.last_user_text(body)
    key = request_key(endpoint, body)
    place = ("spa", 0, Party.SYSTEM, 0, endpoint.provider, endpoint.name, body["model"], key, 0, prompt, last)
    return ModelRequest(*place, body)


def test_each_endpoint_has_a_name_and_paths_of_its_own() -> None:
    assert len({endpoint.name for endpoint in ENDPOINTS}) == len(ENDPOINTS) == len(ASKED)
    paths = [path for endpoint in ENDPOINTS for path in endpoint.paths]
    assert len({*paths}) == len(paths)
    assert all(endpoint.provider == name for name, wire in FORMATS.items() for endpoint in wire.endpoints)


@every_endpoint
def test_a_request_is_understood_and_its_key_ignores_how_it_is_carried(endpoint: Endpoint) -> None:
    body = ASKED[endpoint.name]
    assert endpoint.flaw(body) is None
    assert endpoint.last_user_text(body) == "Habari"
    assert endpoint.system_prompt(body) == ("Be kind." if endpoint.conversational else "")
    assert request_key(endpoint, {**body, **dict.fromkeys(VOLATILE, "x")}) == request_key(endpoint, body)
    assert request_key(endpoint, {**body, "model": "another"}) != request_key(endpoint, body)


@every_endpoint
@pytest.mark.parametrize("body", [{}, {"model": 5}, {"model": "m"}])
def test_a_request_without_its_parts_is_refused_in_words(endpoint: Endpoint, body: dict[str, Any]) -> None:
    assert endpoint.flaw(body)


@every_talk
def test_what_a_call_was_made_of_is_kept_in_the_same_words(endpoint: Endpoint) -> None:
    inputs = request_inputs(asked(endpoint))
    assert len(inputs["system"]) == 1
    assert [message.partition(" ")[0] for message in inputs["messages"]] == ["user"]


@every_endpoint
def test_a_request_is_bounded_and_what_nobody_knows_is_refused(endpoint: Endpoint) -> None:
    work = bounded(paid(endpoint), OutputLimits(default=500))
    assert work.input_tokens > len(json.dumps(ASKED[endpoint.name]))
    assert work.output_tokens in ({0} if not endpoint.limits else {200, 500})
    with pytest.raises(ConfigurationError, match="late_addition"):
        bounded(paid(endpoint, late_addition=True), OutputLimits())


@every_talk
def test_an_answer_reports_what_it_took_and_is_known_by_its_shape(endpoint: Endpoint) -> None:
    body = answer(endpoint)
    reported = answer_usage(endpoint, body)
    assert (reported.usage, reported.unexplained, endpoint.usage(body)) == (USAGE, (), USAGE)
    assert endpoint_of_answer("groq", body) is endpoint
    assert endpoint.has_content(body)
    assert not endpoint.has_content(answer(endpoint, Step(None)))
    assert cut_off(endpoint, ASKED[endpoint.name], body, 12) == ""


@every_endpoint
@pytest.mark.parametrize("usage", [None, 5, {}])
def test_an_answer_without_usage_is_not_free(endpoint: Endpoint, usage: object) -> None:
    with pytest.raises(ValueError, match="usage"):
        answer_usage(endpoint, {endpoint.usage_field: usage})


@every_format
def test_a_judge_is_asked_within_bounds_and_its_answer_is_read(wire: WireFormat) -> None:
    endpoint, model = wire.endpoints[0], ASKED[wire.endpoints[0].name]["model"]
    body = structured_request(JudgeModel("mine", model, 300, wire.name), "Grade.", "Habari", SCHEMA)
    work = bounded(replace(paid(endpoint), body=body), OutputLimits())
    assert work.output_tokens == 300
    assert (endpoint.system_prompt(body), endpoint.last_user_text(body)) == ("Grade.", "Habari")
    assert answer_text(wire.name, answer(endpoint, Step(None, data={"score": 7}))) == '{"score": 7}'
    empty: tuple[Any, ...] = ({}, answer(endpoint, Step(None)))
    for unusable in empty:
        with pytest.raises(JudgeError):
            answer_text(wire.name, unusable)


@every_format
def test_a_key_goes_into_headers_alone_and_a_token_into_the_systems_environment(wire: WireFormat) -> None:
    base = urlsplit(wire.base_url.format(region="eu-west-1"))
    assert any("planted-key" in value for value in wire.headers("planted-key", "").values())
    assert "planted" not in str(wire.headers("", ""))
    address = wire.address(base, wire.endpoints[0].name, "a-model")
    assert address.startswith(f"https://{base.netloc}/")
    given = wire.environment("http://127.0.0.1:9", "the-token")
    held = {value.partition("/v1")[0] for name, value in given.items() if name != "OPENAI_AGENTS_DISABLE_TRACING"}
    assert held == {"http://127.0.0.1:9", "the-token"}


@every_format
def test_a_providers_own_error_is_distinguished_from_one_on_the_way(wire: WireFormat) -> None:
    headers = dict.fromkeys(wire.error_headers, "ServiceUnavailableException")
    own = wire.own_error(headers, dict(wire.endpoints[0].error(503, "busy")))
    assert own is not None
    assert own["message"] == "busy"
    assert wire.own_error({}, {"html": "502 Bad Gateway"}) is None


class Recorded:
    """Answers with what each endpoint answers."""

    async def answer(self, request: ModelRequest) -> ModelAnswer:
        return ModelAnswer(answer(endpoint_named(request.endpoint)), USAGE, replayed=True)


@every_talk
async def test_the_gateway_serves_it_whole_and_refuses_a_stranger(endpoint: Endpoint) -> None:
    gateway = Gateway(Recorded())
    await gateway.start()
    try:
        with gateway.open_scenario("spa") as access:
            url = gateway.url + endpoint.shown_path.replace("MODEL", ASKED[endpoint.name]["model"])
            body = dict(ASKED[endpoint.name])
            async with aiohttp.ClientSession() as http:
                async with http.post(url, json=body, headers={"Authorization": f"Bearer {access.token}"}) as response:
                    assert (response.status, await response.json()) == (200, answer(endpoint))
                async with http.post(url, json=body, headers={"Authorization": "Bearer guessed"}) as response:
                    refused = await response.json()
            assert (response.status, access.problems) == (401, ())
            assert refused == endpoint.error(401, "The API key is not the token of an open scenario of this gateway.")
    finally:
        await gateway.close()


@every_talk
def test_a_stream_has_every_word_of_the_answer(endpoint: Endpoint) -> None:
    kind, pieces = endpoint.stream({"stream": True}, answer(endpoint), {"alt": "sse"})
    streamed = b"".join(pieces)
    assert kind.partition("/")[2]
    assert all(word in streamed for word in (b"Karibu", b"check_availability", b"massage"))
