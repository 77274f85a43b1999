"""A system under test in miniature: talks to its models through both providers' own SDKs, as its environment says."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import anthropic
import openai
from anthropic.types import Message
from openai.types import CreateEmbeddingResponse
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

HAIKU = "claude-haiku-4-5"
GPT = "gpt-5.2"
GEMINI = "gemini-2.5-flash"
NOVA = "amazon.nova-pro-v1:0"
EMBEDDER = "text-embedding-3-small"
SYSTEM = "You book appointments for a spa in Nairobi."
TOOL: Mapping[str, Any] = {
    "name": "check_availability",
    "description": "Is a slot free?",
    "input_schema": {"type": "object", "properties": {"service": {"type": "string"}}},
}
INTENT: Mapping[str, Any] = {
    "type": "json_schema",
    "json_schema": {
        "name": "intent",
        "schema": {"type": "object", "properties": {"intent": {"type": "string"}}, "required": ["intent"]},
    },
}


class SdkTalk:
    """Model calls as a system makes them.

    Args:
        environment: base URLs and keys of both providers.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def anthropic(self, **settings: Any) -> anthropic.AsyncAnthropic:
        """A client of the environment's address and key, without hidden retries."""
        address, key = self._environment["ANTHROPIC_BASE_URL"], self._environment["ANTHROPIC_API_KEY"]
        return anthropic.AsyncAnthropic(**{"base_url": address, "api_key": key, "max_retries": 0, **settings})

    def openai(self, **settings: Any) -> openai.AsyncOpenAI:
        """A client of the environment's address and key, without hidden retries."""
        address, key = self._environment["OPENAI_BASE_URL"], self._environment["OPENAI_API_KEY"]
        return openai.AsyncOpenAI(**{"base_url": address, "api_key": key, "max_retries": 0, **settings})

    async def message(self, text: str = "Habari", **changes: Any) -> Message:
        """One call of Anthropic's Messages endpoint."""
        async with self.anthropic() as client:
            answer: Message = await client.messages.create(**{**_message_request(text), **changes})
            return answer

    async def streamed_message(self, text: str = "Habari") -> Message:
        """The same call as a stream, gathered by the SDK."""
        async with self.anthropic() as client, client.messages.stream(**_message_request(text)) as stream:
            return await stream.get_final_message()

    async def completion(self, text: str = "Habari", **changes: Any) -> ChatCompletion:
        """One call of OpenAI's Chat Completions endpoint, its answer bound to a JSON schema."""
        async with self.openai() as client:
            answer: ChatCompletion = await client.chat.completions.create(**{**_chat_request(text), **changes})
            return answer

    async def streamed_completion(self, text: str = "Habari") -> ChatCompletion:
        """The same call as a stream with its usage, gathered by the SDK."""
        request = {**_chat_request(text), "stream_options": {"include_usage": True}}
        async with self.openai() as client, client.chat.completions.stream(**request) as stream:
            return await stream.get_final_completion()

    async def response(self, text: str = "Habari") -> Response:
        """One call of OpenAI's Responses endpoint."""
        async with self.openai() as client:
            return await client.responses.create(model=GPT, instructions=SYSTEM, input=text)

    async def streamed_response(self, text: str = "Habari") -> Response:
        """The same call as a stream, gathered by the SDK."""
        async with (
            self.openai() as client,
            client.responses.stream(model=GPT, instructions=SYSTEM, input=text) as stream,
        ):
            return await stream.get_final_response()

    async def embedding(self, text: str = "Habari") -> CreateEmbeddingResponse:
        """One call of OpenAI's Embeddings endpoint."""
        async with self.openai() as client:
            return await client.embeddings.create(model=EMBEDDER, input=text, encoding_format="float")


Talk = Callable[[SdkTalk], Awaitable[object]]


def texts(message: Message) -> Sequence[str]:
    """The texts of a message."""
    return [block.text for block in message.content if block.type == "text"]


def tool_uses(message: Message) -> Sequence[tuple[str, object]]:
    """Name and input of each tool that a message calls."""
    return [(block.name, block.input) for block in message.content if block.type == "tool_use"]


def _message_request(text: str) -> dict[str, Any]:
    words = [{"role": "user", "content": text}]
    return {"model": HAIKU, "max_tokens": 200, "system": SYSTEM, "tools": [dict(TOOL)], "messages": words}


def _chat_request(text: str) -> dict[str, Any]:
    words = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
    return {"model": GPT, "messages": words, "response_format": dict(INTENT)}
