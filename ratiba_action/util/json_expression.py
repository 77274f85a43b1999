"""Paths into JSON, in one syntax: JMESPath expressions that give values, and those that name places.

They are compiled when a file is loaded, with bounded cost.

Both the expression and the answer come from the change, so neither may cost unbounded work. JMESPath has no loops and
no access to parents; what remains is copying, as in ``[@, @][] | [@, @][]``. How often an expression can copy its input
follows from its structure, and is bounded.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

MAX_CHARACTERS = 500
MAX_COPIES = 32
_ESCAPING = 8
"""Growth factor of ``to_string``, which escapes nested strings again."""
_SUMS = frozenset({"multi_select_list", "multi_select_dict"})


class ExpressionError(ValueError):
    """An expression is invalid, or does not fit its input."""


class Expression:
    """A compiled expression.

    Args:
        text: JMESPath, at most 500 characters.

    Raises:
        ExpressionError: it is not valid, or could repeat its input too often.
    """

    def __init__(self, text: str) -> None:
        if len(text) > MAX_CHARACTERS:
            raise ExpressionError(f"a JMESPath of {len(text):,} characters; at most {MAX_CHARACTERS:,} are allowed")
        try:
            self._compiled = jmespath.compile(text)
            copies = _copies(self._compiled.parsed)
        except (JMESPathError, ValueError, TypeError, RecursionError) as problem:
            # JMESPath shows the position on further lines.
            raise ExpressionError(f"{text!r} is not a JMESPath: {_first_line(problem)}") from None
        if copies > MAX_COPIES:
            raise ExpressionError(f"{text!r} can repeat its input more than {MAX_COPIES} times; write it shorter")
        self.text = text

    def search(self, data: Any) -> Any:
        """The result of the expression on decoded JSON, as JSON; None if it finds nothing.

        Raises:
            ExpressionError: a function of it does not fit the data.
        """
        try:
            found = self._compiled.search(data)
            # A copy without shared parts, and nothing but JSON.
            return json.loads(json.dumps(found, allow_nan=False))
        except (JMESPathError, ArithmeticError, AttributeError, LookupError, RecursionError) as problem:
            raise ExpressionError(f"{self.text!r} does not fit the data: {_first_line(problem)}") from None
        except (TypeError, ValueError) as problem:
            raise ExpressionError(f"{self.text!r} does not give JSON: {_first_line(problem)}") from None


def _first_line(problem: BaseException) -> str:
    return (str(problem).strip() or type(problem).__name__).splitlines()[0][:200]


def _copies(node: Mapping[str, Any]) -> int:
    """The maximum number of copies of its input that a part of an expression can give."""
    counts = [_copies(child) for child in node.get("children", ()) if isinstance(child, dict)]
    kind = node["type"]
    if kind in _SUMS:
        return max(sum(counts), 1)
    if kind == "function_expression":
        return max(sum(counts), math.prod(counts), 1) * (_ESCAPING if node["value"] == "to_string" else 1)
    combine = _COMBINED.get(kind, math.prod)
    return max(combine(counts), 1) if counts else 1


_COMBINED: Mapping[str, Callable[[list[int]], int]] = MappingProxyType(
    {"comparator": max, "and_expression": max, "or_expression": max, "not_expression": max}
)


class Each(Enum):
    """A step of a path that names several parts."""

    ITEM = "[*]"
    VALUE = "*"


Step = str | int | Each


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A JMESPath that names places: names, ``[3]``, ``[*]`` for each item of a list, ``*`` for each value of an object.

    Args:
        steps: from the whole value to the place.
    """

    text: str
    steps: tuple[Step, ...]


def parse_path(text: str) -> JsonPath:
    """Read a path.

    Raises:
        ValueError: it is none; says what to write instead of a path that starts with ``$``, as JSONPath does.
    """
    if text.startswith("$"):
        spelled = _from_json_path(text)
        instead = f"write {spelled}" if spelled else "write it like items[*].id"
        raise ValueError(f"the path {text!r} is a JSONPath, and paths are JMESPath now; {instead}")
    Expression(text)
    steps = _steps(jmespath.compile(text).parsed)
    if steps is None or any(isinstance(step, int) and step < 0 for step in steps):
        raise ValueError(f"the path {text!r} does more than name places; write it like items[*].id")
    if not steps:
        raise ValueError(f"the path {text!r} is the whole value; leave the comparison out instead")
    return JsonPath(text, steps)


def require_field_path(text: str) -> str:
    """Check a JMESPath of names and ``[3]`` in its usual spelling, in which the worker's adapters read it.

    Raises:
        ValueError: it is none; says what to write instead of ``items.0.id``, the form of earlier versions.
    """
    steps: tuple[Step, ...] | None
    if "[" in text or '"' in text:
        Expression(text)
        steps = _steps(jmespath.compile(text).parsed)
    else:
        parts = text.split(".")
        steps = (
            tuple(int(part) if re.fullmatch(r"-?[0-9]{1,9}", part) else part for part in parts) if all(parts) else None
        )
    if not steps or any(isinstance(step, Each) for step in steps):
        raise ValueError(f"the path {text!r} is no JMESPath of names and indexes; write it like items[0].id")
    if spell_path(steps) != text:
        raise ValueError(f"the path {text!r} is not spelled as a JMESPath; write {spell_path(steps)}")
    return text


def without(value: Any, paths: Iterable[JsonPath]) -> Any:
    """A copy of a JSON value without the parts that the paths name; a path that names nothing changes nothing.

    An item of a list leaves the others their order, and they move up only after every path was looked up.
    """
    return _prune(value, [path.steps for path in paths])


def spell_path(steps: Iterable[Step]) -> str:
    """The JMESPath of a place; empty for the whole value."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step is Each.ITEM:
            text += "[*]"
        else:
            name = (
                "*"
                if isinstance(step, Each)
                else step
                if _NAME.fullmatch(step)
                else json.dumps(step, ensure_ascii=False)
            )
            text += f".{name}" if text else name
    return text


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_JSON_PATH_STEP = re.compile(
    r"\.(?P<name>[^\W\d][\w-]*)|\[(?P<index>\d{1,9})\]|(?P<item>\[\*\])|(?P<value>\.\*)"
    r"|\[(?P<quote>[\"'])(?P<quoted>(?:(?!(?P=quote))[^\\]|\\.)*)(?P=quote)\]"
)


def _from_json_path(text: str) -> str | None:
    """The spelling as JMESPath; None where it cannot be given."""
    steps: list[Step] = []
    at = 1
    while at < len(text):
        step = _JSON_PATH_STEP.match(text, at)
        if step is None:
            return None
        if step["index"] is not None:
            steps.append(int(step["index"]))
        elif step["item"] or step["value"]:
            steps.append(Each.ITEM if step["item"] else Each.VALUE)
        else:
            quoted = step["quoted"]
            steps.append(step["name"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
        at = step.end()
    return spell_path(steps) or None


def _steps(node: Mapping[str, Any]) -> tuple[Step, ...] | None:
    """The steps of a compiled expression; None where it does more than name places."""
    kind: str = node["type"]
    value: Any = node.get("value")
    if kind in ("field", "index"):
        return (value,)
    if kind in ("identity", "current"):
        return ()
    if kind not in ("subexpression", "index_expression", "projection", "value_projection"):
        return None
    steps: tuple[Step, ...] = ()
    for number, child in enumerate(node["children"]):
        below = _steps(child)
        if below is None:
            return None
        if number == 1 and kind in ("projection", "value_projection"):
            steps += (Each.ITEM if kind == "projection" else Each.VALUE,)
        steps += below
    return steps


def _prune(value: Any, paths: Sequence[Sequence[Step]]) -> Any:
    if not paths or not isinstance(value, dict | list | tuple):
        return value
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    kept = []
    for key, part in parts:
        below = [path[1:] for path in paths if path and _names(path[0], key)]
        if [] not in [list(rest) for rest in below]:
            kept.append((key, _prune(part, below)))
    return dict(kept) if isinstance(value, dict) else [part for _, part in kept]


def _names(step: Step, key: str | int) -> bool:
    if isinstance(step, Each):
        return isinstance(key, int) is (step is Each.ITEM)
    return type(step) is type(key) and step == key
