"""Files of any name that dependency files include: what they hold is installed, so they are no documentation."""

import posixpath
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ratiba_action.model.change import Mode, Rule

_INCLUDE = re.compile(r"^\s*(?:-r|-c|--requirement|--constraint)(?:\s*=\s*|\s*)([^\s:]+)\s*(?:#.*)?$", re.MULTILINE)
_REQUIREMENTS = re.compile(
    r"(?:.*/)?[^/]*(?:requirements|constraints)[^/]*(?:/[^/]*)?\.(?:txt|in)", re.IGNORECASE | re.DOTALL
)
_WHY = "a dependency file includes it"

Read = Callable[[str], Iterable[bytes]]
"""The contents of a path at base and head, as far as it is there."""


def included_floors(paths: Iterable[str], read: Read) -> tuple[Rule, ...]:
    """A blocking floor for each file that a requirements file or the dynamic part of a ``pyproject.toml`` names.

    Args:
        paths: of both sides.
        read: contents of a path.
    """
    every = frozenset(paths)
    waiting = [path for path in every if _REQUIREMENTS.fullmatch(path)]
    waiting += [path for path in every if path.rpartition("/")[2] == "pyproject.toml"]
    found: dict[str, None] = {}
    while waiting:
        path = waiting.pop()
        for content in read(path):
            names = (
                _dynamic(content) if path.endswith(".toml") else _INCLUDE.findall(content.decode("utf-8", "replace"))
            )
            included = {posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) for name in names}
            fresh = sorted((included & every) - found.keys())
            found |= dict.fromkeys(fresh)
            waiting += fresh
    return tuple(Rule(Mode.BLOCKING, "/" + re.sub(r"([\\*?\[\]! #])", r"\\\1", path), why=_WHY) for path in found)


def _dynamic(content: bytes) -> Iterator[str]:
    """Files of ``[tool.setuptools.dynamic]`` that hold requirements."""
    try:
        dynamic: Any = tomllib.loads(content.decode("utf-8"))["tool"]["setuptools"]["dynamic"]
        tables = [dynamic.get("dependencies", {}), *dynamic.get("optional-dependencies", {}).values()]
        for files in (table.get("file", []) for table in tables):
            yield from [files] if isinstance(files, str) else map(str, files)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return  # none, or a file that is judged by what it is
