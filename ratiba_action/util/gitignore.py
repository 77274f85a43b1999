"""Gitignore patterns: the same answers as ``git check-ignore``, without git.

Paths are matched as bytes, as git does it, so that a name that is not UTF-8 is no special case. Stars are translated
into atomic groups: a hostile path cannot make a match slow.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

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


@dataclass(frozen=True, slots=True)
class Pattern:
    """One translated gitignore pattern.

    Args:
        negated: it began with ``!``.
        anchored: it is matched against the whole path, not against the last name alone.
        directories_only: it ended with ``/``.
        expression: a regular expression without capturing groups.
    """

    text: str
    negated: bool
    anchored: bool
    directories_only: bool
    expression: bytes


def parse(text: str) -> Pattern:
    """Translate one gitignore pattern.

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
    expression = _path_expression(body) if anchored else _segment_expression(body)
    return Pattern(text, negated, anchored, directories_only, expression)


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
        parsed = tuple(parse(text) for text in patterns)
        self._files = _Alternatives([pattern for pattern in parsed if not pattern.directories_only])
        self._directories = _Alternatives(parsed)
        self._folders: dict[bytes, Pattern | None] = {b"": None}

    def match(self, path: str) -> str | None:
        """The pattern that decides about a file, or None when the list does not match it."""
        return self.match_name(encode(path))

    def match_name(self, name: bytes) -> str | None:
        """As ``match``, of a path's bytes."""
        folder, _, last = name.rpartition(b"/")
        taken = self.taking(folder) or self._files.find(name, last)
        return taken.text if taken is not None and not taken.negated else None

    @property
    def for_files(self) -> Sequence[Pattern]:
        """The patterns that are matched against files, in their order."""
        return self._files.patterns

    def taking(self, folder: bytes) -> Pattern | None:
        """The pattern that takes all that a folder holds."""
        known = self._folders
        return known[folder] if folder in known else self._walk(folder)

    def _walk(self, folder: bytes) -> Pattern | None:
        """The pattern that takes a folder or one above it, from the root down."""
        taken: Pattern | None = None
        for end in (*(found.start() for found in re.finditer(b"/", folder)), len(folder)):
            name = folder[:end]
            if name not in self._folders:
                found = taken or self._directories.find(name, name.rpartition(b"/")[2])
                self._folders[name] = found if found is not None and not found.negated else None
            taken = self._folders[name]
        return taken


class PatternLists:
    """Some lists of patterns, of which the first that matches decides.

    A file costs two expressions, and not two a list: a folder is asked about once, and the patterns for files of all
    lists before the one that takes it are one set of alternatives.

    Args:
        lists: the one that counts most first.
    """

    def __init__(self, lists: Sequence[PatternList]) -> None:
        self._lists = lists
        self._folders: dict[bytes, int] = {}
        self._before: dict[int, _Alternatives] = {}
        self._owner = {id(pattern): index for index, patterns in enumerate(lists) for pattern in patterns.for_files}

    def first(self, name: bytes, counts: Callable[[int], bool] | None = None) -> tuple[int, str] | None:
        """The index of the list that decides about a file, and its pattern; None when none matches.

        Args:
            name: the path's bytes.
            counts: whether the list of an index counts; None for all.
        """
        if counts is not None:
            return self._in_turn(name, counts)
        folder, _, last = name.rpartition(b"/")
        end = self._folders.get(folder)
        if end is None:
            taken = (index for index, patterns in enumerate(self._lists) if patterns.taking(folder) is not None)
            end = self._folders[folder] = next(taken, len(self._lists))
        if end not in self._before:
            ahead = reversed(self._lists[:end])
            self._before[end] = _Alternatives([pattern for patterns in ahead for pattern in patterns.for_files])
        found = self._before[end].find(name, last)
        if found is None:
            return self._in_turn(name, lambda index: index == end)
        if found.negated:  # the lists behind that one may match
            return self._in_turn(name, lambda _: True)
        return self._owner[id(found)], found.text

    def _in_turn(self, name: bytes, counts: Callable[[int], bool]) -> tuple[int, str] | None:
        for index, patterns in enumerate(self._lists):
            text = patterns.match_name(name) if counts(index) else None
            if text is not None:
                return index, text
        return None


_PLAIN = re.compile(r"!?(\*\.[\w-]+|[\w.-]+)/?", re.ASCII)
"""``*.py`` or ``makefile``. Most patterns are, and an expression would try one after another."""


class _Alternatives:
    """Finds the last of some patterns that matches, with at most two expressions; plain ones are looked up."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self.patterns = patterns
        self._order = {id(pattern): index for index, pattern in enumerate(patterns)}
        plain = [(_PLAIN.fullmatch(pattern.text), pattern) for pattern in patterns]
        self._plain = {encode(found[1]): pattern for found, pattern in plain if found is not None}
        self._by_name = [pattern for found, pattern in reversed(plain) if found is None and not pattern.anchored]
        self._by_path = [pattern for pattern in reversed(patterns) if pattern.anchored]

    # Compiled when they are first asked: most lists of a run never are.
    @cached_property
    def _name(self) -> re.Pattern[bytes] | None:
        return _compile(self._by_name)

    @cached_property
    def _path(self) -> re.Pattern[bytes] | None:
        return _compile(self._by_path)

    def find(self, path: bytes, name: bytes) -> Pattern | None:
        _, dot, ending = name.rpartition(b".")
        each = (
            self._plain.get(name),
            self._plain.get(b"*." + ending) if dot else None,
            _found(self._name, self._by_name, name),
            _found(self._path, self._by_path, path),
        )
        found = [pattern for pattern in each if pattern is not None]
        if len(found) < 2:  # noqa: PLR2004 - as of most files, of which there are thousands
            return found[0] if found else None
        return max(found, key=lambda pattern: self._order[id(pattern)])


def _compile(patterns: Sequence[Pattern]) -> re.Pattern[bytes] | None:
    if not patterns:
        return None
    return re.compile(b"(?:%s)\\Z" % b"|".join(b"(%s)" % pattern.expression for pattern in patterns), re.DOTALL)


def _found(expression: re.Pattern[bytes] | None, patterns: Sequence[Pattern], text: bytes) -> Pattern | None:
    match = expression.match(text) if expression is not None else None
    return patterns[match.lastindex - 1] if match is not None and match.lastindex else None


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
