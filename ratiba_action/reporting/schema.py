"""Writes the JSON Schema of ``results.json`` from the types that are published in it."""

import json
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

from ratiba_action.core.model.change import Mode, Reason
from ratiba_action.core.model.verdict import Conclusion, Report
from ratiba_action.reporting.codec import OUTCOMES

_PLAIN: Mapping[Any, Mapping[str, Any]] = types.MappingProxyType(
    {
        str: {"type": "string"},
        int: {"type": "integer"},
        float: {"type": ["number", "null"]},
        bool: {"type": "boolean"},
        Decimal: {"type": "string", "pattern": r"^-?\d+(\.\d+)?$"},
        datetime: {"type": "string", "format": "date-time"},
        date: {"type": "string", "format": "date"},
        type(None): {"type": "null"},
        Any: {},
    }
)


def results_schema() -> dict[str, Any]:
    """The schema of version 1 of ``results.json``; ``results.schema.json`` holds the same."""
    definitions: dict[str, Any] = {}
    outputs = {
        "mode": _schema(Mode, definitions),
        "reasons": _schema(tuple[Reason, ...], definitions),
        "conclusion": _schema(Conclusion, definitions),
        **{name: {"type": "integer", "minimum": 0} for name in ("passed", "failed", "errored", "not_run")},
        "duration_seconds": {"type": "number", "minimum": 0},
        "regression_detected": {"type": "boolean"},
        "confidence": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "spent_usd": _PLAIN[Decimal],
        "budget_usd": _PLAIN[Decimal],
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
            "report": _schema(Report, definitions),
        },
        "$defs": definitions,
    }


def _schema(hint: Any, definitions: dict[str, Any]) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(argument, definitions) for argument in arguments]}
    if origin in (tuple, frozenset):
        return {"type": "array", "items": _schema(arguments[0], definitions)}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema(arguments[1], definitions)}
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
        tag = {"outcome": {"const": OUTCOMES[hint]}} if hint in OUTCOMES else {}
        required = [i.name for i in fields(hint) if i.default is MISSING and i.default_factory is MISSING]
        definitions[name] = {
            "type": "object",
            "description": (hint.__doc__ or "").split("\n")[0],
            "required": [*tag, *required],
            "properties": tag | {item.name: _schema(hints[item.name], definitions) for item in fields(hint)},
        }
    return {"$ref": f"#/$defs/{name}"}


def schema_text() -> str:
    """The schema as the published file writes it."""
    return json.dumps(results_schema(), indent=2) + "\n"
