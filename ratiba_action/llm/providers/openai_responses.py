"""OpenAI's Responses endpoint."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ratiba_action.llm.canonical_request import lasting_fields
from ratiba_action.llm.providers.contents import Allowed
from ratiba_action.llm.providers.openai_chat import (
    CREATED,
    OPENAI_FIELDS,
    OWN_TOOLS,
    SYSTEM_ROLES,
    TIERS,
    OpenAIEndpoint,
    cached_tokens,
    missing_field,
    openai_tokens,
    routes,
    text_blocks,
)
from ratiba_action.llm.providers.openai_stored import items_of
from ratiba_action.llm.wire_format import EVENT_STREAM, BuiltInUse, Scripted, event, joined_text, last_user_text_of
from ratiba_action.model.conversation import Usage
from ratiba_action.model.values import JsonObject
from ratiba_action.money.answer_usage import objects
from ratiba_action.money.pricing import BuiltInTool

_ALLOWED = Allowed(
    OPENAI_FIELDS
    | {
        "background", "include", "input", "instructions", "max_output_tokens", "max_tool_calls", "reasoning", "text",
        "truncation",
    },
    tools=OWN_TOOLS,
    tiers=TIERS,
)  # fmt: skip


_CALLED = {
    "web_search_call": (BuiltInTool.WEB_SEARCH, BuiltInTool.WEB_SEARCH_PREVIEW),
    "file_search_call": (BuiltInTool.FILE_SEARCH,),
    "code_interpreter_call": (BuiltInTool.CODE_INTERPRETER,),
}
"""By the type of the item that stands for a call: the tools that it can have been."""
_DATED = re.compile(r"_\d{4}_\d{2}_\d{2}$")


class Responses(OpenAIEndpoint):
    """``POST /v1/responses``."""

    name = "responses"
    paths = routes(name)
    shown_path = f"/v1/{name}"
    answers_as = "response"
    is_stored = True
    limits = ("max_output_tokens",)
    allowed = _ALLOWED

    def built_in(self, body: JsonObject) -> BuiltInUse:
        """Web search, file search and the code interpreter, with the items of their earlier calls."""
        offered = [tool for each in objects(body.get("tools")) if (tool := _built_in(each))]
        rest = dict(body)
        for name, is_left_out in (("tools", _built_in), ("input", _called)):
            if isinstance(given := body.get(name), list):
                rest[name] = [each for each in given if not is_left_out(each)]
        if _built_in(body.get("tool_choice")) in offered:
            del rest["tool_choice"]
        return BuiltInUse(tuple(dict.fromkeys(offered)), rest)

    def built_in_calls(self, asked: JsonObject, answer: JsonObject) -> tuple[Sequence[Sequence[str]], JsonObject]:
        """Each item that is such a call; of an answer that cites and lists none, as many as the request allows."""
        offered, output = self.built_in(asked).tools, objects(answer.get("output"))
        calls = [[tool for tool in call if tool in offered] or call for item in output if (call := _called(item))]
        if not calls and offered and any(map(_cites, output)) and not any(map(_called, items_of(asked))):
            calls = [offered] * int(asked["max_tool_calls"])
        return calls, {**answer, "output": [item for item in output if not _called(item)]} if calls else answer

    def flaw(self, body: JsonObject) -> str | None:
        """What makes the request unusable, or None."""
        problem = missing_field(body, "input")
        if problem is None and not isinstance(body["input"], str | list):
            return "Invalid type for 'input': expected a string or an array."
        return problem

    def canonical(self, body: JsonObject) -> JsonObject:
        """The request with its input as a list of messages, every content a list of blocks."""
        request = lasting_fields(body)
        request["input"] = [text_blocks(item, "input_text") for item in items_of(body)]
        return request

    def system_prompt(self, body: JsonObject) -> str:
        """The instructions, then the texts of system and developer messages, one a line."""
        instructions = body.get("instructions")
        texts = [instructions] if isinstance(instructions, str) else []
        messages = [item for item in items_of(body) if isinstance(item, Mapping)]
        texts += [joined_text(item.get("content")) for item in messages if item.get("role") in SYSTEM_ROLES]
        return "\n".join(texts)

    def last_user_text(self, body: JsonObject) -> str:
        """The text of the user's last message."""
        return last_user_text_of(items_of(body))

    def tokens(self, usage: Mapping[str, Any]) -> Usage:
        """See ``openai_tokens``."""
        return openai_tokens(usage, "input_tokens", "output_tokens")

    def endings(self, answer: JsonObject) -> Sequence[Any]:
        """Why a response is incomplete."""
        incomplete = answer.get("incomplete_details")
        return (incomplete.get("reason"),) if isinstance(incomplete, Mapping) else ()

    def has_content(self, answer: JsonObject) -> bool:
        """Whether an item calls a tool or is a message with text or a refusal."""
        return any(map(_says, objects(answer.get("output"))))

    def stream(self, request: JsonObject, answer: JsonObject, query: Mapping[str, str]) -> tuple[str, Iterator[bytes]]:
        """Response created, each output item with its parts, response completed; numbered."""
        del request, query
        events = enumerate(_events(answer))
        return EVENT_STREAM, (event({**data, "sequence_number": number}, data["type"]) for number, data in events)

    def scripted(self, step: Scripted) -> JsonObject:
        """See ``Endpoint.scripted``."""
        return {
            "id": f"resp_{step.ids[0]}",
            "object": "response",
            "created_at": CREATED,
            "status": "completed",
            "model": step.model,
            "output": list(_scripted_items(step)),
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "usage": {
                "input_tokens": step.prompt_tokens,
                "input_tokens_details": cached_tokens(step.usage),
                "output_tokens": step.usage.output_tokens,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": step.prompt_tokens + step.usage.output_tokens,
            },
        }


def _scripted_items(step: Scripted) -> Iterator[JsonObject]:
    done = {"status": "completed"}
    if step.text:
        part = {"type": "output_text", "text": step.text, "annotations": []}
        yield {"id": f"msg_{step.ids[0]}", "type": "message", "role": "assistant", **done, "content": [part]}
    for ident, call in step.calls:
        arguments = json.dumps(dict(call.args), ensure_ascii=False)
        named = {"call_id": f"call_{ident}", "name": call.name, "arguments": arguments}
        yield {"id": f"fc_{ident}", "type": "function_call", **done, **named}


def _built_in(tool: Any) -> str | None:
    """The name of a tool of a request, without its date; None where it cannot have a price."""
    kind = tool.get("type") if isinstance(tool, Mapping) else None
    name = _DATED.sub("", kind) if isinstance(kind, str) else ""
    return name if name in set(BuiltInTool) else None


def _called(item: Any) -> tuple[str, ...]:
    """The tools that an item can be a call of; empty where it is none."""
    return _CALLED.get(str(item.get("type")), ()) if isinstance(item, Mapping) else ()


def _cites(item: Mapping[str, Any]) -> bool:
    return any(part.get("annotations") for part in objects(item.get("content")))


def _says(item: Mapping[str, Any]) -> bool:
    if item.get("type") != "message":
        return item.get("type") != "reasoning"
    return any(part.get("text") or part.get("refusal") for part in objects(item.get("content")))


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
    elif _called(item):
        yield from _built_in_events(place, item)
    yield {"type": "response.output_item.done", "output_index": index, "item": dict(item)}


def _built_in_events(place: Mapping[str, Any], item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A call of a tool that OpenAI ran: begun, at work, done."""
    name = f"response.{item['type']}"
    yield {"type": f"{name}.in_progress", **place}
    if isinstance(code := item.get("code"), str):
        yield {"type": f"{name}_code.delta", **place, "delta": code}
        yield {"type": f"{name}_code.done", **place, "code": code}
    yield {"type": f"{name}.{'interpreting' if 'code' in item else 'searching'}", **place}
    yield {"type": f"{name}.completed", **place}


def _part_events(place: Mapping[str, Any], part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    name = "refusal" if part.get("type") == "refusal" else "text"
    event_name = "refusal" if name == "refusal" else "output_text"
    text = part.get(name, "")
    extra: dict[str, Any] = {} if name == "refusal" else {"logprobs": []}
    yield {"type": "response.content_part.added", **place, "part": {**part, name: ""}}
    yield {"type": f"response.{event_name}.delta", **place, "delta": text, **extra}
    yield {"type": f"response.{event_name}.done", **place, name: text, **extra}
    yield {"type": "response.content_part.done", **place, "part": dict(part)}
