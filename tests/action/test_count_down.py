"""The time that an image takes to be had is part of the run's."""

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "action" / "container.sh"


@pytest.mark.parametrize(
    ("deadline", "gone", "left"),
    [
        ("1500", 0, "1500"),
        ("1500", 240, "1260"),
        ("90.5", 30, "60.5"),
        ("60", 240, "1"),
        ("soon", 240, "soon"),
        ("0", 240, "0"),
        ("-1", 240, "-1"),
        ("$(touch x)", 1, "$(touch x)"),
    ],
)
def test_the_gate_is_given_what_is_left_of_the_time_and_what_is_none_as_it_stands(
    tmp_path: Path, deadline: str, gone: int, left: str
) -> None:
    count = '. "$1"; SECONDS=$2; RATIBA_DEADLINE=$3; count_down; printf "%s" "$RATIBA_DEADLINE"'
    command = ["bash", "-euc", count, "count", str(SCRIPT), str(gone), deadline]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == left
    assert list(tmp_path.iterdir()) == []
