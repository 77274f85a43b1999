"""Which files of the repository a scenario reads, and which requests to models carried their text.

Only the standard library is imported: the ``decide`` step runs this on a bare Python.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

START = "start"
"""When a request was made before the first turn."""


@dataclass(frozen=True, slots=True)
class Reads:
    """What was observed of one scenario; no answer depends on it.

    Args:
        files: paths from the repository's root, sorted; one that ends with ``/`` means every file below it.
        sent: by the path of a file, the turn (``turn 1``, ``start``) whose request to a model first carried a text
            of that file.
    """

    files: tuple[str, ...]
    sent: Mapping[str, str] = field(default_factory=dict)

    def covers(self, path: str) -> bool:
        """Whether a file was read."""
        return path in self.files or any(entry.endswith("/") and path.startswith(entry) for entry in self.files)

    def reads_any(self, paths: Iterable[str]) -> bool:
        """Whether the system reads one of these files, or one below or above what it reads."""
        known = {path.rstrip("/") for path in (*self.files, *self.sent)}
        whole = {path.removeprefix("./").rstrip("/") for path in self.files if path.endswith("/")}
        above = {folder for path in known for folder in above_of(path)}
        return any(path in known or path in above or not whole.isdisjoint(above_of(path)) for path in paths)


@dataclass(frozen=True, slots=True)
class FileReaders:
    """Which scenarios read a file.

    Args:
        path: from the repository's root; one that ends with ``/`` means every file below it.
        sent: whether a text of it was in a request to a model.
        scenarios: ids of the first ones.
    """

    path: str
    sent: bool
    scenarios: tuple[str, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class ReadMap:
    """Which files the scenarios of the base read, as far as there is room to list them.

    Args:
        files: sorted by path.
        unread: files that no scenario reads, and folders of which none reads anything.
    """

    files: tuple[FileReaders, ...]
    more_files: int = 0
    unread: tuple[str, ...] = ()
    more_unread: int = 0


def above_of(path: str) -> Iterable[str]:
    """The folders above a path, from the nearest; the repository itself is the empty one."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def parse_reads(line: bytes) -> Reads | None:
    """Read the first line of a recording; None where it is a recorded answer instead.

    Args:
        line: of the file, with or without its end.

    Raises:
        ValueError: the line is broken.
    """
    if not line:
        return None
    if line.startswith(b'{"') and not line.startswith(b'{"files"') and b'"reads"' not in line:
        return None  # an answer, which may be long: nothing of it is needed
    try:
        value: Any = json.loads(line)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError("it is no object")  # noqa: TRY004 - a line of a file, not an argument
    if value.get("kind") != "reads":
        if "files" in value and "kind" not in value:
            raise ValueError("it has no 'kind'")
        return None
    files, sent = value.get("files"), value.get("sent", {})
    if not isinstance(files, list) or not set(map(type, files)) <= {str}:
        raise ValueError("'files' is no list of paths")
    if not isinstance(sent, dict) or not set(map(type, sent.values())) <= {str}:
        raise ValueError("'sent' does not say of each file in which turn")
    return Reads(tuple(files), sent)


def turn_name(turn: int) -> str:
    """How ``Reads.sent`` names a turn, from 1; 0 for the time before the first one."""
    return f"turn {turn}" if turn else START


def folded(read: Iterable[str], files: Iterable[str]) -> tuple[str, ...]:
    """Paths that were read, with the topmost folder for two or more files that are all below it.

    Args:
        files: all that there are, the read ones among them.
    """
    found, unread, below = set(read), set[str](), dict[str, int]()
    for path in files:
        for folder in folders_of(path):
            below[folder] = below.get(folder, 0) + 1
            if path not in found:
                unread.add(folder)
    whole = {folder for folder, count in below.items() if count > 1 and folder not in unread}
    return tuple(sorted({next((folder for folder in folders_of(path) if folder in whole), path) for path in found}))


def folders_of(path: str) -> tuple[str, ...]:
    """The folders that a path is in, each with ``/`` at its end, the topmost first."""
    parts = path.split("/")[:-1]
    return tuple("/".join(parts[:count]) + "/" for count in range(1, len(parts) + 1))


def is_plain_path(path: object) -> bool:
    """Whether a text is a path below the repository's root that does no harm wherever it is shown."""
    if not isinstance(path, str) or not 0 < len(path) <= MAX_CHARACTERS or not path.isprintable():
        return False
    parts = path.removesuffix("/").split("/")
    return "\\" not in path and not {"", ".", ".."} & {*parts}


MAX_CHARACTERS = 1024
"""Of a path."""
MAX_FILES = 20_000
"""Of a scenario."""
