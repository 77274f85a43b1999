"""Become another program, as another user, that dies with the process that started it.

Run by path as a program of its own: between fork and exec a process with threads may do next to nothing, and the
parent-death signal must be set after the change of user, which clears it.

Usage: ``python -I -S exec_as.py SIGNAL PARENT UID GID COMMAND...``; a UID of -1 keeps the user.
"""

import ctypes
import os
import sys

_PR_SET_PDEATHSIG = 1


def become(death_signal: int, parent: int, uid: int, gid: int, command: list[str]) -> None:
    """Replace this process; returns only by an exception."""
    libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
    if uid >= 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    if libc is not None:
        libc.prctl(_PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the signal was armed
        sys.exit(1)
    os.execv(command[0], command)  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    signal_number, parent_id, user, group = map(int, sys.argv[1:5])
    become(signal_number, parent_id, user, group, sys.argv[5:])
