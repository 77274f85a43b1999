"""JSON with places for what a conversation says: ``{"message": "${message}", "history": "${history}"}``.

A text that is one place becomes the value itself, whatever its type; inside a longer text, an input is JSON if it is
no text.
``$${`` stands for a plain ``${``.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_PLACE = re.compile(r"\$?\$\{([^{}]*)\}")
INPUT_NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"
_INPUT = "inputs."
TEXTS = frozenset(
    {
        "message",
        "conversation_id",
        "scenario_id",
        "now",
        "timezone",
        "language",
        "vertical",
        "customer_name",
        "customer_phone",
    }
)
VALUES = frozenset({"history", "messages", "event", "inputs"})
"""Lists and mappings: only as the whole text."""


def template_problems(template: Any) -> tuple[str, ...]:
    """What is wrong with the places of a template, in words; empty when it can be filled."""
    problems = []
    for text in _texts(template):
        for place in _PLACE.finditer(text):
            name = place[1]
            if place[0].startswith("$$"):
                continue
            if name not in TEXTS | VALUES and not _is_input(name):
                known = ", ".join([*sorted(TEXTS | VALUES), f"{_INPUT}NAME"])
                problems.append(f"{place[0]!r} is no place; known are {known}")
            elif name in VALUES and place[0] != text:
                problems.append(f"{place[0]!r} is not a text; let it stand alone")
    return tuple(dict.fromkeys(problems))


def _is_input(name: str) -> bool:
    return name.startswith(_INPUT) and re.match(INPUT_NAME, name.removeprefix(_INPUT)) is not None


def input_places(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a scenario's inputs by their places: all of them, and each."""
    return {"inputs": dict(inputs), **{f"{_INPUT}{name}": value for name, value in inputs.items()}}


def missing_inputs(template: Any, inputs: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of inputs that a template has places for and a scenario has no value for, sorted."""
    wanted = {place.removeprefix(_INPUT) for place in places(template) if _is_input(place)}
    return tuple(sorted(wanted - set(inputs)))


def places(template: Any) -> frozenset[str]:
    """The names that a template has places for."""
    found = (place for text in _texts(template) for place in _PLACE.finditer(text))
    return frozenset(place[1] for place in found if not place[0].startswith("$$"))


def fill(template: Any, values: Mapping[str, Any]) -> Any:
    """The template with every place filled.

    Args:
        template: JSON without problems.
        values: by the name of the place; those of ``TEXTS`` are texts.
    """
    if isinstance(template, str):
        return _fill_text(template, values)
    if isinstance(template, Mapping):
        return {key: fill(item, values) for key, item in template.items()}
    return [fill(item, values) for item in template] if isinstance(template, list) else template


def _fill_text(text: str, values: Mapping[str, Any]) -> Any:
    whole = _PLACE.fullmatch(text)
    if whole is not None and not text.startswith("$$"):
        return values[whole[1]]
    # One pass: what a customer writes is never read as a place again.
    return _PLACE.sub(lambda place: _filled(place, values), text)


def _filled(place: re.Match[str], values: Mapping[str, Any]) -> str:
    return place[0][1:] if place[0].startswith("$$") else as_text(values[place[1]])


def as_text(value: Any) -> str:
    """How a value stands inside a longer text: nothing for None, JSON for what is no text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _texts(template: Any) -> Iterator[str]:
    if isinstance(template, str):
        yield template
    elif isinstance(template, Mapping):
        for item in template.values():
            yield from _texts(item)
    elif isinstance(template, list):
        for item in template:
            yield from _texts(item)
