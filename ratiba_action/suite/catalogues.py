"""``with: {catalogue: spa.terms.yaml}`` → the catalogue itself, so that a metric reads no file."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from ratiba_action.errors import FileProblem
from ratiba_action.util.strict_yaml import Document, read_yaml
from ratiba_action.util.validation import shorten

CATALOGUE_SUFFIX = ".terms.yaml"
_PARAMETER = "catalogue"


def with_catalogues(
    document: Document, files: Mapping[str, bytes]
) -> tuple[Document, tuple[str, ...], tuple[FileProblem, ...]]:
    """The document with each named catalogue in the place of its name.

    Args:
        document: a scenario file, whatever its shape.
        files: content of every file of the suite by its path.

    Returns:
        The document, the paths of the catalogues that were read, and what is wrong.
    """
    data = document.data
    entries = data.get("assertions") if isinstance(data, dict) else None
    if not isinstance(entries, list):
        return document, (), ()
    filled, read, problems = list[Any](), list[str](), list[FileProblem]()
    for index, entry in enumerate(entries):
        name = _named(entry)
        if name is None:
            filled.append(entry)
            continue
        path = _path(document.name, name)
        content = files.get(path) if path.endswith(CATALOGUE_SUFFIX) else None
        if content is None:
            line = document.line(("assertions", index, "with", _PARAMETER))
            wrong = f"{shorten(name)} is no *{CATALOGUE_SUFFIX} file of the scenario folder; name it from this folder"
            problems.append(FileProblem(document.name, line, f"{_PARAMETER}: {wrong}"))
            continue
        catalogue, found = read_yaml(path, content)
        problems += found
        read.append(path)
        filled.append({**entry, "with": {**entry["with"], _PARAMETER: catalogue.data if catalogue else None}})
    return replace(document, data={**data, "assertions": filled}), tuple(read), tuple(problems)


def _named(entry: Any) -> str | None:
    parameters = entry.get("with") if isinstance(entry, dict) else None
    name = parameters.get(_PARAMETER) if isinstance(parameters, dict) else None
    return name if isinstance(name, str) else None


def _path(scenario: str, name: str) -> str:
    """The path that a name leads to from the folder of a scenario; empty when it leaves the repository."""
    parts: list[str] = []
    for part in (PurePosixPath(scenario).parent / name).parts:
        if part != "..":
            parts.append(part)
        elif parts:
            parts.pop()
        else:
            return ""
    return "/".join(parts)
