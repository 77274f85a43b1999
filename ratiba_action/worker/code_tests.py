"""Runs a test against code that a model wrote, in a process of its own with bounds.

The process has an empty environment, starts no other, cannot open the files of the system under test where the kernel
has Landlock, and ends with its bounds. Code that leaves before its test is through has failed it, whatever its exit
code. Code that looks for the word of a passed test in its own process is not kept from it.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import secrets
import select
import signal
import subprocess
import sys
import tempfile
from typing import Any

from . import landlock

MAX_PRINTED = 1 << 20
SHOWN = 2_000
OPEN_FILES = 64
_START_SECONDS = 30.0
_BEGUN = b"+"
"""Is written before the code runs, and after it the word."""


def run_test(order: dict[str, Any]) -> dict[str, str]:
    """Run one test.

    Args:
        order: ``code``, ``test``, ``seconds`` and ``memory_mb``.

    Returns:
        ``failure``: why it failed, empty when it passed.
    """
    word = secrets.token_hex(16)
    with tempfile.TemporaryDirectory(prefix="ratiba-code-") as folder, tempfile.TemporaryFile() as printed:
        code, result = _run({**order, "word": word, "folder": folder, "private": _closed_folders()}, printed.fileno())
        if result == word.encode():
            return {"failure": ""}
        if code is None:
            return {"failure": f"no end within {order['seconds']:g} s"}
        printed.seek(max(0, printed.seek(0, os.SEEK_END) - SHOWN))
        lines = printed.read().decode("utf-8", "replace").strip().splitlines()
        return {"failure": lines[-1] if lines else f"it ended with exit code {code} before its test was through"}


def _closed_folders() -> list[str]:
    """The repository's files and the worker's own, with the home beside them: what the next test is run by."""
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - the rules are strings
    return [os.getcwd(), own]  # noqa: PTH109 - the same


def _run(order: dict[str, Any], printed: int) -> tuple[int | None, bytes]:
    """Exit code of the test's process, None when it took too long, and what it has written as its result."""
    folder = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - as start.py
    reading, writing = os.pipe()
    try:
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-B", f"{folder}/start.py", "code_tests"],
                stdin=subprocess.PIPE,
                stdout=printed,
                stderr=printed,
                cwd=order["folder"],
                env={"LC_ALL": "C.UTF-8", "HOME": order["folder"], "TMPDIR": order["folder"]},
                pass_fds=[writing],
                start_new_session=True,
            )
        finally:
            os.close(writing)
        try:
            _begin(process, {**order, "result": writing}, reading)
            process.wait(order["seconds"])
        except subprocess.TimeoutExpired:
            return None, b""
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return process.returncode, os.read(reading, len(order["word"]))
    finally:
        os.close(reading)


def _begin(process: subprocess.Popen[bytes], order: dict[str, Any], result: int) -> None:
    """Hand over the order, and wait until the code is about to run: its seconds are not those of Python's start."""
    if process.stdin is None:
        raise ValueError("the process has no input")
    with contextlib.suppress(BrokenPipeError), process.stdin as orders:
        orders.write(json.dumps(order).encode() + b"\n")
    if select.select([result], [], [], _START_SECONDS)[0]:
        os.read(result, len(_BEGUN))


def main(_arguments: list[str]) -> None:
    """Run the test that standard input describes, and write its word when it has passed."""
    order = json.loads(sys.stdin.buffer.readline())
    result, word = order["result"], order.pop("word").encode()
    # Rules are made while files may still be opened.
    ruleset = landlock.make_ruleset(order["private"], order["folder"], [], [])
    landlock.enforce(ruleset)
    if ruleset.descriptor >= 0:
        os.close(ruleset.descriptor)
    _bound(order)
    namespace = {"__name__": "__main__"}
    os.write(result, _BEGUN)
    try:
        for name in ("code", "test"):
            exec(compile(order[name], f"<{name}>", "exec"), namespace)  # noqa: S102 - what this process is for
    except BaseException as problem:  # noqa: BLE001 - whatever it raises, the test has failed
        with contextlib.suppress(BaseException):
            print(f"{type(problem).__name__}: {problem}", file=sys.__stderr__, flush=True)
        os._exit(1)
    os.write(result, word)
    os._exit(0)


def _bound(order: dict[str, Any]) -> None:
    memory = order["memory_mb"] << 20
    for kind, maximum in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, int(order["seconds"]) + 1),
        (resource.RLIMIT_FSIZE, MAX_PRINTED),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_NPROC, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        minimum = maximum if hard == resource.RLIM_INFINITY else min(maximum, hard)
        resource.setrlimit(kind, (minimum, minimum))
