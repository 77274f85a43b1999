"""What can be asserted of a turn of ``ratiba chat``: what was seen, and seen again in another tenant."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ratiba_action.authoring.chat_conversation import Heard, RowChange
from ratiba_action.errors import UsageError
from ratiba_action.model.conversation import Reply
from ratiba_action.model.values import JsonObject
from ratiba_action.util.text import clip

_MAX_TEXT = 200
"""Characters of a column that is asserted; a longer text is a reply, and asserted by its own words."""
_MAX_REPLY = 20_000
_LISTS = ("events", "rows", "contains", "not_contains")

IsPublic = Callable[[str, Any], bool]
"""Says of a name and its value whether they may stand in a file."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One assertion that can be chosen.

    Args:
        shown: in words.
        expect: the part of ``expect`` that asserts it, as a scenario file has it.
    """

    shown: str
    expect: Mapping[str, Any]


def offers_of(
    heard: Heard, again: Heard | None, *, uses_tools: bool, is_public: IsPublic = lambda _name, _value: True
) -> tuple[Offer, ...]:
    """Everything of a turn that was the same each time it was seen.

    Args:
        again: the same turn in another tenant; None where it could not be repeated.
        uses_tools: the conversation called a tool, so that none in this turn says something.
        is_public: leaves out what would be masked: it could not be found again.
    """
    return tuple(_offers(heard, again or heard, is_public, uses_tools=uses_tools))


def _offers(heard: Heard, again: Heard, is_public: IsPublic, *, uses_tools: bool) -> Iterator[Offer]:
    reply, other = heard.exchange.reply, again.exchange.reply
    for name, value, repeated in (("state", reply.state, other.state), ("payment", reply.payment, other.payment)):
        if value and value == repeated:
            yield Offer(f"{name} {value}", {name: value})
    if [call.name for call in reply.tool_calls] == [call.name for call in other.tool_calls]:
        calls = zip(reply.tool_calls, other.tool_calls, strict=True)
        arguments = [(call.name, _public(common(call.args, same.args), is_public)) for call, same in calls]
        tools = [_named("name", name, "args", args) for name, args in arguments]
        if tools or uses_tools:
            yield Offer(f"tools {', '.join(map(_call, tools))}" if tools else "no tool is called", {"tools": tools})
    events = zip(reply.events, other.events, strict=False)
    for event, same_event in events:
        if event.type == same_event.type:
            wanted = _named("type", event.type, "data", _public(common(event.data, same_event.data), is_public))
            yield Offer(f"event {event.type} {_json(wanted.get('data', {}))}", {"events": [wanted]})
    yield from _documents(reply, other, is_public)
    if reply.output is not None and reply.output == other.output and is_public("output", reply.output):
        yield Offer(f"output {_json(reply.output)}", {"output": {"value": reply.output}})
    changed = {change.table: change for change in again.rows}
    for change in heard.rows:
        yield from _rows(change, changed.get(change.table, RowChange(change.table)), is_public)
    if 0 < len(reply.text.strip()) <= _MAX_REPLY and reply.text == other.text and is_public("reply", reply.text):
        yield Offer(f"the whole reply: {clip(reply.text, 60)}", {"equals": reply.text})


def _documents(reply: Reply, other: Reply, is_public: IsPublic) -> Iterator[Offer]:
    """All documents of the reply, if they are the same each time."""
    found, again = ([document.id for document in each.documents] for each in (reply, other))
    if found and found == again and all(is_public("document", name) for name in found):
        yield Offer(f"documents {clip(', '.join(found), _MAX_TEXT)}", {"documents": list(dict.fromkeys(found))})


def _rows(change: RowChange, again: RowChange, is_public: IsPublic) -> Iterator[Offer]:
    """A row that came, in the columns that are the same each time; a row that went, unless one like it is left."""
    if len(change.added) != len(again.added) or len(change.removed) != len(again.removed):
        return
    seen = set[str]()
    for came, rows, repeated in ((True, change.added, again.added), (False, change.removed, again.removed)):
        for row, same in zip(rows, repeated, strict=True):
            where = _public(common(row, same), is_public)
            where = {name: value for name, value in where.items() if _is_telling(value)}
            count = sum(all(found.get(name) == value for name, value in where.items()) for found in change.now)
            key = _json(where)
            if key in seen or (not came and (count or not where)):
                continue
            seen.add(key)
            wanted = {**_named("table", change.table, "where", where), "count": count}
            shown = f" where {', '.join(f'{name}={_json(value)}' for name, value in where.items())}" if where else ""
            yield Offer(f"rows {change.table}{shown}: {count}", {"rows": [wanted]})


def _is_telling(value: Any) -> bool:
    return value is not None and not (isinstance(value, str) and len(value) > _MAX_TEXT)


def _public(value: JsonObject, is_public: IsPublic) -> JsonObject:
    return {name: part for name, part in value.items() if is_public(name, part)}


def common(one: JsonObject, other: JsonObject) -> JsonObject:
    """The parts of two objects that are equal, at any depth of objects."""
    found: dict[str, Any] = {}
    for name in one.keys() & other.keys():
        left, right = one[name], other[name]
        if isinstance(left, dict) and isinstance(right, dict):
            inner = common(left, right)
            found |= {name: dict(inner)} if inner or not left else {}
        elif left == right and type(left) is type(right):
            found[name] = left
    return {name: found[name] for name in one if name in found}


def _named(name: str, value: str, more: str, parts: JsonObject) -> JsonObject:
    return {name: value, **({more: parts} if parts else {})}


def _call(tool: Mapping[str, Any]) -> str:
    arguments = ", ".join(f"{name}={_json(value)}" for name, value in tool.get("args", {}).items())
    return f"{tool['name']}({arguments})"


def _json(value: Any) -> str:
    return clip(json.dumps(value, ensure_ascii=False, default=str))


def of_text(kind: str, text: str, reply: str) -> Offer:
    """The assertion that a reply contains a text, or that it does not.

    Args:
        kind: ``contains`` or ``not_contains``.

    Raises:
        UsageError: the text is empty, or it is not so in this reply.
    """
    if not text.strip():
        raise UsageError(f"/expect {kind} needs a text.", f"Write: /expect {kind} TEXT")
    if (text.casefold() in reply.casefold()) is not (kind == "contains"):
        if kind == "contains":
            raise UsageError(f"The reply does not contain {text!r}.", "Take a text of the reply above.")
        raise UsageError(f"The reply contains {text!r}.", "Take a text that the reply above does not have.")
    return Offer(f"the reply {'contains' if kind == 'contains' else 'does not contain'} {text!r}", {kind: [text]})


def expect_of(chosen: Iterable[Offer]) -> dict[str, Any]:
    """``expect`` of a turn with all that was chosen."""
    expect: dict[str, Any] = {}
    for offer in chosen:
        for name, value in offer.expect.items():
            expect[name] = [*expect.get(name, []), *value] if name in _LISTS else value
    return expect


def chosen_by(numbers: str, offers: Sequence[Offer]) -> tuple[Offer, ...]:
    """The offers of a list of numbers from 1, of ``all`` or of ``none``.

    Raises:
        UsageError: there is no such number.
    """
    if numbers in {"all", "none"}:
        return tuple(offers) if numbers == "all" else ()
    words = numbers.replace(",", " ").split()
    wrong = [word for word in words if not (word.isascii() and word.isdecimal() and 1 <= int(word) <= len(offers))]
    if wrong:
        allowed = f"1 to {len(offers)}" if offers else "none: nothing of this turn can be asserted"
        raise UsageError(f"There is no {wrong[0]!r} to choose; the numbers are {allowed}.", "List them: /expect")
    return tuple(offers[int(word) - 1] for word in dict.fromkeys(words))
