"""Requests that a hostile system sends to the gateway: bytes that are no HTTP, and JSON that asks for what costs more."""

import asyncio
import json
import random
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from fuzz.case import Case
from fuzz.in_process import captured
from fuzz.provider_answers import random_answer, require_paid
from ratiba_action.llm.access import ScenarioAccess
from ratiba_action.llm.answers import LiveAnswers
from ratiba_action.llm.providers.metered import CallRetryPolicy
from ratiba_action.llm.server import Gateway
from tests.support.live_calls import KEY, MODELS, live_calls
from tests.support.model_servers import Received
from tests.support.provider_faults import Served

PATHS = ("messages", "chat/completions", "responses", "embeddings")
BILLED_OTHERWISE = (
    "o3-deep-research", "gpt-4o-search-preview", "gpt-4o-audio-preview", "gpt-image-1", "dall-e-3", "tts-1", "sora-2",
    "whisper-1", "gpt-realtime",
)  # fmt: skip
"""Models that bill searches, sound, images or minutes."""

DEAR_MODELS = (
    *BILLED_OTHERWISE,
    "claude-opus-5-5",
    "CLAUDE-OPUS-5-5",
    "openai/claude-opus-5-5",
    "gpt-5.2-pro",
    "",
    " ",
)
RUN_BY_PROVIDER = (
    "web_search", "web_search_preview", "web_search_20250305", "web_fetch_20250910", "code_interpreter", "file_search",
    "code_execution_20250825", "computer_use_preview", "image_generation", "mcp", "local_shell", "computer_20250124",
)  # fmt: skip
FIELDS = (
    "tools", "tool_choice", "service_tier", "modalities", "audio", "web_search_options", "n", "background", "store",
    "prediction", "mcp_servers", "container", "include", "previous_response_id", "conversation", "prompt", "speed",
    "reasoning", "reasoning_effort", "thinking", "metadata", "stop", "logprobs", "seed", "stream", "stream_options",
    "response_format", "betas", "context_management", "parallel_tool_calls", "truncation", "max_tokens", "best_of",
    "max_completion_tokens", "max_output_tokens", "messages", "input", "system", "instructions", "model", "size", "user",
)  # fmt: skip
TIERS = ("flex", "priority", "scale", "auto", "default", "standard_only", "batch", "", 1)


def send_hostile_requests(case: Case) -> None:
    """A dozen requests to a gateway whose answers are paid for under a small cap."""
    with captured() as streams:
        asyncio.run(_send(case))
    printed = streams.getvalue()
    case.require_no_defect(printed)
    case.require_no_secret({"log": printed}, [KEY])


async def _send(case: Case) -> None:
    rng = case.rng
    cap = Decimal(rng.choice(("0.001", "0.05", "2")))
    served = random.Random(f"answers {case.seed}")

    def script(received: Received) -> Served:
        return random_answer(served, received, slow=False)

    retries = CallRetryPolicy(attempts=2, first_wait=0.01, longest_wait=0.1)
    async with live_calls(script, cap=cap, total_seconds=1.0, retries=retries) as rig:
        gateway = Gateway(LiveAnswers(rig.calls), forbidden_models=["claude-opus-5-5"], body_limit=200_000)
        await gateway.start()
        try:
            with gateway.open_scenario("hostile") as access:
                sent = [_bytes(rng, access, case.nonce) for _ in range(rng.randint(3, 12))]
                answers = await asyncio.gather(*(_exchange(gateway.url, part, rng) for part in sent))
                again = await _exchange(gateway.url, _http("/v1/messages", {}, b"{}"), rng, cut=False)
                problems = [str(problem) for problem in access.problems]
        finally:
            await gateway.close()
    case.count("gateway requests", len(sent))
    case.require("g", f"the gateway answers {again[:100]!r} afterwards", holds=b" 401 " in again.splitlines()[0])
    texts = {"answers": b"\n".join(answers).decode(errors="replace"), "problems": "\n".join(problems)}
    case.require_no_secret(texts, [KEY])
    case.require_no_defect(texts["answers"])
    for received in rig.server.received:
        require_priced(case, received.body)
    require_paid(case, rig, cap)


def require_priced(case: Case, body: Mapping[str, Any]) -> None:
    """Nothing was sent that bills more than tokens, or at another tier."""
    message = f"a request was sent that may cost more than its tokens: {json.dumps(body)[:500]}"
    tools = body.get("tools") or []
    case.require("b", message, holds=isinstance(tools, list))
    for tool in tools:
        kind = tool.get("type") if isinstance(tool, dict) else None
        case.require("b", message, holds=kind not in RUN_BY_PROVIDER)
    tier = body.get("service_tier")
    case.require("b", message, holds=tier in {None, "default", "standard_only", "flex"})
    case.require("b", message, holds=not body.get("web_search_options") and not body.get("mcp_servers"))
    case.require("b", message, holds="audio" not in (body.get("modalities") or ()) and not body.get("background"))
    case.require("b", message, holds=body.get("model") not in BILLED_OTHERWISE)
    judged = "claude-opus-5-5" in str(body.get("model")).lower()
    case.require("b", f"the model of a judge was asked: {message}", holds=not judged)


def _bytes(rng: random.Random, access: ScenarioAccess, nonce: str) -> bytes:
    make = rng.choice((_well_formed, _well_formed, _well_formed, _malformed, _odd_headers))
    return make(rng, access, nonce)


def _well_formed(rng: random.Random, access: ScenarioAccess, nonce: str) -> bytes:
    path = rng.choice(PATHS)
    body = hostile_body(rng, path, nonce)
    try:
        content = json.dumps(body).encode()
    except (ValueError, UnicodeEncodeError):
        content = b"{}"
    if rng.random() < 0.1:
        content = rng.choice((content[: len(content) // 2], content * 2, b"\xff" + content, b"[" * 50_000, b""))
    prefix = rng.choice(("", "/v1"))
    headers = {"x-api-key": access.token} if rng.random() < 0.5 else {"Authorization": f"Bearer {access.token}"}
    headers["anthropic-version"] = "2023-06-01"
    return _http(f"{prefix}/{path}", headers, content)


def hostile_body(rng: random.Random, path: str, nonce: str) -> dict[str, Any]:
    """A request with some fields that no ordinary system sends."""
    messages: Any = [{"role": "user", "content": f"Habari {nonce}"}]
    body: dict[str, Any] = {"model": MODELS[path], "messages" if path in PATHS[:2] else "input": messages}
    if path in {"messages", "chat/completions"}:
        body["max_tokens"] = rng.choice((1, 50, 500))
    if path == "embeddings":
        body["input"] = "Habari"
    for name in rng.sample(FIELDS, rng.choice((0, 0, 1, 1, 2, 5))):
        body[name] = _value(rng, name, nonce)
    if rng.random() < 0.1:
        body["model"] = rng.choice(DEAR_MODELS)
    return body


def _value(rng: random.Random, name: str, nonce: str) -> Any:
    if name == "tools":
        tool: Any = {"type": rng.choice(RUN_BY_PROVIDER), "name": "x", "max_uses": 5}
        plain = {"type": "function", "function": {"name": "x", "parameters": {}}}
        return rng.choice(
            ([tool], {"0": tool}, [plain, tool], "x", [[tool]], [None], [{"type": ["web_search"]}], [plain])
        )
    if name == "service_tier":
        return rng.choice(TIERS)
    if name == "modalities":
        return ["text", "audio"]
    return rng.choice((
        None, True, 0, -1, 1e308, 10**25, "x", "", [], {}, [None], {"type": "web_search"}, nonce, "\ud800", {"a": {"b": []}},
        "x" * 3_000, [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://x.invalid"}}]}],
        [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}]}],
        [{"role": "user", "content": [{"type": "document", "source": {"type": "url", "url": "http://x.invalid"}}]}],
        {"type": "enabled", "budget_tokens": 10**9}, 128, 129,
    ))  # fmt: skip


def _malformed(rng: random.Random, access: ScenarioAccess, nonce: str) -> bytes:
    command = f"##[set-output name=conclusion;]{nonce}"
    return rng.choice((
        f"GET /{command} HTTP/1.1\r\n\r\n", f"{command}\r\n\r\n", f"::set-output name=x::{nonce}\n\n",
        f"POST /v1/messages HTTP/9.9\r\n{command}\r\n\r\n", f"POST /v1/messages HTTP/1.1\r\nx: {'y' * 100_000}\r\n\r\n",
        f"POST /v1/messages HTTP/1.1\r\nContent-Length: -5\r\nx-api-key: {access.token}\r\n\r\n",
        f"POST /v1/messages HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\nx-api-key: {access.token}\r\n\r\n{{}}",
        "POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n", "\x16\x03\x01\x02\x00\x01",
        f"POST /v1/messages HTTP/1.1\r\nHost: x\r\n {command}\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\0" * 9000,
        f"GET http://169.254.169.254/{nonce} HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT x.invalid:443 HTTP/1.1\r\n\r\n",
        f"POST /v1/messages HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {nonce}\r\n\r\n",
        f"POST /v1/{'../' * 200}messages HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "POST /%00%ff%zz HTTP/1.1\r\n\r\n",
    )).encode("utf-8", "surrogatepass")  # fmt: skip


def _odd_headers(rng: random.Random, access: ScenarioAccess, nonce: str) -> bytes:
    key = rng.choice((access.token, access.token[:-1], access.token.upper(), "x" * 70_000, "", "\xe9", nonce))
    headers = {
        rng.choice(("x-api-key", "Authorization")): rng.choice(
            (key, f"Bearer {key}", f"bearer  {key}", f"Basic {key}")
        ),
        rng.choice(
            ("Content-Encoding", "Content-Type", "Expect", "Accept-Encoding", "X-Forwarded-For", "Range")
        ): rng.choice(("gzip", "deflate", "br", "application/json; charset=utf-7", "100-continue", "bytes=0-", nonce)),
    }
    return _http(f"/{rng.choice(PATHS)}", headers, json.dumps({"model": "claude-haiku-4-5"}).encode())


def _http(path: str, headers: Mapping[str, str], content: bytes) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: gateway", *(f"{name}: {value}" for name, value in headers.items())]
    lines += ["Content-Type: application/json", f"Content-Length: {len(content)}", "Connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1", "replace") + content


async def _exchange(url: str, content: bytes, rng: random.Random, *, cut: bool = True) -> bytes:
    """Send bytes, perhaps in two parts or not to their end, and read what comes within a second or two."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    kind = rng.random() if cut else 1.0
    try:
        if kind < 0.1:
            writer.write(content[: rng.randrange(len(content) + 1)])
            writer.transport.abort()
            return b""
        if kind < 0.2:
            half = rng.randrange(len(content) + 1)
            writer.write(content[:half])
            await asyncio.sleep(0.005)
            content = content[half:]
        writer.write(content)
        await writer.drain()
        return await asyncio.wait_for(reader.read(2_000_000), 3.0 if kind < 1 else 10.0)
    except (ConnectionError, TimeoutError):
        return b""
    finally:
        writer.transport.abort()
