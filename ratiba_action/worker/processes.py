"""Waiting for a process and ending everything that it left behind."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

POLL_SECONDS = 0.05
GATE_GONE = 75
"""Exit code of a fork server whose control socket ended."""


def children() -> list[int]:
    """Process ids whose parent is this process, zombies included."""
    me = str(os.getpid())
    with contextlib.suppress(FileNotFoundError):
        return [int(entry) for entry in os.listdir("/proc") if entry.isdigit() and _parent(entry) == me]  # noqa: PTH208 - hot
    return []


def _parent(pid: str) -> str:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - hot and small
            return file.read().rpartition(")")[2].split()[1]
    except (OSError, IndexError):
        return ""


def end_children(excluded: Iterable[int] = ()) -> None:
    """Kill and reap every child but the excluded ones, and the orphans that they hand up, until none is left."""
    kept = set(excluded)
    while kept or has_children():
        doomed = [pid for pid in children() if pid not in kept]
        if not doomed:
            return
        for pid in doomed:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pid in doomed:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def has_children() -> bool:
    """Whether this process has a child, which the kernel knows at once; one that is dead is reaped."""
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


class Ending(NamedTuple):
    """How a child ended.

    Args:
        code: its exit code; minus the signal's number when a signal ended it.
        last_words: what came over the leash: None when nobody pulled it, nothing when the other side just went away.
    """

    code: int
    last_words: bytes | None


class Served(Protocol):
    """Somebody to be served while a child runs."""

    listener: int

    def serve(self) -> bool:
        """Answer what made the listener readable; False when nothing will come any more."""


def wait_for(pid: int, leash: int, served: Served | None = None) -> Ending:
    """Wait until a child ends, or kill it when the other side pulls the leash: writes to it or lets go of it.

    Args:
        leash: file descriptor of the leash.
    """
    last_words = None
    watched = [leash] if served is None else [leash, served.listener]
    handle = _handle(pid)
    if handle is not None:
        watched.append(handle)
    while True:
        readable = select.select(watched, [], [], None if handle is not None else POLL_SECONDS)[0]
        if leash in readable:
            last_words = read_leash(leash)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            watched = [entry for entry in watched if entry != leash]
        if served is not None and served.listener in readable and not served.serve():
            watched = [entry for entry in watched if entry != served.listener]
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            if handle is not None:
                os.close(handle)
            return Ending(exit_code(status), last_words)
        if not watched:
            time.sleep(POLL_SECONDS)


def exit_code(status: int) -> int:
    """The exit code of a wait status; minus the signal's number when a signal ended the process."""
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def read_leash(leash: int) -> bytes:
    """What came over the leash; nothing when the other side went away."""
    try:
        return os.read(leash, 1024)
    except OSError:
        return b""


def _handle(pid: int) -> int | None:
    opener = getattr(os, "pidfd_open", None)
    if opener is None:
        return None
    try:
        return int(opener(pid))
    except OSError:
        return None
