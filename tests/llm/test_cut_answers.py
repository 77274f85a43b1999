"""An answer that ended at its output limit or by its provider is noted, in every format, streamed or whole."""

from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest

from ratiba_action.llm.cut_answers import cut_off
from ratiba_action.llm.endpoints import endpoint_named
from ratiba_action.llm.server import Gateway
from ratiba_action.model.conversation import Usage
from ratiba_action.model.model_request import ModelAnswer

CHAT = {"model": "gpt-5.6", "max_completion_tokens": 300, "messages": [{"role": "user", "content": "Hi"}]}
RESPONSES = {"model": "gpt-5.6", "max_output_tokens": 300, "input": "Hi"}
MESSAGES = {"model": "claude-haiku-4-5", "max_tokens": 300, "messages": [{"role": "user", "content": "Hi"}]}
GEMINI = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "generationConfig": {"maxOutputTokens": 300}}


def chat(reason: str, content: str | None = "It is", **message: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, **message}
    return {
        "id": "c", "object": "chat.completion", "created": 1, "model": "gpt-5.6",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 300, "total_tokens": 309},
    }  # fmt: skip


def responses(reason: str | None, *output: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "r", "object": "response", "created_at": 1, "model": "gpt-5.6", "output": list(output),
        "status": "incomplete" if reason else "completed",
        "incomplete_details": {"reason": reason} if reason else None,
        "usage": {"input_tokens": 9, "output_tokens": 300, "total_tokens": 309},
    }  # fmt: skip


def messages(reason: str, *content: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "m", "type": "message", "role": "assistant", "model": "claude-haiku-4-5", "content": list(content),
        "stop_reason": reason, "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 300},
    }  # fmt: skip


def gemini(reason: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {
        "candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": reason, "index": 0}],
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 300},
    }


def converse(reason: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    usage = {"inputTokens": 9, "outputTokens": 300, "totalTokens": 309}
    return {
        "output": {"message": {"role": "assistant", "content": list(blocks)}}, "stopReason": reason, "usage": usage,
    }  # fmt: skip


CONVERSE = {"messages": [{"role": "user", "content": [{"text": "Hi"}]}], "inferenceConfig": {"maxTokens": 300}}
MESSAGE = {"type": "message", "id": "x", "role": "assistant", "content": [{"type": "output_text", "text": "It is"}]}
TEXT = {"type": "text", "text": "It is"}
CUT = "was cut at its output limit of 300 tokens"
EMPTY = f"{CUT}, before it had any text"
FILTERED = "was ended by the provider's content filter"


@pytest.mark.parametrize(
    ("endpoint", "request_body", "answer", "cut"),
    [
        ("chat/completions", CHAT, chat("stop"), ""),
        ("chat/completions", CHAT, chat("length"), CUT),
        ("chat/completions", CHAT, chat("length", ""), EMPTY),
        ("chat/completions", CHAT, chat("length", None), EMPTY),
        ("chat/completions", CHAT, chat("length", None, tool_calls=[{"id": "1"}]), CUT),
        ("chat/completions", CHAT, chat("tool_calls"), ""),
        ("chat/completions", CHAT, chat("content_filter"), f"{FILTERED} (content_filter)"),
        ("chat/completions", CHAT, chat("content_filter", ""), f"{FILTERED} (content_filter), before it had any text"),
        ("chat/completions", CHAT, chat("model_length"), "was cut at the end of the model's context"),
        ("chat/completions", CHAT, chat("abort"), "was ended early by the provider (abort)"),
        (
            "chat/completions",
            CHAT,
            chat("insufficient_system_resource"),
            "was ended early by the provider (insufficient_system_resource)",
        ),
        (
            "chat/completions",
            CHAT | {"max_completion_tokens": None, "max_tokens": 200},
            chat("length"),
            CUT.replace("300", "200"),
        ),
        ("chat/completions", {"model": "m", "messages": []}, chat("length"), CUT),
        ("responses", RESPONSES, responses(None, MESSAGE), ""),
        ("responses", RESPONSES, responses("max_output_tokens", MESSAGE), CUT),
        (
            "responses",
            RESPONSES,
            responses("max_output_tokens", {"type": "reasoning", "id": "y", "summary": []}),
            EMPTY,
        ),
        ("responses", RESPONSES, responses("content_filter", MESSAGE), f"{FILTERED} (content_filter)"),
        ("messages", MESSAGES, messages("end_turn", TEXT), ""),
        ("messages", MESSAGES, messages("max_tokens", TEXT), CUT),
        ("messages", MESSAGES, messages("max_tokens", {"type": "thinking", "thinking": "So", "signature": "s"}), EMPTY),
        (
            "messages",
            MESSAGES,
            messages("model_context_window_exceeded", TEXT),
            "was cut at the end of the model's context",
        ),
        ("messages", MESSAGES, messages("refusal", TEXT), f"{FILTERED} (refusal)"),
        *(("messages", MESSAGES, messages(end, TEXT), "") for end in ("tool_use", "stop_sequence", "pause_turn")),
        ("converse", CONVERSE, converse("end_turn", {"text": "It is"}), ""),
        ("converse", CONVERSE, converse("max_tokens", {"text": "It is"}), CUT),
        ("converse", CONVERSE, converse("guardrail_intervened", {"text": "No"}), f"{FILTERED} (guardrail_intervened)"),
        ("converse", CONVERSE, converse("content_filtered"), f"{FILTERED} (content_filtered), before it had any text"),
        ("generateContent", GEMINI, gemini("STOP", {"text": "It is"}), ""),
        ("generateContent", GEMINI, gemini("SAFETY", {"text": "It is"}), f"{FILTERED} (SAFETY)"),
        ("generateContent", GEMINI, gemini("RECITATION"), f"{FILTERED} (RECITATION), before it had any text"),
        (
            "generateContent",
            GEMINI,
            gemini("MALFORMED_FUNCTION_CALL"),
            "was ended early by the provider (MALFORMED_FUNCTION_CALL), before it had any text",
        ),
        (
            "generateContent",
            GEMINI,
            {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}},
            f"{FILTERED} (PROHIBITED_CONTENT), before it had any text",
        ),
        ("generateContent", GEMINI, gemini("MAX_TOKENS", {"text": "It is"}), CUT),
        ("generateContent", GEMINI, gemini("MAX_TOKENS", {"text": "So", "thought": True}), EMPTY),
        ("generateContent", GEMINI, {"candidates": [{"finishReason": "MAX_TOKENS"}]}, EMPTY),
        ("chat/completions", CHAT, {"choices": "none"}, ""),
    ],
)
def test_an_answer_says_that_it_was_cut(
    endpoint: str, request_body: dict[str, Any], answer: dict[str, Any], cut: str
) -> None:
    assert cut_off(endpoint_named(endpoint), request_body, answer, 300) == cut


class Cut:
    """Answers every request with one body."""

    def __init__(self, body: dict[str, Any]) -> None:
        self._body = body

    async def answer(self, _: object) -> ModelAnswer:
        return ModelAnswer(self._body, Usage(9, 300), replayed=False)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("path", "request_body", "answer"),
    [
        ("/v1/chat/completions", CHAT, chat("length")),
        ("/v1/responses", RESPONSES, responses("max_output_tokens", MESSAGE)),
        ("/v1/messages", MESSAGES, messages("max_tokens", TEXT)),
        ("/v1beta/models/gemini-3-pro:generateContent", GEMINI, gemini("MAX_TOKENS", {"text": "It is"})),
    ],
)
async def test_the_gateway_notes_which_calls_were_cut(
    path: str, request_body: dict[str, Any], answer: dict[str, Any], *, stream: bool,
    start_gateway: Callable[..., Awaitable[Gateway]],
) -> None:  # fmt: skip
    gateway = await start_gateway(Cut(answer))
    gemini_stream = stream and "generateContent" in path
    url = path.replace("generateContent", "streamGenerateContent?alt=sse") if gemini_stream else path
    body = request_body | ({"stream": True} if stream and not gemini_stream and "generate" not in path else {})
    with gateway.open_scenario("spa") as access:
        async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {access.token}"}) as http:
            for _ in range(2):
                async with http.post(gateway.url + url, json=body) as response:
                    assert response.status == 200, await response.text()
                    await response.read()
        assert access.calls.cuts == ((1, CUT), (2, CUT))
