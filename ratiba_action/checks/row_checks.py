"""Deterministic assertions on database rows: ``expect.rows`` of a turn, ``rows`` after the conversation."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ratiba_action.model.measurement import Check
from ratiba_action.model.scenario import ExpectedRows
from ratiba_action.model.values import JsonObject
from ratiba_action.util.instants import LocalTime, same_value, unclear_time
from ratiba_action.util.text import clip

ROWS = "rows"
"""The kind of these checks."""

_READS = re.compile(r"\s*(SELECT|WITH|VALUES|TABLE)\b", re.IGNORECASE)
_SHOWN = 3
"""Rows of a failed assertion that are shown."""


@dataclass(frozen=True, slots=True)
class FoundRows:
    """What was read for one assertion.

    Args:
        problem: why the database refused the query, such as a table that does not exist; empty where it did not.
    """

    rows: tuple[JsonObject, ...] = ()
    problem: str = ""


def query_problem(query: str) -> str | None:
    """What is wrong with a query that is to read rows; None where nothing is."""
    if ";" in query.rstrip().rstrip(";"):
        return "holds more than one statement"
    return None if _READS.match(query) else "does not read: begin it with SELECT or WITH"


def sql_of(expected: ExpectedRows) -> str:
    """The statement that reads the rows; the database refuses a column that the assertion names and there is not."""
    source = expected.query.strip().rstrip(";") or f"TABLE {_quoted(expected.table)}"
    named = ", ".join(f"found.{_quoted(name)}" for name in _columns(expected))
    # A misspelt column would match no row, and `count: 0` would pass. This names each column and filters nothing.
    reads = f" WHERE pg_catalog.num_nonnulls({named}) >= 0" if named else ""
    # The tenant's own role runs it in a read-only transaction, whatever it says.
    return f"SELECT * FROM (\n{source}\n) AS found{reads}"  # noqa: S608 - the query is the scenario's own


def check_rows(expected: ExpectedRows, found: FoundRows, turn: int, clock: LocalTime) -> Check:
    """Whether the rows are there.

    Args:
        expected: of a turn or of the scenario.
        turn: its number, from 1; 0 after the conversation.
        clock: of the scenario, by which times without an offset are read.
    """
    rows = matching_rows(expected, found, clock)
    unclear = _unclear(expected, found.rows, clock)
    problem = (found.problem and f"not read: {found.problem}") or (unclear and f"not compared: {unclear}")
    passed = not problem and _is_count(expected, len(rows)) and _are_equal(expected.equals, rows, clock)
    got = problem or _rows_words(expected, rows) + ("" if rows or passed else _nearest(expected, found.rows, clock))
    return Check(ROWS, turn, what_of(expected), clip(_wanted(expected)), clip(got), passed=passed, line=expected.line)


def _unclear(expected: ExpectedRows, rows: Sequence[JsonObject], clock: LocalTime) -> str:
    """Why times cannot be compared: that no row has an unclear time would say nothing."""
    listed = expected.equals if isinstance(expected.equals, list | tuple) else [expected.equals]
    for wanted in (expected.where, *listed):
        for row in rows:
            got = row if isinstance(wanted, Mapping) else next(iter(row.values()), None)
            if why := unclear_time(wanted, got, clock):
                return why
    return ""


def matching_rows(expected: ExpectedRows, found: FoundRows, clock: LocalTime) -> tuple[JsonObject, ...]:
    """The rows that have every value of ``where``."""
    return tuple(row for row in found.rows if same_value(dict(expected.where), dict(row), clock))


def what_of(expected: ExpectedRows) -> str:
    """The assertion in words: ``rows of handoffs where reason=…``."""
    source = f"rows of {expected.table}" if expected.table else f"rows of the query {clip(expected.query, 60)!r}"
    conditions = ", ".join(f"{name}={_json(value)}" for name, value in expected.where.items())
    return clip(f"{source} where {conditions}" if conditions else source)


def _columns(expected: ExpectedRows) -> tuple[str, ...]:
    listed = expected.equals if isinstance(expected.equals, list | tuple) else [expected.equals]
    names = [*expected.where, *(name for item in listed if isinstance(item, Mapping) for name in item)]
    return tuple(dict.fromkeys(map(str, names)))


def _is_count(expected: ExpectedRows, number: int) -> bool:
    if expected.count is not None:
        return number == expected.count
    return isinstance(expected.equals, list | tuple) or number > 0


def _are_equal(equals: Any, rows: Sequence[JsonObject], clock: LocalTime) -> bool:
    if equals is None:
        return True
    if isinstance(equals, Mapping):
        return all(same_value(dict(equals), dict(row), clock) for row in rows)
    if isinstance(equals, list | tuple):
        return len(equals) == len(rows) and _pair_off(equals, rows, clock)
    return len(rows) == 1 and len(rows[0]) == 1 and same_value(equals, next(iter(rows[0].values())), clock)


def _pair_off(wanted: Sequence[Any], rows: Sequence[JsonObject], clock: LocalTime) -> bool:
    """Whether each wanted object has a row of its own, in any order."""
    taken: dict[int, int] = {}

    def place(index: int, seen: set[int]) -> bool:
        for at, row in enumerate(rows):
            if at not in seen and same_value(dict(wanted[index]), dict(row), clock):
                seen.add(at)
                if at not in taken or place(taken[at], seen):
                    taken[at] = index
                    return True
        return False

    return all(place(index, set()) for index in range(len(wanted)))


def _wanted(expected: ExpectedRows) -> str:
    if expected.count is not None:
        words = _number(expected.count)
    elif isinstance(expected.equals, list | tuple):
        words = _number(len(expected.equals))
    else:
        words = "at least 1 row" if expected.equals is None or isinstance(expected.equals, Mapping) else "1 row"
    return words if expected.equals is None else f"{words}: {_json(expected.equals)}"


def _rows_words(expected: ExpectedRows, rows: Sequence[JsonObject]) -> str:
    named = _columns(expected)
    shown = [{name: row.get(name) for name in named} if named else dict(row) for row in rows[:_SHOWN]]
    words = ", ".join(map(_json, shown)) + (", …" if len(rows) > _SHOWN else "")
    return f"{_number(len(rows))}: {words}" if rows else _number(0)


def _nearest(expected: ExpectedRows, rows: Sequence[JsonObject], clock: LocalTime) -> str:
    """In what a row differs that has most of the wanted values; empty where none has any of them."""
    differing = [
        {name: row.get(name) for name, value in expected.where.items() if not same_value(value, row.get(name), clock)}
        for row in rows
    ]
    nearest = min(differing, key=len, default=expected.where)
    return f"; the nearest has {_json(nearest)}" if len(nearest) < len(expected.where) else ""


def _number(count: int) -> str:
    return "1 row" if count == 1 else f"{count or 'no'} rows"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
