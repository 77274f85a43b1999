"""The commands that a runner obeys in what a step prints, read as ``actions/runner`` reads it.

After ``ActionCommand.cs``, ``ActionCommandManager.cs`` and ``ProcessInvoker.cs`` of version 2.330, with .NET's
``StreamReader``: the encoding by a byte-order mark, a line's end at a line feed, a return or both, white space dropped
in front of ``::``, ``##[`` found anywhere.
"""

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass

KNOWN = frozenset(
    {
        *(
            "add-mask",
            "add-matcher",
            "add-path",
            "debug",
            "echo",
            "endgroup",
            "error",
            "group",
            "internal-set-repo-path",
        ),
        *("notice", "remove-matcher", "save-state", "set-env", "set-output", "stop-commands", "warning"),
    }
)
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF8, "utf-8"),
)
# .NET's `char.IsWhiteSpace`, which `string.TrimStart()` asks.
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


@dataclass(frozen=True, slots=True)
class Obeyed:
    """A command that the runner obeys, and the line that it stood in."""

    name: str
    data: str
    line: str


def obeyed(printed: bytes) -> list[Obeyed]:
    """Every command that the runner obeys in one stream of a step; what ends a stop is none."""
    found, token = [], ""
    for line in lines_of(printed):
        parsed = _parse(line, KNOWN | {token})
        if parsed is None:
            continue
        if token:
            token = "" if parsed.name == token.lower() else token
        else:
            token = parsed.data if parsed.name == "stop-commands" else ""
            found.append(parsed)
    return found


def lines_of(printed: bytes) -> list[str]:
    """The lines as .NET's ``StreamReader`` gives them."""
    mark, encoding = next((pair for pair in _MARKS if printed.startswith(pair[0])), (b"", "utf-8"))
    return re.split(r"\r\n|\r|\n", printed[len(mark) :].decode(encoding, "replace"))


def _parse(line: str, known: Iterable[str]) -> Obeyed | None:
    known = {name.lower() for name in known if name}
    trimmed = line.lstrip(_SPACE)
    if trimmed.startswith("::") and "::" in trimmed[2:]:
        information, _, data = trimmed[2:].partition("::")
        name = information.partition(" ")[0].lower()
        if name in known:
            return Obeyed(name, data, line)
    if "##[" in line and "]" in line.partition("##[")[2]:
        information, _, data = line.partition("##[")[2].partition("]")
        name = information.partition(" ")[0].lower()
        if name in known:
            return Obeyed(name, data, line)
    return None
