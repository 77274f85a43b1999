"""Untrusted text made harmless for a terminal and for the log of a workflow."""

import unicodedata

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def printable(text: str) -> str:
    r"""Replace what cannot be seen or would be obeyed: control, bidirectional and undecodable characters.

    Bytes that were not UTF-8 become ``\xff``; the ``##[command]`` syntax of workflow logs is broken up.
    """
    if text.isascii() and text.isprintable():
        return text.replace("##[", "#\\#[")
    shown = (_escape(one) if unicodedata.category(one) in _HIDDEN else one for one in text)
    return "".join(shown).replace("##[", "#\\#[")


def printable_lines(text: str) -> str:
    """The same for text of several lines: its line feeds stay, returns become them, and tabs become spaces."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(printable(line.expandtabs(4)) for line in lines)


def unreadable_as_command(text: str) -> str:
    """JSON with the same values, in which a runner finds no ``##[command]``."""
    return text.replace("##[", r"##\u005b")


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # noqa: PLR2004 - where surrogateescape puts a byte
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape", "backslashreplace").decode("ascii")
