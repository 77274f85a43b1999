"""A run that breaks off while its server is being made leaves no process, no folder and no noise."""

import subprocess
import sys
import tempfile
from pathlib import Path

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


def test_a_failing_set_up_ends_the_server_that_is_being_made_quietly(tmp_path: Path) -> None:
    (tmp_path / "assistant.py").write_text("", encoding="utf-8")
    with tempfile.TemporaryDirectory() as base:
        Path(base).chmod(0o755)
        ended = subprocess.run(
            [sys.executable, "-c", GATE, str(tmp_path), base], capture_output=True, text=True, check=True, timeout=120
        )
        assert "ended with exit code 3" in ended.stdout
        assert ended.stderr == ""
        assert list(Path(base).iterdir()) == []
