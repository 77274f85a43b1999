"""A signal is never lost: in a callback, in C code, while a thread is waited for, or where somebody swallows it."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes

PROJECT = Path(__file__).parents[2]
BEGIN = """\
import asyncio, ctypes, os, signal, sys, threading, time, weakref
sys.path.insert(0, sys.argv[1])
from ratiba_action.util.interruption import CancelledBySignal, Interruption, current
interruption = Interruption()
interruption.install()


def tell(text):
    os.write(1, f"{text}\\n".encode())


def kill(number=signal.SIGTERM):
    os.kill(os.getpid(), number)
"""


def lines_of(script: str, code: int = 0) -> list[str]:
    """What a script tells in which the handlers are installed."""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + script, str(PROJECT)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == code, done.stderr
    return done.stdout.split()


def test_a_signal_that_nobody_waits_for_is_kept() -> None:
    assert lines_of("kill(); tell(current().name); tell(current() is interruption)") == ["SIGTERM", "True"]


def test_the_first_of_several_counts() -> None:
    assert lines_of("kill(signal.SIGINT); kill(); tell(interruption.name)") == ["SIGINT"]


@pytest.mark.parametrize(
    "place",
    [
        "try:\n    with interruption.raising():\n        kill()\nexcept BaseException:\n    pass",
        "class Final:\n    def __del__(self):\n        kill()\nwith interruption.raising():\n    Final()",
        (
            "class Plain: pass\none = Plain(); hook = weakref.ref(one, lambda _: kill())\n"
            "with interruption.raising():\n    del one"
        ),
        (
            "async def work():\n    asyncio.get_running_loop().call_soon(kill)\n    await asyncio.sleep(0.05)\n"
            "asyncio.run(work())"
        ),
    ],
    ids=["except", "finaliser", "weak reference", "callback of the loop"],
)
def test_a_signal_that_is_swallowed_where_it_arrives_is_still_known(place: str) -> None:
    script = f"try:\n{''.join(f'    {line}' + chr(10) for line in place.splitlines())}except BaseException:\n    pass\n"
    assert lines_of(f"{script}tell(interruption.name)") == ["SIGTERM"]


def test_no_except_exception_takes_a_signal_for_a_fault() -> None:
    script = (
        "try:\n    with interruption.raising():\n        try:\n            kill(); time.sleep(5)\n"
        "        except Exception:\n            tell('swallowed')\nexcept CancelledBySignal:\n    tell('ended')"
    )
    assert lines_of(script) == ["ended"]


def test_a_signal_from_before_ends_what_begins_later() -> None:
    script = (
        "kill()\ntry:\n    with interruption.raising():\n        tell('begun')\n"
        "except CancelledBySignal:\n    tell('ended')"
    )
    assert lines_of(script) == ["ended"]


def test_what_is_written_down_is_finished() -> None:
    script = (
        "with interruption.raising():\n    try:\n        with interruption.noting():\n"
        "            kill(); tell('written')\n        kill(signal.SIGINT)\n"
        "    except CancelledBySignal:\n        tell('ended')"
    )
    assert lines_of(script) == ["written", "ended"]


CANCELLED = """
from ratiba_action.run.plan_loop import cancelled_by_signals
noted = []


async def work(wait):
    try:
        with cancelled_by_signals(noted.append):
            try:
                await wait()
            except asyncio.CancelledError:
                tell("cancelled")
                await close()
    except asyncio.CancelledError:
        tell("hurried")


async def close():
    pass
"""


@pytest.mark.parametrize(
    "wait",
    [
        "kill(); asyncio.run(work(lambda: asyncio.sleep(60)))",
        "threading.Timer(0.2, kill).start(); asyncio.run(work(lambda: asyncio.sleep(60)))",
        (
            "async def begin():\n    asyncio.get_running_loop().call_later(0.1, kill)\n    await asyncio.sleep(60)\n"
            "asyncio.run(work(begin))"
        ),
        (
            "async def begin():\n    process = await asyncio.create_subprocess_exec('sleep', '60')\n    kill()\n"
            "    try:\n        await process.wait()\n    finally:\n        process.kill(); await process.wait()\n"
            "asyncio.run(work(begin))"
        ),
    ],
    ids=["before the loop", "asleep", "in a callback", "waiting for a child"],
)
def test_a_signal_cancels_what_the_loop_does(wait: str) -> None:
    assert lines_of(f"{CANCELLED}{wait}\ntell(len(noted))") == ["cancelled", "1"]


def test_closing_that_takes_long_is_cut_short_and_a_repeated_sigterm_is_one_wish() -> None:
    script = (
        f"{CANCELLED}\nasync def close():\n    begun = time.monotonic()\n    for _ in range(3):\n        kill()\n"
        "    try:\n        await asyncio.sleep(60)\n    finally:\n        tell(1 < time.monotonic() - begun < 30)\n"
        "kill(); asyncio.run(work(lambda: asyncio.sleep(60)))"
    )
    assert lines_of(script) == ["cancelled", "True", "hurried"]


def test_another_signal_cuts_it_short_at_once() -> None:
    script = (
        f"{CANCELLED}\nasync def close():\n    kill(signal.SIGINT)\n    await asyncio.sleep(60)\n"
        "kill(); asyncio.run(work(lambda: asyncio.sleep(60)))"
    )
    assert lines_of(script) == ["cancelled", "hurried"]


HANG = "signal.siginterrupt(signal.SIGTERM, False); ctypes.CDLL(None).read(os.pipe()[0], b' ', 1)"
"""In C code that goes on after a signal, as libraries do."""


@pytest.mark.parametrize(
    "hang",
    [
        HANG,
        f"ctypes.PyDLL(None).usleep(500000); {HANG}",
        "thread = threading.Thread(target=time.sleep, args=(60,)); thread.start(); thread.join()",
        "asyncio.run(asyncio.to_thread(time.sleep, 60))",
    ],
    ids=["C code", "C code with the lock", "thread", "thread of the loop"],
)
def test_a_main_thread_that_hangs_is_stood_in_for(hang: str) -> None:
    script = f"interruption.watch(0.5, lambda: tell('stood in'))\nthreading.Timer(0.2, kill).start()\n{hang}"
    begun = time.monotonic()
    assert lines_of(script, code=3) == ["stood", "in"]
    assert time.monotonic() - begun < 30


def test_whoever_begins_to_conclude_does_it_alone() -> None:
    script = (
        "begun = threading.Event()\ntime.sleep = lambda seconds: begun.wait()\n"
        "interruption.watch(0.2, lambda: tell('stood in'))\nkill()\n"
        "interruption.conclude()\nbegun.set()\n"
        "[thread.join() for thread in threading.enumerate() if thread.name == 'ratiba-signals']\ntell('concluded')"
    )
    assert lines_of(script) == ["concluded"]


def test_one_that_stands_in_and_fails_ends_the_process_too() -> None:
    script = (
        "def fail():\n    raise OSError('full')\ninterruption.watch(0.2, fail)\nkill()\nctypes.CDLL(None).sleep(60)"
    )
    assert lines_of(script, code=3) == []


def test_without_handlers_nothing_is_noted_and_nothing_waits() -> None:
    script = "import signal; from ratiba_action.util.interruption import current; print(current().name)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=PROJECT)
    assert done.stdout == "None\n"


def test_the_handlers_are_there_before_anything_large_is_imported() -> None:
    script = (
        "import sys\nsys.path.insert(0, sys.argv[1])\nimport ratiba_action.main\n"
        "large = {'argparse', 'asyncio', 'json', 'pathlib', 'pydantic', 'subprocess', 'tempfile', 'urllib.request'}\n"
        "print(sorted(large & sys.modules.keys()))"
    )
    command = [sys.executable, "-I", "-S", "-c", script, str(PROJECT)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_what_a_finalizer_swallows_is_not_printed_and_the_next_signal_ends_the_work() -> None:
    script = """
class Final:
    def __del__(self):
        kill()
try:
    with interruption.raising():
        Final()
        tell("went-on")
        kill()
        tell("never")
except CancelledBySignal:
    tell(interruption.name)
"""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + script, str(PROJECT)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout.split(), done.stderr) == (["went-on", "SIGTERM"], "")
