"""DeepEval's shapes as providers accept them, and answers back in DeepEval's shape.

Both providers want every object closed and every property required, and know no open mapping.
"""

from collections.abc import Mapping
from typing import Any

from ratiba_action.model.values import JsonObject

_NUMBER: JsonObject = {"type": "number", "minimum": 0, "maximum": 1}
"""Each number that DeepEval's metrics ask for beside G-Eval's is a share."""
_INDEX: JsonObject = {"type": "integer", "minimum": 0}


def strict_schema(shape: JsonObject) -> JsonObject:
    """The schema that a judge is held to.

    Args:
        shape: as pydantic describes a model of DeepEval's. A property that may be left out becomes one that may be
            null, a mapping becomes a list of its names and values.

    Raises:
        ValueError: the shape holds something else than DeepEval 4.3 uses.
    """
    closed = dict(_closed(shape, shape.get("$defs", {})))
    closed["title"] = str(shape.get("title", "answer"))
    return closed


def loosened(value: Any, shape: JsonObject) -> Any:
    """An answer to ``strict_schema(shape)`` as DeepEval's model takes it."""
    return _opened(value, shape, shape.get("$defs", {}))


def one_line(value: Any) -> Any:
    """The value with each text on one line: what a judge wrote is quoted in the next question."""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, Mapping):
        return {name: one_line(part) for name, part in value.items()}
    return [one_line(part) for part in value] if isinstance(value, list) else value


def _closed(shape: JsonObject, named: JsonObject) -> JsonObject:
    if "$ref" in shape:
        return _closed(_referred(shape, named), named)
    if "anyOf" in shape:
        return {"anyOf": [_closed(option, named) for option in shape["anyOf"]]}
    if shape.get("type") == "array":
        return {"type": "array", "items": _closed(shape["items"], named)}
    if shape.get("type") == "object":
        return _closed_object(shape, named)
    return _simple(shape)


def _closed_object(shape: JsonObject, named: JsonObject) -> JsonObject:
    if "properties" in shape:
        parts = {name: _closed(part, named) for name, part in shape["properties"].items()}
        return {"type": "object", "properties": parts, "required": list(parts), "additionalProperties": False}
    pair = {"name": {"type": "string"}, "value": _closed(shape["additionalProperties"], named)}
    entry = {"type": "object", "properties": pair, "required": ["name", "value"], "additionalProperties": False}
    return {"type": "array", "items": entry}


def _simple(shape: JsonObject) -> JsonObject:
    kind = str(shape.get("type"))
    if "enum" in shape:
        return {"type": "string", "enum": list(shape["enum"])}
    if kind in {"string", "boolean", "null"}:
        return {"type": kind}
    try:
        return {"number": _NUMBER, "integer": _INDEX}[kind]
    except KeyError:
        raise ValueError(f"The shape {shape!r} cannot be asked for.") from None


def _opened(value: Any, shape: JsonObject, named: JsonObject) -> Any:
    if "$ref" in shape:
        return _opened(value, _referred(shape, named), named)
    if "anyOf" in shape:
        mapping = next((option for option in shape["anyOf"] if "additionalProperties" in option), None)
        return value if value is None or mapping is None else _opened(value, mapping, named)
    if isinstance(value, list) and "properties" not in shape and shape.get("type") == "object":
        return {entry["name"]: entry["value"] for entry in value}
    if isinstance(value, list):
        return [_opened(item, shape["items"], named) for item in value]
    if isinstance(value, Mapping):
        return {name: _opened(part, shape["properties"][name], named) for name, part in value.items()}
    return value


def _referred(shape: JsonObject, named: JsonObject) -> JsonObject:
    found: JsonObject = named[shape["$ref"].rpartition("/")[2]]
    return found
