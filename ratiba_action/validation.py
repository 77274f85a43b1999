"""Pydantic's findings, told by file and line in the project's own words."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from ratiba_action.errors import FileProblem
from ratiba_action.strict_yaml import Document

_SHOWN_CHARACTERS = 80

_PATTERNS: Mapping[str, str] = {
    r"^([a-z]{2,3}|mixed)$": "give an ISO 639 code such as en or sw, or mixed",
    r"^[a-z]{2,3}$": "give an ISO 639 code such as en or sw",
    r"^[a-z0-9][a-z0-9_-]*$": "give lower-case letters, digits, _ and -",
}
"""What a regular expression of a schema asks for, in words."""


class StrictModel(BaseModel):
    """A block of a YAML file: unknown keys are refused, nothing is coerced."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


Model = TypeVar("Model", bound=StrictModel)


def validate(model: type[Model], document: Document) -> tuple[Model | None, tuple[FileProblem, ...]]:
    """Check a document against a model.

    Returns:
        The model and no problem, or None and every problem with its line.
    """
    try:
        return model.model_validate(document.data), ()
    except ValidationError as error:
        return None, tuple(_problem(document, model, details) for details in error.errors(include_url=False))


def _problem(document: Document, model: type[StrictModel], details: ErrorDetails) -> FileProblem:
    path = tuple(part for part in details["loc"] if isinstance(part, int) or not part.startswith("function-"))
    where = ".".join(str(part) for part in path) or "the file"
    return FileProblem(document.name, document.line(path), f"{where}: {_message(details, model)}")


def _message(details: ErrorDetails, model: type[StrictModel]) -> str:
    kind, context = details["type"], details.get("ctx", {})
    shown = shorten(details["input"])
    if kind == "extra_forbidden":
        return f"unknown key; allowed here: {', '.join(_keys_at(model, details['loc'][:-1]))}"
    if kind == "missing":
        return "missing; it must be given"
    if kind == "literal_error":
        return f"{shown} is not allowed; allowed: {str(context.get('expected', '')).replace(' or ', ', ')}"
    if kind == "value_error":
        return f"{context.get('error', details['msg'])}"
    asked = _PATTERNS.get(str(context.get("pattern", ""))) if kind == "string_pattern_mismatch" else None
    return f"{shown} is not allowed: {asked or details['msg'].lower()}"


def _keys_at(model: type[StrictModel], path: tuple[int | str, ...]) -> list[str]:
    """Keys of the block that ``path`` leads to."""
    block: Any = model
    for part in path:
        if isinstance(part, str):
            block = _block_type(_fields(block)[part].annotation) if part in _fields(block) else None
    return sorted(field.alias or name for name, field in _fields(block).items())


def _fields(block: Any) -> dict[str, FieldInfo]:
    return block.model_fields if isinstance(block, type) and issubclass(block, BaseModel) else {}


def _block_type(annotation: Any) -> Any:
    """The model inside ``Block``, ``Block | None`` or ``tuple[Block, ...]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = [_block_type(inner) for inner in getattr(annotation, "__args__", ())]
    return next((inner for inner in found if inner is not None), None)


def shorten(value: Any) -> str:
    """A value as ``repr``, cut to 80 characters."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
