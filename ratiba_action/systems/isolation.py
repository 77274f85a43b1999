"""Keeps the gate's own memory and environment from every process that the repository under test can start."""

import ctypes
import resource
import sys

PR_SET_DUMPABLE = 4


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
