"""The report directory is whole or not there."""

import fcntl
import os
import tracemalloc
from collections.abc import Mapping
from pathlib import Path

import pytest

from ratiba_action.errors import PublishError
from ratiba_action.publish.full_publication import every_file
from ratiba_action.reporting.directory import FileParts, entries_of, write_report_directory
from ratiba_action.reporting.results_json import load_report
from ratiba_action.reporting.summary import ReportSummary, summarise
from tests.support.sample_report import sample_report, sample_scored

PLAIN = {"results.json", "comment.md"}
NAMES = PLAIN | {"junit.xml", "ratiba.sarif", "results.csv", "report.html"}


def test_every_file_is_written_into_a_new_directory(tmp_path: Path) -> None:
    directory = tmp_path / "deep" / "ratiba-report"
    paths = write_report_directory(summarise(sample_report()), directory, render=every_file)
    assert set(paths) == NAMES == {path.name for path in directory.iterdir()} - {".gitignore"}
    assert load_report(paths["results.json"].read_bytes()) == sample_report()
    assert [path.name for path in directory.parent.iterdir()] == ["ratiba-report"]


def test_an_earlier_report_is_replaced_and_other_files_stay(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text("{}\n")
    write_report_directory(summarise(sample_report(name="first")), tmp_path, render=every_file)
    write_report_directory(summarise(sample_report(name="second")), tmp_path, render=every_file)
    assert {path.name for path in tmp_path.iterdir()} == NAMES | {"events.jsonl"}
    assert "second" in (tmp_path / "comment.md").read_text(encoding="utf-8")


def test_plain_files_leave_none_of_an_earlier_run_beside_them(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text("{}\n")
    write_report_directory(summarise(sample_report(name="first")), tmp_path, render=every_file)
    assert set(write_report_directory(summarise(sample_report(name="second")), tmp_path)) == PLAIN
    assert {path.name for path in tmp_path.iterdir()} == PLAIN | {"events.jsonl"}


def test_a_folder_that_a_change_puts_in_the_place_of_a_file_gives_way(tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / name).mkdir()
    write_report_directory(summarise(sample_report()), tmp_path, entries_of(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == PLAIN


def test_a_new_directory_is_ignored_by_git_and_an_existing_one_keeps_its_own_rules(tmp_path: Path) -> None:
    write_report_directory(summarise(sample_report()), tmp_path / "new")
    assert (tmp_path / "new/.gitignore").read_text() == "*\n"
    write_report_directory(summarise(sample_report()), tmp_path)
    assert not (tmp_path / ".gitignore").exists()


def test_what_killed_gates_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    names = ("left_a1b", "written_", "begun_c3", "others_4", "own")
    left, written, begun, others, own = (tmp_path / f".report-{name}" for name in names)
    for folder in (left, written, begun, others, own):
        folder.mkdir()
    for folder in (left, written, others, own):
        (folder / ".gitignore").write_text("*\n")
        (folder / "results.json").write_text("{")
    (others / "notes.txt").write_text("mine")
    lock = os.open(written, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    write_report_directory(summarise(sample_report()), tmp_path / "report")
    os.close(lock)
    assert {*tmp_path.iterdir()} == {tmp_path / "report", written, begun, others, own}


@pytest.mark.parametrize("there", [False, True])
def test_git_ignores_what_is_being_written_and_no_other_gate_removes_it(tmp_path: Path, *, there: bool) -> None:
    directory, summary = tmp_path / "report", summarise(sample_report())
    if there:
        directory.mkdir()
    seen = []

    def render(given: ReportSummary) -> Mapping[str, FileParts]:
        def parts() -> list[bytes]:
            write_report_directory(given, directory)
            (staged,) = tmp_path.glob(".report-*")
            seen.append((staged / ".gitignore").read_text())
            return [b"whole"]

        return {"comment.md": parts}

    write_report_directory(summary, directory, render=render)
    assert seen == ["*\n"]
    assert (directory / "comment.md").read_text() == "whole"
    assert [*tmp_path.iterdir()] == [directory]


def test_a_link_does_not_lead_the_report_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "report").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PublishError, match="symbolic link"):
        write_report_directory(summarise(sample_report()), tmp_path / "report")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_replies_with_half_an_emoji_are_written(tmp_path: Path) -> None:
    paths = write_report_directory(
        summarise(sample_report(notes=("half \ud83d",))), tmp_path / "report", render=every_file
    )
    assert all(path.stat().st_size for path in paths.values())


def test_a_file_in_the_way_is_named_and_kept(tmp_path: Path) -> None:
    blocked = tmp_path / "report"
    blocked.write_text("mine")
    with pytest.raises(PublishError, match=r"report'.*report-dir"):
        write_report_directory(summarise(sample_report()), blocked)
    assert blocked.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_a_parent_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PublishError, match="could not be written"):
        write_report_directory(summarise(sample_report()), tmp_path / "file" / "report")


def test_the_results_of_a_large_suite_are_written_without_their_whole_text_in_memory(tmp_path: Path) -> None:
    results = tuple(sample_scored(f"s{number}", reply=f"{number} " * 10_000) for number in range(100))
    summary = summarise(sample_report(results=results))
    tracemalloc.start()
    try:
        paths = write_report_directory(summary, tmp_path / "report")
        _, maximum = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    size = paths["results.json"].stat().st_size
    assert size > 2_000_000
    assert maximum < size
    assert load_report(paths["results.json"].read_bytes()).results == results
