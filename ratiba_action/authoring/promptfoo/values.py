"""Places for variables in the values of promptfoo's assertions: paths and a few filters, without a template engine.

What is written there is what Nunjucks writes: a list as its entries between commas, a mapping as ``[object Object]``.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from ratiba_action.authoring.imports import NotImportedError
from ratiba_action.authoring.promptfoo.assertion_values import plain_text
from ratiba_action.util.validation import shorten

_STEP = r"\.[A-Za-z_]\w*|\[\s*(?:\d+|'[^'\]]*'|\"[^\"\]]*\")\s*\]"
_PLACE = re.compile(
    rf"\{{\{{-?\s*(?P<name>[A-Za-z_]\w*)(?P<path>(?:{_STEP})*)"
    r"(?P<filters>(?:\s*\|\s*\w+(?:\(\s*(?:'[^']*'|\"[^\"]*\")\s*\))?)*)\s*-?\}\}"
)
_STEPS = re.compile(_STEP)
_FILTER = re.compile(r"\|\s*(\w+)(?:\(\s*(?:'([^']*)'|\"([^\"]*)\")\s*\))?")
_TEMPLATE = re.compile(r"\{\{|\{%|\{#")


def fill(text: str, variables: Mapping[str, Any]) -> str:
    """A text with its places filled in, once: what a variable holds is not looked at. A missing one is empty.

    Raises:
        NotImportedError: it is a template that has more than places, or one for the environment.
    """
    if _TEMPLATE.search(_PLACE.sub("", text)):
        raise NotImportedError(
            "it is a template with more than names of variables, their parts and simple filters, and none is evaluated"
        )
    return _PLACE.sub(lambda place: _filled(place, variables), text)


def written(value: Any) -> str:
    """A value as JavaScript writes it into a text."""
    if value is None:
        return ""
    if isinstance(value, list):
        return ",".join(map(written, value))
    return "[object Object]" if isinstance(value, Mapping) else plain_text(value)


def _filled(place: re.Match[str], variables: Mapping[str, Any]) -> str:
    name = place["name"]
    if name == "env" and name not in variables:
        raise NotImportedError("it has a place for a variable of the environment; write its value")
    value = variables.get(name)
    for step in _STEPS.findall(place["path"]):
        value = _part(value, step.strip(".[] \t"))
    for name, first, second in _FILTER.findall(place["filters"]):
        if name not in _FILTERS:
            raise NotImportedError(f"the filter {shorten(name)} is not known here")
        value = _FILTERS[name](value, first or second)
    return written(value)


def _part(value: Any, step: str) -> Any:
    key = step.strip("'\"")
    if isinstance(value, Mapping):
        return value.get(key)
    if isinstance(value, list) and key.isdecimal():
        return value[int(key)] if int(key) < len(value) else None
    return len(value) if isinstance(value, list | str) and key == "length" else None


def _dump(value: Any, _: str) -> str:
    return json.dumps(_numbers(value), ensure_ascii=False, separators=(",", ":"))


def _numbers(value: Any) -> Any:
    """A value without ``.0``: JavaScript has one kind of number."""
    if isinstance(value, Mapping):
        return {key: _numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


_FILTERS: Mapping[str, Callable[[Any, str], Any]] = {
    "upper": lambda value, _: written(value).upper(),
    "lower": lambda value, _: written(value).lower(),
    "capitalize": lambda value, _: written(value).capitalize(),
    "title": lambda value, _: " ".join(word.capitalize() for word in written(value).split(" ")),
    "trim": lambda value, _: written(value).strip(),
    "safe": lambda value, _: value,
    "string": lambda value, _: written(value),
    "dump": _dump,
    "length": lambda value, _: len(value) if isinstance(value, list | str | Mapping) else 0,
    "first": lambda value, _: value[0] if isinstance(value, list) and value else None,
    "last": lambda value, _: value[-1] if isinstance(value, list) and value else None,
    "join": lambda value, text: text.join(map(written, value)) if isinstance(value, list) else value,
    "default": lambda value, text: text if value is None else value,
}
