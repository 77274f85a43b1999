"""What trials of the base depend on and processes of the change could alter, where both have one user.

A change that cannot write to its base can still take its permissions, lower the limits of its processes, or leave it no
room. All of it is measured before anything of the change runs, and again around later trials of the base
(``docs/decisions/0087``).
"""

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ratiba_action.systems.setup_command import State, state_of
from ratiba_action.systems.worker_system import WorkerSystem

_NAME_OF_LIMIT = 26
"""Characters that the kernel leaves for a limit's name in ``/proc/PID/limits``."""
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - its room is measured, and nothing is written there
_CONTROL_GROUPS = Path("/sys/fs/cgroup")
_ENOUGH = {"bytes": 1 << 30, "inodes": 10_000, "processes": 100}
"""So much that no difference counts: a system under test may use what it needs."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """As they were at one moment.

    Args:
        limits: what each process may use, and how it is scheduled, by the process and the name of the limit.
        files: of the folders of the base's code.
        room: what is left, by its place and its unit.
    """

    limits: Mapping[str, str]
    files: State
    room: Mapping[tuple[str, str], int]

    def difference(self, now: "Conditions", *, after: bool = False) -> str:
        """The first thing that is worse now than it was, or another; empty where nothing is.

        Args:
            now: measured later.
            after: trials of the base have just run, which write files and use room themselves.
        """
        for name in sorted({*self.limits, *now.limits}):
            before, found = self.limits.get(name, "nothing"), now.limits.get(name, "nothing")
            if before != found:
                return f"{name}: {before} before, {found} now"
        if after:
            return ""
        changed = sorted(path for path in {*self.files, *now.files} if self.files.get(path) != now.files.get(path))
        if changed:
            return f"mode, owner or time of {changed[0]}"
        for (place, unit), had in self.room.items():
            left = now.room.get((place, unit), 0)
            if left < min(had // 2, _ENOUGH[unit]):
                return f"{left:,} {unit} left {place}, {had:,} before"
        return ""


class WatchedConditions:
    """Implements ``BaseConditions`` for code that is started.

    Args:
        code: of the base.
    """

    def __init__(self, code: Sequence[WorkerSystem]) -> None:
        self._code = code
        self._before: Conditions | None = None

    async def remember(self) -> None:
        """Measure them, while no process of the change runs."""
        self._before = await asyncio.to_thread(_measure, self._code)

    async def changed(self, *, after: bool = False) -> str:
        """The first thing that differs from what was remembered; see ``Conditions.difference``."""
        if self._before is None:
            return ""
        return self._before.difference(await asyncio.to_thread(_measure, self._code), after=after)


def _measure(code: Sequence[WorkerSystem]) -> Conditions:
    folders = [folder for worker in code if (folder := worker.folder) is not None]
    processes = {"the gate": os.getpid()}
    for number, guardian in enumerate(pid for worker in code if (pid := worker.guardian) is not None):
        processes |= _named(number, guardian)
    limits = {name: text for process, pid in processes.items() for name, text in _limits(process, pid)}
    files = {path: found for folder in folders for path, found in state_of(folder).items()}
    return Conditions(limits, files, dict(_room(folders)))


def _named(number: int, guardian: int) -> dict[str, int]:
    """A guardian of the base's and its fork server, of which every trial's process is made."""
    own = f"guardian {number} of the base"
    return {own: guardian} | {f"the fork server of {own}": child for child in _children_of(guardian)}


def _children_of(parent: int) -> Iterator[int]:
    for entry in Path("/proc").iterdir() if Path("/proc").is_dir() else ():
        with contextlib.suppress(OSError, IndexError):  # it may end meanwhile
            status = (entry / "stat").read_text(errors="replace") if entry.name.isdigit() else ""
            if status and status.rpartition(")")[2].split()[1] == str(parent):
                yield int(entry.name)


def _limits(process: str, pid: int) -> Iterator[tuple[str, str]]:
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{pid}/limits").read_text().splitlines()[1:]
        for line in lines:
            yield f"{line[:_NAME_OF_LIMIT].strip()} of {process}", " ".join(line[_NAME_OF_LIMIT:].split())
    with contextlib.suppress(OSError):
        yield f"oom_score_adj of {process}", Path(f"/proc/{pid}/oom_score_adj").read_text().strip()
    with contextlib.suppress(OSError, AttributeError):  # not on every system
        yield f"processors of {process}", ",".join(map(str, sorted(os.sched_getaffinity(pid))))
        yield f"scheduling of {process}", str(os.sched_getscheduler(pid))
    with contextlib.suppress(OSError):
        yield f"priority of {process}", str(os.getpriority(os.PRIO_PROCESS, pid))


def _room(folders: Sequence[Path]) -> Iterator[tuple[tuple[str, str], int]]:
    places = {"for temporary files": Path(tempfile.gettempdir()), "for shared memory": _SHARED_MEMORY}
    places |= {f"in folder {number} of the base": folder for number, folder in enumerate(folders)}
    for name, path in places.items():
        with contextlib.suppress(OSError):
            found = os.statvfs(path)
            yield (name, "bytes"), found.f_bavail * found.f_frsize
            yield (name, "inodes"), found.f_favail
    with contextlib.suppress(OSError, ValueError, StopIteration, IndexError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        line = next(line for line in lines if line.startswith("MemAvailable:"))
        yield ("in memory", "bytes"), int(line.split()[1]) * 1024
    with contextlib.suppress(OSError, ValueError, IndexError, KeyError):
        group = _CONTROL_GROUPS / Path("/proc/self/cgroup").read_text().partition("0::/")[2].split("\n")[0]
        yield from _room_of(group)


def _room_of(group: Path) -> Iterator[tuple[tuple[str, str], int]]:
    """What a control group leaves, of what it bounds."""
    with contextlib.suppress(OSError, ValueError):
        yield ("in the control group", "processes"), _number(group / "pids.max") - _number(group / "pids.current")
    with contextlib.suppress(OSError, ValueError, KeyError):
        used = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        freeable = int(used["inactive_file"]) + int(used["active_file"])
        left = _number(group / "memory.max") - _number(group / "memory.current") + freeable
        yield ("in the control group's memory", "bytes"), left


def _number(path: Path) -> int:
    """Raises ``ValueError`` for ``max``, which bounds nothing."""
    return int(path.read_text())
