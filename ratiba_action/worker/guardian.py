"""The gate's own keeper of one untrusted command; runs under the gate's interpreter, never under the user's.

It reads one JSON line from its standard input: ``argv``, ``environment``, ``cwd``, ``uid`` and ``gid`` (null to keep
the gate's), ``descriptors`` to hand on, ``folder``, ``private`` paths that the command must not open, ``read_only``
folders that it must not write to, ``shared`` ones that it may read wherever they lie, whether to ``hide_names`` in
private folders, and whether it may make ``sockets``. It gives up every privilege in a child, executes the command
there, and ends the whole tree of processes when the command ends or when the gate says so or dies. When the gate died,
it removes the folder, as nobody else is left to do it.

A command of the gate's own user runs under a filter of system calls, of which this process does some in its stead.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
from typing import Any, NoReturn

from . import call_server, kernel, landlock, limits, processes, seccomp

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
    # Rules are made while every folder can still be read, and enforced when nothing is left to give up.
    ruleset = landlock.make_ruleset(
        order["private"], order["folder"], order["read_only"], order["shared"], hide_names=order["hide_names"]
    )
    guardian, gate = os.getpid(), os.getppid()
    protected = (1, gate, -os.getpgid(gate), guardian, -guardian)
    near, far = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        _become(order, guardian, protected, ruleset, far)
    far.close()
    for descriptor in (*order["descriptors"], *([ruleset.descriptor] if ruleset.descriptor >= 0 else [])):
        os.close(descriptor)
    if order["uid"] is None:
        kernel.drop_capabilities()  # what it does for the command, the command could do itself but for the filter
    ending = processes.wait_for(pid, 0, _server(near, ruleset))
    processes.end_children()
    if _gate_died(ending):
        import shutil  # slow, and seldom needed

        shutil.rmtree(order["folder"], ignore_errors=True)
    os._exit(ending.code if ending.code >= 0 else SIGNALLED - ending.code)


def _gate_died(ending: processes.Ending) -> bool:
    """Whether the leash ended without a word; a gate that ends a command itself says so first."""
    last_words = ending.last_words
    patience = WORD_SECONDS if ending.code == processes.GATE_GONE else 0
    if last_words is None and select.select([0], [], [], patience)[0]:
        last_words = processes.read_leash(0)
    return last_words == b""


def _server(channel: socket.socket, ruleset: landlock.Ruleset) -> call_server.CallServer | None:
    """Who answers the command's calls; None where its filter hands on none."""
    with channel:
        _, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
    return call_server.CallServer(descriptors[0], ruleset.writable) if descriptors else None


def _become(
    order: dict[str, Any], guardian: int, protected: tuple[int, ...], ruleset: landlock.Ruleset, channel: socket.socket
) -> NoReturn:
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.setsid()
        os.umask(0o077)
        kernel.be_ended_first()
        same_user = order["uid"] is None
        alone = _part_from_own_user() if same_user else True
        limits.apply(own_processes=alone)
        if not same_user:
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
        sockets = seccomp.ALLOW if order["sockets"] else seccomp.refuse()
        _filter_calls(channel, sockets, same_user=same_user, protected=protected, files=ruleset.descriptor >= 0)
        os.execvpe(order["argv"][0], order["argv"], order["environment"])  # noqa: S606 - an argument list, no shell
    except (OSError, ValueError) as problem:
        os.write(2, f"cannot execute {order['argv'][0]!r}: {problem}\n".encode("utf-8", "replace"))
    os._exit(CANNOT_EXECUTE)


def _filter_calls(
    channel: socket.socket, sockets: int, *, same_user: bool, protected: tuple[int, ...], files: bool
) -> None:
    """Enter the filter; what it hands on is answered by the guardian.

    Args:
        sockets: see ``seccomp.Policy``.
        same_user: another user's worker is refused by the kernel what the guardian would judge.
        protected: processes and, below zero, groups that no signal may name.
        files: Landlock says which files the command may change.
    """
    machine = seccomp.machine()
    if not machine:
        return
    scoped = landlock.version() >= landlock.SIGNALS_ARE_SCOPED
    if not same_user:
        allowing = seccomp.Policy(seccomp.ALLOW, seccomp.ALLOW, signals_scoped=True, sockets=sockets)
        seccomp.install(seccomp.program(machine, allowing), listen=False)
        return
    handed_on = seccomp.NOTIFY if files and seccomp.memory_can_be_read() else seccomp.ALLOW
    policy = seccomp.Policy(handed_on, seccomp.NOTIFY, scoped, protected, sockets)
    listener = seccomp.install(seccomp.program(machine, policy), listen=True)
    if listener is not None:
        socket.send_fds(channel, [b"."], [listener])
        return
    # Another supervisor has the only listener that the kernel allows.
    without = seccomp.Policy(seccomp.ALLOW, seccomp.refuse(), scoped, protected, sockets)
    seccomp.install(seccomp.program(machine, without), listen=False)


def _change_user(uid: int, gid: int) -> None:
    kernel.drop_bounding_set()
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def _part_from_own_user() -> bool:
    """Keep the gate's user, and part from its other processes as far as the kernel allows; True in a namespace."""
    if os.getuid() == 0:
        with contextlib.suppress(PermissionError):
            os.setgroups([])
    kernel.show_memory()  # /proc/self/uid_map belongs to root otherwise; exec resets the flag anyway
    entered = kernel.can_enter_user_namespace() and kernel.enter_user_namespace()
    kernel.drop_bounding_set()
    return entered
