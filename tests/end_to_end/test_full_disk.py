"""A disk that is full when the report is written: the verdict, the outputs and the summary are there all the same."""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.small_disk import fill, small_disk
from tests.support.small_repository import Ended, SmallRepository
from tests.support.step_outputs import read_outputs

PAGE = 4096
FILLING = """\
with open({path!r}, "ab", 0) as file:
    try:
        while file.write(bytes(4096)):
            pass
    except OSError:
        pass
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", 1 << 20) as folder:
        yield folder


def gate(small: SmallRepository, report: Path, step: Path) -> Ended:
    """A failing run as a workflow's step."""
    small.scenario("greeting", "say Bonjour", expect="ABSENT")
    small.commit()
    return replace(small, report=report).gate(
        RATIBA_MODE="blocking",
        GITHUB_ACTIONS="true",
        GITHUB_OUTPUT=str(step / "output"),
        GITHUB_STEP_SUMMARY=str(step / "summary"),
    )


def leave(folder: Path, room: int) -> None:
    """Let this much room be left on a folder's disk."""
    kept = folder / "kept"
    kept.write_bytes(bytes(room))
    fill(folder)
    kept.unlink()


def assert_verdict_is_there(ended: Ended, step: Path) -> None:
    assert ended.code == 1, ended.printed
    outputs = read_outputs(step / "output")
    assert (outputs["conclusion"], outputs["failed"]) == ("failed", "1")
    assert "## Failed" in (step / "summary").read_text()


def test_a_report_directory_without_any_room_is_a_warning(small: SmallRepository, disk: Path, tmp_path: Path) -> None:
    leave(disk, 0)
    ended = gate(small, disk / "report", tmp_path)
    assert_verdict_is_there(ended, tmp_path)
    assert "::warning title=Ratiba Eval Gate::The report could not be written to" in ended.printed
    assert "Warning:** The report could not be written" in (tmp_path / "summary").read_text()
    assert [path.name for path in disk.iterdir() if path.name != "filler"] in ([], ["report"])
    assert not (disk / "report/results.json").exists()


@pytest.mark.parametrize("pages", [2, 6, 12, 24])
def test_with_some_room_every_file_is_whole_or_not_there(
    small: SmallRepository, disk: Path, tmp_path: Path, pages: int
) -> None:
    leave(disk, pages * PAGE)
    ended = gate(small, disk / "report", tmp_path)
    assert_verdict_is_there(ended, tmp_path)
    results = disk / "report/results.json"
    if results.exists():
        assert json.loads(results.read_text())["outputs"]["conclusion"] == "failed"
        assert (disk / "report/comment.md").read_text().startswith("<!-- ratiba-eval-gate name=")
        assert "More in" in (disk / "report/comment.md").read_text()
    assert results.exists() or "::warning title=Ratiba Eval Gate::The report could not be written" in ended.printed
    assert [path.name for path in disk.iterdir() if path.name.startswith(".")] == []


def test_room_for_the_comment_and_the_results_is_used_for_them(
    small: SmallRepository, disk: Path, tmp_path: Path
) -> None:
    whole = gate(small, tmp_path / "report", tmp_path)
    sizes = {name: (whole.report / name).stat().st_size for name in ("comment.md", "results.json", "events.jsonl")}
    needed = sum(size // PAGE + 1 for size in sizes.values()) + 2
    (tmp_path / "step").mkdir()
    leave(disk, needed * PAGE)
    ended = gate(small, disk / "report", tmp_path / "step")
    assert_verdict_is_there(ended, tmp_path / "step")
    assert "Only comment.md and results.json of the report could be written" in ended.printed
    assert {path.name for path in (disk / "report").iterdir()} >= {"comment.md", "results.json"}
    assert not (disk / "report/report.html").exists()


def test_a_run_that_fills_the_disk_of_the_steps_files_has_room_for_them(
    small: SmallRepository, disk: Path, tmp_path: Path
) -> None:
    step = disk / "step"
    step.mkdir()
    (disk / "filler").touch()
    (disk / "filler").chmod(0o666)
    # pytest closes its folders, and where the gate is root the system under test is another user.
    for parent in (disk, *disk.parents):
        if parent.is_relative_to(tempfile.gettempdir()) and parent.owner() == disk.owner():
            parent.chmod(parent.stat().st_mode | 0o011)
    adapter = small.folder / "adapter.py"
    small.write("adapter.py", FILLING.format(path=str(disk / "filler")) + adapter.read_text())
    ended = gate(small, tmp_path / "report", step)
    assert (disk / "filler").stat().st_size > 0
    assert_verdict_is_there(ended, step)
