"""The process that a worker system forks: it has preloaded frameworks, and makes a process for each conversation."""

import asyncio
import contextlib
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path

from ratiba_action.errors import WorkerError
from ratiba_action.systems.dialogue import decode_line
from ratiba_action.systems.launch import GuardedCommand
from ratiba_action.systems.workplace import Workplace
from ratiba_action.util.text import printable, printable_lines
from ratiba_action.worker.program_output import error_first

MAX_READY = 64 * 1024


class ForkServer:
    """A fork server that was launched.

    Args:
        control: the gate's end of its socket.
        place: where it works.
    """

    def __init__(self, command: GuardedCommand, control: socket.socket, place: Workplace) -> None:
        self._command, self.control, self.place = command, control, place
        self.warnings: list[str] = []
        """What it said when it was ready."""
        self._stamps: Mapping[str, int] | None = None
        self._owned: object = None

    @property
    def guardian(self) -> int | None:
        """Process id of its guardian."""
        return self._command.guardian

    @property
    def hung_up(self) -> bool:
        """Whether it has ended."""
        try:
            return self.control.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    @property
    def as_started(self) -> bool:
        """Whether it lives, would import the same files again, and has its folders as they were."""
        if self._stamps is None or self._stamps != _stamps(self._stamps) or self.hung_up:
            return False
        try:
            return self.place.owned == self._owned
        except OSError:
            return False

    async def await_ready(self, seconds: float) -> None:
        """Wait for its greeting; it is ended where no usable one comes.

        Raises:
            WorkerError: it could not be started, with what it printed.
        """
        line = b""
        try:
            async with asyncio.timeout(seconds):
                while not line.endswith(b"\n") and len(line) < MAX_READY:
                    chunk = await asyncio.get_running_loop().sock_recv(self.control, 4096)
                    if not chunk:
                        break
                    line += chunk
        except (TimeoutError, ConnectionError):
            line = b""
        if not line.endswith(b"\n"):
            self.control.close()
            printed = error_first(printable_lines(await self._command.end()))
            raise WorkerError(
                f"the worker could not be started with {self.place.python!r}. It printed: {printed}",
                "Check `system.python` and `system.preload`.",
            )
        try:
            greeting = decode_line(line)
        except WorkerError:
            await self.end()
            raise
        warnings, sources = greeting.get("warnings"), greeting.get("sources")
        self._stamps = _stamps(map(str, sources)) if isinstance(sources, list) else None
        self._owned = self.place.owned
        self.warnings = [printable(str(warning))[:500] for warning in warnings] if isinstance(warnings, list) else []

    async def end(self) -> None:
        """End it, and every process that it forked."""
        self.control.close()
        await self._command.end()


def _stamps(paths: Iterable[str]) -> dict[str, int]:
    """When each file or folder was changed, in nanoseconds; 0 where there is none."""
    found = dict.fromkeys(paths, 0)
    for path in found:
        with contextlib.suppress(OSError):
            found[path] = Path(path).stat().st_mtime_ns
    return found
