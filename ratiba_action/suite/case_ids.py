"""Ids of the cases of a case file. They name recordings and tenants, so they must be stable."""

import hashlib
import json
import re
from collections.abc import Sequence

from ratiba_action.errors import FileProblem
from ratiba_action.suite.data_file import CaseRow
from ratiba_action.util.validation import shorten

COLUMN = "id"
HISTORY = "history"
"""Column for the messages before the case's own turns: a list of ``{"role", "content"}``, or empty."""
CASE_ID = r"[a-z0-9][a-z0-9_-]*"
ALLOWED = "use lower-case letters, digits, _ and -"
_HASH_DIGITS = 12
_LONGEST = 100


def case_ids(scenario_id: str, path: str, rows: Sequence[CaseRow]) -> tuple[list[str | None], list[FileProblem]]:
    """The id of each row, ``<scenario>__<case>``, None if it is invalid, and the problems.

    The case part is the column ``id`` if there is one, else a hash of the row's content.

    Args:
        path: of the data file, for messages.
    """
    named = any(COLUMN in row.values for row in rows)
    first: dict[str, CaseRow] = {}
    ids: list[str | None] = []
    problems: list[FileProblem] = []
    for row in rows:
        case = _named(row) if named else _content_hash(row)
        name = f"{scenario_id}__{case}"
        wrong = _shape_problem(row, case, name)
        earlier = first.setdefault(name, row)
        if not wrong and earlier is not row:
            what = f"the id {case!r} is" if named else "the same row is"
            wrong = f"{what} in line {earlier.line} already; cases must be unique"
        ids.append(None if wrong else name)
        problems += [FileProblem(path, row.line, wrong)] if wrong else []
    return ids, problems


def _shape_problem(row: CaseRow, case: str, name: str) -> str:
    if not case and COLUMN not in row.values:
        return f"the row has no column {COLUMN!r}, but other rows have one"
    if not re.fullmatch(CASE_ID, case):
        return f"the id {shorten(row.values[COLUMN])} is not allowed; {ALLOWED}"
    if len(name) > _LONGEST:
        return f"the id {shorten(name)} has {len(name)} characters; at most {_LONGEST} are allowed"
    return ""


def _named(row: CaseRow) -> str:
    value = row.values.get(COLUMN, "")
    return str(value) if isinstance(value, str) or type(value) is int else ""


def _content_hash(row: CaseRow) -> str:
    canonical = json.dumps(row.values, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()[:_HASH_DIGITS]
