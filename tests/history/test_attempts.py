"""Earlier attempts on a laptop: every one of the same commit is added, and none of anything else."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.history.attempts import Attempt, attempts_in_folder, keep_attempt
from ratiba_action.model.change import Subject
from ratiba_action.model.verdict import Conclusion, Verdict
from ratiba_action.reporting.results_json import render_results
from ratiba_action.reporting.summary import summarise
from tests.support.sample_report import sample_report, sample_score, sample_scored

COMMIT = "a" * 40
BEGAN = datetime(2026, 4, 25, 7, tzinfo=UTC)
OURS = Attempt("ratiba", COMMIT, "digest", "claude-opus-5-5")


def attempt(folder: Path, number: int, **changes: Any) -> None:
    """What a run does: it keeps the one before it, and leaves its own results."""
    keep_attempt(folder, replace(OURS, commit=changes.get("commit", COMMIT)))
    report = sample_report(
        **{
            "results": (sample_scored(scores=(sample_score(number / 10),)),),
            "subject": Subject(),
            "name": "ratiba",
            "commit": COMMIT,
            "suite_digest": "digest",
            "judge_model": "claude-opus-5-5",
            "llm": "live",
            "started_at": BEGAN + timedelta(minutes=number),
        }
        | changes
    )
    (folder / "results.json").write_text(render_results(summarise(report)))


def times(folder: Path, ours: Attempt = OURS) -> list[int]:
    keep_attempt(folder, ours)
    return [(run.started_at - BEGAN).seconds // 60 for run in attempts_in_folder(folder, ours)]


def test_a_fourth_run_of_the_same_commit_is_added_to_all_three_before_it(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        attempt(tmp_path, number)
    assert times(tmp_path) == [1, 2, 3]
    assert times(tmp_path) == [1, 2, 3], "a run that died leaves no second copy"


@pytest.mark.parametrize("changes", [{"commit": "b" * 40}, {"llm": "replay"}, {"judge_model": "gpt-5.6"}])
def test_a_run_that_measured_anything_else_ends_the_row(tmp_path: Path, changes: dict[str, Any]) -> None:
    attempt(tmp_path, 1)
    attempt(tmp_path, 2, **changes)
    assert times(tmp_path) == []
    attempt(tmp_path, 3)
    assert times(tmp_path) == [3]


@pytest.mark.parametrize(("conclusion", "added"), [(Conclusion.INCOMPLETE, [1]), (Conclusion.FAILED, [1, 2])])
def test_a_run_that_goes_on_does_not_count_what_it_left_before_twice(
    tmp_path: Path, conclusion: Conclusion, added: list[int]
) -> None:
    attempt(tmp_path, 1)
    attempt(tmp_path, 2, verdict=Verdict(conclusion, "It ended."))
    assert times(tmp_path, replace(OURS, resumed=True)) == added


def test_what_cannot_be_read_adds_nothing(tmp_path: Path) -> None:
    attempt(tmp_path, 1)
    attempt(tmp_path, 2)
    keep_attempt(tmp_path, OURS)
    (tmp_path / "attempts" / "9.json").write_text("[" * 100_000)
    (tmp_path / "attempts" / "8.json").symlink_to(tmp_path / "results.json")
    assert times(tmp_path) == [1, 2]


def test_nothing_is_written_or_read_past_a_link(tmp_path: Path) -> None:
    elsewhere, report = tmp_path / "elsewhere", tmp_path / "report"
    elsewhere.mkdir()
    report.mkdir()
    (elsewhere / "kept.json").write_text("{}")
    (report / "attempts").symlink_to(elsewhere)
    attempt(report, 1)
    assert times(report) == [1]
    assert [path.name for path in elsewhere.iterdir()] == ["kept.json"]
