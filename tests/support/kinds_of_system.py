"""One small system in every form that a configuration can describe, and the ways in which it misbehaves.

It answers each message with the message and how many it has heard in this conversation. A message that is one of
``FAULTS`` makes it misbehave in place of that.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.http_stand_in import HttpAnswer, HttpRequest, HttpStandIn, http_answer
from tests.support.kinds_of_framework import FRAMEWORK_SYSTEMS

FAULTS = ("fail", "hang", "long", "garbage", "end")
"""It raises, never answers, answers without end, answers what is no reply, ends."""

_BRAIN = """
import os, sys, time

def speak(message, count):
    if message == "fail":
        raise LookupError("the slot is gone")
    if message == "hang":
        time.sleep(3600)
    if message == "long":
        return {"text": "x" * 2_000_000}
    if message == "garbage":
        return {"text": ["no text"], "unknown": 1}
    if message == "end":
        os._exit(3)
    return {"text": f"{message} {count}"}
"""
_CLASS = """
from brain import speak

class Adapter:
    def open(self, context):
        return Conversation()

class Conversation:
    count = 0
    async def send(self, message):
        self.count += 1
        return speak(message, self.count)
    def deliver(self, event):
        return self.send(event["type"])
"""
_FUNCTION = """
from brain import speak

async def answer(message, history):
    return speak(message, len(history) // 2 + 1)
"""
_COMMAND = """
import json, sys
from brain import speak

count = 0
for line in sys.stdin:
    request = json.loads(line)
    count += 1
    said = request["message"] if "message" in request else request["event"]["type"]
    print(json.dumps(speak(said, count)), flush=True)
"""


@dataclass(frozen=True, slots=True)
class DescribedSystem:
    """A system that is described by a configuration.

    Args:
        block: its ``system`` block.
        environment: what a conversation of it is given.
        event_refusal: what it says of an event; None: it takes them.
        faults: how it can misbehave.
    """

    block: Mapping[str, Any]
    environment: Mapping[str, str] = field(default_factory=dict)
    event_refusal: str | None = None
    faults: tuple[str, ...] = FAULTS


@asynccontextmanager
async def describe_system(kind: str, folder: Path) -> AsyncIterator[DescribedSystem]:
    """Write the system's files and start what it needs elsewhere.

    Args:
        kind: one of ``KINDS_OF_SYSTEM``.
        folder: the system's root.
    """
    (folder / "brain.py").write_text(_BRAIN)
    if kind in _FILES:
        name, source, block, refusal = _FILES[kind]
        (folder / name).write_text(source)
        yield DescribedSystem(block, event_refusal=refusal)
    elif kind == "replay":
        _write_transcripts(folder / "transcripts")
        yield DescribedSystem({"replay": {"transcripts": "transcripts"}}, faults=("fail", "garbage", "end"))
    else:
        async with HttpStandIn(_Elsewhere(_WRITTEN[kind]).handle) as server:
            yield _elsewhere(kind, server.url)


_MESSAGES_ONLY = "messages only, not the event 'payment'"
_FILES: Mapping[str, tuple[str, str, Mapping[str, Any], str | None]] = {
    "class": ("assistant.py", _CLASS, {"adapter": "assistant:Adapter", "database": False}, None),
    "function": ("assistant.py", _FUNCTION, {"adapter": "assistant:answer", "database": False}, _MESSAGES_ONLY),
    "command": ("bot.py", _COMMAND, {"command": ["python3", "bot.py"]}, None),
    **{name: ("assistant.py", one.source, one.block, one.event_refusal) for name, one in FRAMEWORK_SYSTEMS.items()},
}


def _elsewhere(kind: str, url: str) -> DescribedSystem:
    if kind == "url":
        return DescribedSystem({"url": url, "database": False})
    if kind == "prompt":
        prompt = {"file": "brain.py", "provider": "anthropic", "model": "some-model", "max_output_tokens": 100}
        environment = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "token-of-the-gateway"}
        return DescribedSystem({"prompt": prompt}, environment, event_refusal=_MESSAGES_ONLY)
    block: dict[str, Any] = {"url": url, "body": {"said": "${message}", "before": "${history}", "event": "${event}"}}
    if kind == "stream":
        block["stream"] = {"text": "piece", "end": "[DONE]"}
    else:
        block["reply"] = {"text": "answer.text"}
    return DescribedSystem({"http": block})


def _write_transcripts(folder: Path) -> None:
    folder.mkdir()
    whole = b"".join(json.dumps({"text": f"{word} {count}"}).encode() + b"\n" for count, word in enumerate("abc", 1))
    (folder / "spa.jsonl").write_bytes(whole)
    (folder / "salon.jsonl").write_bytes(whole)
    (folder / "garbage.jsonl").write_bytes(b'{"text": ["no text"]}\n\xff\xfe\n')
    (folder / "end.jsonl").write_bytes(b"")


class _Elsewhere:
    """The server of a system that runs elsewhere, or of its model.

    Args:
        written: the content of an answer that says a text.
    """

    def __init__(self, written: Callable[[str], bytes]) -> None:
        self._written = written
        self._opened = 0
        self._heard: dict[str, int] = {}

    async def handle(self, request: HttpRequest) -> HttpAnswer:
        """Answer, or misbehave as the message asks."""
        body = json.loads(request.content or b"{}")
        if request.path.endswith(("/conversations", "/close", "/migrate")):
            self._opened += 1
            return _answered(json.dumps({"id": str(self._opened)}).encode())
        text, count = self._understood(request.path, body)
        if text == "fail":
            return HttpAnswer(http_answer(500, b"the slot is gone", {}))
        if text == "hang":
            await asyncio.Event().wait()
        if text == "long":
            return _answered(self._written("x" * 2_000_000))
        if text == "garbage":
            return _answered(b"\xff\xfe{ no JSON")
        whole = _answered(self._written(f"{text} {count}"))
        return HttpAnswer(whole.content, stop_after=len(whole.content) - 5) if text == "end" else whole

    def _understood(self, path: str, body: Mapping[str, Any]) -> tuple[str, int]:
        if "messages" in body:
            return body["messages"][-1]["content"], len(body["messages"]) // 2 + 1
        self._heard[path] = self._heard.get(path, 0) + 1
        text = body.get("said") or body.get("message") or body["event"]["type"]
        before = body.get("before")
        return text, self._heard[path] if before is None else sum(one["role"] == "user" for one in before) + 1


def _answered(content: bytes) -> HttpAnswer:
    return HttpAnswer(http_answer(200, content, {"Content-Type": "application/json"}))


def _events(text: str) -> bytes:
    pieces = "".join(f"data: {json.dumps({'piece': piece})}\n\n" for piece in (text[:1], text[1:]))
    return (": a comment\n\n" + pieces + "data: [DONE]\n\n").encode()


_WRITTEN: Mapping[str, Callable[[str], bytes]] = {
    "url": lambda text: json.dumps({"text": text}).encode(),
    "http": lambda text: json.dumps({"answer": {"text": text}}).encode(),
    "stream": _events,
    "prompt": lambda text: json.dumps({"content": [{"type": "text", "text": text}]}).encode(),
}
KINDS_OF_SYSTEM = (*_FILES, *_WRITTEN, "replay")
