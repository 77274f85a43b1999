"""The endpoints that the gateway speaks."""

from collections.abc import Iterator, Mapping
from typing import Any

from ratiba_action.llm.anthropic_wire import AnthropicMessages
from ratiba_action.llm.canonical_request import joined_text, last_text_of, lasting_fields, recorded_usage
from ratiba_action.llm.endpoint import Endpoint, event
from ratiba_action.llm.gemini_wire import GeminiContents
from ratiba_action.llm.openai_chat import OpenAIChat, OpenAIEmbeddings, error_body, missing_field, text_blocks
from ratiba_action.model.conversation import Usage
from ratiba_action.model.values import JsonObject

_SYSTEM_ROLES = ("system", "developer")


class OpenAIResponses:
    """``POST /v1/responses``."""

    provider = "openai"
    name = "responses"

    def flaw(self, body: JsonObject) -> str | None:
        """What makes the request unusable, or None."""
        problem = missing_field(body, "input")
        if problem is None and not isinstance(body["input"], str | list):
            return "Invalid type for 'input': expected a string or an array."
        return problem

    def canonical(self, body: JsonObject) -> JsonObject:
        """The request with its input as a list of messages, every content a list of blocks."""
        request = lasting_fields(body)
        request["input"] = [text_blocks(item, "input_text") for item in _items(body)]
        return request

    def system_prompt(self, body: JsonObject) -> str:
        """The instructions, then the texts of system and developer messages, one a line."""
        instructions = body.get("instructions")
        texts = [instructions] if isinstance(instructions, str) else []
        messages = [item for item in _items(body) if isinstance(item, Mapping)]
        texts += [joined_text(item.get("content")) for item in messages if item.get("role") in _SYSTEM_ROLES]
        return "\n".join(texts)

    def last_user_text(self, body: JsonObject) -> str:
        """The text of the user's last message."""
        return last_text_of(_items(body), "user")

    def usage(self, answer: JsonObject) -> Usage:
        """The tokens of the answer's ``usage``."""
        return recorded_usage(self.provider, self.name, answer)

    def stream(self, request: JsonObject, answer: JsonObject) -> Iterator[bytes]:  # noqa: ARG002 - of the protocol
        """Response created, each output item with its parts, response completed; numbered."""
        for number, data in enumerate(_events(answer)):
            yield event({**data, "sequence_number": number}, data["type"])

    def error(self, status: int, message: str) -> JsonObject:
        """OpenAI's error body."""
        return error_body(status, message)


def _items(body: JsonObject) -> list[Any]:
    given = body.get("input")
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    return given if isinstance(given, list) else []


def _events(answer: JsonObject) -> Iterator[dict[str, Any]]:
    opening = {**answer, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": opening}
    yield {"type": "response.in_progress", "response": opening}
    for index, item in enumerate(answer.get("output") or []):
        yield from _item_events(index, item)
    yield {"type": f"response.{answer.get('status') or 'completed'}", "response": dict(answer)}


def _item_events(index: int, item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    place = {"output_index": index, "item_id": item.get("id")}
    empty: dict[str, Any] = {"content": []} if item.get("type") == "message" else {}
    if item.get("type") == "function_call":
        empty = {"arguments": ""}
    opening = {**item, "status": "in_progress", **empty}
    yield {"type": "response.output_item.added", "output_index": index, "item": opening}
    if item.get("type") == "message":
        for number, part in enumerate(item.get("content") or []):
            yield from _part_events({**place, "content_index": number}, part)
    elif item.get("type") == "function_call":
        arguments = item.get("arguments", "")
        yield {"type": "response.function_call_arguments.delta", **place, "delta": arguments}
        done = {"type": "response.function_call_arguments.done", **place, "arguments": arguments}
        yield {**done, "name": item.get("name")}
    yield {"type": "response.output_item.done", "output_index": index, "item": dict(item)}


def _part_events(place: Mapping[str, Any], part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    name = "refusal" if part.get("type") == "refusal" else "text"
    event_name = "refusal" if name == "refusal" else "output_text"
    text = part.get(name, "")
    extra: dict[str, Any] = {} if name == "refusal" else {"logprobs": []}
    yield {"type": "response.content_part.added", **place, "part": {**part, name: ""}}
    yield {"type": f"response.{event_name}.delta", **place, "delta": text, **extra}
    yield {"type": f"response.{event_name}.done", **place, name: text, **extra}
    yield {"type": "response.content_part.done", **place, "part": dict(part)}


ENDPOINTS: tuple[Endpoint, ...] = (AnthropicMessages(), OpenAIChat(), OpenAIResponses(), OpenAIEmbeddings())
"""Each endpoint whose path is its name, with or without ``/v1`` before it."""

GEMINI: Endpoint = GeminiContents()
"""The endpoint whose path holds the model."""


def endpoint_named(name: str) -> Endpoint:
    """The endpoint of a name, which no other provider has.

    Raises:
        KeyError: there is none.
    """
    return {endpoint.name: endpoint for endpoint in (*ENDPOINTS, GEMINI)}[name]
