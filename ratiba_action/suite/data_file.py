"""Reads the rows of a case file: JSON Lines or CSV, each row with its line."""

import codecs
import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ratiba_action.errors import FileProblem
from ratiba_action.util.strict_yaml import MAX_DEPTH
from ratiba_action.util.validation import shorten

SUFFIXES = (".jsonl", ".csv")
_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Row:
    """One case.

    Args:
        line: number of its first line in the file, from 1.
        values: by column.
    """

    line: int
    values: Mapping[str, Any]


class _Refused(Exception):  # noqa: N818 - control flow of this module, never seen outside
    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def read_rows(name: str, content: bytes) -> tuple[tuple[Row, ...], tuple[FileProblem, ...]]:
    """The rows of a file of cases, and all its problems.

    A ``.jsonl`` file has one JSON object per line; empty lines are skipped. A ``.csv`` file starts with a line of
    column names; its cells are text (RFC 4180).

    Args:
        name: the file's path; its suffix decides the format.
        content: its bytes, UTF-8.
    """
    try:
        text = content.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        return (), (FileProblem(name, line, f"byte {content[error.start]:#04x} is not UTF-8; save it as UTF-8"),)
    rows: list[Row] = []
    problems: list[FileProblem] = []
    for row in _csv_rows(text) if name.endswith(".csv") else _json_rows(text):
        if isinstance(row, Row):
            rows.append(row)
        else:
            problems.append(FileProblem(name, row.line, str(row)))
    if not rows and not problems:
        problems.append(FileProblem(name, 0, "the file has no rows"))
    return tuple(rows), tuple(problems)


def _json_rows(text: str) -> Iterator[Row | _Refused]:
    for number, line in enumerate(_LINE_END.split(text), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line, object_pairs_hook=_object, parse_float=_finite, parse_constant=_refuse_constant)
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            yield _Refused(number, "half of a surrogate pair, which is not valid text")
            continue
        except (ValueError, RecursionError) as error:
            yield _Refused(number, f"not a JSON object on one line: {error}")
            continue
        if not isinstance(value, dict):
            yield _Refused(number, f"{shorten(value)} is not a JSON object")
        elif _too_deep(value):
            yield _Refused(number, f"nested more than {MAX_DEPTH} levels deep")
        else:
            yield Row(number, value)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"duplicate key {shorten(twice)}")
    return found


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _finite(written: str) -> float:
    value = float(written)
    if not math.isfinite(value):
        raise ValueError(f"{shorten(written)} is too large a number")
    return value


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


def _csv_rows(text: str) -> Iterator[Row | _Refused]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] | None = None
    line = 1
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            yield _Refused(line, f"not CSV: {error}")
            return
        if cells is None:
            return
        if header is None:
            header = cells
            wrong = _header_problem(header)
            if wrong:
                yield _Refused(line, wrong)
                return
        elif cells and len(cells) != len(header):
            yield _Refused(line, f"{len(cells)} cells, but the first line names {len(header)} columns")
        elif cells:
            yield Row(line, dict(zip(header, cells, strict=True)))
        line = reader.line_num + 1


def _header_problem(header: list[str]) -> str:
    if not all(name.strip() for name in header):
        return "a column has no name; the first line names the columns"
    twice = [name for name in header if header.count(name) > 1]
    return f"duplicate column {shorten(twice[0])}" if twice else ""
