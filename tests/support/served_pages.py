"""The pages of ``ratiba view``, served by a thread of the test, and raw requests to them."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ratiba_action.history.run_files import RunFiles
from ratiba_action.privacy.masking import Redactor
from ratiba_action.publish.view.chat_channel import ChatChannel
from ratiba_action.publish.view.live_run import EventTail
from ratiba_action.publish.view.local_runs import LocalRuns
from ratiba_action.publish.view.server import Conversing, ViewAddress, serving


@dataclass
class ServedPages:
    """Pages that are served.

    Args:
        warnings: what the server could not show.
        at_the_end: called before the server ends, within its loop.
    """

    address: ViewAddress
    warnings: list[str]
    at_the_end: Callable[[], object] = lambda: None

    @property
    def folder(self) -> str:
        """Address of the folder that all pages lie in."""
        return f"{self.address.base}/{self.address.token}"


@contextmanager
def served(
    report: Path, history: RunFiles | None = None, *, page: str = "index.html", chat: Conversing | None = None
) -> Iterator[ServedPages]:
    """Serve until the end of the context.

    Args:
        report: a report directory.
    """
    started, ready, loops = list[ServedPages](), threading.Event(), list[asyncio.AbstractEventLoop]()
    ended = asyncio.Event()

    async def serve() -> None:
        warnings = list[str]()
        runs = LocalRuns(report, history, branch="", redactor=Redactor(), chat=chat is not None)
        async with serving(runs, EventTail([report]), warn=warnings.append, page=page, chat=chat) as (address, tell):
            if isinstance(chat, ChatChannel):
                chat.tell = tell
            loops.append(asyncio.get_running_loop())
            started.append(ServedPages(address, warnings))
            ready.set()
            await ended.wait()
            started[0].at_the_end()

    def run() -> None:
        try:
            asyncio.run(serve())
        finally:
            ready.set()  # where it failed, the test says so at once

    thread = threading.Thread(target=run)
    thread.start()
    ready.wait()
    try:
        yield started[0]
    finally:
        loops[0].call_soon_threadsafe(ended.set)
        thread.join()


@dataclass(frozen=True)
class RawAnswer:
    """An answer as it came."""

    status: int
    headers: Mapping[str, str]
    body: str


def ask(
    base: str,
    path: str,
    method: str = "GET",
    body: bytes = b"",
    headers: Mapping[str, str] = MappingProxyType({}),
) -> RawAnswer:
    """Send a request as it is written here, with nothing that a client would put right.

    Args:
        base: address of the server.
        path: as it stands in the request line.
        headers: with ``_`` for ``-``; the host is the server's own unless one is given.
    """
    at = int(base.rpartition(":")[2])
    given = {"Host": f"127.0.0.1:{at}", **{name.replace("_", "-"): text for name, text in headers.items()}}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {text}" for name, text in given.items()), "Connection: close"]
    lines += [f"Content-Length: {len(body)}"] if body else []
    with socket.create_connection(("127.0.0.1", at), timeout=60) as connection:
        connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        received = bytearray()
        while part := connection.recv(65_536):
            received += part
    head, _, text = received.decode("utf-8", "replace").partition("\r\n\r\n")
    first, *rest = head.split("\r\n")
    return RawAnswer(int(first.split()[1]), dict(line.split(": ", 1) for line in rest), text)


class EventStream:
    """A reader of server-sent events, who can go away and come back.

    Args:
        folder: address that the pages lie at.
        path: of the stream.
        last: id of the last event that was read; empty for none.
    """

    def __init__(self, folder: str, path: str = "events", last: str = "") -> None:
        host, _, token = folder.removeprefix("http://").partition("/")
        name, _, port = host.partition(":")
        self._socket = socket.create_connection((name, int(port)), timeout=90)
        lines = [f"GET /{token}/{path} HTTP/1.1", f"Host: {host}", *([f"Last-Event-ID: {last}"] if last else [])]
        self._socket.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
        self._file = self._socket.makefile("rb")
        self.last = last

    def __iter__(self) -> Iterator[Any]:
        """What is told, up to the end of the stream."""
        for line in self._file:
            if line.startswith(b"id: "):
                self.last = line[4:].decode().strip()
            if line.startswith(b"data: "):
                yield json.loads(line[6:])

    def run_until(self, **facts: object) -> Any:
        """The first news whose run has these facts."""
        for news in self:
            if news["run"] is not None and facts.items() <= news["run"].items():
                return news
        raise AssertionError("the stream ended")

    def thing(self, kind: str) -> Any:
        """The next thing of a chat that is of a kind."""
        for found in self:
            if found["kind"] == kind:
                return found
        raise AssertionError("the stream ended")

    def close(self) -> None:
        """Go away."""
        self._file.close()
        self._socket.close()
