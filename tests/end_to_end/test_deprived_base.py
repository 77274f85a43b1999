"""A change that is worse than its base fails, whatever it does to keep the base from being measured."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.base_attacks import ATTACKS, GOOD, WORSE, adapter, base_files
from tests.support.git_repository import GitRepository
from tests.support.pull_request_events import pull_request_event
from tests.support.small_disk import small_disk

pytestmark = pytest.mark.processes

PROJECT = Path(__file__).parents[2]
PLAIN_USER = 54_321
ROOM, INODES = 96 << 20, 4_000


def python_of(user: int) -> str:
    """An interpreter of this version that a user can run; the tests' own may lie in root's home."""
    same = f"import sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]!r})"
    for python in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        try:
            run = subprocess.run([python, "-c", same], cwd="/", user=user, group=user, extra_groups=[], check=False)
        except OSError:
            continue
        if run.returncode == 0:
            return python
    pytest.skip("needs an interpreter that a plain user can run")


@dataclass
class Place:
    """A repository of a pull request whose gate runs as a user, with a small disk for its temporary files."""

    folder: Path
    temporary: Path
    user: int

    def gate(self, attack: str, text: str = WORSE, base: str = GOOD) -> tuple[int, dict[str, object]]:
        """Run the gate on a change; its exit code and the verdict of its report."""
        git = GitRepository(self.folder / "repository")
        files = base_files(str(self.temporary))
        first = git.commit(files | {"adapter.py": adapter(str(self.temporary), GOOD) if base == GOOD else base})
        head = git.commit({"adapter.py": adapter(str(self.temporary), text, attack)})
        event = self.folder / "event.json"
        event.write_text(json.dumps(pull_request_event(first, head)))
        for path in (self.folder, *self.folder.rglob("*")):
            os.chown(path, self.user, self.user, follow_symlinks=False)
        variables = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join([str(PROJECT), *(path for path in sys.path if path.endswith("-packages"))]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": str(self.folder),
            "TMPDIR": str(self.temporary),
            "GITHUB_EVENT_NAME": "pull_request",
            "GITHUB_EVENT_PATH": str(event),
            "RATIBA_LLM": "replay",
            "NO_COLOR": "1",
        }
        report = self.folder / "report"
        done = subprocess.run(
            [python_of(self.user), "-m", "ratiba_action", "gate", "--mode", "blocking", "--report-dir", str(report)],
            cwd=git.folder,
            env=variables,
            user=self.user,
            group=self.user,
            extra_groups=[],
            capture_output=True,
            text=True,
            check=False,
            timeout=180,
        )
        results = report / "results.json"
        assert results.exists(), done.stdout + done.stderr
        verdict: dict[str, object] = json.loads(results.read_text())["report"]["verdict"]
        return done.returncode, verdict


@pytest.fixture(params=["plain user", "root"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    if os.geteuid() != 0:
        pytest.skip("needs root, to run the gate as other users and to mount a disk")
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        Path(name).chmod(0o755)
        temporary = stack.enter_context(small_disk(Path(name) / "disk", ROOM, INODES))
        folder = Path(name) / "place"
        folder.mkdir()
        yield Place(folder, temporary, PLAIN_USER if request.param == "plain user" else 0)


@pytest.mark.parametrize("attack", ["nothing", *ATTACKS])
def test_a_worse_change_fails_whatever_it_does_to_its_base(place: Place, attack: str) -> None:
    code, verdict = place.gate(attack)
    assert (code, verdict["conclusion"]) == (1, "failed"), verdict
    assert "The mean score fell by" in str(verdict["reason"])


def test_a_base_that_cannot_be_started_is_incomplete_and_the_way_out_is_named(place: Place) -> None:
    code, verdict = place.gate("nothing", GOOD, base="raise SystemExit(1)\n")
    assert (code, verdict["conclusion"]) == (3, "incomplete"), verdict
    assert "The base could not be measured" in str(verdict["reason"])
    assert "baseline: none" in str(verdict["action"])
