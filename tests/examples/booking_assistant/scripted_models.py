"""A loopback server that speaks both providers' wire formats and answers from a script, in order."""

import json
from collections import deque
from typing import Any

from aiohttp import web


class ScriptedModels:
    """Answers the classifier's and the orchestrator's calls.

    Attributes:
        understandings: the classifier's answers: a dict becomes its JSON, a string goes out as it is.
        replies: the orchestrator's answers; a number goes out as an HTTP error of that status.
        requests: the bodies that came in.
    """

    def __init__(self) -> None:
        self.understandings: deque[dict[str, Any] | str] = deque()
        self.replies: deque[str | int] = deque()
        self.requests: list[dict[str, Any]] = []
        self._runner: web.AppRunner | None = None
        self.url = ""

    async def start(self) -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._chat_completion)
        app.router.add_post("/v1/messages", self._message)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _chat_completion(self, request: web.Request) -> web.Response:
        self.requests.append(await request.json())
        script = self.understandings.popleft()
        answer = script if isinstance(script, str) else json.dumps(script)
        return web.json_response(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1,
                "model": self.requests[-1]["model"],
                "choices": [
                    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}},
                ],
                "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
            },
        )

    async def _message(self, request: web.Request) -> web.Response:
        self.requests.append(await request.json())
        reply = self.replies.popleft() if self.replies else "Sawa."
        if isinstance(reply, int):
            return web.json_response({"type": "error", "error": {"type": "api_error", "message": "no"}}, status=reply)
        return web.json_response(
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": self.requests[-1]["model"],
                "content": [{"type": "text", "text": reply}],
                "stop_reason": "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 10, "output_tokens": 5},
            },
        )
