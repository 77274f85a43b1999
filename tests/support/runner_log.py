"""The commands that a runner obeys in what a step prints, read as ``actions/runner`` reads it.

After ``ActionCommand.cs``, ``ActionCommandManager.cs`` and ``ProcessInvoker.cs``, with .NET's ``StreamReader``: the
encoding by a byte-order mark, a line's end at a line feed, a return or both, white space dropped in front of ``::``,
``##[`` found anywhere.
"""

import codecs
import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
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
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF8, "utf-8"),
)
_LINE_ENDS = re.compile(r"\r\n|\r|\n")
# .NET's `char.IsWhiteSpace`, which `string.TrimStart()` asks.
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


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


def obeyed(printed: bytes) -> list[Command]:
    """The commands that are obeyed in one stream of a step, from its first byte on."""
    mark, encoding = next((pair for pair in _MARKS if printed.startswith(pair[0])), (b"", "utf-8"))
    return list(effective_commands(printed[len(mark) :].decode(encoding, "replace")))


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


def _new_form(line: str, known: AbstractSet[str]) -> Command | None:
    text = line.lstrip(_SPACE)
    end = text.find("::", 2) if text.startswith("::") else -1
    return None if end < 0 else _command(line, text[2:end], text[end + 2 :], known)


def _old_form(line: str, known: AbstractSet[str]) -> Command | None:
    start = line.find("##[")
    end = line.find("]", start) if start >= 0 else -1
    return None if end < 0 else _command(line, line[start + 3 : end], line[end + 1 :], known)


def _command(line: str, information: str, data: str, known: AbstractSet[str]) -> Command | None:
    name, _, properties = information.partition(" ")
    found = next((one for one in known if one.lower() == name.lower()), None)
    return None if found is None else Command(line, found, properties, data)
