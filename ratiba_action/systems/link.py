"""The gate's end of one worker process: one request, one answer, a time-out, and a certain end."""

import asyncio
import json
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from ratiba_action.errors import ConfigurationError, WorkerEndedError, WorkerError, WorkerTimeoutError
from ratiba_action.model.values import JsonObject
from ratiba_action.systems.dialogue import (
    decode_line,
    describe_error,
    describe_missing,
    describe_raised,
    describe_unusable,
    hide,
    remedy_of_server,
    setup_of_missing,
)
from ratiba_action.util.text import printable_lines
from ratiba_action.worker.program_output import error_first

KEPT_BYTES = 8192
_CORRECT_ADAPTER = "Correct `system.adapter`, `system.root`, `system.python` or the code of the system."
LAG_SECONDS = 1.0
_KILLED = 128 + signal.SIGKILL


class OutputTail(asyncio.Protocol):
    """The last bytes that came through a pipe; made by ``open_output``."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._ended = asyncio.Event()
        self._transport: asyncio.ReadTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember the transport."""
        self._transport = cast("asyncio.ReadTransport", transport)

    def data_received(self, data: bytes) -> None:
        """Keep the end of what came so far."""
        self._kept += data
        del self._kept[:-KEPT_BYTES]

    def connection_lost(self, _problem: Exception | None) -> None:
        """Note that nothing more will come."""
        self._ended.set()

    async def text(self) -> str:
        """The last 8 KiB, once every writer is gone or soon after."""
        try:
            async with asyncio.timeout(LAG_SECONDS):
                await self._ended.wait()
        except TimeoutError:
            pass
        return self._kept.decode("utf-8", "replace").strip()

    def close(self) -> None:
        """Stop reading."""
        if self._transport is not None:
            self._transport.close()


async def open_output() -> tuple[OutputTail, int]:
    """A pipe's tail and the descriptor to write to, which the caller closes once it is handed on."""
    reading, writing = os.pipe()
    tail = OutputTail()
    await asyncio.get_running_loop().connect_read_pipe(lambda: tail, os.fdopen(reading, "rb", buffering=0))
    return tail, writing


MAX_ANSWER = 1024 * 1024
GRACE_SECONDS = 1.0
END_SECONDS = 10.0
SHOWN_OUTPUT = 2000
TURNS = ("send", "deliver")
JudgeCall = Callable[[Any], Awaitable[JsonObject]]
"""Answers a question that a process asks; what it is given is untrusted."""


class Link:
    """One process of the worker; made by ``open_link``.

    Args:
        name: what the process is for, in words, such as ``scenario 'x'``.
        leash: its end ends the process; the exit code comes back on it.
        secrets: texts that must not appear in a message.
    """

    def __init__(
        self,
        name: str,
        channel: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        leash: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        output: OutputTail,
        secrets: Sequence[str],
    ) -> None:
        self._name = name
        self._answers, self._requests = channel
        self._status, self._leash = leash
        self._output = output
        self._secrets = secrets
        self._count = 0
        self._open = True

    @property
    def open(self) -> bool:
        """Whether requests can still be made."""
        return self._open

    async def request(
        self,
        operation: str,
        fields: Mapping[str, Any],
        timeout: float,  # noqa: ASYNC109 - the message names it
        judge: JudgeCall | None = None,
    ) -> Any:
        """Ask the process to do something, and wait for its answer.

        Args:
            timeout: seconds until the answer, and between two questions to a judge.
            judge: answers the process's own questions; what it raises ends the process and is raised here.

        Raises:
            ConfigurationError: there is no such adapter, which a migration finds out.
            WorkerError: the adapter raised; or the process hung, ended or broke the protocol, and was ended for it.
        """
        if not self._open:
            raise WorkerError(f"{self._name}: {operation}() cannot be asked, the worker process has ended.")
        self._count += 1
        request = self._encode(operation, {"id": self._count, "op": operation, **fields})
        answered = False
        try:
            answer = self._decode(await self._exchange(operation, request, timeout))
            while judge is not None and answer.get("id") == self._count and answer.keys() == {"id", "judge"}:
                body = {"id": self._count, "judge": await judge(answer["judge"])}
                answer = self._decode(await self._exchange(operation, self._encode(operation, body), timeout))
            answered = answer.get("id") == self._count and ("answer" in answer) != ("error" in answer)
            if not answered:
                raise WorkerError(f"{self._name}: the worker's answer to {operation}() does not belong to it.")
        finally:
            if not answered:  # cancellation too: a late answer must never be taken for the next one
                await self.end()
        if "error" in answer:
            if operation == "migrate" and (missing := describe_missing(answer["error"], self._secrets)):
                remedy = f"{setup_of_missing(answer['error'])}{_CORRECT_ADAPTER}"
                raise ConfigurationError(f"The system's adapter cannot be loaded: {missing}.", remedy)
            if unusable := describe_unusable(answer["error"], self._secrets):
                remedy = remedy_of_server(answer["error"])
                missing = setup_of_missing(answer["error"])
                raise WorkerError(f"{self._name}: {missing}the system gave no usable answer: {unusable}", remedy)
            described = describe_error(answer["error"], self._secrets)
            missing = setup_of_missing(answer["error"])
            problem = f"{self._name}: {missing}{operation}() of the adapter raised {described}"
            raised = describe_raised(answer["error"], problem, self._secrets) if operation in ("open", *TURNS) else None
            raise raised or WorkerError(problem)
        return answer["answer"]

    async def _exchange(self, operation: str, request: bytes, seconds: float) -> bytes:
        try:
            async with asyncio.timeout(seconds):
                self._requests.write(request)
                await self._requests.drain()
                line = await self._answers.readline()
        except TimeoutError as problem:
            raise WorkerTimeoutError(
                f"{self._name}: {operation}() gave no answer within {seconds:g} s; its process was ended.",
                "Find what it waits for" + (", or raise `system.turn_timeout_seconds`." if operation in TURNS else "."),
            ) from problem
        except ValueError as problem:
            raise WorkerError(
                f"{self._name}: the answer to {operation}() is longer than {MAX_ANSWER} bytes; it was not read."
            ) from problem
        except ConnectionError:
            line = b""
        if not line.endswith(b"\n"):
            raise WorkerEndedError(f"{self._name}: {await self._how_it_ended(operation)}")
        return line

    def _encode(self, operation: str, request: Mapping[str, Any]) -> bytes:
        try:
            return json.dumps(request, allow_nan=False).encode("ascii") + b"\n"
        except (TypeError, ValueError) as problem:
            raise WorkerError(
                f"{self._name}: what {operation}() is to be given cannot be sent: {problem}.",
                "Use text, numbers, lists and objects in the scenario's `event`.",
            ) from problem

    def _decode(self, line: bytes) -> JsonObject:
        try:
            return decode_line(line)
        except WorkerError as problem:
            raise WorkerError(f"{self._name}: {hide(problem.problem, self._secrets)}") from problem

    async def _how_it_ended(self, operation: str) -> str:
        try:
            async with asyncio.timeout(GRACE_SECONDS):
                status = await self._status.readline()
        except TimeoutError:
            return f"the worker process closed its connection to the gate in {operation}(), and was ended."
        try:
            code = int(json.loads(status)["exit"])
            how = describe_end(code)
        except (ValueError, KeyError, TypeError):
            how = "was ended together with its supervisor"
        shown = error_first(printable_lines(hide(await self._output.text(), self._secrets))[-SHOWN_OUTPUT:])
        return f"the worker process {how} before it answered {operation}()." + (
            f" It printed: {shown}" if shown else ""
        )

    async def end(self) -> None:
        """End the process and everything that it started; may be called twice."""
        if not self._open:
            return
        self._open = False
        try:
            self._leash.write_eof()
            async with asyncio.timeout(END_SECONDS):
                await self._status.read()
        except (OSError, TimeoutError):
            pass  # its guardian ends it with the whole tree
        finally:
            for writer in (self._requests, self._leash):
                writer.close()
            self._output.close()


def describe_end(code: int) -> str:
    """How a process ended, such as ``was ended by SIGSEGV``.

    Args:
        code: its exit code, to which a guardian and a shell add 128 for a signal, or less than 0 the signal itself.
    """
    memory = " (the kernel sends SIGKILL when memory runs out)"
    if code >= 0:
        return f"ended with exit code {code}{memory if code == _KILLED else ''}"
    if -code not in {*signal.Signals}:  # a real-time signal has no name
        return f"was ended by signal {-code}"
    return f"was ended by {signal.Signals(-code).name}{memory if -code == signal.SIGKILL else ''}"


async def open_link(control: socket.socket, name: str, secrets: Sequence[str]) -> Link:
    """Have the fork server make a process, and connect to it.

    Args:
        secrets: texts that must not appear in a message.

    Raises:
        WorkerError: the fork server is gone.
    """
    channel, far_channel = socket.socketpair()
    leash, far_leash = socket.socketpair()
    output, writing = await open_output()
    try:
        socket.send_fds(control, [b"+"], [far_channel.fileno(), writing, far_leash.fileno()])
    except OSError as problem:
        channel.close()
        leash.close()
        output.close()
        raise WorkerError(f"{name}: the worker's fork server is gone: {problem}.") from problem
    finally:
        far_channel.close()
        far_leash.close()
        os.close(writing)
    return Link(
        name,
        await asyncio.open_unix_connection(sock=channel, limit=MAX_ANSWER),
        await asyncio.open_unix_connection(sock=leash),
        output,
        secrets,
    )
