"""Reads the rows of a case file: JSON, JSON Lines or CSV. Reads any JSON with the line of each value."""

import codecs
import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ratiba_action.errors import FileProblem
from ratiba_action.util.strict_json import finite_number, refuse_constant, unique_keys
from ratiba_action.util.strict_yaml import MAX_DEPTH, LineError, Path, YamlDocument
from ratiba_action.util.validation import shorten

SUFFIXES = (".jsonl", ".json", ".csv")
_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class CaseRow:
    """One case.

    Args:
        line: number of its first line in the file, from 1.
        values: by column.
    """

    line: int
    values: Mapping[str, Any]


def read_rows(name: str, content: bytes) -> tuple[tuple[CaseRow, ...], tuple[FileProblem, ...]]:
    """The rows of a file of cases, and all its problems.

    A ``.jsonl`` file has one JSON object per line; empty lines are skipped. A ``.json`` file has a list of objects. A
    ``.csv`` file starts with a line of column names; its cells are text (RFC 4180).

    Args:
        name: the file's path; its suffix decides the format.
        content: its bytes, UTF-8.
    """
    try:
        text = _decode(content)
    except LineError as refused:
        return (), (FileProblem(name, refused.line, str(refused)),)
    rows: list[CaseRow] = []
    problems: list[FileProblem] = []
    read = {"csv": _csv_rows, "json": _listed_rows}.get(name.rpartition(".")[2], _json_rows)
    for row in read(text):
        if isinstance(row, CaseRow):
            rows.append(row)
        else:
            problems.append(FileProblem(name, row.line, str(row)))
    if not rows and not problems:
        problems.append(FileProblem(name, 0, "the file has no rows"))
    return tuple(rows), tuple(problems)


def _decode(content: bytes) -> str:
    try:
        return content.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise LineError(line, f"byte {content[error.start]:#04x} is not UTF-8; save it as UTF-8") from error


def read_json(name: str, content: bytes) -> tuple[YamlDocument | None, tuple[FileProblem, ...]]:
    """Decode one JSON file: no duplicate keys, no deep nesting, no NaN.

    Args:
        content: its bytes, UTF-8.

    Returns:
        The document with the line of each value and no problem, or None and the problem.
    """
    try:
        reader = _JsonReader(_decode(content))
        return YamlDocument(name, reader.read(), reader.lines), ()
    except LineError as refused:
        return None, (FileProblem(name, refused.line, str(refused)),)


_SPACE = re.compile(r"[ \t\n\r]*")
_SCALAR = re.compile(r'"(?:[^"\\]|\\.)*+"|[^\s\[\]{},:"]+', re.DOTALL)


@dataclass(slots=True)
class _JsonReader:
    """Walks through JSON to know the line of each value, which ``json`` does not tell; scalars are read by ``json``."""

    text: str
    lines: dict[Path, int] = field(default_factory=dict)
    at: int = 0
    line: int = 1

    def read(self) -> Any:
        value = self._value(())
        if self._next():
            raise self._wrong("nothing more")
        return value

    def _next(self) -> str:
        """The next character that is no white space; empty at the end."""
        end = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr] # it matches an empty text too
        self.line += self.text.count("\n", self.at, end)
        self.at = end
        return self.text[end : end + 1]

    def _wrong(self, wanted: str) -> LineError:
        found = shorten(self.text[self.at : self.at + 20]) if self.at < len(self.text) else "the end of the file"
        return LineError(self.line, f"not JSON: {found} where {wanted} is expected")

    def _value(self, path: Path) -> Any:
        start = self._next()
        self.lines[path] = self.line
        if len(path) > MAX_DEPTH:
            raise LineError(self.line, f"nested more than {MAX_DEPTH} levels deep")
        if start == "{":
            return self._object(path)
        if start == "[":
            items: list[Any] = []
            self._each("]", lambda: items.append(self._value((*path, len(items)))))
            return items
        return self._scalar()

    def _scalar(self) -> Any:
        found = _SCALAR.match(self.text, self.at)
        if found is None:
            raise self._wrong("a value")
        try:
            value = json.loads(found[0], parse_float=finite_number, parse_constant=refuse_constant)
            str(value).encode()
        except UnicodeEncodeError:
            raise LineError(self.line, "half of a surrogate pair, which is not valid text") from None
        except ValueError as error:
            raise LineError(self.line, f"not JSON: {shorten(found[0])}: {error}") from None
        self.line += found[0].count("\n")
        self.at = found.end()
        return value

    def _object(self, path: Path) -> dict[str, Any]:
        values: dict[str, Any] = {}

        def entry() -> None:
            if self._next() != '"':
                raise self._wrong("a key")
            line, key = self.line, self._scalar()
            if key in values:
                raise LineError(line, f"duplicate key {shorten(key)}")
            if self._next() != ":":
                raise self._wrong("':'")
            self.at += 1
            values[key] = self._value((*path, key))

        self._each("}", entry)
        return values

    def _each(self, end: str, entry: Callable[[], None]) -> None:
        """The entries of an object or a list, separated by commas."""
        self.at += 1
        if self._next() == end:
            self.at += 1
            return
        while True:
            entry()
            after = self._next()
            if after not in {",", end}:
                raise self._wrong(f"',' or {end!r}")
            self.at += 1
            if after == end:
                return


def _listed_rows(text: str) -> Iterator[CaseRow | LineError]:
    """The objects of a list."""
    reader = _JsonReader(text)
    try:
        value = reader.read()
    except LineError as refused:
        yield refused
        return
    if not isinstance(value, list):
        yield LineError(1, f"{shorten(value)} is not a list of objects")
        return
    for index, item in enumerate(value):
        line = reader.lines[index,]
        wrong = LineError(line, f"{shorten(item)} is not a JSON object")
        yield CaseRow(line, item) if isinstance(item, dict) else wrong


def _json_rows(text: str) -> Iterator[CaseRow | LineError]:
    for number, line in enumerate(_LINE_END.split(text), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(
                line, object_pairs_hook=unique_keys, parse_float=finite_number, parse_constant=refuse_constant
            )
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            yield LineError(number, "half of a surrogate pair, which is not valid text")
            continue
        except (ValueError, RecursionError) as error:
            yield LineError(number, f"not a JSON object on one line: {error}")
            continue
        if not isinstance(value, dict):
            yield LineError(number, f"{shorten(value)} is not a JSON object")
        elif _too_deep(value):
            yield LineError(number, f"nested more than {MAX_DEPTH} levels deep")
        else:
            yield CaseRow(number, value)


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [item for part in level for item in _items(part)]
    return bool(level)


def _items(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _csv_rows(text: str) -> Iterator[CaseRow | LineError]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] | None = None
    line = 1
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            yield LineError(line, f"not CSV: {error}")
            return
        if cells is None:
            return
        if header is None:
            header = cells
            wrong = _header_problem(header)
            if wrong:
                yield LineError(line, wrong)
                return
        elif cells and len(cells) != len(header):
            yield LineError(line, f"{len(cells)} cells, but the first line names {len(header)} columns")
        elif cells:
            yield CaseRow(line, dict(zip(header, cells, strict=True)))
        line = reader.line_num + 1


def _header_problem(header: list[str]) -> str:
    if not all(name.strip() for name in header):
        return "a column has no name; the first line names the columns"
    twice = [name for name in header if header.count(name) > 1]
    return f"duplicate column {shorten(twice[0])}" if twice else ""
