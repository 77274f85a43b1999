"""Keeps the gate's own memory and environment from every process that the repository under test can start."""

import ctypes
import resource
import sys

PR_SET_DUMPABLE = 4
_LANDLOCK_CREATE_RULESET, _QUERY_VERSION, _NEEDED_VERSION = 444, 1, 2


def protect_process() -> bool:
    """Make this process unreadable to others of the same user, and never write its memory to a core file.

    Call it first thing, before any secret is read: afterwards ``/proc/<pid>/environ``, ``mem`` and ``fd`` of this
    process belong to root, and a debugger of the same user is refused.

    Returns:
        Whether the kernel did it; False on anything but Linux.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(PR_SET_DUMPABLE, ctypes.c_ulong(0), 0, 0, 0) == 0)


def has_landlock() -> bool:
    """Whether the kernel can close files and processes to a worker of the gate's own user; Linux 5.19 and newer."""
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(
        ctypes.c_long(_LANDLOCK_CREATE_RULESET), None, ctypes.c_long(0), ctypes.c_long(_QUERY_VERSION)
    )
    return bool(version >= _NEEDED_VERSION)


def separation_warnings(*, same_user: bool, landlock: bool) -> tuple[str, ...]:
    """What the reader of a report should know about how far the worker is from the gate.

    Args:
        same_user: whether the worker runs as the gate's own user.
        landlock: whether the kernel has it.
    """
    if not same_user or landlock:
        return ()
    warning = (
        "The system runs as the gate's own user on a kernel without Landlock: the files and processes of an embedded "
        "database are not closed to it. Use Linux 5.19 or newer, or give a database-url."
    )
    return (warning,)
