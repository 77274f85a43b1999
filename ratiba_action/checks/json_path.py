"""A small path language that names parts of a JSON value: ``$.items[*].id``.

A path starts with ``$`` and goes on with ``.name``, ``["any name"]``, ``[3]`` or ``[*]``, each item of a list or value
of an object. It is the part of RFC 9535 (JSONPath) that names parts by their place, without slices and filters.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

_STEP = re.compile(
    r"\.(?P<name>[^\W\d][\w-]*)|\[(?P<index>\d{1,9})\]|\[(?P<every>\*)\]|\.(?P<each>\*)"
    r"|\[(?P<quote>[\"'])(?P<quoted>(?:(?!(?P=quote))[^\\]|\\.)*)(?P=quote)\]"
)


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A path that was read.

    Args:
        text: as it was written.
        steps: a name, an index, or None for every part.
    """

    text: str
    steps: tuple[str | int | None, ...]


def parse_path(text: str) -> JsonPath:
    """Read a path.

    Raises:
        ValueError: it is not one; says where.
    """
    if not text.startswith("$"):
        raise ValueError(f"the path {text!r} does not start with '$'; write it like $.items[*].id")
    steps: list[str | int | None] = []
    at = 1
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None:
            raise ValueError(f"the path {text!r} cannot be read from {text[at:]!r} on; write it like $.items[*].id")
        steps.append(_step(step))
        at = step.end()
    if not steps:
        raise ValueError("the path '$' is the whole value; leave the comparison out instead")
    return JsonPath(text, tuple(steps))


def without(value: Any, paths: Iterable[JsonPath]) -> Any:
    """A copy of a JSON value without the parts that the paths name; a path that names nothing changes nothing.

    An item of a list leaves the others their order, and they move up only after every path was looked up.
    """
    return _prune(value, [path.steps for path in paths])


def _step(found: re.Match[str]) -> str | int | None:
    if found["name"] is not None:
        return found["name"]
    if found["index"] is not None:
        return int(found["index"])
    return None if found["quoted"] is None else re.sub(r"\\(.)", r"\1", found["quoted"])


def _prune(value: Any, paths: Sequence[Sequence[str | int | None]]) -> Any:
    if not paths or not isinstance(value, dict | list | tuple):
        return value
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    kept = []
    for key, part in parts:
        below = [path[1:] for path in paths if path and _names(path[0], key)]
        if [] not in [list(rest) for rest in below]:
            kept.append((key, _prune(part, below)))
    return dict(kept) if isinstance(value, dict) else [part for _, part in kept]


def _names(step: str | int | None, key: str | int) -> bool:
    return step is None or (type(step) is type(key) and step == key)
