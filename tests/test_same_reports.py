"""The comparison of two versions' reports leaves times and ids out, and nothing else."""

import json
from pathlib import Path

import pytest

from benchmarks.same_reports import differences

RESULTS = {"duration_ms": 1, "report": {"score": 0.9, "at": "2026-11-30T06:00:00Z"}}
EVENTS = ('{"run": "a", "sequence": 1, "type": "turn"}', '{"run": "a", "sequence": 2, "type": "score", "value": 0.9}')
COMMENT = "Passed in 3.1 s\n| `talks` | passed | 3.1 |\n"
ROWS = "scenario,passed,seconds\ntalks,true,3.1\n"


def report(folder: Path, **changed: str) -> Path:
    folder.mkdir()
    files = {"results.json": json.dumps(RESULTS), "events.jsonl": "\n".join(EVENTS), "comment.md": COMMENT}
    for name, text in {**files, "results.csv": ROWS, **changed}.items():
        (folder / name).write_text(text)
    return folder


def test_times_ids_the_order_of_events_and_new_empty_fields_are_no_difference(tmp_path: Path) -> None:
    results = {"duration_ms": 2, "new": None, "report": {"score": 0.9, "at": "2026-11-30T07:00:00Z", "more": []}}
    after = {
        "results.json": json.dumps(results),
        "events.jsonl": "\n".join(line.replace(': "a"', ': "b"') for line in reversed(EVENTS)),
        "comment.md": COMMENT.replace("3.1", "40"),
        "results.csv": ROWS.replace("3.1", "40"),
    }
    assert list(differences(report(tmp_path / "before"), report(tmp_path / "after", **after))) == []


@pytest.mark.parametrize(
    "changed",
    [
        {"results.json": json.dumps(RESULTS).replace("0.9", "0.8")},
        {"events.jsonl": EVENTS[1]},
        {"events.jsonl": "\n".join(EVENTS).replace("0.9", "0.8")},
        {"comment.md": COMMENT.replace("| passed", "| failed")},
        {"results.csv": ROWS.replace("true", "false")},
        {"more.xml": ""},
    ],
)
def test_everything_else_is_one(tmp_path: Path, changed: dict[str, str]) -> None:
    (name,) = changed
    found = list(differences(report(tmp_path / "before"), report(tmp_path / "after", **changed)))
    assert found
    assert {line.partition(":")[0] for line in found} == {name}
