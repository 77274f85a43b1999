"""What a program that failed has printed: the line that says why comes first, so that no reader cuts it off."""

from __future__ import annotations

import re

_ERROR = re.compile(
    r"\s*(?:Uncaught |Unhandled exception\W+|Exception in thread \S+ )*"
    r"(?:(?:[\w$]+[.:])*[\w$]*(?:Error|Exception|Exit|Interrupt|NotFound)(?: \[\w+\])?(?::|$)"
    r"|panic: |fatal error: )"
)
"""How Python, Node, Java, Ruby and Go begin the line that says what was raised."""
_LONGEST = 400
_CHATTER = re.compile(r"npm notice\b|> \S+@\d\S* \w+$|\[notice\] ")
"""Lines of package managers beside what they run: proposed updates, and the script's name."""


def error_first(printed: str, maximum: int = 8_000) -> str:
    """The text without what package managers say of themselves, and with the line that names the error in front.

    The last such line counts, as Python prints the cause of an error above it. What is long is cut between words, as
    half a word may be half a key.

    Args:
        maximum: characters of the rest, whose end is kept.
    """
    lines = [line for line in printed.splitlines() if line.strip() and not _CHATTER.match(line)]
    errors = [number for number, line in enumerate(lines) if _ERROR.match(line)]
    cut_off = len("\n".join(lines)) > maximum
    error = f"{_beginning(lines.pop(errors[-1]).strip())} …\n" if errors and (errors[-1] > 0 or cut_off) else ""
    rest = "\n".join(lines)
    return error + (rest if len(rest) <= maximum else rest[-maximum - 1 :].partition(" ")[2])


def _beginning(line: str) -> str:
    return line if len(line) <= _LONGEST else line[:_LONGEST].rpartition(" ")[0]
