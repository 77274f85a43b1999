"""A run that breaks off while its server is being made leaves no process, no folder and no noise."""

import asyncio
import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

from ratiba_action.tenancy.server import choose_server
from tests.support.eventually import eventually_async

GATE = """
import asyncio, os, sys, threading
from pathlib import Path
from ratiba_action.errors import WorkerError
from ratiba_action.config.system_block import SystemBlock
from ratiba_action.systems.choose import choose_system
from ratiba_action.systems.workplace import Surroundings
from tests.support.servers import open_server

BASE = sys.argv[2]
SETUP = 'until [ -e "$0"/*/initdb.log ]; do sleep 0.01; done; exit 3'

async def serve():
    async with open_server(None, Path(BASE)):
        await asyncio.Event().wait()

async def run():
    system = choose_system(
        SystemBlock(adapter="assistant:Adapter", setup=["sh", "-c", SETUP, BASE]),
        Surroundings(Path(sys.argv[1]), os.environ),
    )
    await asyncio.gather(serve(), system.start())

try:
    asyncio.run(run())
except WorkerError as problem:
    print(problem.problem)
for thread in threading.enumerate():
    if thread is not threading.main_thread():
        thread.join()  # asyncio's own, which complain of a child that ends after the loop
"""


def test_a_failing_set_up_ends_the_server_that_is_being_made_quietly(tmp_path: Path, scratch: Path) -> None:
    (tmp_path / "assistant.py").write_text("", encoding="utf-8")
    command = [sys.executable, "-c", GATE, str(tmp_path), str(scratch)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert "ended with exit code 3" in ended.stdout
    assert ended.stderr == ""
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("sign", ["", "initdb.log", "postgres.log"])
async def test_who_is_cancelled_again_and_again_still_ends_the_program_before_its_folder_is_removed(
    scratch: Path, sign: str
) -> None:
    """A signal cancels a run's tasks more than once; a program that loses its folder leaves its shared memory."""
    server = choose_server(None, scratch)
    starting = asyncio.ensure_future(server.start())

    async def begun() -> bool:
        return starting.done() or bool(below(scratch, f"ratiba-pg-*/{sign}"))

    await eventually_async(begun)
    assert not starting.done()
    while not starting.done():
        starting.cancel()
        await asyncio.sleep(0)
    with contextlib.suppress(asyncio.CancelledError):
        await starting
    assert (working_for(scratch), below(scratch, "*")) == ([], [])


def below(folder: Path, pattern: str) -> list[Path]:
    return [*folder.glob(pattern)]


def working_for(folder: Path) -> list[str]:
    """Command lines of the processes that were given a folder, or work in it."""
    lines = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            line, place = (process / "cmdline").read_bytes().decode(errors="replace"), (process / "cwd").readlink()
            lines += [line.replace("\0", " ")] if f"{folder}/" in line or place.is_relative_to(folder) else []
    return lines
