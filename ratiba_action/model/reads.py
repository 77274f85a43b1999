"""Which files of the repository a scenario reads, and which requests to models carried their text."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

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


def turn_name(turn: int) -> str:
    """How ``Reads.sent`` names a turn, from 1; 0 for the time before the first one."""
    return f"turn {turn}" if turn else START


def folded(read: Iterable[str], files: Iterable[str]) -> tuple[str, ...]:
    """Paths that were read, with the topmost folder for two or more files that are all below it.

    Args:
        read: paths of files.
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
    if not isinstance(path, str) or not 0 < len(path) <= MOST_CHARACTERS or not path.isprintable():
        return False
    parts = path.removesuffix("/").split("/")
    return "\\" not in path and not {"", ".", ".."} & {*parts}


MOST_CHARACTERS = 1024
"""Of a path."""
MOST_FILES = 20_000
"""Of a scenario."""
