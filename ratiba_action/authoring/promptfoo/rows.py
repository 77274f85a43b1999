"""Rows of promptfoo's CSV files: variables, and columns whose names begin with two underscores."""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ratiba_action.authoring.imports import Import, ImportOutcome
from ratiba_action.authoring.promptfoo.assertion_types import TYPES
from ratiba_action.util.validation import shorten

LEFT_OUT = "left out: it does not decide what passes"
UNNAMED = "__unnamed"
"""Begins the names of columns that have none."""
_EXPECTED = re.compile(
    rf"((?:not-)?(?:{'|'.join(map(re.escape, TYPES))}))\s*(?:\(([0-9]+(?:\.[0-9]+)?)\))?\s*(?::\s*(.*))?", re.DOTALL
)
_CONFIG_COLUMN = re.compile(r"__config:__expected(\d*):threshold")
_ROW_THRESHOLD = 0.75
_READ = frozenset({"__description", "__metadata:conversationId", "__prefix", "__suffix", "__threshold"})
_WITH_THRESHOLD = frozenset(
    {
        *("answer-relevance", "classifier", "context-faithfulness", "context-recall", "context-relevance", "cost"),
        *("latency", "levenshtein", "perplexity", "perplexity-score", "rouge-n", "similar"),
    }
)
"""Types that get a threshold of 0.75 in a CSV file that gives none."""


def read_row(found: Import, place: tuple[str, int], row: Mapping[str, str]) -> dict[str, Any]:
    """A row as a test; columns that are not read are findings."""
    columns = {title.strip(): cell for title, cell in row.items() if not title.strip().startswith(UNNAMED)}
    test: dict[str, Any] = {
        "vars": {name: cell for name, cell in columns.items() if not name.startswith("__")},
        "assert": [_expected(cell) for name, cell in columns.items() if name.startswith("__expected") and cell.strip()],
    }
    if columns.get("__description"):
        test["description"] = columns["__description"]
    options = {name[2:]: columns[name] for name in ("__prefix", "__suffix") if columns.get(name)}
    test |= {"options": options} if options else {}
    thread = columns.get("__metadata:conversationId", "").strip()
    test |= {"metadata": {"conversationId": thread}} if thread else {}
    limit = columns.get("__threshold", "").strip()
    try:
        test |= {"threshold": float(limit)} if limit else {}
    except ValueError:
        found.wrong(place, f"__threshold is {shorten(limit)}, not a number")
    for number, threshold in _thresholds(columns):
        if number <= len(test["assert"]):
            test["assert"][number - 1]["threshold"] = threshold
    for name, cell in columns.items():
        outcome, result = _left(name, cell)
        if result:
            found.note(place, outcome, name, result)
    return test


def _thresholds(columns: Mapping[str, str]) -> Iterator[tuple[int, float]]:
    for name, cell in columns.items():
        if (column := _CONFIG_COLUMN.fullmatch(name)) and re.fullmatch(r"\s*\d+(\.\d+)?\s*", cell):
            yield int(column[1] or 1), float(cell)


def _left(name: str, cell: str) -> tuple[ImportOutcome, str]:
    """What is said of a column that is not read; empty for one that is."""
    if name == "__metric" or (name.startswith("__metadata") and name != "__metadata:conversationId"):
        return ImportOutcome.APPROXIMATED, LEFT_OUT
    known = name in _READ or name.startswith("__expected") or _CONFIG_COLUMN.fullmatch(name) is not None
    unknown = name.startswith("__") and cell.strip() and not known
    return ImportOutcome.MANUAL, "not imported" if unknown else ""


def _expected(cell: str) -> dict[str, Any]:
    """An assertion as a CSV file spells it: ``type(threshold): value``; a text without a type is ``equals``."""
    text = cell.strip()
    if text.startswith("file://"):
        name = text.removeprefix("file://").partition(":")[0]
        return {"type": "python" if name.endswith(".py") else "javascript", "value": text}
    found = _EXPECTED.fullmatch(text)
    if found is None:
        return {"type": "equals", "value": text}
    usual = {"threshold": _ROW_THRESHOLD} if found[1].removeprefix("not-") in _WITH_THRESHOLD else {}
    threshold = {"threshold": float(found[2])} if found[2] else usual
    return {"type": found[1], **threshold, **({"value": found[3]} if found[3] else {})}


def with_commas(text: str) -> str:
    """A CSV file with commas, and a name for each column; what separates columns is seen in the first line."""
    head = text.partition("\n")[0]
    separator = "," if "," in head else max(";\t|", key=head.count)
    titles = next(csv.reader([head], delimiter=separator), [])
    if separator == "," and all(title.strip() for title in titles):
        return text
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    if rows:
        rows[0] = [title if title.strip() else f"{UNNAMED}{number}" for number, title in enumerate(rows[0])]
    written = io.StringIO(newline="")
    csv.writer(written, lineterminator="\n").writerows(rows)
    return written.getvalue()
