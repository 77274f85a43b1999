"""The one reader of YAML in ``ratiba decide``: configuration, scenarios and ``pnpm-lock.yaml``.

Read with the runner's PyYAML where it has one. Elsewhere ``_PlainForm`` reads what people usually write: blocks, lists,
braces, quoted and folded texts. Whatever either cannot read with certainty is a ``YamlDoubt``, which makes a decision
blocking. Neither reads tags, anchors, aliases, merge keys, duplicate keys or several documents.
"""

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

MAX_BYTES: Final = 1 << 20
MAX_DEPTH: Final = 40
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_OTHER_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


class YamlDoubt(ValueError):  # noqa: N818 - no error: the decision goes on and is blocking
    """A file cannot be read with certainty; the message starts with ``file:line``."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands.

    Args:
        value: null, a text (numbers and booleans too, as they are written), items, or entries by their key.
        line: from 1, of the entry's key or of the item.
    """

    value: "str | list[Node] | dict[str, Node] | None"
    file: str
    line: int

    def doubt(self, problem: str) -> YamlDoubt:
        """What to raise where the value is not what it should be."""
        return YamlDoubt(f"{self.file}:{self.line}: {problem}")

    def entries(self) -> "dict[str, Node]":
        """The entries of a mapping; none for null.

        Raises:
            YamlDoubt: it is a text or a list.
        """
        if self.value is None:
            return {}
        if not isinstance(self.value, dict):
            raise self.doubt(f"{_kind_or_value(self.value)} stands where a mapping is expected")
        return self.value

    def texts(self) -> list[str]:
        """The text, or the items of a list of texts.

        Raises:
            YamlDoubt: it is null, a mapping, or a list that holds anything but texts.
        """
        items = self.value if isinstance(self.value, list) else [self]
        for item in items:
            if not isinstance(item.value, str):
                raise item.doubt(f"{_kind_or_value(item.value)} stands where a text or a list of texts is expected")
        return [item.value for item in items if isinstance(item.value, str)]

    def all_texts(self) -> Iterator[str]:
        """Every text at any depth, keys too."""
        if isinstance(self.value, str):
            yield self.value
        elif isinstance(self.value, dict):
            for key, below in self.value.items():
                yield key
                yield from below.all_texts()
        else:
            for item in self.value or ():
                yield from item.all_texts()


def read_yaml_or_doubt(file: str, content: bytes, *, max_bytes: int = MAX_BYTES) -> Node:
    """Read a file; an empty one is null.

    Args:
        content: UTF-8.
        max_bytes: what is longer is not read.

    Raises:
        YamlDoubt: it is no YAML, or holds what is not read.
    """
    text = _decode(file, content, max_bytes)
    try:
        yaml: Any = importlib.import_module("yaml")  # by name: the runner may have it, and needs no package
    except ImportError:
        yaml = None
    # PyYAML without its C part takes minutes for a large file.
    return read_with_pyyaml(file, text, yaml) if hasattr(yaml, "CSafeLoader") else read_plain_form(file, text)


def _decode(file: str, content: bytes, max_bytes: int) -> str:
    if len(content) > max_bytes:
        raise YamlDoubt(f"{file}:1: the file has {len(content):,} bytes; at most {max_bytes:,} are read")
    try:
        text = content.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise YamlDoubt(f"{file}:{line}: byte {content[error.start]:#04x} is not UTF-8") from None
    other = _OTHER_CHARACTERS.search(text)
    if other is not None:
        line = text.count("\n", 0, other.start()) + 1
        raise YamlDoubt(f"{file}:{line}: the character {other[0]!r} is not read")
    return text


def _kind_or_value(value: object) -> str:
    names = {dict: "a mapping", list: "a list", type(None): "nothing"}
    return names.get(type(value), f"{value!r:.80}")


def _scalar(text: str, *, plain: bool) -> str | None:
    return None if plain and text in _NULLS else text


def read_with_pyyaml(file: str, text: str, yaml: Any) -> Node:
    """Read a decoded file with PyYAML's events, of which nothing is constructed.

    Args:
        yaml: the package, with its part in C.

    Raises:
        YamlDoubt: as ``read_yaml_or_doubt``.
    """
    try:
        return _Events(file, yaml.parse(text, Loader=yaml.CSafeLoader), yaml).document()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        problem = getattr(error, "problem", None) or type(error).__name__
        raise YamlDoubt(f"{file}:{line}: not valid YAML: {problem}") from None


class _Events:
    """Makes nodes of PyYAML's events."""

    def __init__(self, file: str, events: Iterator[Any], yaml: Any) -> None:
        self._file = file
        self._events = events
        self._yaml = yaml

    def document(self) -> Node:
        yaml = self._yaml
        next(self._events)
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return Node(None, self._file, 1)
        node = self._node(next(self._events), 0)
        next(self._events)
        after = next(self._events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise self._doubt(after, "a second document starts here")
        return node

    def _node(self, event: Any, depth: int, line: int = 0) -> Node:
        yaml = self._yaml
        if getattr(event, "anchor", None) is not None:
            raise self._doubt(event, f"the anchor or alias {event.anchor!r} is not read; write the value out")
        if event.tag is not None:
            raise self._doubt(event, f"the tag {event.tag!r} is not read")
        if depth > MAX_DEPTH and isinstance(event, yaml.CollectionStartEvent):
            raise self._doubt(event, f"nested more than {MAX_DEPTH} levels deep")
        value: str | list[Node] | dict[str, Node] | None
        if isinstance(event, yaml.MappingStartEvent):
            value = self._mapping(depth)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = []
            while not isinstance(item := next(self._events), yaml.SequenceEndEvent):
                value.append(self._node(item, depth + 1))
        else:
            value = _scalar(event.value, plain=event.implicit[0])
        return Node(value, self._file, line or event.start_mark.line + 1)

    def _mapping(self, depth: int) -> dict[str, Node]:
        yaml = self._yaml
        entries: dict[str, Node] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise self._doubt(event, "a key that is no text is not read")
            key = self._node(event, depth + 1)
            name = event.value
            if name in entries:
                raise key.doubt(f"the key {name!r:.80} stands twice")
            if name == "<<":
                raise key.doubt("the merge key '<<' is not read; write the entries out")
            entries[name] = self._node(next(self._events), depth + 1, key.line)
        return entries

    def _doubt(self, event: Any, problem: str) -> YamlDoubt:
        return YamlDoubt(f"{self._file}:{event.start_mark.line + 1}: {problem}")


_QUOTED = re.compile(r"'((?:[^']|'')*)'|\"((?:[^\"\\]|\\.)*)\"")
_COLON = re.compile(r" *:(?= |$)")
_PLAIN_KEY = re.compile(r"(?:[^:]|:(?! |$))*")
_MAX_KEY_CHARACTERS: Final = 1000
_MAX_QUOTED_LINES: Final = 100
_NO_PLAIN_START = re.compile(r"[,\[\]{}#&*!|>'\"%@`]|[-?:](?:[ ,\[\]{}]|$)")
_FLOW_WORD = re.compile(r"(?:[^ ,\[\]{}:#?]|:(?=[^ ,\[\]{}?])|(?<=[^ ])#|\?(?=[^ ])| +(?=[^ #,\[\]{}:]))+")
_BLOCK_SCALAR = re.compile(r"([|>])([+-]?)(?: +#.*| *)")
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_ESCAPES: Final = {'"': '"', "\\": "\\", "/": "/", "n": "\n", "t": "\t", "r": "\r", "0": "\0", " ": " "}
_MARKER = re.compile(r"(?:---|\.\.\.)(?: |$)")


def read_plain_form(file: str, text: str) -> Node:
    """Read a decoded file without PyYAML.

    Raises:
        YamlDoubt: as ``read_yaml_or_doubt``, and for valid YAML in a form that people seldom write.
    """
    return _PlainForm(file, text).document()


class _PlainForm:
    """Reads line by line; ``- `` before a nested block is overwritten with spaces, so that its indent is its column."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._lines = text.split("\n")
        self._at = 0

    def document(self) -> Node:
        for number, line in enumerate(self._lines):
            if "\t" in line:
                raise self._doubt("a tab is not read; indent with spaces", number)
        if self._forward() and re.fullmatch(r"--- *(?: #.*)?", self._line):
            self._at += 1
        for number, line in enumerate(self._lines[self._at :], self._at):
            if _MARKER.match(line) or line.startswith("%"):
                raise self._doubt(f"the line {line[:80]!r} is not read in the plain form", number)
        node = self._block(-1, 0) if self._forward() else Node(None, self._file, 1)
        if self._forward():
            raise self._doubt(f"the line {self._line.strip()[:80]!r} is not indented as those above it")
        return node

    @property
    def _line(self) -> str:
        return self._lines[self._at]

    @property
    def _indent(self) -> int:
        return len(self._line) - len(self._line.lstrip(" "))

    def _forward(self) -> bool:
        """Skip empty lines and comments; whether a line is left."""
        while self._at < len(self._lines) and self._line.lstrip(" ")[:1] in ("", "#"):
            self._at += 1
        return self._at < len(self._lines)

    def _doubt(self, problem: str, at: int | None = None) -> YamlDoubt:
        return YamlDoubt(f"{self._file}:{(self._at if at is None else at) + 1}: {problem}")

    def _block(self, parent: int, depth: int) -> Node:
        """The value that starts at the first text of this line, in a block of this indent."""
        line, indent = self._at + 1, self._indent
        text = self._line[indent:]
        if _is_item(text):
            return Node(self._sequence(indent, depth), self._file, line)
        if self._key(text) is not None:
            return Node(self._mapping(indent, depth), self._file, line)
        return Node(self._inline(indent, parent, depth), self._file, line)

    def _require_shallow(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise self._doubt(f"nested more than {MAX_DEPTH} levels deep")

    def _sequence(self, indent: int, depth: int) -> list[Node]:
        self._require_shallow(depth)
        items = []
        while self._forward() and self._indent == indent and _is_item(self._line[indent:]):
            number, rest = self._at, self._line[indent + 1 :]
            if rest.lstrip(" ")[:1] in ("", "#"):
                self._at += 1
                items.append(self._below(indent, depth, number + 1, lists=False))
            else:
                self._lines[number] = " " * (indent + 1) + rest
                items.append(self._block(indent, depth + 1))
            self._no_deeper(indent)
        return items

    def _mapping(self, indent: int, depth: int) -> dict[str, Node]:
        self._require_shallow(depth)
        entries: dict[str, Node] = {}
        while self._forward() and self._indent == indent:
            number = self._at
            found = self._key(self._line[indent:])
            if found is None or _is_item(self._line[indent:]):
                raise self._doubt(f"the line {self._line.strip(' ')[:80]!r} is no entry 'key: value'")
            name, length = found
            if name in entries:
                raise self._doubt(f"the key {name!r:.80} stands twice")
            rest = self._line[indent + length :]
            if rest.lstrip(" ")[:1] == "" or re.match(r" +#", rest):
                self._at += 1
                below = self._below(indent, depth, number + 1, lists=True)
            else:
                column = len(self._line) - len(rest.lstrip(" "))
                below = Node(self._inline(column, indent, depth + 1), self._file, number + 1)
            entries[name] = Node(below.value, self._file, number + 1)
            self._no_deeper(indent)
        return entries

    def _below(self, indent: int, depth: int, line: int, *, lists: bool) -> Node:
        """The block below an entry or an item; null where there is none."""
        if not self._forward() or self._indent < indent:
            return Node(None, self._file, line)
        if self._indent > indent or (lists and _is_item(self._line[indent:])):
            return self._block(indent, depth + 1)
        return Node(None, self._file, line)

    def _no_deeper(self, indent: int) -> None:
        if self._forward() and self._indent > indent:
            raise self._doubt(f"the line {self._line.strip()[:80]!r} is not indented as those above it")

    def _key(self, text: str) -> tuple[str, int] | None:
        """The key that a text starts with, and its length with the colon."""
        quoted = _QUOTED.match(text)
        if quoted is None and (text[0] in "'\"" or _NO_PLAIN_START.match(text)):
            return None
        key = quoted or _PLAIN_KEY.match(text)
        colon = _COLON.match(text, key.end()) if key is not None else None
        if key is None or colon is None or (quoted is None and " #" in key[0]):
            return None
        name = key[0].rstrip(" ") if quoted is None else self._unquoted(quoted[1], quoted[2])
        if key[0].rstrip(" ") == "<<" or colon.end() > _MAX_KEY_CHARACTERS:
            raise self._doubt(f"the key {key[0][:80]!r} is not read")
        return name, colon.end()

    def _inline(self, column: int, parent: int, depth: int) -> str | list[Node] | dict[str, Node] | None:
        """A value that starts on this line; what follows it starts on a new one."""
        text = self._line[column:]
        if text[0] in "|>":
            return self._block_scalar(text, parent)
        if text[0] in "[{":
            value, column = self._flow(column, depth)
            self._end_line(column)
            return value
        if text[0] in "'\"":
            return self._quoted(column, parent)
        return self._plain(text, parent)

    def _end_line(self, column: int) -> None:
        rest = self._line[column:]
        if not re.fullmatch(r" *| +#.*", rest):
            raise self._doubt(f"the text {rest[:80]!r} stands behind a value")
        self._at += 1

    def _plain(self, text: str, parent: int) -> str | None:
        """A text without quotes, over one line or several."""
        if _NO_PLAIN_START.match(text):
            raise self._doubt(f"the value {text[:80]!r} is not read in the plain form")
        parts: list[str] = []
        while True:
            words = text.strip(" ")
            part, comment, _ = words.partition(" #")
            if re.search(r":(?: |$)", part.strip(" ")):
                raise self._doubt(f"the text {words[:80]!r} holds a colon; put it in quotes")
            parts.append(part.strip(" "))
            self._at += 1
            last = self._at
            if not self._forward() or self._indent <= parent:
                return _scalar(_folded(parts), plain=True)
            if comment or any(line.strip(" ") for line in self._lines[last : self._at]):
                raise self._doubt("a text goes on below a comment")
            parts += [""] * (self._at - last)
            text = self._line

    def _quoted(self, column: int, parent: int) -> str:
        """A text in quotes, over one line or several."""
        start = self._at
        text = self._line[column:]
        while (found := _QUOTED.match(text)) is None:
            self._at += 1
            if self._at >= len(self._lines) or self._at - start > _MAX_QUOTED_LINES:
                raise self._doubt("the quoted text that starts here does not end", start)
            if self._line.strip(" ") and self._indent <= parent:
                raise self._doubt("a quoted text goes on without being indented")
            text += "\n" + self._line
        if re.search(r"\\ *\n", found[0]):
            raise self._doubt("an escaped line break is not read in the plain form", start)
        self._end_line(len(self._line) - (len(text) - found.end()))
        return self._unquoted(found[1], found[2])

    def _unquoted(self, single: str | None, double: str | None) -> str:
        lines = (single if single is not None else double or "").split("\n")
        if len(lines) > 1:
            lines = [lines[0].rstrip(" "), *(line.strip(" ") for line in lines[1:-1]), lines[-1].lstrip(" ")]
        text = _folded(lines)
        return text.replace("''", "'") if single is not None else _ESCAPE.sub(self._unescaped, text)

    def _unescaped(self, found: re.Match[str]) -> str:
        if found[4] is not None:
            if found[4] not in _ESCAPES:
                raise self._doubt(f"the escape {found[0]!r} is not read in the plain form")
            return _ESCAPES[found[4]]
        try:
            text = chr(int(found[1] or found[2] or found[3], 16))
            text.encode()
        except (ValueError, OverflowError):
            raise self._doubt(f"the escape {found[0]!r} is no character") from None
        return text

    def _block_scalar(self, header: str, parent: int) -> str:
        """A text below ``|`` or ``>``."""
        style = _BLOCK_SCALAR.fullmatch(header)
        if style is None:
            raise self._doubt(f"the value {header[:80]!r} is not read in the plain form")
        self._at += 1
        first = next((line for line in self._lines[self._at :] if line.strip(" ")), "")
        indent = len(first) - len(first.lstrip(" "))
        if indent <= max(parent, 0):
            raise self._doubt(f"there is no text below {header!r}")
        lines = []
        while self._at < len(self._lines) and (not self._line.strip(" ") or self._indent >= indent):
            if not self._line.strip(" ") and len(self._line) > indent:
                raise self._doubt("a line of spaces in a text is not read in the plain form")
            lines.append(self._line[indent:])
            self._at += 1
        if style[1] == ">" and (not lines[0] or any(line.startswith(" ") for line in lines)):
            raise self._doubt("an empty first line or an indented line of a folded text is not read in the plain form")
        text = "\n".join(lines).rstrip("\n")
        breaks = len("\n".join(lines)) - len(text) + (self._at < len(self._lines))
        if not breaks:
            raise self._doubt("a text ends without a line break")
        body = text if style[1] == "|" else _folded(text.split("\n"))
        return body + {"-": "", "": "\n", "+": "\n" * breaks}[style[2]]

    def _flow(self, column: int, depth: int) -> tuple[list[Node] | dict[str, Node], int]:
        """A list in brackets or a mapping in braces, and the column behind it."""
        self._require_shallow(depth)
        is_list = self._line[column] == "["
        items: list[Node] = []
        entries: dict[str, Node] = {}
        column = self._next_token(column + 1)
        while self._line[column] != ("]" if is_list else "}"):
            number = self._at
            if is_list:
                value, column = self._flow_value(column, depth + 1)
                items.append(Node(value, self._file, number + 1))
            else:
                name, value, column = self._flow_entry(column, depth)
                if name in entries:
                    raise self._doubt(f"the key {name!r:.80} stands twice")
                entries[name] = Node(value, self._file, number + 1)
            column = self._next_token(column)
            if self._line[column] == ",":
                column = self._next_token(column + 1)
            elif self._line[column] not in "]}":
                raise self._doubt(f"the text {self._line[column:][:80]!r} is not read in the plain form")
        return (items if is_list else entries), column + 1

    def _next_token(self, column: int) -> int:
        """The column of the next character that is neither space nor comment, on this line or a later one."""
        while True:
            line, start = self._line, column
            column = len(line) - len(line[column:].lstrip(" "))
            if column < len(line) and not (line[column] == "#" and (column > start or column == 0)):
                return column
            self._at += 1
            column = 0
            if self._at >= len(self._lines):
                self._at -= 1
                raise self._doubt("a bracket or brace is not closed")

    def _flow_entry(self, column: int, depth: int) -> tuple[str, Any, int]:
        number = self._at
        if self._line[column] in "[{":
            raise self._doubt("a key that is no text is not read")
        quoted = self._line[column] in "'\""
        key, column = self._flow_text(column)
        if key == "<<":
            raise self._doubt("the merge key '<<' is not read; write the entries out")
        column = self._next_token(column)
        if self._line[column] != ":":
            return key, None, column
        after = self._line[column + 1 : column + 2]
        if self._at != number or (after not in ("", " ") and not quoted):
            raise self._doubt("a key and its colon are not read in the plain form here")
        column = self._next_token(column + 1)
        if self._line[column] in ",}":
            return key, None, column
        value, column = self._flow_value(column, depth + 1)
        return key, value, column

    def _flow_value(self, column: int, depth: int) -> tuple[Any, int]:
        if self._line[column] in "[{":
            return self._flow(column, depth)
        quoted = self._line[column] in "'\""
        text, column = self._flow_text(column)
        return _scalar(text, plain=not quoted), column

    def _flow_text(self, column: int) -> tuple[str, int]:
        line = self._line
        if line[column] in "'\"":
            found = _QUOTED.match(line, column)
            if found is None:
                raise self._doubt(f"the quoted text {line[column:][:80]!r} does not end on its line")
            return self._unquoted(found[1], found[2]), found.end()
        word = _FLOW_WORD.match(line, column)
        if word is None or line[column] in "?:" or _NO_PLAIN_START.match(line, column):
            raise self._doubt(f"the text {line[column:][:80]!r} is not read in the plain form")
        return word[0].rstrip(" "), word.end()


def _is_item(text: str) -> bool:
    return text == "-" or text.startswith("- ")


def _folded(lines: list[str]) -> str:
    """Lines joined by spaces; an empty line is a line break."""
    return re.sub(r"\n(\n*)", lambda breaks: breaks[1] or " ", "\n".join(lines))
