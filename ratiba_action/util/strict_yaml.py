"""YAML that is read strictly and remembers the line of every value.

Plain data only: no tags, no aliases (an alias bomb expands without bound), no duplicate keys, no deep nesting.
Dates stay text, so that ``2026-04-26T14:00`` means the same in a tool's argument and in a field.
"""

import codecs
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from ratiba_action.errors import FileProblem

MAX_BYTES = 1 << 20
MAX_DEPTH = 40
MAX_VALUES = 100_000
"""In a file whose aliases are written out."""
_TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep"

Path = tuple[str | int, ...]

_SECOND_DOCUMENT = "but found another document"
"""What the parser says of it."""
_STANDARD = "tag:yaml.org,2002:"
_SCALARS = frozenset({"str", "timestamp", "int", "float", "bool"})
_PLAIN_WORDS = (
    (
        "mapping values are not allowed",
        "a colon and a space begin a value here; put a text that holds them in quotes",
    ),
    (
        "cannot start any token",
        "a tab or a reserved character begins a value; indent with spaces, quote texts",
    ),
    ("did not find expected '-' indicator", "this line is indented differently from the items of its list"),
    ("did not find expected key", "this line is indented differently from the keys beside it"),
)
"""What the commonest mistakes of syntax mean, by what the parser says of them."""

_TAG_DIRECTIVE = re.compile("(?:^|[\r\n\x85\u2028\u2029])%TAG")
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,18})")
_FLOAT = re.compile(r"[-+]?[0-9]{1,19}\.[0-9]{0,19}([eE][-+]?[0-9]{1,2})?")


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """A decoded file.

    Args:
        lines: line, from 1, of each value by its path of keys and indices.
    """

    name: str
    data: Any
    lines: Mapping[Path, int] = field(default_factory=dict)

    def line(self, path: Path) -> int:
        """Line of a value, or of its nearest parent that exists."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


class LineError(Exception):
    """What a file has on a line is refused; readers make a ``FileProblem`` of it."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def read_yaml(
    name: str, content: bytes, *, aliases: bool = False
) -> tuple[YamlDocument | None, tuple[FileProblem, ...]]:
    """Decode one YAML file.

    Args:
        content: its bytes; UTF-8, at most 1 MiB.
        aliases: of a file that another tool reads: ``*name`` and ``<<`` are written out, to at most ``MAX_VALUES``.

    Returns:
        The document and no problem, or None and the problems.
    """
    lines: dict[Path, int] = {}
    problems: list[FileProblem] = []
    try:
        data = _Builder(name, lines, problems, aliases=aliases).build(_composed(content, aliases=aliases), ())
    except LineError as refused:
        return None, (FileProblem(name, refused.line, str(refused)),)
    except yaml.composer.ComposerError as error:
        message = "a second document starts here; one file holds one document"
        if error.problem != _SECOND_DOCUMENT:
            message = f"not valid YAML: {_error_text(error)}"
        return None, (FileProblem(name, _error_line(error), message),)
    except UnicodeDecodeError:
        return None, (FileProblem(name, 0, "not valid YAML: a tag is not UTF-8"),)
    except yaml.YAMLError as error:
        return None, (FileProblem(name, _error_line(error), f"not valid YAML: {_error_text(error)}"),)
    return (None, tuple(problems)) if problems else (YamlDocument(name, data, lines), ())


def _composed(content: bytes, *, aliases: bool) -> yaml.Node:
    text = _decode(content)
    _refuse_directives(text)
    _look_at_aliases(text, allowed=aliases)
    node = yaml.compose(text, Loader=_ShallowLoader)
    if node is None:
        raise LineError(0, "the file is empty")
    return node


def _decode(content: bytes) -> str:
    if len(content) > MAX_BYTES:
        raise LineError(0, f"the file has {len(content):,} bytes; at most {MAX_BYTES:,} are read")
    try:
        return content.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise LineError(line, f"byte {content[error.start]:#04x} is not UTF-8; save the file as UTF-8") from error


def _refuse_directives(text: str) -> None:
    """Tags are refused anyway, and the parser's time grows with the square of the number of their directives."""
    found = _TAG_DIRECTIVE.search(text)
    if found is not None:
        line = text.count("\n", 0, found.end()) + 1
        raise LineError(line, "the directive %TAG is not allowed; write plain text, numbers, lists and mappings")


def _look_at_aliases(text: str, *, allowed: bool) -> None:
    if "*" not in text:
        return
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        # The parser's time grows with the square of the depth.
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise LineError(event.start_mark.line + 1 if event.start_mark else 0, _TOO_DEEP)
        if isinstance(event, yaml.AliasEvent) and not allowed:
            line = event.start_mark.line + 1 if event.start_mark else 0
            raise LineError(line, f"the alias '*{event.anchor}' is not allowed; write the value out")


class _ShallowLoader(yaml.CSafeLoader):
    """Refuses what is nested too deep while it is read, before C's own stack ends; see PyYAML's ``_compose_node``.

    An empty list or mapping may be one level too deep here, which ``_Builder`` refuses.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def descend_resolver(self, parent: yaml.Node, _: object) -> None:
        """A node begins: a value in the deepest list or mapping is one level deeper than that."""
        self._depth += 1
        if self._depth > MAX_DEPTH + 1:
            raise LineError(parent.start_mark.line + 1, _TOO_DEEP)

    def ascend_resolver(self) -> None:
        """A node ends."""
        self._depth -= 1


@dataclass(slots=True)
class _Builder:
    name: str
    lines: dict[Path, int]
    problems: list[FileProblem]
    aliases: bool
    values: int = 0

    def build(self, node: yaml.Node, path: Path) -> Any:
        self.values += 1
        if self.aliases and self.values > MAX_VALUES:
            # An alias of aliases of aliases grows without a limit, and so does one that contains itself.
            line = node.start_mark.line + 1
            raise LineError(line, f"its aliases, written out, are more than {MAX_VALUES:,} values")
        self.lines[path] = node.start_mark.line + 1
        if isinstance(node, yaml.CollectionNode) and node.tag.removeprefix(_STANDARD) not in {"map", "seq"}:
            self._refuse_tag(node)
            return None
        if isinstance(node, yaml.CollectionNode) and len(path) >= MAX_DEPTH:
            self._problem(node, _TOO_DEEP)
            return None
        if isinstance(node, yaml.MappingNode):
            return {key: self.build(value, (*path, key)) for key, value in self._entries(node, path)}
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node)

    def _entries(self, node: yaml.MappingNode, path: Path) -> Iterator[tuple[str, yaml.Node]]:
        seen: set[str] = set()
        merged: list[tuple[str, yaml.Node]] = []
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key is None:
                self._problem(key_node, "a key must be plain text")
            elif self.aliases and key_node.tag == f"{_STANDARD}merge":
                merged += self._merged(value_node, path)
            elif key in seen:
                self._problem(key_node, f"the key {key!r} stands twice")
            else:
                seen.add(key)
                yield key, value_node
                self.lines[(*path, key)] = key_node.start_mark.line + 1
        for key, value_node in merged:
            if key not in seen:
                seen.add(key)
                yield key, value_node

    def _merged(self, node: yaml.Node, path: Path) -> list[tuple[str, yaml.Node]]:
        """The entries of ``<<``: of a mapping, or of the mappings of a list, of which the first one counts."""
        listed = node.value if isinstance(node, yaml.SequenceNode) else [node]
        mappings = [each for each in listed if isinstance(each, yaml.MappingNode)]
        if len(path) >= MAX_DEPTH or len(mappings) < len(listed):
            self._problem(node, "<< must be a mapping, or a list of mappings")
            return []
        self.values += sum(len(each.value) for each in mappings)
        if self.values > MAX_VALUES:
            raise LineError(node.start_mark.line + 1, f"its aliases, written out, are more than {MAX_VALUES:,} values")
        return [entry for each in mappings for entry in self._entries(each, (*path, "<<"))]

    def _scalar(self, node: yaml.Node) -> Any:
        """YAML 1.2's core schema: ``no``, ``14:00`` and ``0712`` are text, as whoever wrote them meant."""
        text: str = node.value
        if node.tag == f"{_STANDARD}null":
            return None
        if node.tag == f"{_STANDARD}bool" and text.lower() in {"true", "false"}:
            return text.lower() == "true"
        if node.tag == f"{_STANDARD}int" and _INTEGER.fullmatch(text):
            return int(text)
        if node.tag == f"{_STANDARD}float" and _FLOAT.fullmatch(text):
            return float(text)
        if node.tag.removeprefix(_STANDARD) in _SCALARS:
            return text
        self._refuse_tag(node)
        return None

    def _refuse_tag(self, node: yaml.Node) -> None:
        self._problem(node, f"the tag {node.tag!r} is not allowed; write plain text, numbers, lists and mappings")

    def _problem(self, node: yaml.Node, message: str) -> None:
        self.problems.append(FileProblem(self.name, node.start_mark.line + 1, message))


def _error_line(error: yaml.YAMLError) -> int:
    mark = getattr(error, "problem_mark", None)
    return mark.line + 1 if mark is not None else 0


def _error_text(error: yaml.YAMLError) -> str:
    problem = str(getattr(error, "problem", None) or "")
    plain = next((words for found, words in _PLAIN_WORDS if found in problem), None)
    if plain is not None:
        return plain
    parts = (getattr(error, "context", None), getattr(error, "problem", None))
    return ", ".join(str(part) for part in parts if part) or type(error).__name__
