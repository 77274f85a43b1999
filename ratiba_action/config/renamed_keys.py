"""Reads configuration and scenario files with the keys of the version before (``RENAMED_KEYS``)."""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ratiba_action.errors import FileProblem
from ratiba_action.model.note import Note
from ratiba_action.model.renamed_keys import RENAMED_KEYS, RenamedKey
from ratiba_action.util.strict_yaml import Path, YamlDocument, read_yaml
from ratiba_action.util.text import few

_NAMED = 5
_OTHERS = (".csv", ".json", ".jsonl")


def read_current(name: str, content: bytes) -> tuple[YamlDocument | None, tuple[FileProblem, ...]]:
    """Decode a file; what it says by former keys stands under today's, and a key that is given twice is a problem.

    Args:
        name: path of the file, for messages.

    Returns:
        The document, or None if it is no YAML, and the problems.
    """
    document, problems = read_yaml(name, content)
    if document is None:
        return None, problems
    found = list(_found(document.data))
    if not found:
        return document, problems
    twice: list[FileProblem] = []
    data, lines = document.data, dict(document.lines)
    for path, key in found:
        place = (*path, key.former)
        if key.name in _at(document.data, path):
            message = f"{_dotted(place)}: former name of {key.name}, which is given too; remove {key.former}"
            twice.append(FileProblem(name, document.line(place), message))
        data = _with_name(data, path, key)
        lines |= {(*path, key.name, *at[len(place) :]): line for at, line in lines.items() if at[: len(place)] == place}
    return replace(document, data=data, lines=lines), tuple(twice)


def former_keys(files: Mapping[str, bytes]) -> Iterator[FileProblem]:
    """A warning for each former key of files that can be read.

    Args:
        files: content of configuration and scenario files by repository path.
    """
    for name, content in files.items():
        if name.endswith(_OTHERS) or not any(key.former.encode() in content for key in RENAMED_KEYS):
            continue
        document, _ = read_yaml(name, content)
        if document is not None:
            for path, key in _found(document.data):
                place = (*path, key.former)
                yield FileProblem(name, document.line(place), f"{_dotted(place)} is now {key.name}")


def notes_of_former_keys(files: Mapping[str, bytes]) -> tuple[str, ...]:
    """One note for all former keys of files that can be read; none without any."""
    found = [str(problem) for problem in former_keys(files)]
    if not found:
        return ()
    return (Note(f"Keys have new names: {few(found, _NAMED, '; ')}.", "The old ones are still read."),)


def warn_of_former_keys(name: str, content: bytes) -> None:
    """Issue Python's own warning, for who calls the gate from Python: pytest lists it, and a service prints it once.

    Args:
        name: path of a configuration or scenario file, for the warning.
    """
    for note in notes_of_former_keys({name: content}):
        warnings.warn(note, FutureWarning, stacklevel=3)


def _found(data: Any) -> Iterator[tuple[Path, RenamedKey]]:
    for key in RENAMED_KEYS:
        for path, block in _blocks(data, key.block, ()):
            if key.former in block and (not key.metric or _at(data, path[:-1]).get("metric") == key.metric):
                yield path, key


def _blocks(data: Any, below: tuple[str, ...], path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The mappings that a pattern of keys leads to."""
    if not below:
        if isinstance(data, dict):
            yield path, data
        return
    first, *rest = below
    items: list[tuple[str | int, Any]] = []
    if first == "*":
        items = list(enumerate(data)) if isinstance(data, list) else []
    elif isinstance(data, dict) and first in data:
        items = [(first, data[first])]
    for part, item in items:
        yield from _blocks(item, tuple(rest), (*path, part))


def _at(data: Any, path: Path) -> Any:
    for part in path:
        data = data[part]
    return data


def _with_name(data: Any, path: Path, key: RenamedKey) -> Any:
    if not path:
        return {key.name if name == key.former else name: value for name, value in data.items()}
    first, *rest = path
    changed = _with_name(data[first], tuple(rest), key)
    if isinstance(data, list):
        return [changed if index == first else item for index, item in enumerate(data)]
    return {**data, first: changed}


def _dotted(path: Path) -> str:
    return ".".join(map(str, path))
