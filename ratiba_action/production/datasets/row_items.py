"""Converts between a row of a case file and its dataset item: which columns are input, which are expected output."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from ratiba_action.production.datasets.file_writing import safe_path
from ratiba_action.suite.case_ids import CASE_ID, COLUMN, HISTORY
from ratiba_action.suite.cases import places
from ratiba_action.suite.data_file import SUFFIXES
from ratiba_action.util.validation import shorten

MESSAGE = "message"
"""Key of an item's input for the user message, whatever the column is called."""
TRACE = "_trace"
"""Column for the trace that a case was made from."""

_TRUTHS = (("rules",), ("assertions",))
_TURN_TRUTHS = (("expect",), ("reply",))
_LONGEST_ID = 60


@dataclass(frozen=True, slots=True)
class RowTemplate:
    """A scenario file with ``cases``.

    Args:
        path: of the file, relative to the scenarios folder.
        given: columns with input for the system.
        expected: columns with expected output only.
    """

    path: str
    data: Mapping[str, Any]
    given: tuple[str, ...]
    expected: tuple[str, ...]

    @property
    def rows_path(self) -> str:
        """Path of the file of cases, relative to the scenarios folder; empty if it may not be written."""
        path = str(PurePosixPath(self.path).parent / str(self.data.get("cases")))
        return path if safe_path(path, SUFFIXES) else ""


def template_of(path: str, data: Mapping[str, Any]) -> RowTemplate:
    """A scenario file with ``cases``, with its columns by purpose."""
    truth: dict[str, bool] = {}
    for place, column in places(dict(data)):
        first, part = place[:1], place[2:3]
        is_truth = first in _TRUTHS or (first == ("turns",) and part in _TURN_TRUTHS)
        truth[column] = truth.get(column, True) and is_truth
    given = tuple(name for name, only in truth.items() if not only)
    return RowTemplate(path, data, given, tuple(name for name, only in truth.items() if only))


@dataclass(frozen=True, slots=True)
class RowParts:
    """A row in three parts."""

    input: Any
    expected_output: Any
    rest: Mapping[str, Any]


def split_row(template: RowTemplate, row: Mapping[str, Any]) -> RowParts:
    """The parts of a row; no column is lost."""
    history = (HISTORY,) if HISTORY not in template.expected else ()
    given = {name: row[name] for name in dict.fromkeys([*template.given, *history]) if name in row}
    expected = {name: row[name] for name in template.expected if name in row}
    rest = {name: value for name, value in row.items() if name not in {*given, *expected}}
    return RowParts(given, expected, rest)


def join_row(template: RowTemplate, parts: RowParts) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The row of untrusted parts, and every problem of them.

    A string instead of an object is the value of the only column.
    """
    row: dict[str, Any] = {COLUMN: parts.rest[COLUMN]} if COLUMN in parts.rest else {}
    problems: list[str] = []
    for part, value, columns in (
        ("input", parts.input, template.given),
        ("expected_output", parts.expected_output, template.expected),
    ):
        if not isinstance(value, Mapping):
            if len(columns) == 1 and isinstance(value, str):
                row[columns[0]] = value
            elif value is not None:
                problems.append(f"{part} is {shorten(value)}, and {template.path} has the columns {_listed(columns)}")
            continue
        for name, item in (value if part != "input" else _as_columns(template, value)).items():
            if name in columns or (part == "input" and name == HISTORY):
                row[name] = item
            else:
                problems.append(f"{part}: unknown key {shorten(name)}; {template.path} has {_listed(columns)}")
    missing = [name for name in (*template.given, *template.expected) if name not in row]
    problems += [f"it has no {', '.join(missing)}, which {template.path} needs"] if missing else []
    return {**row, **parts.rest}, tuple(problems)


def _as_columns(template: RowTemplate, value: Mapping[str, Any]) -> dict[str, Any]:
    """The input of an item by column: ``message`` is the only column, an empty history is left out."""
    named = dict(value)
    if MESSAGE in named and MESSAGE not in template.given and len(template.given) == 1:
        named.setdefault(template.given[0], named.pop(MESSAGE))
    if named.get(HISTORY, []) in ([], None) and HISTORY not in template.given:
        named.pop(HISTORY, None)
    elif HISTORY in named and template.rows_path.endswith(".csv") and not isinstance(named[HISTORY], str):
        named[HISTORY] = json.dumps(named[HISTORY], ensure_ascii=False)
    return named


def _listed(columns: tuple[str, ...]) -> str:
    return ", ".join(columns) or "none there"


def case_id_of_item(item_id: str) -> str:
    """The case id of an item made on the server: the item's id if that is allowed, else its digest."""
    allowed = re.fullmatch(CASE_ID, item_id) and len(item_id) <= _LONGEST_ID
    return item_id if allowed else hashlib.sha256(item_id.encode("utf-8", "replace")).hexdigest()[:12]


def made_on_server(template: RowTemplate, item_id: str, parts: RowParts, *, trace: str, named: bool) -> RowParts:
    """The parts of an item made on the server, with the id and the trace that it has as a case.

    Args:
        template: that it becomes a case of.
        trace: that it was made from; empty for none.
        named: whether cases of this file have ids of their own rather than digests of their content.
    """
    rest = {COLUMN: case_id_of_item(item_id)} if named else {}
    keeps_notes = not str(template.data.get("cases")).endswith(".csv")
    return RowParts(parts.input, parts.expected_output, {**rest, **({TRACE: trace} if trace and keeps_notes else {})})
