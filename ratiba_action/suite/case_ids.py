"""Ids of the cases of a case file: they name recordings and tenants, so that they must stay what they are."""

import hashlib
import json
import re
from collections.abc import Sequence

from ratiba_action.errors import FileProblem
from ratiba_action.suite.data_file import Row
from ratiba_action.util.validation import shorten

COLUMN = "id"
HISTORY = "history"
"""Column of what was said before the case's own turns: a list of ``{"role", "content"}``, or empty."""
CASE_ID = r"[a-z0-9][a-z0-9_-]*"
ALLOWED = "use lower-case letters, digits, _ and -"
_HASH_DIGITS = 12
_LONGEST = 100


def case_ids(data_set: str, path: str, rows: Sequence[Row]) -> tuple[list[str | None], list[FileProblem]]:
    """The id of each row, ``<data set>__<case>``, None for one that cannot have it; and what is wrong with those.

    The case is the column ``id`` where the rows have one, else a hash of the row's content.

    Args:
        data_set: id of the scenario that is repeated.
        path: of the data file, for messages.
        rows: its rows.
    """
    named = any(COLUMN in row.values for row in rows)
    first: dict[str, Row] = {}
    ids: list[str | None] = []
    problems: list[FileProblem] = []
    for row in rows:
        case = _named(row) if named else _content_hash(row)
        name = f"{data_set}__{case}"
        wrong = _shape_problem(row, case, name)
        earlier = first.setdefault(name, row)
        if not wrong and earlier is not row:
            what = f"the id {case!r} stands" if named else "the same row stands"
            wrong = f"{what} in line {earlier.line} already; cases are unique"
        ids.append(None if wrong else name)
        problems += [FileProblem(path, row.line, wrong)] if wrong else []
    return ids, problems


def _shape_problem(row: Row, case: str, name: str) -> str:
    if not case and COLUMN not in row.values:
        return f"the row has no column {COLUMN!r}; others have one, so each needs it"
    if not re.fullmatch(CASE_ID, case):
        return f"the id {shorten(row.values[COLUMN])} is not allowed; {ALLOWED}"
    if len(name) > _LONGEST:
        return f"the id {shorten(name)} has {len(name)} characters; at most {_LONGEST} are allowed"
    return ""


def _named(row: Row) -> str:
    value = row.values.get(COLUMN, "")
    return str(value) if isinstance(value, str) or type(value) is int else ""


def _content_hash(row: Row) -> str:
    canonical = json.dumps(row.values, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()[:_HASH_DIGITS]
