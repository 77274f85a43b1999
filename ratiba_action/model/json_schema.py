"""JSON Schema of a type as ``codec.encode`` writes its values."""

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

from ratiba_action.model.codec import OUTCOMES

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
