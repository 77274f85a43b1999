"""Serves the pages on this machine: who may read them, and how a reader hears of a run that goes on.

Everything that can be read is in memory, by its name: no request leads to a file. Importing this module loads aiohttp.
"""

import asyncio
import contextlib
import hmac
import json
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from aiohttp import ClientPayloadError, web
from aiohttp.web_protocol import RequestPayloadError

from ratiba_action.errors import UsageError
from ratiba_action.publish.site.pages import content_policy, served_pages
from ratiba_action.publish.view.live_run import EventTail, LiveRun, number_of
from ratiba_action.publish.view.local_runs import LocalRuns, Stamp
from ratiba_action.util.strict_json import refuse_constant, unique_keys

HOST = "127.0.0.1"
MAX_BODY = 65_536
"""Bytes of a request's body, which only the chat reads."""
MAX_READERS = 64
"""Streams of events at a time, so that no page can take every descriptor of the process."""
MAX_CONNECTIONS = 2 * MAX_READERS
"""Open ones at a time that have sent the token."""
MAX_UNKNOWN = 96
"""Open ones at a time that have not sent it: others on this machine may connect, too. The oldest is closed for a new
one, so that nobody keeps a reader out by opening many: a reader sends the token at once."""
_BACKLOG = 32
"""Connections that are accepted at once: a third of the unknown ones, so that none is closed before it was read."""
IDLE_SECONDS = 5.0
"""How long a connection stays open without a whole request, the first or the next."""
_POLL_SECONDS = 0.2
_STILL_HERE_SECONDS = 15.0
_SHUTDOWN_SECONDS = 1.0
_TYPES = {"html": "text/html", "json": "application/json", "svg": "image/svg+xml"}
_CLOSING = frozenset({403, 421, 503})
"""Statuses after which a connection is closed: whoever was refused so has no use for it."""
_WHOLE = 3
"""Parts of a path: what stands before it, the token, and the page."""
_OURS = frozenset({"", "none", "same-origin"})
"""Values of ``Sec-Fetch-Site`` (Fetch Metadata Request Headers, W3C) of requests that no other site has made."""

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": f"{content_policy(served=True)}; frame-ancestors 'none'",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Server": "ratiba",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Of every answer: no other page may read, frame or load it, and no address with the token is handed on."""


_News = Callable[[str], list[tuple[str, str]]]
"""What a reader is to be sent after a position, each part with its own position."""


class Conversing(Protocol):
    """What the chat's page speaks with."""

    def put(self, line: str) -> bool:
        """Take a line that was typed; whether there was room for it."""
        ...

    def since(self, number: int) -> list[tuple[int, str]]:
        """What has happened after the thing of this number, each as JSON with its own."""
        ...


class _RefusedRequestError(Exception):
    """A request that is answered with nothing but why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True, slots=True)
class ViewAddress:
    """Where the pages are.

    Args:
        page: that is shown first.
    """

    base: str
    token: str
    page: str

    @property
    def url(self) -> str:
        """Of the first page, as long as the pages are served."""
        return f"{self.base}/{self.token}/{self.page}"


class _Connections:
    """Which open connections have sent the token. Aiohttp, which serves them, has no limit of its own.

    Args:
        server: whose connections these are, in the order in which they were opened.
    """

    def __init__(self, server: web.Server) -> None:
        self._server = server
        self._known = set[web.RequestHandler]()

    def make_room(self) -> None:
        """Close the oldest connection that has not sent the token, if there are too many of these."""
        open_now = [each for each in self._server.connections if each.transport is not None]
        unknown = [each for each in open_now if each not in self._known]
        if len(unknown) >= MAX_UNKNOWN:
            unknown[0].force_close()

    def admit(self, connection: web.RequestHandler) -> bool:
        """Note that a connection has sent the token; whether it may stay open."""
        self._known.intersection_update(self._server.connections)
        if connection not in self._known and len(self._known) >= MAX_CONNECTIONS:
            return False
        self._known.add(connection)
        return True


class _ViewServer:
    """One server. Made by ``serving``."""

    def __init__(
        self, runs: LocalRuns, tail: EventTail, chat: Conversing | None, page: str, warn: Callable[[str], None]
    ) -> None:
        self._runs, self._tail, self._chat, self._page, self._warn = runs, tail, chat, page, warn
        self._token = secrets.token_urlsafe(32)
        self._live = LiveRun()
        self._first = dict(served_pages(runs.nothing_yet))
        self._pages: Mapping[str, bytes] = {}
        self._edition = 0
        self._made_of: Stamp | None = None
        self._changed, self._ready, self._ended = asyncio.Event(), asyncio.Event(), False
        self._readers = 0
        self._hosts: frozenset[str] = frozenset()
        self._connections: _Connections | None = None

    async def start(self, port: int) -> tuple[web.AppRunner, asyncio.Server, ViewAddress]:
        application = web.Application(client_max_size=MAX_BODY)
        application.router.add_route("*", "/{path:.*}", self._answer)
        application.on_response_prepare.append(_protect)
        runner = web.AppRunner(
            application,
            access_log=None,
            logger=_silent_logger(),
            handle_signals=False,
            shutdown_timeout=_SHUTDOWN_SECONDS,
            keepalive_timeout=IDLE_SECONDS,
        )
        await runner.setup()
        server = runner.server
        assert server is not None  # noqa: S101 - the runner was set up
        connections = self._connections = _Connections(server)

        def connect() -> asyncio.Protocol:
            connections.make_room()
            return server()

        try:
            listening = await asyncio.get_running_loop().create_server(connect, HOST, port, backlog=_BACKLOG)
        except OSError as error:
            await runner.cleanup()
            raise UsageError(
                f"Port {port} of {HOST} cannot be used: {error.strerror}.",
                "Give another --port, or none for a free one.",
            ) from error
        at = listening.sockets[0].getsockname()[1]
        self._hosts = frozenset({f"{HOST}:{at}", f"localhost:{at}"})
        return runner, listening, ViewAddress(f"http://{HOST}:{at}", self._token, self._page)

    async def follow(self) -> None:
        """Look at the log and at the results again and again; never returns."""
        making: asyncio.Task[None] | None = None
        while True:
            events = await asyncio.to_thread(self._tail.read)
            for event in events:
                self._live.add(event)
            if making is None or (making.done() and self._made_of != self._runs.stamp()):
                making = asyncio.create_task(self._make())
            if events:
                self.tell()
            else:
                await asyncio.sleep(_POLL_SECONDS)

    async def _make(self) -> None:
        """Make the pages of what is there now; where that fails, those from before stay."""
        self._made_of = self._runs.stamp()
        try:
            self._pages = await asyncio.to_thread(self._runs.pages)
        except Exception as error:  # noqa: BLE001 - whatever somebody wrote into its results, a run ends no server
            self._warn(f"The pages of the last run could not be made: {type(error).__name__}.")
        self._edition += 1
        self._ready.set()
        self.tell()

    def tell(self) -> None:
        """Wake every reader of a stream."""
        self._changed.set()
        self._changed = asyncio.Event()

    def end(self) -> None:
        """Let every stream come to its end."""
        self._ended = True
        self.tell()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        try:
            self._refuse_foreign(request)
            parts = request.path.split("/", 2)
            place, path = parts[1:] if len(parts) == _WHOLE else ("", "")
            self._refuse_unknown(place)
            self._refuse_too_many(request)
            return await self._admitted(request, path)
        except _RefusedRequestError as refused:
            response = web.Response(status=refused.status, text=f"{refused}\n")
            if refused.status in _CLOSING:
                response.force_close()
            return response

    def _refuse_foreign(self, request: web.Request) -> None:
        """Refuse what a page of somebody else has asked for, whatever it knows.

        Raises:
            _RefusedRequestError: it did.
        """
        hosts = request.headers.getall("Host", [])
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            raise _RefusedRequestError(421, f"The host is not {HOST} with the port of this server.")
        origin = request.headers.get("Origin")
        if origin is not None and origin != f"http://{hosts[0]}":
            raise _RefusedRequestError(403, "Another origin has asked for this.")
        followed = request.method == "GET" and (
            request.headers.get("Sec-Fetch-Mode"),
            request.headers.get("Sec-Fetch-Dest"),
        ) == ("navigate", "document")
        if request.headers.get("Sec-Fetch-Site", "") not in _OURS and not followed:
            raise _RefusedRequestError(403, "Another site has asked for this.")

    def _refuse_unknown(self, token: str) -> None:
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self._token.encode()):
            raise _RefusedRequestError(403, "The address has no valid token. Use the one that ratiba view has printed.")

    def _refuse_too_many(self, request: web.Request) -> None:
        if self._connections is None or not self._connections.admit(request.protocol):
            raise _RefusedRequestError(503, f"{MAX_CONNECTIONS} connections are open already. Close some pages.")

    async def _admitted(self, request: web.Request, path: str) -> web.StreamResponse:
        if self._chat is not None and path == "chat/say":
            return await self._say(request, self._chat)
        if request.method != "GET":
            raise _RefusedRequestError(405, "Nothing can be changed here.")
        if path == "events":
            return await self._stream(request, self._news)
        if self._chat is not None and path == "chat/events":
            return await self._stream(request, self._chat_news)
        if not path:
            return web.Response(status=302, headers={"Location": self._page})
        if path not in self._first:
            await self._ready.wait()
        content = self._pages.get(path, self._first.get(path))
        kind = _TYPES.get(path.rpartition(".")[2])
        if content is None or kind is None:
            raise _RefusedRequestError(404, "There is no such page.")
        return web.Response(body=content, content_type=kind, charset="utf-8")

    async def _stream(self, request: web.Request, news: _News) -> web.StreamResponse:
        if self._readers >= MAX_READERS:
            raise _RefusedRequestError(503, f"{MAX_READERS} pages are open already. Close some.")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        after = request.headers.get("Last-Event-ID") or request.query.get("after", "")
        self._readers += 1
        try:
            await response.prepare(request)
            while True:
                changed, ended = self._changed, self._ended or "once" in request.query
                for position, data in news(after):
                    after = position
                    await response.write(f"id: {position}\ndata: {data}\n\n".encode())
                if ended:
                    break
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), _STILL_HERE_SECONDS)
                    continue
                await response.write(b": still here\n\n")
        except ConnectionError:
            pass  # the reader has gone
        finally:
            self._readers -= 1
        return response

    def _news(self, after: str) -> list[tuple[str, str]]:
        """What is new of the run and of the pages; positions name both."""
        seen = after.rpartition("/")[0]
        position = f"{self._live.position}/{self._edition}"
        return [] if position == after else [(position, _json({**self._live.since(seen), "edition": self._edition}))]

    def _chat_news(self, after: str) -> list[tuple[str, str]]:
        things = [] if self._chat is None else self._chat.since(number_of(after) or 0)
        return [(str(each), data) for each, data in things]

    async def _say(self, request: web.Request, chat: Conversing) -> web.Response:
        if request.method != "POST":
            raise _RefusedRequestError(405, "Lines of the chat are posted.")
        if "Origin" not in request.headers or request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            raise _RefusedRequestError(403, "Only the chat's own page may post.")
        if request.content_type != "application/json":
            raise _RefusedRequestError(415, "Post JSON.")
        if not chat.put(await _line_of(request)):
            raise _RefusedRequestError(429, "Lines are waiting already. Wait for the reply.")
        return web.json_response({"taken": True})


async def _line_of(request: web.Request) -> str:
    try:
        text = (await request.read()).decode("utf-8")
        body = json.loads(text, parse_constant=refuse_constant, object_pairs_hook=unique_keys)
    except web.HTTPRequestEntityTooLarge:
        raise _RefusedRequestError(413, f"The body is larger than {MAX_BODY:,} bytes.") from None
    except (ValueError, RecursionError, ClientPayloadError, RequestPayloadError):
        raise _RefusedRequestError(400, "The body is not JSON in UTF-8.") from None
    if not isinstance(body, dict) or body.keys() != {"line"} or not isinstance(body["line"], str):
        raise _RefusedRequestError(400, 'Post {"line": TEXT}.')
    return body["line"]


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=True, separators=(",", ":"))


async def _protect(_request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)


def _silent_logger() -> logging.Logger:
    """For aiohttp's server, which logs a malformed request as it came, with a token that may stand in it."""
    logger = logging.getLogger(__name__)
    logger.setLevel(logging.CRITICAL + 1)
    return logger


@asynccontextmanager
async def serving(
    runs: LocalRuns,
    tail: EventTail,
    *,
    warn: Callable[[str], None],
    port: int = 0,
    page: str = "index.html",
    chat: Conversing | None = None,
) -> AsyncIterator[tuple[ViewAddress, Callable[[], None]]]:
    """Serve the pages as long as the context is open.

    Args:
        warn: called with what could not be shown.
        port: 0 for a free one.
        page: that is shown first.

    Returns:
        Their address, and what wakes the readers of the chat.

    Raises:
        UsageError: the port cannot be used.
    """
    server = _ViewServer(runs, tail, chat, page, warn)
    runner, listening, address = await server.start(port)
    following = asyncio.create_task(server.follow())
    try:
        yield address, server.tell
    finally:
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following
        server.end()
        listening.close()
        await runner.cleanup()
        tail.close()
