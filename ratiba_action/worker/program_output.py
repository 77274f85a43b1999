"""What a program that failed has printed: the line that says why comes first, so that no reader cuts it off."""

from __future__ import annotations

import re

_ERROR = re.compile(
    r"\s*(?:Uncaught |Unhandled exception\W+|Exception in thread \S+ )*"
    r"(?:(?:[\w$]+[.:])*[\w$]*(?:Error|Exception|Exit|Interrupt|NotFound)(?: \[\w+\])?(?::|$)"
    r"|panic: |fatal error: )"
)
"""How Python, Node, Java, Ruby and Go begin the line that says what was raised."""
_CHATTER = re.compile(r"npm notice\b|> \S+@\d\S* \w+$|\[notice\] ")
"""Lines of package managers beside what they run: proposed updates, and the script's name."""


def error_first(printed: str) -> str:
    """The text without what package managers say of themselves, and with the line that names the error in front.

    The last such line counts, as Python prints the cause of an error above it.
    """
    lines = [line for line in printed.splitlines() if line.strip() and not _CHATTER.match(line)]
    errors = [number for number, line in enumerate(lines) if _ERROR.match(line)]
    if errors and errors[-1] > 0:
        error = lines.pop(errors[-1]).strip()
        return "\n".join([f"{error} …", *lines])
    return "\n".join(lines)


def shortened(text: str, maximum: int) -> str:
    """The beginning of a text, cut between words: half a word may be half a key."""
    return text if len(text) <= maximum else text[: maximum + 1].rpartition(" ")[0] + " …"
