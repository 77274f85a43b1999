"""The providers' stand-ins: both SDKs take them for the real thing."""

import anthropic
import openai
import pytest

from ratiba_action.llm.access import gateway_environment
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.conversation import ToolCall, Usage
from tests.support.model_servers import ModelServer
from tests.support.provider_faults import Failure
from tests.support.sdk_talk import SdkTalk, texts, tool_uses

KEY = "sk-real-1234"


async def test_both_sdks_are_answered_from_one_script_in_order() -> None:
    called = ToolCall("check_availability", {"service": "massage"})
    script = [Step("anthropic", text="Karibu!", tools=(called,)), Step("openai", text="Sawa", usage=Usage(9, 3))]
    async with ModelServer(script, KEY) as server:
        talk = SdkTalk(gateway_environment(server.url, KEY))
        message, completion = await talk.message("Habari"), await talk.completion()
    assert (texts(message), tool_uses(message)) == (["Karibu!"], [(called.name, called.args)])
    assert completion.choices[0].message.content == "Sawa"
    assert completion.usage is not None
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (9, 3)
    assert [request.path for request in server.received] == ["/v1/messages", "/v1/chat/completions"]
    assert server.received[0].body["messages"][0]["content"] == "Habari"


async def test_another_key_is_refused_and_uses_up_no_step() -> None:
    async with ModelServer([Step("anthropic", text="Karibu!")], KEY) as server:
        with pytest.raises(anthropic.AuthenticationError):
            await SdkTalk(gateway_environment(server.url, "sk-other")).message()
        assert server.received == ()
        assert texts(await SdkTalk(gateway_environment(server.url, KEY)).message()) == ["Karibu!"]


async def test_failures_are_scripted_and_a_script_at_its_end_fails() -> None:
    async with ModelServer([Failure(429), Failure(529, "overloaded")], KEY) as server:
        talk = SdkTalk(gateway_environment(server.url, KEY))
        with pytest.raises(openai.RateLimitError):
            await talk.completion()
        with pytest.raises(anthropic.APIStatusError, match="overloaded"):
            await talk.message()
        with pytest.raises(anthropic.InternalServerError, match="at its end"):
            await talk.message()
