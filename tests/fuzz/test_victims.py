"""What a misdeed does where no sandbox is in its way: the campaign must see each, or it proves nothing."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import fuzz
from fuzz.misdeeds import DEEDS
from fuzz.victims import HEAVY, LIGHT, Victims, open_victims

MISDEEDS = Path(fuzz.__path__[0]) / "misdeeds.py"
HARMFUL = ("modes", "owners_and_times", "limits", "priorities", "signals", "shared_memory")
"""What changes the state of another process or folder of the same user; the others use up what parties share."""


@pytest.fixture
def victims(tmp_path: Path) -> Iterator[Victims]:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "ledger").write_text("USD 1")
    with open_victims(tmp_path / "private") as found:
        yield found


def do(deed: str, victims: Victims, pids: Sequence[int]) -> None:
    """Do a misdeed in a process of its own."""
    orders = {"deeds": [deed], "seed": 3, "places": [*map(str, victims.places)], "most": 1, "pids": list(pids)}
    program = f"import sys; sys.path.insert(0, {str(MISDEEDS.parent)!r}); import misdeeds; misdeeds.do({orders!r})"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@pytest.mark.processes
@pytest.mark.parametrize("deed", HARMFUL)
def test_a_misdeed_without_a_sandbox_is_found(victims: Victims, deed: str) -> None:
    before = victims.state()
    assert victims.changes(before) == []
    # Segments are removed whose maker is named, which is this process; no other misdeed may name it.
    do(deed, victims, pids=[os.getpid()] if deed == "shared_memory" else victims.pids)
    assert victims.changes(before)


def test_every_misdeed_is_tried_in_the_sandbox_or_in_whole_gates() -> None:
    assert {*DEEDS} - {*LIGHT, *HEAVY} == {"hang", "database"}, "which need a deadline, and a database"
