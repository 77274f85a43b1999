"""Parts untrusted code from the gate's other processes and files by Landlock, which needs no privilege.

In a container without capabilities the untrusted code has the gate's own user, and no user namespace keeps it out of
the embedded database's processes and files. Inside a Landlock domain it can neither trace, read nor signal a process
outside (signals: Linux 6.12 and newer), nor open a file that no rule grants. The domain holds for all that it starts.
The numbers are those of the kernel's header ``linux/landlock.h``.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import struct
import sys
from typing import NamedTuple

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
QUERY_VERSION = 1
PATH_BENEATH = 1
FILES_MOVE_BETWEEN_FOLDERS, FILES_ARE_CUT, SIGNALS_ARE_SCOPED = 2, 3, 6  # versions that brought it
WRITE_FILE, READ_FILE, READ_DIR, REFER, TRUNCATE = 1 << 1, 1 << 2, 1 << 3, 1 << 13, 1 << 14
REMOVE_MAKE_AND_MOVE = sum(1 << bit for bit in range(4, 14))
SCOPE_ABSTRACT_SOCKETS, SCOPE_SIGNALS = 1 << 0, 1 << 1


KERNEL_FILES = ("/proc", "/sys")
"""What is written there changes processes and the kernel, and needs no program of the system's."""


class Ruleset(NamedTuple):
    """Rules that are made and not in force yet.

    Args:
        descriptor: for ``enforce``; -1 where the kernel has no Landlock.
        writable: absolute paths that can be written to, each with all below it.
    """

    descriptor: int
    writable: tuple[str, ...]


def version() -> int:
    """The kernel's version of Landlock; 0 without it, or without what moving a file between folders needs."""
    found = _call(CREATE_RULESET, None, 0, QUERY_VERSION) if sys.platform == "linux" else -1
    return found if found >= FILES_MOVE_BETWEEN_FOLDERS else 0


def make_ruleset(
    private: list[str], own: str, read_only: list[str], shared: list[str], *, hide_names: bool = False
) -> Ruleset:
    """Rules that leave every file as it is but the gate's private ones, and those that are only to be read.

    A new file cannot be made directly in a folder above a private or a read-only one; ``own`` is there for that.

    Args:
        private: absolute paths; one that ends in ``*`` stands for every name that begins so, now or later.
        own: the folder of the untrusted code, granted wherever it lies.
        read_only: absolute paths of folders in which nothing can be written, in ``own`` too.
        shared: absolute paths of folders that can be read wherever they lie, and not be written to.
        hide_names: private folders cannot be listed, nor the folders above them: the kernel has no rule for one folder
            without those in it. Python then finds no module directly in such a folder.
    """
    known = version()
    if not known:
        return Ruleset(-1, ())
    reading = READ_FILE | (READ_DIR if hide_names else 0)
    files = WRITE_FILE | reading | (TRUNCATE if known >= FILES_ARE_CUT else 0)
    scoped = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS if known >= SIGNALS_ARE_SCOPED else 0
    attributes = struct.pack("=QQQ", files | REMOVE_MAKE_AND_MOVE, 0, scoped)
    # A kernel refuses a longer structure than it knows unless the rest is zero.
    ruleset = _call(CREATE_RULESET, attributes, len(attributes) if scoped else 8, 0)
    if ruleset < 0:
        return Ruleset(-1, ())
    unwritable = [*read_only, *shared, *KERNEL_FILES]
    # Its own folder and the shared ones may lie in a private one.
    open_ones = [("/", private), (own, []), *((folder, []) for folder in shared)]
    rules = [rule for top, closed in open_ones for rule in _granted(top, closed, unwritable)]
    for path, writable in rules:
        _grant(ruleset, path, files if writable else reading)
    return Ruleset(ruleset, tuple(path for path, writable in rules if writable))


def enforce(ruleset: Ruleset) -> bool:
    """Enter the domain for good; needs ``no_new_privs``. Does nothing without a ruleset."""
    return ruleset.descriptor >= 0 and _call(RESTRICT_SELF, ruleset.descriptor, 0) == 0


def part_from_siblings() -> bool:
    """Enter a domain that closes no file, so that processes in other ones cannot trace or read this one's memory.

    It stays readable for processes outside every domain, as the guardian is. False where the kernel has no Landlock.
    """
    if not version():
        return False
    # A rule set has to handle something; files may be moved between folders as before.
    attributes = struct.pack("=Q", REFER)
    ruleset = _call(CREATE_RULESET, attributes, len(attributes), 0)
    if ruleset < 0:
        return False
    try:
        _grant(ruleset, "/", REFER)
        return _call(RESTRICT_SELF, ruleset, 0) == 0
    finally:
        os.close(ruleset)


def _granted(top: str, private: list[str], read_only: list[str]) -> list[tuple[str, bool]]:
    """Paths from a folder on, each with whether it may be written to; a path grants all that is below it."""
    granted: list[tuple[str, bool]] = []
    unread = [(top, True)]
    while unread:
        path, writable = unread.pop()
        writable = writable and path not in read_only
        closed = [*private, *(read_only if writable else ())]
        if not any(folder.startswith(path.rstrip("/") + "/") for folder in closed):
            granted.append((path, writable))
            continue
        with contextlib.suppress(OSError):
            names = os.listdir(path)  # noqa: PTH208 - plain strings, thousands of them
            paths = [os.path.join(path, name) for name in names]  # noqa: PTH118 - the same
            unread += [(below, writable) for below in paths if not _is_private(below, private)]
    return granted


def _is_private(path: str, private: list[str]) -> bool:
    return any(path.startswith(pattern[:-1]) if pattern.endswith("*") else path == pattern for pattern in private)


def _grant(ruleset: int, path: str, rights: int) -> None:
    try:
        # A link is not followed: what it leads to has a rule of its own, or is private.
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISDIR(mode):
            rights &= ~READ_DIR
        elif rights & WRITE_FILE:
            rights |= REMOVE_MAKE_AND_MOVE
        if not stat.S_ISLNK(mode):
            _call(ADD_RULE, ruleset, PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0)
    finally:
        os.close(descriptor)


def _call(number: int, *arguments: int | bytes | None) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    whole = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in (number, *arguments)]
    return int(libc.syscall(*whole))
