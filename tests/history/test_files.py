"""A baseline that is named by its path."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.history.files import read_named_baseline
from ratiba_action.model.change import ChangedFiles
from ratiba_action.model.comparison import Rules
from ratiba_action.reporting.results_json import render_results
from ratiba_action.reporting.summary import summarise
from ratiba_action.util.git import Git
from tests.support.git_repository import GitRepository
from tests.support.sample_report import sample_report, sample_score, sample_scored

NOTHING = ChangedFiles(())
MORNING = datetime(2026, 4, 25, 7, tzinfo=UTC)


def results(path: Path, **changes: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    reported = sample_report(**{"results": (sample_scored(scores=(sample_score(),)),), "started_at": MORNING} | changes)
    path.write_text(render_results(summarise(reported)), encoding="utf-8")
    return path


def test_a_file_is_one_run_and_its_facts_say_where_it_comes_from_and_how_old_it_is(tmp_path: Path) -> None:
    path = results(tmp_path / "main.json")
    found = read_named_baseline(str(path), tmp_path / "checkout", NOTHING, "ratiba/assistant", pooled=3)
    assert (len(found.runs), found.notes) == (1, ())
    facts = found.facts(MORNING + timedelta(days=7), Rules())
    assert facts is not None
    assert (facts.source, facts.started_at, facts.runs, facts.stale) == (str(path), MORNING, 1, False)
    older = found.facts(MORNING + timedelta(days=7, seconds=1), Rules())
    assert older is not None
    assert older.stale


def test_of_a_folder_the_three_newest_runs_are_pooled(tmp_path: Path) -> None:
    for day in range(5):
        results(tmp_path / f"{day}/results.json", started_at=MORNING + timedelta(days=day))
    found = read_named_baseline(str(tmp_path), tmp_path / "checkout", NOTHING, pooled=3)
    assert [run.started_at.day for run in found.runs] == [29, 28, 27]


def test_an_unreadable_file_of_a_folder_is_a_note_and_the_others_are_used(tmp_path: Path) -> None:
    results(tmp_path / "good.json")
    (tmp_path / "torn.json").write_text('{"schema": 1, "rep', encoding="utf-8")
    found = read_named_baseline(str(tmp_path), tmp_path / "checkout", NOTHING, pooled=3)
    assert len(found.runs) == 1
    (note,) = found.notes
    assert "torn.json" in note
    assert "could not be read as JSON" in note


@pytest.mark.parametrize("name", ["absent.json", "folder", "link.json", "huge.json"])
def test_what_cannot_be_read_is_a_note_and_no_comparison(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.json").symlink_to(results(tmp_path / "elsewhere/main.json"))
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(20_000_001)
    found = read_named_baseline(str(tmp_path / name), tmp_path / "checkout", NOTHING, pooled=3)
    assert found.runs == ()
    assert len(found.notes) == 1
    assert found.notes[0].startswith("No baseline: ")
    assert found.facts(MORNING, Rules()) is None


@pytest.mark.parametrize("named", ["baselines/main.json", "baselines", "linked"])
def test_what_a_change_edits_is_read_as_its_base_has_it(tmp_path: Path, named: str) -> None:
    repository = GitRepository(tmp_path)
    results(tmp_path / "baselines/main.json")
    (tmp_path / "linked").symlink_to("baselines")
    base = repository.commit({})
    repository.commit({"baselines/main.json": None})
    changed = ChangedFiles(("prompts/greeting.md", "baselines/main.json"), base=base)
    git = Git(tmp_path, {"PATH": os.environ["PATH"]})
    found = read_named_baseline(str(tmp_path / named), tmp_path, changed, git=git, pooled=3)
    if named == "linked":
        assert found.runs == ()
        assert "its base reaches it by a symbolic link" in (found.lost or "")
    else:
        assert (len(found.runs), found.lost) == (1, None)
        assert "it is compared with what its base has there" in found.notes[0]


@pytest.mark.parametrize("redirected", [False, True])
def test_what_a_change_edits_and_nobody_can_read_is_lost_and_not_missing(
    tmp_path: Path,
    redirected: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    results(tmp_path / "old/weak.json")
    if redirected:
        (tmp_path / "main.json").symlink_to("old/weak.json")
    else:
        results(tmp_path / "main.json")
    found = read_named_baseline(str(tmp_path / "main.json"), tmp_path, ChangedFiles(("main.json",)), pooled=3)
    assert found.runs == ()
    assert "its base is not in this clone" in (found.lost or "")


def test_results_of_another_repository_are_not_compared_with(tmp_path: Path) -> None:
    path = results(tmp_path / "main.json")
    found = read_named_baseline(str(path), tmp_path / "checkout", NOTHING, "someone/else", pooled=3)
    assert found.runs == ()
    assert "of the repository 'ratiba/assistant', not of 'someone/else'" in found.notes[0]
