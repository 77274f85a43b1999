"""Sealed write-ahead journals pass into the container and, however it ended, back to the runner."""

import os
import subprocess
from pathlib import Path

import pytest

ACTION = Path(__file__).parents[2] / "action"
SCRIPT = """
. "$1/container.sh"
. "$1/report.sh"
docker() {
  printf '%s\\n' "$*" >>"$LOG"
  if [ "$1" = cp ]; then tar --create --file - --directory "$VOLUME" journals; fi
}
mounts_work() { return 0; }
ENDED="" CANCELLED="" IMAGE=gate REPORT=/report VOLUMES=()
"""
OWN, OTHER = "0123456789abcdef", "fedcba9876543210"


def run(folder: Path, words: str, **variables: str) -> list[str]:
    """Run words of the action's scripts; the calls of docker."""
    log = folder / "log"
    environment = {
        "PATH": os.environ["PATH"],
        "GITHUB_WORKSPACE": str(folder),
        "RUNNER_TEMP": str(folder),
        "WORK": str(folder / "work"),
        "VOLUME": str(folder / "volume"),
        "LOG": str(log),
        **variables,
    }
    subprocess.run(["bash", "-euc", SCRIPT + words, "run", str(ACTION)], env=environment, check=True)
    return log.read_text().splitlines() if log.exists() else []


def test_copies_of_earlier_attempts_enter_the_container_for_any_user_to_read(tmp_path: Path) -> None:
    kept = tmp_path / "ratiba-earlier-journals" / f"{OWN}-1.journal"
    kept.parent.mkdir()
    kept.write_text("sealed")
    kept.chmod(0o600)
    words = 'prepare_boxes "$WORK"; create_container "$WORK" gate'
    (created,) = [call for call in run(tmp_path, words, RATIBA_JOURNAL_KEY="5ea1" * 8) if call.startswith("create")]
    assert "--env RATIBA_SEALED_JOURNALS=/report/journals" in created
    assert "--env RATIBA_EARLIER_JOURNALS=/run/ratiba/journals" in created
    assert "5ea1" not in created
    copy = tmp_path / "work" / "inbox" / "journals" / kept.name
    assert (copy.read_text(), copy.stat().st_mode & 0o444) == ("sealed", 0o444)


def test_without_a_key_the_container_keeps_no_journal(tmp_path: Path) -> None:
    (created,) = run(tmp_path, 'prepare_boxes "$WORK"; create_container "$WORK" gate')
    assert "JOURNALS" not in created


@pytest.mark.parametrize("place", ["work/outbox", "volume"])
def test_the_copies_of_this_attempt_alone_are_kept(tmp_path: Path, place: str) -> None:
    journals = tmp_path / place / "journals"
    journals.mkdir(parents=True)
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "work" / "container").write_text("c0ffee")
    if place == "volume":
        (tmp_path / "work" / "volumes").write_text("first\nsecond\nthird\n")
    (journals / f"{OWN}-3.journal").write_text("the third attempt")
    (journals / f"{OTHER}-3.journal").symlink_to("/etc/hostname")
    for name in ("notes.txt", "x y.journal", f"{OWN}-.journal", f"{OWN}-03.journal"):
        (journals / name).write_text("not the gate's")
    earlier, kept = tmp_path / "ratiba-earlier-journals", tmp_path / "ratiba-journal"
    earlier.mkdir()
    (earlier / f"{OWN}-2.journal").write_text("the second attempt")
    kept.mkdir()
    (kept / f"{OTHER}-3.journal").write_text("of another gate of this job")
    calls = run(tmp_path, 'clear_away "$WORK"')
    assert {path.name: path.read_text() for path in kept.iterdir()} == {
        f"{OWN}-3.journal": "the third attempt",
        f"{OTHER}-3.journal": "of another gate of this job",
    }
    assert calls.index("kill c0ffee") < calls.index("rm --force c0ffee"), "nothing is written any more"
    assert not (tmp_path / "work").exists()
