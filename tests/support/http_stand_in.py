"""A small HTTP server on loopback whose every byte is decided by whoever uses it, so that it can misbehave."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from types import TracebackType
from typing import Self

_BACKLOG = 512
_HEAD_LIMIT = 256 * 1024


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as it arrived; names of headers in small letters."""

    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer, and how badly it is sent.

    Args:
        content: all its bytes, status line and headers included.
        stop_after: bytes after which nothing more is sent; None to send all.
        hold: then wait until the other side gives up, in place of dropping the connection.
        pause: seconds after each single byte; 0 to send at once.
    """

    content: bytes = field(repr=False)
    stop_after: int | None = None
    hold: bool = False
    pause: float = 0.0


Handle = Callable[[HttpRequest], Awaitable[HttpAnswer]]


class HttpStandIn:
    """Serves on a free port; an async context manager."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._address = ""

    @property
    def url(self) -> str:
        """Base address, without a path."""
        return self._address

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connect, "127.0.0.1", 0, backlog=_BACKLOG, limit=_HEAD_LIMIT)
        host, port = self._server.sockets[0].getsockname()[:2]
        self._address = f"http://{host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._speak(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _speak(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await _read(reader)) is not None:
                if not await _send(await self._handle(request), reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # The other side has gone, which is its right.
        finally:
            writer.transport.abort()


def http_answer(status: int, content: bytes, headers: Mapping[str, str]) -> bytes:
    """The bytes of a whole answer with its length."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Other"
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, f"Content-Length: {len(content)}", "", ""]).encode() + content


async def _read(reader: asyncio.StreamReader) -> HttpRequest | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    method, path, _ = first.split(" ")
    content = await reader.readexactly(int(headers.get("content-length", "0")))
    return HttpRequest(method, path, headers, content)


async def _send(answer: HttpAnswer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Send what is to be sent; whether the connection may be used again."""
    content = answer.content if answer.stop_after is None else answer.content[: answer.stop_after]
    size = 1 if answer.pause else max(len(content), 1)
    for start in range(0, len(content), size):
        writer.write(content[start : start + size])
        await writer.drain()
        if answer.pause:
            await asyncio.sleep(answer.pause)
    if answer.hold:
        await reader.read()
    return answer.stop_after is None
