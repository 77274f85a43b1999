"""Ending a process together with everything that it left behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ratiba_action.worker import processes

PACKAGE = Path(processes.__file__).parent.parent.parent

KEEPER = """
import os, signal, subprocess, sys, time
from ratiba_action.worker import kernel, processes
kernel.adopt_orphans()
spared = subprocess.Popen(["sleep", "1000"])
leaf = "print(__import__('os').getpid(), flush=True); __import__('time').sleep(1000)"
branch = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {leaf!r}])"
process = subprocess.Popen([sys.executable, "-c", branch], stdout=subprocess.PIPE)
leaf_pid = int(process.stdout.readline())
os.kill(process.pid, signal.SIGKILL)
processes.end_children(excluded=[spared.pid])
print(os.path.exists(f"/proc/{leaf_pid}"), spared.poll(), len(processes.children()))
spared.kill()
"""


def test_orphans_end_with_their_parent_and_a_spared_child_lives() -> None:
    done = subprocess.run([sys.executable, "-c", KEEPER], cwd=PACKAGE, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "None", "1"]


SUPERVISED = """
import os, socket, sys, time
from ratiba_action.worker import kernel, processes, supervisor
def converse(*_):
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(0)
supervisor._converse = converse
kernel.adopt_orphans()
pairs = [socket.socketpair() for _ in range(3)]
parent, keeper = os.getpid(), os.fork()
if keeper == 0:
    if sys.argv[1] == "hidden":
        processes.children = list
    supervisor.supervise(parent, *(near.fileno() for near, _ in pairs))
code = os.waitstatus_to_exitcode(os.waitpid(keeper, 0)[1])
print(code, len(processes.children()))
processes.end_children()
"""


@pytest.mark.parametrize(("place", "printed"), [("found", "0 0"), ("hidden", "1 1")])
def test_a_supervisor_that_does_not_find_what_is_left_of_a_conversation_says_so(place: str, printed: str) -> None:
    words = [sys.executable, "-c", SUPERVISED, place]
    done = subprocess.run(words, cwd=PACKAGE, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == printed


def spawn(program: str) -> int:
    return os.posix_spawn(sys.executable, [sys.executable, "-c", program], {})


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("pass", 0),
        ("raise SystemExit(7)", 7),
        ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL),
        ("import os; os.abort()", -signal.SIGABRT),
    ],
)
def test_the_exit_code_tells_a_signal_from_a_number(program: str, code: int) -> None:
    leash, held = os.pipe()
    assert processes.wait_for(spawn(program), leash) == (code, None)
    os.close(held)
    os.close(leash)


def test_letting_go_of_the_leash_ends_the_process() -> None:
    leash, held = os.pipe()
    pid = spawn("import time; time.sleep(1000)")
    os.close(held)
    assert processes.wait_for(pid, leash) == (-signal.SIGKILL, b"")
    os.close(leash)


def test_last_words_over_the_leash_end_the_process_and_are_kept() -> None:
    leash, held = os.pipe()
    pid = spawn("import time; time.sleep(1000)")
    os.write(held, b"end")
    assert processes.wait_for(pid, leash) == (-signal.SIGKILL, b"end")
    os.close(held)
    os.close(leash)
