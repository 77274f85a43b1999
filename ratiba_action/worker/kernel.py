"""The few system calls of Linux that Python's standard library does not wrap.

On another system each is a no-op that returns False: the worker still runs, with less around it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
CLONE_NEWUSER, CLONE_NEWIPC = 0x10000000, 0x08000000
MADV_COLLAPSE, LARGE_PAGE = 25, 2 << 20  # Linux 6.1; bytes on x86_64 and arm64
LINUX_CAPABILITY_VERSION_3 = 0x20080522
HIGHEST_CAPABILITY = 63


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _prctl(option: int, value: int) -> bool:
    libc = _libc()
    return libc is not None and libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) == 0


def hide_memory() -> bool:
    """Keep processes of the same user from this one's memory, environment and descriptors."""
    return _prctl(PR_SET_DUMPABLE, 0)


def show_memory() -> bool:
    """Undo ``hide_memory``."""
    return _prctl(PR_SET_DUMPABLE, 1)


def adopt_orphans() -> bool:
    """Become the parent of every descendant whose own parent dies."""
    return _prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent: int) -> None:
    """Be killed when the parent dies, also when it died before this call.

    Args:
        parent: the parent's process id, taken before the fork.
    """
    if _prctl(PR_SET_PDEATHSIG, signal.SIGKILL) and os.getppid() != parent:
        os._exit(1)


def refuse_new_privileges() -> bool:
    """Make set-uid programs and file capabilities without effect, for good."""
    return _prctl(PR_SET_NO_NEW_PRIVS, 1)


def drop_bounding_set() -> None:
    """Take every capability out of the set that a later exec could draw from."""
    for capability in range(HIGHEST_CAPABILITY + 1):
        _prctl(PR_CAPBSET_DROP, capability)


def drop_capabilities() -> bool:
    """Empty the effective, permitted and inheritable sets."""
    libc = _libc()
    if libc is None:
        return False
    header = (ctypes.c_uint32 * 2)(LINUX_CAPABILITY_VERSION_3, 0)
    data = (ctypes.c_uint32 * 6)()
    return bool(libc.capset(header, data) == 0)


def enter_user_namespace() -> bool:
    """Move into a new user namespace that maps this user and group to themselves, with message queues of its own.

    A process in it cannot open the environment, memory or files of any process outside it, even of the same user
    (``ptrace(2)``, access mode checking).
    """
    libc = _libc()
    uid, gid = os.getuid(), os.getgid()
    if libc is None or libc.unshare(CLONE_NEWUSER | CLONE_NEWIPC) != 0:
        return False
    try:
        with contextlib.suppress(FileNotFoundError):
            _write("/proc/self/setgroups", "deny")
        _write("/proc/self/gid_map", f"{gid} {gid} 1")
        _write("/proc/self/uid_map", f"{uid} {uid} 1")
    except OSError:
        return False
    return True


def can_enter_user_namespace() -> bool:
    """Try it in a process that is thrown away: a namespace entered by half cannot be left again."""
    probe = os.fork()
    if probe == 0:
        os._exit(0 if enter_user_namespace() else 1)
    return os.waitpid(probe, 0)[1] == 0


def be_ended_first() -> None:
    """Let the kernel end this process and all that it starts before others, when memory runs out."""
    with contextlib.suppress(OSError):  # not on every system
        _write("/proc/self/oom_score_adj", "1000")


def use_large_pages() -> bool:
    """Put what this process has in memory into pages of 2 MB, so that a fork copies fewer entries of page tables.

    It takes a millisecond for each megabyte. A kernel that cannot do it leaves everything as it is.
    """
    libc, done = _libc(), False
    if libc is None:
        return False
    libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    with contextlib.suppress(OSError):
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - as below
            lines = [line.split() for line in file]
        for addresses, rights, _, _, inode, *name in lines:
            if rights != "rw-p" or inode != "0" or name not in ([], ["[heap]"]):
                continue
            start, end = (int(address, 16) for address in addresses.split("-"))
            start = -(-start // LARGE_PAGE) * LARGE_PAGE
            if end - start >= LARGE_PAGE:
                done |= libc.madvise(start, (end - start) // LARGE_PAGE * LARGE_PAGE, MADV_COLLAPSE) == 0
    return done


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:  # noqa: PTH123 - one small write to /proc
        file.write(text)
