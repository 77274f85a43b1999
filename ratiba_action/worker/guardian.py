"""The gate's own keeper of one untrusted command; runs under the gate's interpreter, never under the user's.

It reads one JSON line from its standard input: ``argv``, ``environment``, ``cwd``, ``uid`` and ``gid`` (null to keep
the gate's), ``descriptors`` to hand on, ``folder``, ``private`` paths that the command must not open, ``read_only``
folders that it must not write to, and ``shared`` ones that it may read wherever they lie. It gives up every privilege
in a child, executes the command there, and ends the whole tree of processes when the command ends or when the gate says
so or dies. When the gate died, it removes the folder, as nobody else is left to do it.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import sys
from typing import Any, NoReturn

from . import kernel, landlock, processes

CANNOT_EXECUTE = 126
SIGNALLED = 128
WORD_SECONDS = 5.0


def main(_arguments: list[str]) -> None:
    """Run the command that standard input describes, and exit with its code."""
    line = b""
    while not line.endswith(b"\n"):
        chunk = os.read(0, 65536)
        if not chunk:
            raise SystemExit(CANNOT_EXECUTE)
        line += chunk
    order = json.loads(line)
    kernel.hide_memory()
    kernel.adopt_orphans()
    # A process group signal meant for the gate ends the gate, and the pipe ends this.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    guardian = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become(order, guardian)
    for descriptor in order["descriptors"]:
        os.close(descriptor)
    ending = processes.wait_for(pid, 0)
    processes.end_children()
    if _gate_died(ending):
        import shutil  # noqa: PLC0415 - slow, and seldom needed

        shutil.rmtree(order["folder"], ignore_errors=True)
    os._exit(ending.code if ending.code >= 0 else SIGNALLED - ending.code)


def _gate_died(ending: processes.Ending) -> bool:
    """Whether the leash ended without a word; a gate that ends a command itself says so first."""
    last_words = ending.last_words
    patience = WORD_SECONDS if ending.code == processes.GATE_GONE else 0
    if last_words is None and select.select([0], [], [], patience)[0]:
        last_words = processes.read_leash(0)
    return last_words == b""


def _become(order: dict[str, Any], guardian: int) -> NoReturn:
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.umask(0o077)
        # Rules are made while every folder can still be read, and enforced when nothing is left to give up.
        ruleset = landlock.make_ruleset(order["private"], order["folder"], order["read_only"], order["shared"])
        if order["uid"] is None:
            _part_from_own_user()
        else:
            _change_user(order["uid"], order["gid"])
        kernel.drop_capabilities()
        if not kernel.refuse_new_privileges() and sys.platform == "linux":
            os.write(2, b"the kernel refused PR_SET_NO_NEW_PRIVS\n")
            os._exit(CANNOT_EXECUTE)
        landlock.enforce(ruleset)
        kernel.die_with_parent(guardian)
        os.chdir(order["cwd"])
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        for descriptor in order["descriptors"]:
            os.set_inheritable(descriptor, True)  # noqa: FBT003 - its only form
        os.execvpe(order["argv"][0], order["argv"], order["environment"])  # noqa: S606 - an argument list, no shell
    except (OSError, ValueError) as problem:
        os.write(2, f"cannot execute {order['argv'][0]!r}: {problem}\n".encode("utf-8", "replace"))
    os._exit(CANNOT_EXECUTE)


def _change_user(uid: int, gid: int) -> None:
    kernel.drop_bounding_set()
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def _part_from_own_user() -> None:
    """Keep the gate's user, and part from its other processes as far as the kernel allows."""
    if os.getuid() == 0:
        with contextlib.suppress(PermissionError):
            os.setgroups([])
    kernel.show_memory()  # /proc/self/uid_map belongs to root otherwise; exec resets the flag anyway
    if kernel.can_enter_user_namespace():
        kernel.enter_user_namespace()
    kernel.drop_bounding_set()
