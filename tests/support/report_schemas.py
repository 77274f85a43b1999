"""The JSON Schemas of ``results.json`` and ``events.jsonl``, made from the types of ``model``."""

import json
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

from ratiba_action.model.change import Mode, Reason
from ratiba_action.model.codec import OUTCOMES
from ratiba_action.model.event import EVENT_TYPES, SCHEMA, Place
from ratiba_action.model.verdict import Conclusion, Report

USD = types.MappingProxyType({"type": "string", "pattern": r"^-?\d+(\.\d+)?$"})
"""An amount of money."""

_PLAIN: Mapping[Any, Mapping[str, Any]] = types.MappingProxyType(
    {
        str: {"type": "string"},
        int: {"type": "integer"},
        float: {"type": ["number", "null"]},
        bool: {"type": "boolean"},
        Decimal: USD,
        datetime: {"type": "string", "format": "date-time"},
        date: {"type": "string", "format": "date"},
        type(None): {"type": "null"},
        Any: {},
    }
)


def schema_of(hint: Any, definitions: dict[str, Any]) -> Any:
    """The schema of a type.

    Args:
        hint: a type of ``model`` or one of its fields' hints.
        definitions: ``$defs`` of the whole schema; the dataclasses that the hint needs are added.

    Raises:
        TypeError: the type has no schema.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(argument, definitions) for argument in arguments]}
    if origin in (tuple, frozenset):
        return {"type": "array", "items": schema_of(arguments[0], definitions)}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema_of(arguments[1], definitions)}
    if is_dataclass(hint):
        return _reference(hint, definitions)
    if issubclass(hint, Enum):
        return {"enum": [member.value for member in hint]}
    raise TypeError(f"No JSON Schema is known for {hint!r}; add it to the table of plain types.")


def _reference(hint: Any, definitions: dict[str, Any]) -> dict[str, str]:
    name = hint.__name__
    if name not in definitions:
        # The name is taken before its fields are visited, so that a type may hold itself.
        definitions[name] = {}
        hints = get_type_hints(hint)
        tag = {"outcome": {"const": OUTCOMES[hint]}, "eval_fail": dict(_PLAIN[bool])} if hint in OUTCOMES else {}
        required = [i.name for i in fields(hint) if i.default is MISSING and i.default_factory is MISSING]
        definitions[name] = {
            "type": "object",
            "description": (hint.__doc__ or "").split("\n")[0],
            "required": [*tag, *required],
            "properties": tag | {item.name: schema_of(hints[item.name], definitions) for item in fields(hint)},
        }
    return {"$ref": f"#/$defs/{name}"}


def results_schema() -> dict[str, Any]:
    """The JSON schema of ``results.json``, published as ``results.schema.json``."""
    definitions: dict[str, Any] = {}
    outputs = {
        "mode": schema_of(Mode, definitions),
        "reasons": schema_of(tuple[Reason, ...], definitions),
        "conclusion": schema_of(Conclusion, definitions),
        **{name: {"type": "integer", "minimum": 0} for name in ("passed", "failed", "errored", "not_run")},
        "duration_seconds": {"type": "number", "minimum": 0},
        "duration_ms": {"type": "integer", "minimum": 0},
        "regression_detected": {"type": "boolean"},
        "confidence": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "spent_usd": dict(USD),
        "budget_usd": dict(USD),
        "exit_code": {"enum": [0, 1, 2, 3]},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Results of a Ratiba Eval Gate run",
        "type": "object",
        "required": ["schema", "outputs", "report"],
        "properties": {
            "schema": {"const": 1},
            "outputs": {"type": "object", "required": list(outputs), "properties": outputs},
            "report": schema_of(Report, definitions),
        },
        "$defs": definitions,
    }


def schema_text() -> str:
    """The schema as the published file writes it."""
    return json.dumps(results_schema(), indent=2) + "\n"


def events_schema() -> dict[str, Any]:
    """The schema of a line; ``events.schema.json`` holds the same."""
    definitions: dict[str, Any] = {}
    kinds = [
        {"properties": {"type": {"const": name}, "data": schema_of(kind, definitions)}}
        for name, kind in EVENT_TYPES.items()
    ]
    place = {item.name: {"type": "integer" if item.name in {"trial", "turn"} else "string"} for item in fields(Place)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "One line of the events.jsonl of a Ratiba Eval Gate run",
        "type": "object",
        "required": ["schema", "run", "sequence", "at", "type", "data"],
        "properties": {
            "schema": {"const": SCHEMA},
            "run": {"type": "string"},
            "sequence": {"type": "integer", "minimum": 1},
            "at": {"type": "string", "format": "date-time"},
            "type": {"enum": list(EVENT_TYPES)},
            **place,
        },
        "oneOf": kinds,
        "$defs": definitions,
    }


def events_schema_text() -> str:
    """The schema as the published file writes it."""
    return json.dumps(events_schema(), indent=2) + "\n"
