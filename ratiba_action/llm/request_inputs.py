"""What a model call was made of, kept beside its recorded answer, and which of it changed since."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from ratiba_action.llm.canonical_request import plain_number
from ratiba_action.llm.endpoints import endpoint_named
from ratiba_action.llm.recordings.lines import ModelRecording
from ratiba_action.llm.wire_format import joined_text
from ratiba_action.model.canonical import canonical_json, digest
from ratiba_action.model.model_request import ModelRequest
from ratiba_action.model.values import JsonObject
from ratiba_action.privacy.credentials import MASK, find_credentials
from ratiba_action.privacy.identifiers import mask_identifiers
from ratiba_action.util.text import clip, plural

_DIGITS, _LINE_DIGITS, _MESSAGE_DIGITS = 12, 4, 8
VOLATILE = ", which holds a time, a date or an id"
"""Ends a clause about a text that may be new in each run."""
_KEPT, _SHOWN, _BEFORE = 300, 120, 20
"""Characters of a tool's result that are kept, of a text that a message shows, and of those before what differs."""
_DIFFERENCES = 3
"""Values that are named of two requests."""
_MESSAGES = ("messages", "input")
_SYSTEM_ROLES = frozenset({"system", "developer"})
_NAMED_OTHERWISE = frozenset({*_MESSAGES, "model", "system", "systemInstruction", "instructions", "tools"})
_VOLATILE = re.compile(
    r"""
    [0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}                # a UUID
    | \d{4}-\d\d-\d\d(?:[T\ ]\d\d:\d\d(?:[:.,\d]*)?)?(?:Z|[+-]\d\d:?\d\d)?  # a date, an instant
    | \b\d{1,2}:\d\d(?::\d\d)?(?:\ ?[ap]m\b)?                  # a time of day
    | \b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*\b
    | \b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?\ +\d{1,2}\b(?:,?\ +\d{4})?
    | \b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b                          # a hexadecimal id
    | \b\d+\.\d{3,}\b | \b\d{5,}\b                             # a time stamp, a random number
    """,
    re.VERBOSE | re.IGNORECASE,
)


def request_inputs(request: ModelRequest) -> JsonObject:
    """Digests of the prompt's lines, the tools and the messages; the parameters; the newest results of tools.

    Results are masked and cut, since a recording lies in a repository for good; the rest can be read where it is
    written: in the prompt files, the code and the scenario.
    """
    body = _canonical(request)
    parts = list(_parts(body))
    inputs: dict[str, Any] = {
        "system": [_line_digest(line) for line in _prompt_lines(request)],
        "tools": digest(body["tools"])[:_DIGITS] if body.get("tools") else "",
        "parameters": {name: _shortened(value) for name, value in body.items() if name not in _NAMED_OTHERWISE},
        "messages": [f"{role} {digest(content)[:_MESSAGE_DIGITS]}" for role, _, content in parts],
        "results": [{"tool": name, "text": _kept(content)} for name, content in _newest_results(parts)],
    }
    return {name: value for name, value in inputs.items() if value}


def changed_inputs(line: ModelRecording, request: ModelRequest, edited_prompts: Sequence[str]) -> tuple[str, ...]:
    """What changed since a call was recorded, in clauses without an end; the first is the likeliest cause.

    Args:
        edited_prompts: paths of the prompt files that the change under test edits.
    """
    now, was = request_inputs(request), line.inputs
    found = [*_other_model(line, request), *_other_prompt(line, request, edited_prompts)]
    if was is not None:
        found += _other_results(was, now)
    if line.asked != request.last_message:
        found.append(f"the customer's message to the model changed {_arrow(line.asked, request.last_message)}")
    if was is not None:
        found += [*_other_parameters(was, now), *(() if found else _other_messages(was, now, request))]
    if edited_prompts and found and line.system == request.system:  # texts such as documents reach a model in messages
        found.append(f"this change edits {', '.join(edited_prompts)}")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class SentParts:
    """What a system sends to a model besides the conversation.

    Args:
        system: lines of the system prompt.
        tools: digest of the tools; empty where there are none.
        parameters: as they are kept in recordings.
    """

    system: Sequence[str]
    tools: str
    model: str
    parameters: Mapping[str, Any]


def sent_parts(request: ModelRequest) -> SentParts:
    """What a request holds besides the conversation."""
    inputs = request_inputs(request)
    model = f"{request.provider}/{request.model}"
    return SentParts(tuple(_prompt_lines(request)), inputs.get("tools", ""), model, inputs.get("parameters", {}))


def differs_in_parts(line: ModelRecording, request: ModelRequest) -> bool:
    """Whether a request has another system prompt, model, parameter or tool than a recorded one, as far as is kept."""
    if (line.provider, line.model, line.system) != (request.provider, request.model, request.system):
        return True
    now = request_inputs(request)
    return line.inputs is not None and any(line.inputs.get(name) != now.get(name) for name in ("tools", "parameters"))


def request_difference(before: ModelRequest, after: ModelRequest) -> str:
    """What differs between two requests: each value by its place, as it was and as it is; empty where none does.

    A text that is JSON itself is looked into.
    """
    found = [
        _difference(place or "the request", old, new)
        for place, old, new in _differences(_canonical(before), _canonical(after), "")
    ]
    more = len(found) - _DIFFERENCES
    return "; ".join(found[:_DIFFERENCES]) + (f"; and {plural(more, 'more value')}" if more > 0 else "")


_ABSENT = object()


def _differences(old: Any, new: Any, place: str) -> Iterator[tuple[str, Any, Any]]:
    old, new = (old, new) if old == new else (_as_json(old), _as_json(new))
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in dict.fromkeys((*old, *new)):
            inside = f"{place}.{name}" if place else str(name)
            yield from _differences(old.get(name, _ABSENT), new.get(name, _ABSENT), inside)
    elif isinstance(old, list) and isinstance(new, list):
        for number, (first, second) in enumerate(zip_longest(old, new, fillvalue=_ABSENT)):
            yield from _differences(first, second, f"{place}[{number}]")
    elif old != new or type(old) is not type(new):
        yield place, old, new


def _as_json(value: Any) -> Any:
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _difference(place: str, old: Any, new: Any) -> str:
    if old is _ABSENT:
        return f"{place} was added ({_value(new)}){_volatile(str(new))}"
    if new is _ABSENT:
        return f"{place} was left out ({_value(old)})"
    if isinstance(old, str) and isinstance(new, str):
        return f"{place} {_arrow(old, new).removesuffix(VOLATILE)}{VOLATILE if _differs_in_time(old, new) else ''}"
    return f"{place} ({_value(old)} → {_value(new)})"


def _differs_in_time(old: str, new: str) -> bool:
    """Whether what is new in a text holds or touches what is new in each run, such as a time."""
    start, end = _same(old, new), len(new) - _same(old[::-1], new[::-1])
    return any(match.start() < max(end, start + 1) and match.end() > start for match in _VOLATILE.finditer(new))


def _value(value: Any) -> str:
    return _quoted(value) if isinstance(value, str) else clip(_without_credentials(canonical_json(value)), _SHOWN)


def _canonical(request: ModelRequest) -> JsonObject:
    body: JsonObject = plain_number(endpoint_named(request.endpoint).comparable(request.body))
    return body


def _prompt_lines(request: ModelRequest) -> Sequence[str]:
    return endpoint_named(request.endpoint).system_prompt(request.body).splitlines()


def _line_digest(line: str) -> str:
    return hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest()[:_LINE_DIGITS]


def _shortened(value: Any) -> Any:
    return (
        value if isinstance(value, str | int | float | bool) and len(str(value)) <= _SHOWN else digest(value)[:_DIGITS]
    )


_Part = tuple[str, str, Any]
"""Role, the tool's name where the part is its result, and content."""


def _parts(body: JsonObject) -> Iterator[_Part]:
    """The messages in order, with each tool's result as a part of its own, whichever the endpoint."""
    items: list[Any] = next((body[name] for name in _MESSAGES if isinstance(body.get(name), list)), [])
    names: dict[str, str] = {}
    for item in items:
        if not isinstance(item, Mapping):
            yield "input", "", item
            continue
        role, content = str(item.get("role") or item.get("type") or "message"), item.get("content")
        if role in _SYSTEM_ROLES:
            continue
        names |= dict(_called_tools(item))
        if role == "tool" or item.get("type") == "function_call_output":
            called = names.get(str(item.get("tool_call_id") or item.get("call_id")), "")
            yield "tool", called, item.get("output", content)
            continue
        blocks = content if isinstance(content, list) else []
        results = [part for part in blocks if isinstance(part, Mapping) and part.get("type") == "tool_result"]
        for block in results:
            yield "tool", names.get(str(block.get("tool_use_id")), ""), block.get("content")
        if len(results) < len(blocks) or not blocks:
            yield role, "", {**item, "content": [part for part in blocks if part not in results] or content}


def _called_tools(item: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Id and name of each tool that a message of the model calls."""
    blocks = item.get("content") if isinstance(item.get("content"), list) else []
    calls = [*(blocks or []), *(item.get("tool_calls") or []), item]
    for call in calls:
        if isinstance(call, Mapping):
            named = call.get("function") if isinstance(call.get("function"), Mapping) else call
            if name := (named or {}).get("name"):
                yield str(call.get("call_id") or call.get("id")), str(name)


def _newest_results(parts: Sequence[_Part]) -> Sequence[tuple[str, Any]]:
    """The results that the model has not answered yet, at the end of the messages."""
    found: list[tuple[str, Any]] = []
    for role, name, content in reversed(parts):
        if role in {"assistant", "function_call"}:
            break
        if role == "tool":
            found.insert(0, (name, content))
    return found


def _kept(content: Any) -> str:
    text = joined_text(content) or (content if isinstance(content, str) else canonical_json(content))
    return mask_identifiers(_without_credentials(text))[:_KEPT]


def _without_credentials(text: str) -> str:
    """The text, or none of it where it holds a key, a token or a password: these lines are shown and kept."""
    return MASK if find_credentials(text) else text


def _other_model(line: ModelRecording, request: ModelRequest) -> Iterator[str]:
    if (line.provider, line.model) != (request.provider, request.model):
        yield f"the system calls the model {request.model!r} where {line.model!r} was recorded"


def _other_prompt(line: ModelRecording, request: ModelRequest, edited: Sequence[str]) -> Iterator[str]:
    if line.system == request.system:
        return
    if edited:
        yield f"this change edits {', '.join(edited)}"
        return
    known = set((line.inputs or {}).get("system", ()))
    fresh = [(number, text) for number, text in enumerate(_prompt_lines(request), 1) if _line_digest(text) not in known]
    if line.inputs is None or not fresh:
        yield f"the system prompt changed (its digest is {request.system}, and {line.system} was recorded)"
        return
    number, text = next((message for message in fresh if _VOLATILE.search(message[1])), fresh[0])
    yield f"line {number} of the system prompt changed and is now {_quoted(text)}{_volatile(text)}"


def _volatile(text: str, old: str | None = None) -> str:
    """That a text holds what is new in each run, such as a time; empty where it does not, as far as is known."""
    matches = bool(_VOLATILE.search(text)) if old is None else _VOLATILE.sub("#", text) == _VOLATILE.sub("#", old)
    return VOLATILE if matches else ""


def _other_results(was: JsonObject, now: JsonObject) -> Iterator[str]:
    old, new = was.get("results", []), now.get("results", [])
    for before, after in zip(old, new, strict=False):
        if before != after:
            tool = f"the tool {after['tool']}" if after["tool"] else "a tool"
            yield f"the result of {tool} changed {_arrow(before['text'], after['text'])}"
    if len(old) != len(new):
        yield f"the model is given {len(new)} results of tools, and {len(old)} were recorded"


def _other_parameters(was: JsonObject, now: JsonObject) -> Iterator[str]:
    if was.get("tools") != now.get("tools"):
        yield "the tools that the model is given changed (a name, a description or a parameter of one)"
    old, new = was.get("parameters", {}), now.get("parameters", {})
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            yield f"the parameter {name} changed ({old.get(name, 'none')} → {new.get(name, 'none')})"


def _other_messages(was: JsonObject, now: JsonObject, request: ModelRequest) -> Iterator[str]:
    old, new = was.get("messages", []), now.get("messages", [])
    parts = list(_parts(_canonical(request)))
    for number, (before, after) in enumerate(zip(old, new, strict=False)):
        if before != after:
            role, name, content = parts[number]
            what = f"the result of the tool {name}" if role == "tool" else f"a message of the {role}"
            text = _kept(content) if role == "tool" else joined_text(content.get("content"))
            yield (
                f"{what} changed (message {number + 1} of {len(new)} in the request) and is now {_quoted(text)}"
                + _volatile(text)
            )
            return
    if len(old) != len(new):
        yield f"the request has {len(new)} messages, and {len(old)} were recorded"


def _arrow(old: str, new: str) -> str:
    """Both texts from shortly before their first difference, and what they are where that is what changes."""
    if old == new:
        return f"in a part that is not kept ({_quoted(new)})"
    same = _same(old, new)
    start = max(0, same - _BEFORE) if max(len(old), len(new)) > _SHOWN else 0
    return f"({_quoted(old, start)} → {_quoted(new, start)}){_volatile(new, old)}"


def _same(old: str, new: str) -> int:
    """How many characters two texts begin with together."""
    differ = (at for at, (first, second) in enumerate(zip(old, new, strict=False)) if first != second)
    return next(differ, min(len(old), len(new)))


def _quoted(text: str, start: int = 0) -> str:
    text = _without_credentials(text)
    shown = f"{'…' if start else ''}{text[start : start + _SHOWN]}{'…' if len(text) > start + _SHOWN else ''}"
    return shown if shown[:1] in ("{", "[") else repr(shown)
