"""Pydantic's findings, reported by file and line in the project's own words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeVar, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, core_schema

from ratiba_action.errors import FileProblem
from ratiba_action.util.strict_yaml import Path, YamlDocument
from ratiba_action.util.text import cut, did_you_mean, nearest_names

_PATTERNS: Mapping[str, str] = {
    r"^([a-z]{2,3}|mixed)$": "give an ISO 639 code such as en or sw, or mixed",
    r"^[a-z]{2,3}$": "give an ISO 639 code such as en or sw",
    r"^[a-z0-9][a-z0-9_-]*$": "give lower-case letters, digits, _ and -",
    r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$": "give module:name, such as shop.adapter:Adapter",
    r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$": "give module:attribute, such as shop.graph:graph",
    r"^[A-Za-z_][\w.]*$": "give the name of a module, such as shop.adapter",
    r"^[A-Za-z_]\w*$": "give the name of a variable: letters, digits and _",
}
"""What a regular expression of a schema asks for, in words."""


class StrictModel(BaseModel):
    """A block of a YAML file: unknown keys are refused, nothing is coerced."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


@dataclass(frozen=True, slots=True)
class OneOf:
    """Allows some texts only, as ``Literal`` does, where a table has them.

    Args:
        allowed: the texts, in the order of messages and of the schema.
    """

    allowed: tuple[str, ...]

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> core_schema.CoreSchema:
        """For Pydantic."""
        return core_schema.literal_schema([*self.allowed])


Model = TypeVar("Model", bound=StrictModel)


def validate(
    model: type[Model], document: YamlDocument, context: Mapping[str, Any] | None = None
) -> tuple[Model | None, tuple[FileProblem, ...]]:
    """Check a document against a model.

    Args:
        context: what the model's validators know besides.

    Returns:
        The model and no problem, or None and every problem with its line.
    """
    try:
        return model.model_validate(document.data, context=context), ()
    except ValidationError as error:
        found = [
            _PydanticFinding(_path(details, document.data), details) for details in error.errors(include_url=False)
        ]
        meant = _without_consequences(tuple(_of_the_meant_alternatives(found)), model)
        return None, tuple(dict.fromkeys(_problem(document, model, finding) for finding in meant))


@dataclass(frozen=True, slots=True)
class _PydanticFinding:
    """One finding of Pydantic.

    Args:
        path: of the value in the document; Pydantic's own also names alternatives and functions.
        details: as Pydantic reports them.
        others: what other alternatives say of the same value, where it has the shape of none.
    """

    path: Path
    details: ErrorDetails
    others: tuple[ErrorDetails, ...] = ()

    @property
    def alternative(self) -> tuple[Path, str] | None:
        """The value that may be one of several things, and which of them was tried; None for another value."""
        for place, part in enumerate(self.details["loc"]):
            if place >= len(self.path) or self.path[place] != part:
                return self.path[:place], str(part)
        return None


def _path(details: ErrorDetails, data: Any) -> Path:
    """Where in the data a finding is; the key itself where one is missing."""
    path: list[str | int] = []
    *_, last = details["loc"] or ("",)
    for part in details["loc"]:
        inner = data if isinstance(data, dict) else dict(enumerate(data)) if isinstance(data, list) else {}
        if part in inner:
            data = inner[part]
            path.append(part)
    return (*path, last) if details["type"] == "missing" else tuple(path)


def _of_the_meant_alternatives(findings: Sequence[_PydanticFinding]) -> Iterator[_PydanticFinding]:
    """Without what other alternatives of a value find: the one whose shape the value has is meant."""
    by_value: dict[Path, dict[str, list[_PydanticFinding]]] = {}
    for finding in findings:
        if finding.alternative is not None:
            value, tried = finding.alternative
            by_value.setdefault(value, {}).setdefault(tried, []).append(finding)
    for finding in findings:
        if finding.alternative is None:
            yield finding
            continue
        value, tried = finding.alternative
        refusals = {
            kind: [each.details for each in found if each.path == value] for kind, found in by_value[value].items()
        }
        if not refusals[tried]:
            yield finding
        elif all(refusals.values()):
            first, *others = chain.from_iterable(refusals.values())
            if finding.details is first:
                yield replace(finding, others=tuple(others))


def _without_consequences(findings: Sequence[_PydanticFinding], model: type[StrictModel]) -> Iterator[_PydanticFinding]:
    """Without the keys that are missing because they were mistyped: one mistake is reported once."""
    mistyped: set[Path] = set()
    for finding in findings:
        if finding.details["type"] == "extra_forbidden":
            *above, key = finding.path
            mistyped |= {(*above, near) for near in nearest_names(str(key), _keys_at(model, tuple(above)))}
    return (finding for finding in findings if finding.details["type"] != "missing" or finding.path not in mistyped)


def _problem(document: YamlDocument, model: type[StrictModel], finding: _PydanticFinding) -> FileProblem:
    place = ".".join(str(part) for part in finding.path) or "the file"
    others = (f", or {_asked(details)}" for details in finding.others)
    problem = message(finding.details, model, finding.path) + "".join(dict.fromkeys(others))
    key = finding.details.get("ctx", {}).get("key")
    return FileProblem(
        document.name, document.line((*finding.path, key) if key else finding.path), f"{place}: {problem}"
    )


def message(details: ErrorDetails, model: type[StrictModel], path: Path) -> str:
    """What is wrong with a value, and what is allowed.

    Args:
        details: as pydantic has found it.
        model: of the whole that the value is part of.
        path: of the value in it.
    """
    kind, context = details["type"], details.get("ctx", {})
    shown = shorten(details["input"])
    if kind == "extra_forbidden":
        allowed = _keys_at(model, path[:-1])
        meant = did_you_mean(str(path[-1]), allowed) or f"allowed here: {', '.join(allowed)}"
        return f"unknown key; {meant}"
    if kind == "missing":
        return "missing; it must be given"
    if kind in {"literal_error", "enum"}:
        return f"{shown} is not allowed; allowed: {str(context.get('expected', '')).replace(' or ', ', ')}"
    if kind == "value_error":
        return f"{context.get('error', details['msg'])}"
    return f"{shown} is not allowed: {_asked(details)}"


def _asked(details: ErrorDetails) -> str:
    """What a value should be."""
    kind, context = details["type"], details.get("ctx", {})
    if kind in {"model_type", "dict_type"}:
        return "input should be a mapping"
    if kind == "string_type" and isinstance(details["input"], int | float):  # bool is an int
        return "input should be a text: write it in quotes"
    if kind == "list_type" and isinstance(details["input"], str) and not details["input"].isspace():
        return f"input should be a list: write [{details['input']:.40}]"
    expected = _PATTERNS.get(str(context.get("pattern", ""))) if kind == "string_pattern_mismatch" else None
    return expected or details["msg"].lower()


def _keys_at(model: type[StrictModel], path: Path) -> list[str]:
    """Keys of the block that ``path`` leads to."""
    block: Any = model
    named = False  # the next part is a name that the file chose, such as that of a variant
    for part in path:
        if isinstance(part, str) and not named:
            annotation = _fields(block)[part].annotation if part in _fields(block) else None
            block, named = _block_type(annotation), get_origin(annotation) is dict
        else:
            named = False
    return sorted(field.alias or name for name, field in _fields(block).items())


def _fields(block: Any) -> dict[str, FieldInfo]:
    return block.model_fields if isinstance(block, type) and issubclass(block, BaseModel) else {}


def _block_type(annotation: Any) -> Any:
    """The model inside ``Block``, ``Block | None`` or ``tuple[Block, ...]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = [_block_type(inner) for inner in getattr(annotation, "__args__", ())]
    return next((inner for inner in found if inner is not None), None)


def shorten(value: Any, limit: int = 80) -> str:
    """A value as ``repr``, cut to 80 characters."""
    return cut(repr(value), limit)
