"""Stand-ins for the providers on loopback: they speak the wire formats, check the key and answer from a script."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from ratiba_action.core.canonical import digest
from ratiba_action.gateway.anthropic_message import anthropic_message
from ratiba_action.gateway.openai_message import chat_completion
from ratiba_action.gateway.script import Step, estimated_usage


@dataclass(frozen=True, slots=True)
class Failure:
    """An HTTP error in place of an answer."""

    status: int
    message: str = "scripted failure"


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it arrived."""

    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: Mapping[str, Any]


class ModelServer:
    """Both providers on one port, not streaming; an async context manager.

    Args:
        script: what is answered, in order; past its end every request fails with status 500.
        key: the only API key that is let in.
    """

    def __init__(self, script: Sequence[Step | Failure], key: str) -> None:
        self._script = list(script)
        self._key = key
        self._runner: web.AppRunner | None = None
        self._received: list[Received] = []
        self._url = ""

    @property
    def url(self) -> str:
        """Base address, without a path; OpenAI's base URL is this with ``/v1``."""
        return self._url

    @property
    def received(self) -> tuple[Received, ...]:
        """Every request that was let in, in order."""
        return tuple(self._received)

    async def __aenter__(self) -> Self:
        application = web.Application()
        application.router.add_post("/v1/messages", self._anthropic)
        application.router.add_post("/v1/chat/completions", self._openai)
        self._runner = web.AppRunner(application, access_log=None, handle_signals=False)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self._url = f"http://{host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _anthropic(self, request: web.Request) -> web.Response:
        step, body, seed = await self._take(request)
        if isinstance(step, Failure):
            error = {"type": "error", "error": {"type": "api_error", "message": step.message}}
            return web.json_response(error, status=step.status)
        usage = step.usage or estimated_usage(step, body)
        return web.json_response(dict(anthropic_message(step, body["model"], seed, usage)))

    async def _openai(self, request: web.Request) -> web.Response:
        step, body, seed = await self._take(request)
        if isinstance(step, Failure):
            error = {"message": step.message, "type": "server_error", "param": None, "code": None}
            return web.json_response({"error": error}, status=step.status)
        usage = step.usage or estimated_usage(step, body)
        return web.json_response(dict(chat_completion(step, body["model"], seed, usage)))

    async def _take(self, request: web.Request) -> tuple[Step | Failure, dict[str, Any], str]:
        offered = {request.headers.get("x-api-key"), request.headers.get("Authorization", "").removeprefix("Bearer ")}
        if self._key not in offered:
            return Failure(401, "invalid x-api-key"), {}, ""
        body = json.loads(await request.read())
        self._received.append(Received(request.path, dict(request.headers), body))
        step = self._script.pop(0) if self._script else Failure(500, "the script is at its end")
        return step, body, digest([len(self._received), body])
