"""Set-up runs once for a change and its base when what it reads is equal, and the change gains nothing by that."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.live_repository import CONFIGURATION, LiveRepository
from tests.support.small_repository import Ended

READS = ("requirements.txt",)


def configured(meeting_place: Path, reads: Sequence[str] | None, command: str = "") -> str:
    """A configuration whose set-up counts its runs and makes an environment of one file."""
    script = f"(umask 0; echo run >>{meeting_place}/runs); mkdir env; cp requirements.txt env/installed{command}"
    block = f"  setup: {json.dumps(['sh', '-ec', script])}\n"
    block += f"  setup_reads: {json.dumps(list(reads))}\n" if reads is not None else ""
    return CONFIGURATION.replace("  prompts:", f"{block}  prompts:")


async def replay(
    live: LiveRepository,
    meeting_place: Path,
    change: dict[str, str],
    *,
    base: Sequence[str] | None = READS,
    options: Sequence[str] = (),
) -> tuple[Ended, int]:
    """A replay of a pull request, and how often set-up ran in it."""
    live.scenario("asks", "Hello from asks")
    await live.record("--trials", "2")
    files = {".github/ratiba.yml": configured(meeting_place, base), "requirements.txt": "tiny==1.0\n"}
    first = live.git.commit(files)
    head = live.git.commit(change)
    ended = await live.gate(*options, **live.pull_request(first, head), RATIBA_LLM="replay")
    runs = meeting_place / "runs"
    return ended, len(runs.read_text().splitlines()) if runs.exists() else 0


def names_in(folder: Path) -> list[str]:
    """What is in a folder, sorted."""
    return sorted(path.name for path in folder.iterdir())


EDIT = {"other.py": "# a change\n"}


async def test_a_change_that_leaves_what_set_up_reads_alone_is_set_up_once(
    live: LiveRepository, meeting_place: Path
) -> None:
    ended, runs = await replay(live, meeting_place, EDIT)
    assert (ended.code, ended.outputs["conclusion"], runs) == (0, "passed", 1), ended.printed
    assert "asks.base" in ended.printed, "the base ran beside it"


async def test_without_the_setting_each_side_is_set_up(live: LiveRepository, meeting_place: Path) -> None:
    ended, runs = await replay(live, meeting_place, EDIT, base=None)
    assert (ended.code, runs) == (0, 2), ended.printed


@pytest.mark.parametrize("altered", ["content", "setting added", "setting extended", "command"])
async def test_whatever_the_change_alters_of_it_both_sides_are_set_up(
    live: LiveRepository, meeting_place: Path, altered: str
) -> None:
    extended = configured(meeting_place, ["requirements.txt", "other.py"])
    base, change = {
        "content": (READS, {"requirements.txt": "tiny==1.1\n"}),
        "setting added": (None, {".github/ratiba.yml": configured(meeting_place, READS)}),
        "setting extended": (
            READS,
            {".github/ratiba.yml": extended},
        ),
        "command": (READS, {".github/ratiba.yml": configured(meeting_place, READS, "; true")}),
    }[altered]
    ended, runs = await replay(live, meeting_place, EDIT | change, base=base)
    assert runs == 2, ended.printed
    assert "asks.base" in ended.printed


async def test_a_set_up_that_reads_more_than_it_says_fails_and_names_the_setting(
    live: LiveRepository, meeting_place: Path
) -> None:
    reads_more = configured(meeting_place, READS, "; cat constraints.txt")
    ended, runs = await replay(
        live, meeting_place, {"constraints.txt": "x\n", ".github/ratiba.yml": reads_more}, base=None
    )
    assert (ended.code, runs) == (3, 2), "the base is set up first"
    assert "cat: constraints.txt: No such file" in ended.printed
    assert "add each further file that it reads; or remove `system.setup_reads`" in ended.printed


async def test_validate_names_files_that_set_up_cannot_read(live: LiveRepository, meeting_place: Path) -> None:
    live.small.write(".github/ratiba.yml", configured(meeting_place, ["missing.txt", "linked.txt", "prompts"]))
    live.small.write("prompts/a.md", "A prompt.\n")
    live.scenario("asks", "Hello from asks")
    (live.small.folder / "linked.txt").symlink_to("/etc/passwd")
    ended = live.small.run(["validate"], live.small.folder, live.small.environment)
    printed = ended.stdout + ended.stderr
    assert ended.returncode == 2, printed
    for name in ("'missing.txt'", "'linked.txt'", "'prompts'"):
        assert f"set-up cannot read {name}" in printed


ATTACKER = """
import os
from pathlib import Path
import genuine

class Adapter(genuine.Adapter):
    def open(self, context):
        attempts = [
            lambda: open("env/installed", "a"),
            lambda: os.unlink("env/installed"),
            lambda: os.rename(os.path.realpath("env"), os.path.realpath("env") + "2"),
            lambda: os.chmod("env/installed", 0),
        ]
        for number, attempt in enumerate(attempts):
            try:
                attempt()
                Path("MEETING", f"done-{number}").touch()
            except OSError:
                pass
        return super().open(context)
"""


async def test_a_change_that_breaks_what_its_base_shares_does_not_pass(
    live: LiveRepository, meeting_place: Path
) -> None:
    genuine = (live.small.folder / "adapter.py").read_text()
    attack = {"genuine.py": genuine, "adapter.py": ATTACKER.replace("MEETING", str(meeting_place))}
    ended, runs = await replay(live, meeting_place, attack, options=["--mode", "blocking"])
    done = [name for name in names_in(meeting_place) if name.startswith("done-")]
    assert runs == 1
    assert done in ([], ["done-3"]), "the kernel keeps everything off but the mode of a file of one's own user"
    assert ended.outputs["conclusion"] == ("incomplete" if done else "passed"), ended.printed
    if done:
        assert ended.code == 3
        assert "What system.setup made for all sides of the change was altered" in ended.comment
        assert "env/installed" in ended.comment


async def test_a_run_leaves_nothing_of_it(live: LiveRepository, meeting_place: Path) -> None:
    live.small.environment["TMPDIR"] = str(meeting_place)
    (meeting_place / "runs").touch(0o666)  # beside the run's folders no file can be made
    (meeting_place / "runs").chmod(0o666)
    ended, runs = await replay(live, meeting_place, EDIT)
    assert (ended.code, runs) == (0, 1), ended.printed
    assert names_in(meeting_place) == ["runs"]


MAKE_DEEP = "mkdir -p deep/$(printf 'a/%.0s' $(seq 1500))"
"""Deeper than Python recurses."""
DIGGER = f"""
import subprocess
import genuine

class Adapter(genuine.Adapter):
    def open(self, context):
        subprocess.run(["sh", "-c", {MAKE_DEEP!r}], check=True)
        return super().open(context)
"""


@pytest.mark.parametrize("digger", ["set-up", "system"])
async def test_deep_folders_end_no_run_and_stay_in_none(live: LiveRepository, meeting_place: Path, digger: str) -> None:
    live.small.environment["TMPDIR"] = str(meeting_place)
    (meeting_place / "runs").touch(0o666)
    (meeting_place / "runs").chmod(0o666)
    genuine = (live.small.folder / "adapter.py").read_text()
    change = {
        "set-up": {".github/ratiba.yml": configured(meeting_place, READS, f"; {MAKE_DEEP}")},
        "system": {"genuine.py": genuine, "adapter.py": DIGGER},
    }[digger]
    ended, _ = await replay(live, meeting_place, change)
    assert (ended.code, ended.outputs["conclusion"]) == (0, "passed"), ended.printed
    assert names_in(meeting_place) == ["runs"]
