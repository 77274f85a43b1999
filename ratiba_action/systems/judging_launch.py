"""Starts the process that forks those in which DeepEval's metrics run: without a key, and apart from the gate."""

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ratiba_action.errors import InfrastructureError
from ratiba_action.metrics.judging.deepeval_bridge import QUIET, deepeval_version
from ratiba_action.metrics.judging.judging_server import READY
from ratiba_action.systems.launch import launch, programs_of_the_gate
from ratiba_action.systems.separation import has_landlock, judging_notes
from ratiba_action.systems.workplace import Surroundings, Use, create_workplace
from ratiba_action.util.folder_tree import remove_tree
from ratiba_action.util.text import printable_lines
from ratiba_action.worker import seccomp

if TYPE_CHECKING:
    from concurrent.futures import Future

START_SECONDS = 120.0
_PROGRAM = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[2]); "
    "from ratiba_action.metrics.judging.judging_server import main; main(int(sys.argv[1]))"
)


@dataclass(frozen=True, slots=True)
class JudgingControl:
    """What asks a server for processes.

    Args:
        socket: the gate's end of its control socket.
        notes: what a reader should know about layers of its sandbox that this machine does not have.
    """

    socket: socket.socket
    notes: tuple[str, ...] = ()


class JudgingServer:
    """Forks a process for each channel; made by ``open_judging_server``.

    Args:
        start: starts it.
        control: of one that is started already; None to start it when it is needed.
        note: called with each note, once, when a process is made.
    """

    def __init__(
        self,
        start: Callable[[], Awaitable[JudgingControl]],
        control: JudgingControl | None = None,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._start, self._note = start, note
        self.starting: asyncio.Future[JudgingControl] | None = None
        self._kept = control
        self._noted: set[str] = set()

    def begin(self) -> None:
        """Start it beside whatever comes next, unless that was done.

        Raises:
            ConfigurationError: DeepEval is not installed.
        """
        if self._kept is None and self.starting is None:
            deepeval_version()
            self.starting = asyncio.ensure_future(self._start())

    async def control(self) -> JudgingControl:
        """What asks it for processes, once it is ready; it is started where that was not done.

        Raises:
            ConfigurationError: DeepEval is not installed.
            InfrastructureError: it could not be started.
        """
        self.begin()
        if self._kept is not None:
            return self._kept
        starting = self.starting = self.starting or asyncio.ensure_future(self._start())
        try:
            return await asyncio.shield(starting)
        except InfrastructureError:
            self.starting = None  # the next one may start
            raise

    async def connect(self) -> socket.socket:
        """Have a process made, by another server where this one has ended; gives the gate's end of its channel.

        Raises:
            ConfigurationError: DeepEval is not installed.
            InfrastructureError: it could not be started.
        """
        near, far = socket.socketpair()
        with far:
            try:
                await self._hand_over(far)
            except BrokenPipeError:
                self._kept = self.starting = None
                await self._hand_over(far)
            except BaseException:
                near.close()
                raise
        return near

    async def _hand_over(self, channel: socket.socket) -> None:
        control = await self.control()
        socket.send_fds(control.socket, [b"+"], [channel.fileno()])
        for note in set(control.notes) - self._noted:
            self._noted.add(note)
            self._note(note)


@asynccontextmanager
async def open_judging_server(
    around: Callable[[], Surroundings],
    kept: JudgingControl | None = None,
    begun: "Future[JudgingControl] | None" = None,
    note: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[JudgingServer]:
    """Make a server that starts when it is needed, and end it with all of its processes.

    Args:
        around: where it runs; asked when it starts. Nothing of ``root`` is copied.
        kept: of one that is started already, and is not ended.
        begun: the same of one that was begun; another is started where that one has ended meanwhile.
        note: takes what a reader should know about layers of the sandbox that this machine does not have.
    """
    waiting = [begun] if begun is not None else []
    async with AsyncExitStack() as stack:

        async def start() -> JudgingControl:
            return await asyncio.wrap_future(waiting.pop()) if waiting else await _start(around(), stack)

        server = JudgingServer(start, kept, note)
        try:
            yield server
        finally:
            if server.starting is not None:
                server.starting.cancel()
                await asyncio.wait([server.starting])
                if not server.starting.cancelled():
                    server.starting.exception()  # whoever waited for it has raised it


def _not_needed(around: Surroundings) -> tuple[str, ...]:
    """The user's folder and the checkout, where keys may lie in files; but for the programs in them."""
    folders = [around.root, Path(around.inherited.get("HOME", ""))]
    return tuple(str(folder.resolve()) for folder in folders if folder.is_absolute())


async def _start(around: Surroundings, stack: AsyncExitStack) -> JudgingControl:
    near, far = socket.socketpair()
    near.settimeout(0)
    stack.callback(near.close)
    with far:
        place = await create_workplace(lambda _: (), around, QUIET, python=None, use=Use.JUDGING)
        stack.push_async_callback(asyncio.to_thread, remove_tree, place.folder)
        environment = {
            **place.environment,
            "DEEPEVAL_HOME": place.environment["HOME"],
            "DEEPEVAL_CACHE_FOLDER": place.environment["TMPDIR"],
        }
        command = await launch(
            (place.python, "-I", "-B", "-c", _PROGRAM, str(far.fileno()), json.dumps(sys.path)),
            environment=environment,
            cwd=place.copy,
            folder=place.folder,
            identity=place.identity,
            descriptors=[far.fileno()],
            private=(*around.private, *place.closed, *_not_needed(around)),
            read_only=place.read_only,
            shared=programs_of_the_gate(),
            hide_names=place.hide_names,
            sockets=False,
        )
    stack.push_async_callback(command.end)
    try:
        async with asyncio.timeout(START_SECONDS):
            greeting = await asyncio.get_running_loop().sock_recv(near, len(READY))
    except (TimeoutError, ConnectionError):
        greeting = b""
    if greeting != READY:
        printed = printable_lines(await command.end())
        raise InfrastructureError(f"What judges by DeepEval could not be started. It printed: {printed}")
    same_user = place.identity is None
    notes = judging_notes(
        same_user=same_user,
        landlock=has_landlock(),
        missing=seccomp.missing(same_user=same_user),
        root=os.geteuid() == 0,
    )
    return JudgingControl(near, notes)
