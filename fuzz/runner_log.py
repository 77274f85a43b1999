"""What GitHub's runner takes as a command in a step's output, by the rules of its source (``ActionCommandManager``).

https://github.com/actions/runner/blob/main/src/Runner.Worker/ActionCommandManager.cs and
https://github.com/actions/runner/blob/main/src/Runner.Common/ActionCommand.cs
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_REGISTERED = frozenset(
    {
        "add-mask",
        "add-matcher",
        "add-path",
        "debug",
        "echo",
        "endgroup",
        "error",
        "group",
        "internal-set-repo-path",
        "notice",
        "remove-matcher",
        "save-state",
        "set-env",
        "set-output",
        "stop-commands",
        "warning",
    }
)
_LINE_ENDS = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Command:
    """A line that a runner obeys.

    Args:
        line: all of it.
        properties: text between the name and the data.
    """

    line: str
    name: str
    properties: str
    data: str


def effective_commands(printed: str) -> Iterator[Command]:
    """The commands that are obeyed, in order; what stands between ``stop-commands`` and its token is not."""
    stopped: str | None = None
    for line in _LINE_ENDS.split(printed):
        known = _REGISTERED if stopped is None else {stopped}
        command = _new_form(line, known) or _old_form(line, known)
        if command is None:
            continue
        if stopped is not None:
            stopped = None
            continue
        yield command
        if command.name == "stop-commands":
            stopped = command.data


def _new_form(line: str, known: frozenset[str] | set[str]) -> Command | None:
    text = line.lstrip()
    end = text.find("::", 2) if text.startswith("::") else -1
    return None if end < 0 else _command(line, text[2:end], text[end + 2 :], known)


def _old_form(line: str, known: frozenset[str] | set[str]) -> Command | None:
    start = line.find("##[")
    end = line.find("]", start) if start >= 0 else -1
    return None if end < 0 else _command(line, line[start + 3 : end], line[end + 1 :], known)


def _command(line: str, information: str, data: str, known: frozenset[str] | set[str]) -> Command | None:
    name, _, properties = information.partition(" ")
    found = next((one for one in known if one.lower() == name.lower()), None)
    return None if found is None else Command(line, found, properties, data)
