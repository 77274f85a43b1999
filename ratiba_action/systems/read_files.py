"""Which of its files a system reads, by scenario: what its process reports, and what the kernel dates.

Python reports each file that it opens (``worker/reads.py``). Whatever else reads a file, such as a program of another
language or a library written in C, changes its time of access, where the file system keeps that: all files are given a
time before any that was made, so that ``relatime`` dates the next access too. That access is every scenario's whose
conversation was open, unless the process of one of them has reported the file (``docs/decisions/0115``).
"""

import asyncio
import contextlib
import os
import stat
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ratiba_action.model.reads import is_plain_path

_UNREAD_NS = 978_307_200 * 10**9
"""2001-01-01 UTC."""
MAX_EACH_TIME = 1_000
"""Files whose times are looked at after each conversation, 5 µs each; of more, they are looked at when the run ends."""
MAX_FOLDERS = 500
"""Folders that are kept open for that."""
_MAX_REPORTED = 50_000
_INSTALLED = ("/site-packages/", "/dist-packages/")


class ReadFiles:
    """Filled while a system runs.

    Attributes:
        early: files that were read between their copy and the first conversation, by set-up among others.
    """

    def __init__(self) -> None:
        self.early: frozenset[str] = frozenset()
        self._files: frozenset[str] = frozenset()
        self._folders: dict[int, dict[str, str]] = {}
        self._by_tail: dict[str, str] = {}
        self._open: Counter[str] = Counter()
        self._since: set[str] = set()
        self._reported: dict[str, set[str]] = {}
        self._accessed: dict[str, dict[str, frozenset[str]]] = {}
        self._of_all: set[str] = set()
        self._looking = asyncio.Lock()

    @property
    def files(self) -> frozenset[str]:
        """Every file that it could have read, below the system's folder."""
        return self._files

    async def watch(self, copy: Path, files: Sequence[str]) -> None:
        """Look at times of access from now on, while no conversation is open.

        Args:
            copy: the folder that the system runs in.
            files: that it was given, below it.
        """
        self._files = frozenset(filter(is_plain_path, files))
        for name in sorted(self._files):
            for tail in _tails(name):
                self._by_tail[tail] = name if self._by_tail.get(tail, name) == name else ""
        await asyncio.to_thread(self._open_folders, copy)
        self.early = frozenset(await asyncio.to_thread(self._take, first=True))

    def opened(self, scenario_id: str) -> None:
        """A conversation is about to begin."""
        self._open[scenario_id] += 1
        self._since.add(scenario_id)
        self._reported.setdefault(scenario_id, set())

    async def closed(self, scenario_id: str) -> None:
        """A conversation has ended."""
        if len(self._files) <= MAX_EACH_TIME:
            async with self._looking:
                self._give(await asyncio.to_thread(self._take))
        self._open[scenario_id] -= 1
        if len(self._files) <= MAX_EACH_TIME:
            self._since = set(+self._open)

    def look(self) -> None:
        """Look at times of access a last time."""
        self._give(self._take())

    def _give(self, found: Iterable[str]) -> None:
        """Files that were accessed are every scenario's whose conversation was open since it was looked last."""
        together = frozenset(self._since)
        for scenario_id in together:
            accessed = self._accessed.setdefault(scenario_id, {})
            for name in found:
                accessed[name] = accessed.get(name, frozenset()) | together

    def close(self) -> None:
        """Look at no more times; what was noted stays."""
        folders, self._folders = self._folders, {}
        for folder in folders:
            os.close(folder)

    def _open_folders(self, copy: Path) -> None:
        """Hold every folder open: what the system puts there instead, such as a link, is not touched."""
        self.close()
        by_folder: dict[str, dict[str, str]] = {}
        for name in sorted(self._files):
            folder, _, file = name.rpartition("/")
            by_folder.setdefault(folder, {})[file] = name
        if len(by_folder) > MAX_FOLDERS:
            return
        for folder, names in by_folder.items():
            with contextlib.suppress(OSError):  # gone, or a link meanwhile
                opened = os.open(copy, os.O_RDONLY | os.O_DIRECTORY)
                for part in filter(None, folder.split("/")):
                    above = opened
                    try:
                        opened = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
                    finally:
                        os.close(above)
                self._folders[opened] = names

    def _take(self, *, first: bool = False) -> list[str]:
        """Files that were accessed since they were looked at last, or copied; none where that cannot be known."""
        found = []
        for folder, names in self._folders.items():
            for file, name in names.items():
                with contextlib.suppress(OSError):  # the system has removed it, or made it another's
                    status = os.stat(file, dir_fd=folder, follow_symlinks=False)
                    if status.st_atime_ns == _UNREAD_NS or not stat.S_ISREG(status.st_mode):
                        continue
                    os.utime(file, ns=(_UNREAD_NS, status.st_mtime_ns), dir_fd=folder, follow_symlinks=False)
                    if not first or status.st_atime_ns > status.st_mtime_ns:
                        found.append(name)
        return found

    def report(self, scenario_id: str | None, reported: Any) -> None:
        """Take what a process reports, which is untrusted.

        Args:
            scenario_id: whose process it is; None for the one that migrates, whose rows every scenario has.
            reported: paths below the system's folder.
        """
        known = self._reported.setdefault(scenario_id, set()) if scenario_id is not None else self._of_all
        if isinstance(reported, list):
            known.update(name for name in reported[:_MAX_REPORTED] if is_plain_path(name))

    def of(self, scenario_id: str) -> frozenset[str]:
        """What a scenario has read, in every trial so far; nothing of one that was not run."""
        if scenario_id not in self._reported:
            return frozenset()
        own = self._known((*self._reported[scenario_id], *self._of_all))
        accessed = self._accessed.get(scenario_id, {})
        reported = {other: self._known(self._reported[other]) for each in accessed.values() for other in each}
        return own | {name for name, each in accessed.items() if not any(name in reported[other] for other in each)}

    def _known(self, reported: Iterable[str]) -> frozenset[str]:
        """Files that were copied, of those that are reported; a package that set-up installed stands for its source."""
        found = set()
        for name in reported:
            tail = next((f"/{name}".rpartition(part)[2] for part in _INSTALLED if part in f"/{name}"), None)
            source = name if tail is None or name in self._files else self._by_tail.get(tail, "")
            found.add(source)
        return frozenset(found & self._files)


def _tails(name: str) -> Iterable[str]:
    """What a path may be called below the folder of installed packages."""
    parts = name.split("/")
    return ("/".join(parts[start:]) for start in range(min(len(parts), 3)))
