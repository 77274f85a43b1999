"""Whether two versions of the gate report the same: ``python -m benchmarks.same_reports BEFORE AFTER``.

Both are report directories. Left out are times, ids of runs and processes, names of temporary folders, and fields of
JSON that are empty, since a later version has more of them. Lines of ``events.jsonl`` may come in any order.
"""

import argparse
import csv
import difflib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TIMES = {"at", "began", "duration-seconds", "duration_seconds", "duration_ms", "seconds"}
RUNS = {"run", "sequence"}
_DIFFERS = (
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{32}\b"), "ID"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|\+00:00| UTC)?"), "TIME"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|seconds?|min)\b"), "SECONDS"),
    (re.compile(r'\b(time|duration|seconds)(="|": ?)[0-9.e+-]+'), r"\1\2SECONDS"),
    (re.compile(r"\| [0-9.]+ \|$", re.MULTILINE), "| SECONDS |"),
    (re.compile(r"/[^' ]*/bin/python[0-9.]*"), "PYTHON"),
    (re.compile(r"\bratiba-[a-z]+-[0-9a-z_]{8}\b|\btest_tenant_\w+"), "PLACE"),
)


def main() -> int:
    """Print what differs; 1 where something does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    arguments = parser.parse_args()
    found = list(differences(arguments.before, arguments.after))
    print("\n".join(found) or "The reports are the same.")
    return 1 if found else 0


def differences(before: Path, after: Path) -> Iterator[str]:
    """A line for each file that one of them has not, and the lines that differ of all others."""
    first, second = ({path.name for path in folder.iterdir() if path.is_file()} for folder in (before, after))
    yield from (f"{name}: only in one of them" for name in sorted(first ^ second))
    for name in sorted(first & second):
        first_lines, second_lines = lines_of(before / name), lines_of(after / name)
        for line in difflib.unified_diff(first_lines, second_lines, lineterm="", n=0):
            if not line.startswith(("---", "+++", "@@")):
                yield f"{name}: {line}"


def lines_of(file: Path) -> list[str]:
    """A file's lines without what differs from run to run."""
    text = file.read_text(encoding="utf-8")
    if file.name == "events.jsonl":
        return sorted(_plain(json.dumps(_without(json.loads(line)), sort_keys=True)) for line in text.splitlines())
    if file.suffix in (".json", ".sarif"):
        text = json.dumps(_without(json.loads(text)), indent=1, sort_keys=True)
    if file.suffix == ".csv":
        return [_plain(json.dumps(_without(row))) for row in csv.DictReader(text.splitlines())]
    return _plain(text).splitlines()


def _without(value: Any) -> Any:
    if isinstance(value, list):
        return [_without(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {name: _without(item) for name, item in value.items() if name not in TIMES | RUNS}
    return {name: item for name, item in kept.items() if item not in (None, "", False, [], {})}


def _plain(text: str) -> str:
    for pattern, instead in _DIFFERS:
        text = pattern.sub(instead, text)
    return text


if __name__ == "__main__":
    sys.exit(main())
