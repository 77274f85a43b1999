"""Who listens on a TCP port, by Linux's ``/proc``: what answers there is the server that was started, or it is not."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_TABLES = ("/proc/self/net/tcp", "/proc/self/net/tcp6")
_LISTENING = "0A"


def on_port(port: int) -> frozenset[str] | None:
    """Inodes of the sockets that listen on a port, on any address; None where the system has no such table."""
    table = _table()
    return None if table is None else frozenset(inode for inode, found in table.items() if found == port)


def held_by(ancestor: int) -> frozenset[str]:
    """Inodes of the sockets that a process's descendants hold, those included that have another session."""
    held = set()
    for pid in _descendants(ancestor):
        folder = f"/proc/{pid}/fd"
        with contextlib.suppress(OSError):  # it may end while we look
            for name in os.listdir(folder):  # noqa: PTH208 - plain strings
                with contextlib.suppress(OSError):
                    link = os.readlink(f"{folder}/{name}")  # noqa: PTH115 - the same
                    if link.startswith("socket:["):
                        held.add(link[8:-1])
    return frozenset(held)


def ports_of(ancestor: int) -> frozenset[int]:
    """Ports that a process's descendants listen on; empty where that is not known."""
    table = _table() or {}
    return frozenset(table[inode] for inode in held_by(ancestor) & table.keys())


def _table() -> dict[str, int] | None:
    """The port of every listening socket, by inode."""
    found: dict[str, int] = {}
    known = False
    for path in _TABLES:
        with contextlib.suppress(OSError), open(path, encoding="ascii") as file:  # noqa: PTH123 - as above
            known = True
            for line in file.readlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENING:
                    found[fields[9]] = int(fields[1].rpartition(":")[2], 16)
    return found if known else None


def _descendants(ancestor: int) -> Iterator[int]:
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc") if os.path.isdir("/proc") else ():  # noqa: PTH112, PTH208 - as above
        if entry.isdigit():
            with contextlib.suppress(OSError, IndexError), open(f"/proc/{entry}/stat", "rb") as file:  # noqa: PTH123 - as above
                parent = int(file.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry))
    unread = [ancestor]
    while unread:
        found = children.get(unread.pop(), [])
        yield from found
        unread += found
