"""Files that the system under test puts where the report will be are no part of the report."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ratiba_action.errors import PublishError
from ratiba_action.publish.full_publication import every_file
from ratiba_action.reporting.directory import entries_of, write_report_directory
from ratiba_action.reporting.results_json import load_report
from ratiba_action.reporting.summary import summarise
from tests.support.sample_report import sample_report

NAMES = {"results.json", "comment.md", "junit.xml", "ratiba.sarif", "results.csv", "report.html"}


def plant_files(directory: Path) -> None:
    directory.mkdir(exist_ok=True)
    (directory / "results.json").write_text('{"forged": true}')
    (directory / "index.html").write_text("<script>")
    (directory / "leak").symlink_to("/etc")


def plant_directories(directory: Path) -> None:
    for name in ("results.json", "comment.md"):
        (directory / name).unlink(missing_ok=True)
        (directory / name / "inside").mkdir(parents=True)


def plant_links(directory: Path) -> None:
    directory.mkdir(exist_ok=True)
    for name in NAMES:
        (directory / name).unlink(missing_ok=True)
        (directory / name).symlink_to(directory.parent / "precious")


def replace_by_a_link(directory: Path) -> None:
    if directory.exists():
        directory.rename(directory.with_name("away"))
    (directory.parent / "elsewhere").mkdir()
    directory.symlink_to(directory.parent / "elsewhere")


def replace_by_a_file(directory: Path) -> None:
    if directory.exists():
        directory.rename(directory.with_name("away"))
    directory.write_text("in the way")


PLANTERS = (plant_files, plant_directories, plant_links, replace_by_a_link, replace_by_a_file)


@pytest.mark.parametrize("earlier", [0, 1])
@pytest.mark.parametrize("plant", PLANTERS, ids=lambda plant: plant.__name__)
def test_the_report_directory_holds_the_gates_files_only(
    tmp_path: Path, plant: Callable[[Path], None], earlier: int
) -> None:
    (tmp_path / "precious").write_text("kept")
    directory = tmp_path / "ratiba-report"
    for _ in range(earlier):
        write_report_directory(summarise(sample_report(name="earlier")), directory, render=every_file)
    known = entries_of(directory)
    plant(directory)
    paths = write_report_directory(summarise(sample_report()), directory, known, every_file)
    assert {path.name for path in directory.iterdir()} - {".gitignore"} == NAMES
    assert not any(path.is_symlink() for path in (directory, *directory.iterdir()))
    assert load_report(paths["results.json"].read_bytes()) == sample_report()
    assert (tmp_path / "precious").read_text() == "kept"
    assert not any((tmp_path / "elsewhere").glob("*"))


def test_what_lay_there_before_the_run_stays(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text("{}\n")
    known = entries_of(tmp_path)
    (tmp_path / "planted").mkdir()
    write_report_directory(summarise(sample_report()), tmp_path, known, every_file)
    assert {path.name for path in tmp_path.iterdir()} == NAMES | {"events.jsonl"}


def test_a_link_from_before_the_run_is_refused_as_ever(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "report").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PublishError, match="symbolic link"):
        write_report_directory(summarise(sample_report()), tmp_path / "report", entries_of(tmp_path / "report"))
    assert (tmp_path / "report").is_symlink()


def test_the_events_that_the_gate_wrote_during_the_run_stay(tmp_path: Path) -> None:
    directory = tmp_path / "ratiba-report"
    before = entries_of(directory)
    directory.mkdir()
    (directory / "events.jsonl").write_text("{}\n")
    (directory / ".gitignore").write_text("*\n")
    write_report_directory(summarise(sample_report()), directory, before, every_file)
    assert {entry.name for entry in directory.iterdir()} == NAMES | {"events.jsonl", ".gitignore"}
