"""A system's server in a container: built from one side's files, started for each conversation, reached by a relay."""

import asyncio
import contextlib
import functools
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode, urljoin, urlsplit

from ratiba_action.config.system_kinds import DATABASE_PORT, PORT, ContainerBlock
from ratiba_action.errors import ImageError, SystemRaisedError, WorkerError
from ratiba_action.model.conversation import Reply, ReportedUsage
from ratiba_action.model.plan import Tenant
from ratiba_action.model.scenario import Turn
from ratiba_action.ports import ContainerEngine, Pod, RunningContainer, Session
from ratiba_action.systems.dialogue import hide
from ratiba_action.systems.link import describe_end
from ratiba_action.util.dsn import passwords_in
from ratiba_action.util.text import printable_lines
from ratiba_action.worker.http_call import AnswerError, call
from ratiba_action.worker.program_output import error_first
from ratiba_action.worker.relay import LOOPBACK, Relay

_CORRECT = "Correct the server or its Dockerfile, or `system.container` in the configuration."
_SHOWN = 2_000
_POLL_SECONDS = 0.05
_ANSWER_SECONDS = 5.0
_END_SECONDS = 0.3
_RELAY_SECONDS = 60.0
_OTHER_PORTS = range(20_000, 20_020)
"""Of which one is the gateway's inside where its own is a container's; a system has at most ten ports."""
Connect = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


class ContainerServer:
    """The server of one side's files.

    Args:
        block: how it is built and started.
        address: of the system, with the place of the port.
        environment: that the configuration gives it.
    """

    def __init__(
        self, engine: ContainerEngine, block: ContainerBlock, address: str, environment: Mapping[str, str]
    ) -> None:
        self._engine, self._block, self._address, self._environment = engine, block, address, dict(environment)
        self._image = ""
        self._running: set[RunningServer] = set()

    async def prepare(self, folder: Path) -> None:
        """Build the image, or see that a named one is there; what was built before is removed.

        Args:
            folder: the side's files.

        Raises:
            ImageError: the image cannot be built.
            WorkerError: Docker cannot be used, or an image not be had.
        """
        block = self._block
        await self._engine.prepare()
        for service in block.services.values():
            await self._engine.pull(service.image)
        if block.image is not None:
            await self._engine.pull(block.image)
            self._image = block.image
            return
        built, self._image = self._image, ""
        if built:
            await self._engine.discard(built)
        context = folder / (block.build or ".")
        if not (context / block.dockerfile).is_file():
            where = "" if block.build in (None, ".") else f" in {block.build!r}"
            raise ImageError(f"there is no {block.dockerfile!r}{where} to build.", "Correct `system.container`.")
        self._image = await self._engine.build(context, block.dockerfile, block.build_seconds)

    async def migrate(self, dsn: str) -> None:
        """Run the command that creates the tables, in a pod for that alone.

        Raises:
            WorkerError: it failed; says what it printed.
        """
        block = self._block
        if block.migrate is None or not dsn:
            return
        started = await self._start({}, Tenant("", "", dsn), passwords_in(dsn), block.migrate)
        try:
            code = await started.program.wait(block.seconds)
            if code != 0:
                how = f"did not end within {block.seconds:g} s" if code is None else describe_end(code)
                raise WorkerError(f"`container.migrate` {how}{await started.printed()}", _CORRECT)
        finally:
            await self._end(started)

    async def start(
        self, environment: Mapping[str, str], tenant: Tenant, secrets: Sequence[str] = ()
    ) -> "RunningServer":
        """Start the server of a conversation, and wait until it is ready; end it with ``end``.

        Args:
            environment: the gateway's address and the conversation's token; what the configuration gives wins.
            tenant: whose database it finds in DATABASE_URL.
            secrets: texts that must not appear in a message.

        Raises:
            WorkerError: it cannot be started, ended, or was not ready in time; says what it printed.
        """
        started = await self._start(environment, tenant, secrets)
        try:
            await started.await_ready(self._block.ready, self._block.seconds)
        except BaseException:
            await self._end(started)
            raise
        return started

    async def _start(
        self, environment: Mapping[str, str], tenant: Tenant, secrets: Sequence[str], command: Sequence[str] = ()
    ) -> "RunningServer":
        block = self._block
        ports = [block.port, *(service.port for service in block.services.values())]
        environment, inside, targets = self._reachable(environment, tenant, {*ports, DATABASE_PORT})
        pod = await self._engine.open_pod(targets, ports)
        relay = Relay(pod.reader, pod.writer, targets, first=1)
        started = RunningServer(pod, relay, block.port, inside, secrets)
        started.ended = functools.partial(self._end, started)
        self._running.add(started)
        try:
            await started.await_relay()
            for name, service in block.services.items():
                await started.add_service(
                    name, await pod.run(service.image, service.environment), service.port, block.seconds
                )
            given = {**environment, **({"DATABASE_URL": inside.dsn} if inside.dsn else {})}
            given = {name: value for name, value in given.items() if name not in self._environment}
            own = {name: value.replace(PORT, str(block.port)) for name, value in self._environment.items()}
            everything = {"PORT": str(block.port), **own, **given}
            started.program = await pod.run(self._image, everything, command, secrets=frozenset(given))
            if not command:
                port = await relay.listen(0, block.port)
                started.address = self._address.replace(PORT, str(port))
        except BaseException:
            await self._end(started)
            raise
        return started

    def _reachable(
        self, environment: Mapping[str, str], tenant: Tenant, taken: Collection[int]
    ) -> tuple[Mapping[str, str], Tenant, Mapping[int, Connect]]:
        """The environment and the tenant as they are inside, and what is reached there, by its port inside.

        Args:
            taken: ports of the containers; a gateway whose random port is one of them has another one inside.
        """
        targets: dict[int, Connect] = {}
        chosen: dict[int, int] = {}
        given = {}
        for name, value in environment.items():
            parts = urlsplit(value) if value.startswith("http://") else None
            port = parts.port if parts is not None and parts.hostname == LOOPBACK else None
            if parts is not None and port:
                free = (each for each in (port, *_OTHER_PORTS) if each not in taken and each not in targets)
                inside = chosen[port] = chosen.get(port) or next(free)
                targets[inside] = functools.partial(asyncio.open_connection, LOOPBACK, port)
                parts = parts._replace(netloc=f"{LOOPBACK}:{inside}")
            given[name] = parts.geturl() if parts is not None and port else value
        if not tenant.dsn:
            return given, tenant, targets
        dsn, targets[DATABASE_PORT] = reached_inside(tenant.dsn)
        return given, replace(tenant, dsn=dsn), targets

    async def _end(self, started: "RunningServer") -> None:
        self._running.discard(started)
        await started.stop()

    async def close(self) -> None:
        """End every container, and remove the image if it was built; may be called twice."""
        try:
            await asyncio.gather(*(self._end(started) for started in list(self._running)))
        finally:
            image, self._image = self._image, ""
            if image and self._block.image is None:
                await self._engine.discard(image)


def reached_inside(dsn: str) -> tuple[str, Connect]:
    """A tenant's URL as it is reached in a pod, and what connects to its server."""
    parts = urlsplit(dsn)
    query = dict(parse_qsl(parts.query))
    host = (query.pop("host", "") or parts.hostname or LOOPBACK).split(",")[0]
    port = int((query.pop("port", "") or str(parts.port or DATABASE_PORT)).split(",")[0])
    user, _, _ = parts.netloc.rpartition("@")
    inside = parts._replace(netloc=f"{user}@{LOOPBACK}:{DATABASE_PORT}", query=urlencode(query, quote_via=quote))
    if host.startswith("/"):
        return inside.geturl(), functools.partial(asyncio.open_unix_connection, f"{host}/.s.PGSQL.{port}")
    return inside.geturl(), functools.partial(asyncio.open_connection, host, port)


class RunningServer:
    """The server of one conversation.

    Args:
        port: that it listens on inside.
        tenant: as it is reached from inside.
        secrets: texts that must not appear in what it printed.

    Attributes:
        address: of the system, for whoever speaks with it.
        program: its container.
        ended: ends it.
    """

    program: RunningContainer
    ended: Callable[[], Awaitable[None]]

    def __init__(self, pod: Pod, relay: Relay, port: int, tenant: Tenant, secrets: Sequence[str]) -> None:
        self._pod, self._relay, self._port, self._secrets = pod, relay, port, tuple(secrets)
        self.tenant, self.address = tenant, ""
        self._carrying = asyncio.create_task(relay.run())

    def carry(self, session: Session) -> "ContainerSession":
        """The conversation that a session holds with this server; its end is the server's."""
        return ContainerSession(session, self)

    async def await_relay(self) -> None:
        """Wait until the relay listens.

        Raises:
            WorkerError: it did not; says why.
        """
        greeted = False
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_RELAY_SECONDS):
                greeted = await self._relay.greeted()
        if not greeted:
            raise WorkerError(
                f"the container of the relay cannot be started. Docker printed: {await self._pod.output()}"
            )

    async def add_service(self, name: str, program: RunningContainer, port: int, seconds: float) -> None:
        """Wait until a service listens.

        Raises:
            WorkerError: it ended, or did not in time; says what it printed.
        """
        await self._await(f"the service {name!r}", program, seconds, functools.partial(self._not_listening, port))

    async def await_ready(self, path: str | None, seconds: float) -> None:
        """Wait until the server listens, and answers a path if there is one.

        Raises:
            WorkerError: it ended, or was not ready in time; says what it printed.
        """

        async def problem() -> str:
            return await self._not_listening(self._port) or (await self._not_ready(path) if path else "")

        await self._await("the container", self.program, seconds, problem)

    async def _await(
        self, what: str, program: RunningContainer, seconds: float, problem: Callable[[], Awaitable[str]]
    ) -> None:
        deadline = time.monotonic() + seconds
        while found := await self._within(seconds, problem):
            if program.exit_code is not None:
                raise WorkerError(
                    f"{what} {describe_end(program.exit_code)} before it was ready{await self.printed(program)}",
                    _CORRECT,
                )
            if time.monotonic() >= deadline:
                raise WorkerError(f"{what} {found} within {seconds:g} s{await self.printed(program)}", _CORRECT)
            await asyncio.sleep(_POLL_SECONDS)

    @staticmethod
    async def _within(seconds: float, problem: Callable[[], Awaitable[str]]) -> str:
        """What is wrong so far; a server, or whoever ended the relay, may never answer."""
        try:
            async with asyncio.timeout(seconds):
                return await problem()
        except TimeoutError:
            return "did not answer"

    async def _not_listening(self, port: int) -> str:
        return "" if await self._relay.connects(port) else f"did not listen on port {port}"

    async def _not_ready(self, path: str) -> str:
        address = urljoin(self.address, path)
        try:
            await asyncio.to_thread(call, "GET", address, {}, None, seconds=_ANSWER_SECONDS)
        except AnswerError as problem:
            return f"was not ready: {problem},"
        return ""

    async def require(self, *, failed: bool = False) -> None:
        """Make sure that it runs.

        Args:
            failed: it has just failed to answer, so it may be about to end.

        Raises:
            WorkerError: it has ended; says what it printed.
        """
        code = self.program.exit_code if not failed else await self.program.wait(_END_SECONDS)
        if code is not None:
            how = f"the container {describe_end(code)} in the middle of a conversation"
            raise WorkerError(f"{how}{await self.printed()}", _CORRECT)

    async def printed(self, program: RunningContainer | None = None) -> str:
        """What the server or a service printed last, as the end of a message."""
        text = hide(await (program or self.program).output(), self._secrets)
        shown = error_first(printable_lines(text), _SHOWN)
        return f". It printed last: {shown}" if shown else ". It printed nothing"

    async def stop(self) -> None:
        """End every container; may be called twice."""
        self._relay.close()
        await self._pod.end()
        self._carrying.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._carrying


class ContainerSession:
    """Implements ``Session``: a conversation with a server in a container of its own.

    Args:
        session: speaks with it.
    """

    def __init__(self, session: Session, server: RunningServer) -> None:
        self._session, self._server = session, server

    @property
    def reported_usage(self) -> Sequence[ReportedUsage]:
        """See ``Session``."""
        return self._session.reported_usage

    async def send(self, turn: Turn) -> Reply:
        """Deliver a turn and wait for the reply.

        Raises:
            WorkerError: see ``WorkerSession``; or the container has ended, with what it printed.
        """
        await self._server.require()
        try:
            reply = await self._session.send(turn)
        except SystemRaisedError:
            raise
        except WorkerError as problem:
            await self._server.require(failed=True)
            printed = await self._server.printed()
            raise type(problem)(f"{problem.problem.removesuffix('.')}{printed}", problem.remedy) from problem
        await self._server.require()
        return reply

    async def close(self) -> None:
        """End the conversation and its containers; may be called twice."""
        try:
            await self._session.close()
        finally:
            await self._server.ended()
