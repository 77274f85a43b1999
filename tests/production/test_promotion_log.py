"""What was promoted is remembered across crashes, and by one process at a time."""

from pathlib import Path

import pytest

from ratiba_action.errors import UsageError
from ratiba_action.production.promotion import promotion_log


def test_what_was_added_is_there_next_time(tmp_path: Path) -> None:
    path = tmp_path / "state" / "a.jsonl"
    with promotion_log(path) as log:
        log.add("s1", "written", "scenarios/a.yaml")
        assert log.done == {"s1"}
    with promotion_log(path) as log:
        assert log.done == {"s1"}
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_line_that_a_crash_tore_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"score": "s1", "outcome": "written", "scenario": "a"}\n{"score": "s2", "outc')
    with promotion_log(path) as log:
        assert log.done == {"s1"}
        log.add("s3", "duplicate", "b")
    with promotion_log(path) as log:
        assert log.done == {"s1", "s3"}


def test_another_process_is_refused_while_it_is_held(tmp_path: Path) -> None:
    with (
        promotion_log(tmp_path / "a.jsonl"),
        pytest.raises(UsageError, match="Another promotion has locked"),
        promotion_log(tmp_path / "a.jsonl"),
    ):
        pass


@pytest.mark.parametrize("line", ["not JSON", "[]", "{}"])
def test_another_kind_of_file_is_left_alone(tmp_path: Path, line: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f"{line}\n")
    with pytest.raises(UsageError, match="Line 1 of"), promotion_log(path):
        pass
    assert path.read_text() == f"{line}\n"


def test_a_place_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="--state"), promotion_log(tmp_path / "file" / "a.jsonl"):
        pass
