"""However the gate ends, no process of a worker outlives it."""

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import ratiba_action.systems.worker_system as module_under_test

GATE = """
import asyncio, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests themselves run in the background
from datetime import UTC, datetime
from pathlib import Path
from ratiba_action.model.plan import Tenant
from ratiba_action.model.scenario import Customer, Scenario, Turn
from ratiba_action.config.system_block import SystemBlock
from ratiba_action.systems.choose import choose_system
from ratiba_action.systems.workplace import Surroundings

async def main():
    system = choose_system(
        SystemBlock(adapter="assistant:Adapter"), Surroundings(Path(sys.argv[1]), os.environ, Path(sys.argv[2]))
    )
    await system.start()
    scenario = Scenario("spa", "sw", (), datetime.now(UTC), Customer("Wanjiku", "+254712345432"))
    session = await system.open(scenario, Tenant("id", "schema", "postgresql://localhost/db"), {})
    print((await session.send(Turn(user="pids"))).text, flush=True)
    await session.send(Turn(user="hang"))

asyncio.run(main())
"""

ADAPTER = """
import json, os, subprocess, sys, time

PROGRAM = '''
import os, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
print(os.getpid(), flush=True)
os.dup2(os.open(os.devnull, os.O_RDWR), 1)
time.sleep(1000)
'''

def parent(pid):
    return int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])

class Adapter:
    def open(self, context):
        self.daemon = int(subprocess.run([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, check=True).stdout)
        return self
    def send(self, message):
        if message == "hang":
            time.sleep(1000)
        pids = [self.daemon, os.getpid()]
        while parent(pids[-1]) != int(os.environ.get("STOP", "1")) and len(pids) < 5:
            pids.append(parent(pids[-1]))
        return {"text": json.dumps(pids)}
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_gate_ends_the_worker_and_its_daemons(
    tmp_path: Path, scratch: Path, number: signal.Signals
) -> None:
    (tmp_path / "assistant.py").write_text(ADAPTER, encoding="utf-8")
    package = Path(module_under_test.__file__).parent.parent.parent
    with subprocess.Popen(
        [sys.executable, "-c", GATE, str(tmp_path), str(scratch)],
        cwd=package,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as gate:
        assert gate.stdout is not None
        daemon, conversation, supervisor, server, guardian = json.loads(gate.stdout.readline())
        handles = [os.pidfd_open(pid) for pid in (daemon, conversation, supervisor, server, guardian)]
        gate.send_signal(number)
        gate.wait()
    waiting = set(handles)
    while waiting:
        ended = select.select(list(waiting), [], [], 30)[0]
        assert ended, "a process of the worker outlives the gate"
        waiting -= set(ended)
    for handle in handles:
        os.close(handle)
    assert list(scratch.iterdir()) == []
