"""Gitignore patterns: the same answers as ``git check-ignore``, without git.

Paths are matched as bytes, as git does it, so that a name that is not UTF-8 is no special case. Stars are translated
into atomic groups: a hostile path cannot make a match slow.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_POSIX_CLASSES = {
    b"alnum": rb"0-9A-Za-z",
    b"alpha": rb"A-Za-z",
    b"blank": rb"\x20\t",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": rb"0-9",
    b"graph": rb"\x21-\x7e",
    b"lower": rb"a-z",
    b"print": rb"\x20-\x7e",
    b"punct": rb"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    b"space": rb"\x20\t\n\r\f\v",
    b"upper": rb"A-Z",
    b"xdigit": rb"0-9A-Fa-f",
}
_END = rb"(?:/|\Z)"


@dataclass(frozen=True, slots=True)
class Pattern:
    """One compiled gitignore pattern.

    Args:
        text: the pattern as it was written.
        negated: it began with ``!``.
        directories_only: it ended with ``/``.
        expression: matches the path itself, without its parents; None when the pattern can match nothing.
    """

    text: str
    negated: bool
    directories_only: bool
    expression: bytes | None


def parse(text: str) -> Pattern:
    """Compile one gitignore pattern.

    Raises:
        ValueError: the pattern can never match: it is empty, a ``[`` is not closed, or it ends in a lone backslash.
    """
    body = encode(text)
    negated = body.startswith(b"!")
    if negated:
        body = body[1:]
    directories_only = body.endswith(b"/")
    if directories_only:
        body = body[:-1]
    if not body or body == b"/":
        raise ValueError("the pattern is empty")
    anchored = b"/" in body
    body = body.removeprefix(b"/")
    expression = _path_expression(body) if anchored else rb"(?:.*/)?" + _segment_expression(body)
    return Pattern(text, negated, directories_only, expression)


def encode(path: str) -> bytes:
    """The bytes of a path that was decoded with ``surrogateescape``."""
    return path.encode("utf-8", "surrogateescape")


class PatternList:
    """Patterns as one gitignore file would hold them: the last match wins, a matched folder takes all it holds.

    Args:
        patterns: gitignore patterns; a ``!`` pattern takes out what an earlier one matched.

    Raises:
        ValueError: a pattern can never match.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = tuple(parse(text) for text in patterns)
        self._plain = _compile(self._patterns) if not any(one.negated for one in self._patterns) else None
        self._steps = [(one, *_own_expressions(one)) for one in self._patterns]

    def match(self, path: str) -> str | None:
        """The pattern that decides about a file, or None when the list does not match it."""
        name = encode(path)
        if self._plain is not None and self._plain.match(name) is None:
            return None
        end = name.find(b"/")
        while end != -1:
            found = self._last(name[:end], directory=True)
            if found is not None and not found.negated:
                return found.text
            end = name.find(b"/", end + 1)
        found = self._last(name, directory=False)
        return found.text if found is not None and not found.negated else None

    def _last(self, name: bytes, *, directory: bool) -> Pattern | None:
        for pattern, as_file, as_directory in reversed(self._steps):
            expression = as_directory if directory else as_file
            if expression is not None and expression.match(name) is not None:
                return pattern
        return None


def _compile(patterns: Sequence[Pattern]) -> re.Pattern[bytes]:
    """One expression for a list without negation: a path or any of its folders."""
    parts = [
        b"(?:%s)%s" % (one.expression, b"/" if one.directories_only else _END)
        for one in patterns
        if one.expression is not None
    ]
    return re.compile(b"|".join(parts) or rb"(?!)", re.DOTALL)


@lru_cache(maxsize=512)
def _own_expressions(pattern: Pattern) -> tuple[re.Pattern[bytes] | None, re.Pattern[bytes] | None]:
    """What the pattern matches as a file and as a folder."""
    if pattern.expression is None:
        return None, None
    compiled = re.compile(b"(?:%s)\\Z" % pattern.expression, re.DOTALL)
    return (None if pattern.directories_only else compiled), compiled


def _path_expression(body: bytes) -> bytes:
    """Expression of a pattern that is anchored at the root; ``**`` stands for any number of folders."""
    segments = body.split(b"/")
    last = len(segments) - 1
    result = b""
    run = b""  # what follows the latest ``**``, which one atomic group may hold: the leftmost match is always enough
    inside = False
    for index, segment in enumerate(segments):
        if len(segment) > 1 and not segment.strip(b"*"):
            if inside:
                result += b"(?>(?:[^/]*/)*?%s)" % run
            else:
                result += run
            run, inside = (b".+", False) if index == last else (b"", True)
            continue
        run += _segment_expression(segment) + (b"/" if index < last else b"")
    return result + (b"(?:[^/]*/)*?" if inside else b"") + run


def _segment_expression(segment: bytes) -> bytes:
    """Expression of one path segment: chunks of fixed length between stars."""
    chunks = [b""]
    position = 0
    while position < len(segment):
        byte = segment[position : position + 1]
        if byte == b"*":
            chunks.append(b"")
            position += 1
            while segment[position : position + 1] == b"*":
                position += 1
        elif byte == b"?":
            chunks[-1] += b"[^/]"
            position += 1
        elif byte == b"[":
            text, position = _bracket(segment, position + 1)
            chunks[-1] += text
        else:
            position += byte == b"\\"
            literal = segment[position : position + 1]
            if not literal:
                raise ValueError("the pattern ends in a lone backslash")
            chunks[-1] += re.escape(literal)
            position += 1
    first, *rest = chunks
    if not rest:
        return first
    middle = b"".join(b"(?>[^/]*?%s)" % chunk for chunk in rest[:-1] if chunk)
    return first + middle + b"[^/]*" + rest[-1]


def _bracket(segment: bytes, position: int) -> tuple[bytes, int]:
    """A character class from behind its ``[``; returns its expression and the position behind its ``]``."""
    negated = segment[position : position + 1] in (b"!", b"^")
    position += negated
    members = b""
    first = True
    while True:
        byte = segment[position : position + 1]
        if not byte:
            raise ValueError("a '[' is not closed")
        if byte == b"]" and not first:
            break
        first = False
        if byte == b"[" and segment[position + 1 : position + 2] == b":":
            end = segment.find(b":]", position + 2)
            name = segment[position + 2 : end] if end != -1 else b""
            if name not in _POSIX_CLASSES:
                raise ValueError("a '[:class:]' is not known")
            members += _POSIX_CLASSES[name]
            position = end + 2
            continue
        low, position = _member(segment, position)
        following = segment[position + 1 : position + 2]
        if segment[position : position + 1] == b"-" and following not in (b"", b"]"):
            high, position = _member(segment, position + 1)
            members += b"%s-%s" % (_hex(low), _hex(high)) if low <= high else b""
        else:
            members += _hex(low)
    inner = (b"[^/%s]" if negated else b"(?!/)[%s]") % members
    if not members:
        inner = b"[^/]" if negated else b"(?!)"
    return inner, position + 1


def _member(segment: bytes, position: int) -> tuple[int, int]:
    position += segment[position : position + 1] == b"\\"
    if position >= len(segment):
        raise ValueError("a '[' is not closed")
    return segment[position], position + 1


def _hex(value: int) -> bytes:
    return b"\\x%02x" % value
