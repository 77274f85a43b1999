"""Carries connections over one pair of pipes, between a container without a network and the gate.

The same code runs at both ends: in the gate, and by its source alone in a container whose network the system's own
container joins. What has no other way out can reach only what the gate's end has as a target.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import struct
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping

    Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

_OPEN, _OPENED, _DATA, _END, _LOST = range(5)
_HEADER = struct.Struct(">BII")
_PIECE = 65_536
MAX_CONNECTIONS = 256
"""That the other end may have open, so that a container cannot use up the gate's open files."""
_STALLED_SECONDS = 60.0
"""In which whoever is connected must read what came for it: all of a relay's connections wait for that."""
_GREETING = 0
"""Number of no connection: the container's end listens."""
LOOPBACK = "127.0.0.1"


class Relay:
    """One end.

    Args:
        reader: what the other end sends.
        writer: to the other end.
        targets: connects to what the other end may name, by its number.
        first: of the numbers of this end's connections: 1 or 2, and the other one at the other end.
        stalled_seconds: after which a connection whose end reads nothing is given up.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        targets: Mapping[int, Callable[[], Awaitable[Streams]]],
        first: int,
        stalled_seconds: float = _STALLED_SECONDS,
    ) -> None:
        self._stalled_seconds = stalled_seconds
        self._reader, self._writer, self._targets = reader, writer, targets
        self._numbers = itertools.count(first, 2)
        self._streams: dict[int, asyncio.StreamWriter] = {}
        self._half: set[int] = set()
        self._asked: dict[int, asyncio.Future[bool]] = {_GREETING: asyncio.get_running_loop().create_future()}
        self._tasks: set[asyncio.Task[None]] = set()
        self._servers: list[asyncio.Server] = []

    async def run(self) -> None:
        """Carry what comes until the other end is gone."""
        try:
            while True:
                kind, number, length = _HEADER.unpack(await self._reader.readexactly(_HEADER.size))
                if length > _PIECE:
                    return
                await self._take(kind, number, await self._reader.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            self.close()

    def close(self) -> None:
        """Close every connection; may be called twice."""
        for server in self._servers:
            server.close()
        for task in self._tasks:
            task.cancel()
        for answer in self._asked.values():
            if not answer.done():
                answer.set_result(False)
        for number in list(self._streams):
            self._drop(number)

    async def greet(self) -> None:
        """Say that this end listens."""
        await self._send(_OPENED, _GREETING)

    async def greeted(self) -> bool:
        """Wait until the other end listens; False if it ended before."""
        return await self._asked[_GREETING]

    async def listen(self, port: int, target: int) -> int:
        """Carry connections to a port of this end to a target of the other one; returns the port.

        Args:
            port: on loopback; 0 for a free one.
        """

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._start(self._carry(reader, writer, target))

        server = await asyncio.start_server(connected, LOOPBACK, port)
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    async def listen_at(self, path: str, target: int) -> None:
        """Carry connections to a socket of this end's file system, which its own user alone may open, to a target."""

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._start(self._carry(reader, writer, target))

        before = os.umask(0o177)
        try:
            self._servers.append(await asyncio.start_unix_server(connected, path))
        finally:
            os.umask(before)

    async def connects(self, target: int) -> bool:
        """Whether the other end can connect to a target."""
        number = next(self._numbers)
        if not await self._ask(number, target):
            return False
        await self._send(_LOST, number)
        return True

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _ask(self, number: int, target: int) -> bool:
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        try:
            await self._send(_OPEN, number, str(target).encode())
            return bool(await answer)
        except ConnectionError:
            return False
        finally:
            self._asked.pop(number, None)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: int) -> None:
        number = next(self._numbers)
        self._streams[number] = writer
        if await self._ask(number, target):
            await self._pump(number, reader)
        else:
            self._drop(number)

    async def _accept(self, number: int, target: bytes) -> None:
        try:
            connect = self._targets[int(target)]
            reader, self._streams[number] = await connect()
        except (KeyError, ValueError, OSError):
            await self._send(_LOST, number)
            return
        await self._send(_OPENED, number)
        await self._pump(number, reader)

    async def _pump(self, number: int, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(ConnectionError):
            while piece := await reader.read(_PIECE):
                await self._send(_DATA, number, piece)
            await self._send(_END, number)
            self._ended(number)
            return
        if number in self._streams:
            self._drop(number)
            await self._send(_LOST, number)

    async def _take(self, kind: int, number: int, content: bytes) -> None:
        writer = self._streams.get(number)
        if kind == _OPEN and len(self._tasks) < MAX_CONNECTIONS and writer is None:
            self._start(self._accept(number, content))
        elif kind == _OPEN:
            await self._send(_LOST, number)
        elif kind in (_OPENED, _LOST) and number in self._asked and not self._asked[number].done():
            self._asked[number].set_result(kind == _OPENED)
        elif kind == _DATA and writer is not None:
            await self._deliver(number, writer, content)
        elif kind == _END and writer is not None:
            with contextlib.suppress(OSError):
                writer.write_eof()
            self._ended(number)
        elif kind == _LOST:
            self._drop(number)

    async def _deliver(self, number: int, writer: asyncio.StreamWriter, content: bytes) -> None:
        # The other end may be anybody's, and send more after its end: a RuntimeError.
        with contextlib.suppress(ConnectionError, RuntimeError):
            writer.write(content)
            try:
                async with asyncio.timeout(self._stalled_seconds):
                    await writer.drain()
            except TimeoutError:
                self._drop(number)
                await self._send(_LOST, number)

    def _ended(self, number: int) -> None:
        """One direction of a connection has ended; it is closed when both have."""
        if number in self._half:
            writer = self._streams.pop(number, None)
            if writer is not None:
                writer.close()
            self._half.discard(number)
        elif number in self._streams:
            self._half.add(number)

    def _drop(self, number: int) -> None:
        writer = self._streams.pop(number, None)
        self._half.discard(number)
        if writer is not None:
            writer.transport.abort()

    async def _send(self, kind: int, number: int, content: bytes = b"") -> None:
        self._writer.write(_HEADER.pack(kind, number, len(content)) + content)
        await self._writer.drain()


async def _standard_streams() -> Streams:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout.buffer)
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)


async def _serve(listening: list[int], targets: list[int], path: str = "") -> None:
    reader, writer = await _standard_streams()
    # A name, so that a server is found whether it listens on IPv4 or on IPv6.
    connects = {port: (lambda port=port: asyncio.open_connection("localhost", port)) for port in targets}
    relay = Relay(reader, writer, connects, first=2)
    for port in listening:
        await relay.listen(port, port)
    if path:
        await relay.listen_at(path, 0)
    await relay.greet()
    await relay.run()


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # it adopts the orphans of the system's processes
    _listening, _targets = ([int(port) for port in words.split(",") if port] for words in sys.argv[1:3])
    asyncio.run(_serve(_listening, _targets, *sys.argv[3:4]))
