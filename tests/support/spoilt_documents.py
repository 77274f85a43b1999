"""Places of a document that are spoilt one by one, and where they stand in the written file."""

import copy
from collections.abc import Container, Iterator
from typing import Any

import yaml

Place = tuple[str | int, ...]
"""Keys and numbers that lead to a value."""


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """Every place below a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*at, key)
        yield from places(one, (*at, key))


def value_at(document: Any, place: Place) -> Any:
    """What stands at a place."""
    for key in place:
        document = document[key]
    return document


def spoilt(document: Any, place: Place, value: Any) -> Any:
    """A copy with another value at a place, which may be new."""
    changed = copy.deepcopy(document)
    value_at(changed, place[:-1])[place[-1]] = value
    return changed


def leaves(document: Any, free: Container[str | int]) -> list[Place]:
    """Places of words and numbers that are below no key of ``free``."""
    found = [place for place in places(document) if not any(key in free for key in place)]
    return [place for place in found if not isinstance(value_at(document, place), (dict, list))]


def mappings(document: Any, free: Container[str | int]) -> list[Place]:
    """Places of mappings that are below no key of ``free``; the document itself is one."""
    found = [place for place in [(), *places(document)] if not any(key in free for key in place)]
    return [place for place in found if isinstance(value_at(document, place), dict)]


def written(document: Any) -> bytes:
    """The document as a YAML file, every key on a line of its own."""
    return yaml.safe_dump(document, sort_keys=False).encode()


def line_of(key: str, document: Any) -> int:
    """Where the only key of that name stands in the written file, from 1.

    Raises:
        ValueError: there is none, or several.
    """
    (found,) = [number for number, line in enumerate(written(document).decode().splitlines(), 1) if f"{key}:" in line]
    return found
