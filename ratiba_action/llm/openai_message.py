"""Build answers as OpenAI's endpoints give them, with ids that follow from their content."""

import json
from typing import Any

from ratiba_action.llm.script import Step
from ratiba_action.model.canonical import digest
from ratiba_action.model.conversation import Usage
from ratiba_action.model.values import JsonObject

_CREATED = 1_767_225_600
"""A fixed moment, 2026-01-01 UTC: an answer that is built twice is the same twice."""


def chat_completion(step: Step, model: str, seed: str, usage: Usage) -> JsonObject:
    """The whole body of a chat completion; see ``anthropic_message`` for the arguments."""
    calls = [
        {
            "id": f"call_{digest([seed, number])[:24]}",
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(dict(call.args), ensure_ascii=False)},
        }
        for number, call in enumerate(step.tools)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": step.spoken() or None, "refusal": None}
    if calls:
        message["tool_calls"] = calls
    asked = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return {
        "id": f"chatcmpl-{digest(seed)[:24]}",
        "object": "chat.completion",
        "created": _CREATED,
        "model": model,
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop", "logprobs": None}
        ],
        "usage": {
            "prompt_tokens": asked,
            "completion_tokens": usage.output_tokens,
            "total_tokens": asked + usage.output_tokens,
            "prompt_tokens_details": _cached(usage),
        },
    }


def response(step: Step, model: str, seed: str, usage: Usage) -> JsonObject:
    """The whole body of a response of the Responses endpoint."""
    text = step.spoken()
    output: list[JsonObject] = []
    if text:
        part = {"type": "output_text", "text": text, "annotations": []}
        ident = f"msg_{digest(seed)[:24]}"
        output.append({"id": ident, "type": "message", "role": "assistant", "status": "completed", "content": [part]})
    for number, call in enumerate(step.tools):
        output.append(
            {
                "id": f"fc_{digest([seed, number])[:24]}",
                "type": "function_call",
                "status": "completed",
                "call_id": f"call_{digest([seed, number])[:24]}",
                "name": call.name,
                "arguments": json.dumps(dict(call.args), ensure_ascii=False),
            }
        )
    asked = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return {
        "id": f"resp_{digest(seed)[:24]}",
        "object": "response",
        "created_at": _CREATED,
        "status": "completed",
        "model": model,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "usage": {
            "input_tokens": asked,
            "input_tokens_details": _cached(usage),
            "output_tokens": usage.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": asked + usage.output_tokens,
        },
    }


def _cached(usage: Usage) -> dict[str, int]:
    written = {"cache_write_tokens": usage.cache_write_tokens} if usage.cache_write_tokens else {}
    return {"cached_tokens": usage.cache_read_tokens, **written}
