"""As little of a provider as ``judging.py`` needs, in a process of its own: ``provider_stand_in.py SECONDS ANSWER``.

``GET /times`` tells when the first request came and the last answer went since it was asked before: seconds of
``time.monotonic``, which all processes of a machine share.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

GRADE = '{"reason": "It reads as a fluent speaker writes, and the greeting is answered.", "score": 9}'


@contextmanager
def stand_in(latency: float) -> Iterator[str]:
    """The address of a stand-in with a latency."""
    command = [sys.executable, str(Path(__file__)), str(latency), GRADE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


async def serve(latency: float, grade: str) -> None:
    """Answer every request with the grade after so many seconds, until the process is ended; print the port."""
    tokens = {"input_tokens": 1_200, "output_tokens": 60}
    anthropic = {"type": "message", "role": "assistant", "model": "judge", "stop_reason": "end_turn", "usage": tokens}
    message = {"role": "assistant", "content": grade, "refusal": None}
    openai = {
        "object": "chat.completion",
        "model": "judge",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1_200, "completion_tokens": 60, "total_tokens": 1_260},
    }
    answers = {
        b"/v1/messages": _http({**anthropic, "id": "msg_1", "content": [{"type": "text", "text": grade}]}),
        b"/v1/chat/completions": _http({**openai, "id": "chatcmpl-1"}),
    }
    server = await asyncio.start_server(partial(_converse, answers, latency, []), "127.0.0.1", 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def _converse(
    answers: dict[bytes, bytes],
    latency: float,
    times: list[float],
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            target = head.split(b" ", 2)[1]
            if target == b"/times":
                writer.write(_http([min(times), max(times)] if times else []))
                times.clear()
                continue
            times.append(time.monotonic())
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
            await reader.readexactly(int(fields[b"content-length"]))
            if latency:
                await asyncio.sleep(latency)
            writer.write(answers[target])
            await writer.drain()
            times.append(time.monotonic())
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def _http(body: Any) -> bytes:
    text = json.dumps(body).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(text), text)


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1]), sys.argv[2]))
