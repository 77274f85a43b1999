"""What a scenario was seen to read and to send to models, as the first line of its recording says it.

Only the standard library is imported: the ``decide`` step runs this on a bare Python.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Observation:
    """What was seen of one scenario.

    Args:
        scenario: its id.
        files: paths that its system read, from the repository's root; one that ends in a slash is a folder of which
            every file was read.
        sent: file → the turn whose model request first carried a text of that file, such as ``turn 1``; ``start``
            for before the first turn.
    """

    scenario: str
    files: tuple[str, ...]
    sent: Mapping[str, str]

    def reads_any(self, paths: Iterable[str]) -> bool:
        """Whether the system reads one of these files, or one below or above what it reads."""
        known = {path.rstrip("/") for path in (*self.files, *self.sent)}
        whole = {path.removeprefix("./").rstrip("/") for path in self.files if path.endswith("/")}
        above = {folder for path in known for folder in above_of(path)}
        return any(path in known or path in above or not whole.isdisjoint(above_of(path)) for path in paths)


def above_of(path: str) -> Iterable[str]:
    """The folders above a path, from the nearest; the repository itself is the empty one."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def parse_observation(scenario: str, line: bytes) -> Observation | None:
    """Read the first line of a recording; None where it is a recorded answer instead.

    Args:
        scenario: id of the recording's scenario.
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
    if not isinstance(files, list) or not all(isinstance(path, str) for path in files):
        raise ValueError("'files' is no list of paths")
    if not isinstance(sent, dict) or not all(isinstance(turn, str) for turn in sent.values()):
        raise ValueError("'sent' does not say of each file in which turn")
    return Observation(scenario, tuple(files), sent)
