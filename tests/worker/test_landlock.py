"""Untrusted code keeps every file but the gate's private ones, and reaches no process outside its domain."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from ratiba_action.systems.launch import launch
from ratiba_action.worker import landlock

if not landlock.version():
    pytest.skip("needs a kernel with Landlock", allow_module_level=True)


PROGRAM = """\
import json, os, sys
def attempt(path, mode):
    try:
        with open(path, mode):
            return "done"
    except PermissionError:
        return "refused"
    except FileNotFoundError:
        return "absent"
print(json.dumps([attempt(*one) for one in json.loads(sys.argv[1])]))
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("private", "own", "other", "ratiba-pg-now"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "private")
    return tmp_path


async def attempts(place: Path, *wanted: tuple[str, str], read_only: tuple[str, ...] = ()) -> list[str]:
    """What comes of opening each file, named below the place, in a mode."""
    asked = json.dumps([(str(place / name), mode) for name, mode in wanted])
    command = await launch(
        [sys.executable, "-I", "-c", PROGRAM, asked],
        environment={"PATH": os.defpath},
        cwd=Path("/"),
        folder=place / "own",
        identity=None,
        private=[str(place / "private"), str(place / "ratiba-pg-*")],
        read_only=[str(place / name) for name in read_only],
    )
    code, printed = await command.wait(60)
    await command.end()
    assert code == 0, printed
    answers: list[str] = json.loads(printed)
    return answers


async def test_private_folders_are_closed_and_their_neighbours_are_open(place: Path) -> None:
    assert (
        await attempts(
            place, ("private/file", "r"), ("private/file", "a"), ("private/new", "w"), ("ratiba-pg-now/file", "r")
        )
        == ["refused"] * 4
    )
    assert (
        await attempts(
            place, ("own/file", "r"), ("own/new", "w"), ("other/file", "a"), ("other/new", "w"), ("other/file", "w")
        )
        == ["done"] * 5
    )


async def test_read_only_folders_are_read_and_never_written(place: Path) -> None:
    (place / "own" / "kept").mkdir()
    (place / "own" / "kept" / "file").write_text("x")
    kept = ("other", "own/kept")
    assert await attempts(place, ("other/file", "r"), ("own/kept/file", "r"), ("own/file", "a"), read_only=kept) == (
        ["done"] * 3
    )
    writes = (("other/file", "a"), ("other/new", "w"), ("own/kept/file", "w"), ("own/kept/new", "w"))
    assert await attempts(place, *writes, read_only=kept) == ["refused"] * 4
    # A private folder in a read-only one stays closed, and its own folder is written to.
    every = (("private/file", "r"), ("other/file", "r"), ("other/file", "a"), ("own/file", "a"))
    assert await attempts(place, *every, read_only=("",)) == ["refused", "done", "refused", "done"]


async def test_a_link_is_no_way_into_a_private_folder(place: Path) -> None:
    (place / "other" / "link").symlink_to(place / "private")
    assert await attempts(place, ("link/file", "r"), ("other/link/file", "r")) == ["refused"] * 2


async def test_a_folder_above_a_private_one_takes_no_new_file(place: Path) -> None:
    assert await attempts(place, ("new", "w"), ("ratiba-pg-later", "w")) == ["refused"] * 2


async def test_its_own_folder_is_open_wherever_it_lies(place: Path) -> None:
    inside = place / "private" / "run"
    (inside / "own").mkdir(parents=True)
    command = await launch(
        ["/bin/sh", "-c", 'echo x >"$0/own/new" && ! cat "$0/../file"', str(inside)],
        environment={"PATH": os.defpath},
        cwd=Path("/"),
        folder=inside / "own",
        identity=None,
        private=[str(place / "private")],
    )
    code, printed = await command.wait(60)
    await command.end()
    assert code == 0, printed


async def test_a_file_moves_between_folders_as_ever(place: Path) -> None:
    moving = "import os, sys; os.rename(sys.argv[1] + '/own/file', sys.argv[1] + '/other/moved')"
    command = await launch(
        [sys.executable, "-I", "-c", moving, str(place)],
        environment={"PATH": os.defpath},
        cwd=Path("/"),
        folder=place / "own",
        identity=None,
        private=[str(place / "private")],
    )
    code, printed = await command.wait(60)
    await command.end()
    assert code == 0, printed
    assert (place / "other" / "moved").exists()


@pytest.mark.skipif(landlock.version() < landlock.SIGNALS_ARE_SCOPED, reason="needs Linux 6.12: signals in Landlock")
async def test_a_process_outside_gets_no_signal_and_one_inside_does(place: Path) -> None:
    script = 'kill -KILL "$1" && exit 9; sleep 600 & kill -TERM $!; wait $!; test $? = 143'
    outside = await asyncio.create_subprocess_exec("sleep", "600")
    command = await launch(
        ["/bin/sh", "-c", script, "sh", str(outside.pid)],
        environment={"PATH": os.defpath},
        cwd=Path("/"),
        folder=place / "own",
        identity=None,
    )
    code, printed = await command.wait(60)
    await command.end()
    assert code == 0, printed
    # Only the first signal that it gets is this one.
    outside.terminate()
    assert await outside.wait() == -signal.SIGTERM
