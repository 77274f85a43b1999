"""Whether an answer has the shape that a question asks for: the part of JSON Schema that providers hold models to."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from ratiba_action.model.values import JsonObject
from ratiba_action.util.validation import shorten

_SHOWN = 60
_KINDS: Mapping[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}
_LIMITS = ("minimum", "maximum", "minItems", "maxItems", "minLength")


def shape_problems(value: Any, schema: JsonObject, place: str = "the answer") -> Iterator[str]:
    """Everything in which a value differs from its schema, in words.

    Args:
        value: JSON as Python reads it.
        schema: of ``type``, ``properties``, ``required``, ``items``, ``enum``, ``anyOf`` and limits; nothing else is
            looked at. An object never has properties that its schema does not name.
    """
    if "anyOf" in schema:
        if not any(_fits(value, option) for option in schema["anyOf"]):
            yield f"{place} {shorten(value, _SHOWN)} is nothing that was asked for"
        return
    kind = schema.get("type")
    if kind is not None and not _is(value, kind):
        yield f"{place} {shorten(value, _SHOWN)} is not of type {kind}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{place} {shorten(value, _SHOWN)} is not one of {', '.join(map(str, schema['enum']))}"
    yield from _limit_problems(value, schema, place)
    if kind == "object":
        yield from _object_problems(value, schema, place)
    if kind == "array":
        for number, item in enumerate(value, 1):
            yield from shape_problems(item, schema["items"], f"{place}, item {number}")


def without_limits(schema: Any) -> Any:
    """The schema as providers take it: they refuse limits of numbers, texts and lists."""
    if isinstance(schema, Mapping):
        return {name: without_limits(part) for name, part in schema.items() if name not in _LIMITS}
    return [without_limits(part) for part in schema] if isinstance(schema, list) else schema


def _fits(value: Any, schema: JsonObject) -> bool:
    return next(iter(shape_problems(value, schema)), None) is None


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return isinstance(value, _KINDS[kind])


def _limit_problems(value: Any, schema: JsonObject, place: str) -> Iterator[str]:
    size = len(value) if isinstance(value, str | list) else 0
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{place} {shorten(value, _SHOWN)} is less than {schema['minimum']}"
    if "maximum" in schema and value > schema["maximum"]:
        yield f"{place} {shorten(value, _SHOWN)} is more than {schema['maximum']}"
    if "minItems" in schema and size < schema["minItems"]:
        yield f"{place} has {size} items, and at least {schema['minItems']} were asked for"
    if "maxItems" in schema and size > schema["maxItems"]:
        yield f"{place} has {size} items, and at most {schema['maxItems']} were asked for"
    if "minLength" in schema and isinstance(value, str) and not value.strip():
        yield f"{place} is empty"


def _object_problems(value: JsonObject, schema: JsonObject, place: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    for name in sorted(set(schema.get("required", ())) - set(value)):
        yield f"{place} has no {name}"
    for name in sorted(set(value) - set(properties), key=str):
        yield f"{place} has {shorten(name, _SHOWN)}, which was not asked for"
    for name, part in properties.items():
        if name in value:
            yield from shape_problems(value[name], part, f"{place}'s {name}")
