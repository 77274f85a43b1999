"""Whether a model's answer ended because it had reached its output limit, in each format that the gateway speaks."""

from collections.abc import Iterator, Mapping
from typing import Any

from ratiba_action.model.values import JsonObject

_LIMITS = ("max_completion_tokens", "max_output_tokens", "max_tokens", "maxOutputTokens")
_WINDOW = "model_context_window_exceeded"
_REASONS = frozenset({"length", "max_output_tokens", "max_tokens", "MAX_TOKENS", _WINDOW})
"""Of Chat Completions, Responses, Anthropic's Messages and Gemini, in this order."""


def cut_off(request: JsonObject, answer: JsonObject, output_tokens: int) -> str:
    """How an answer was cut, to follow a noun; empty for one that ended by itself.

    Args:
        request: that it answers, in the same format.
        answer: whole, whether it was streamed or not.
        output_tokens: that it has, where the request gave no limit of its own.
    """
    reasons = _REASONS.intersection(_reasons(answer))
    if not reasons:
        return ""
    limit = _limit(request) or output_tokens
    where = "the end of the model's context" if _WINDOW in reasons else "its output limit"
    tokens = f" of {limit} tokens" if limit and _WINDOW not in reasons else ""
    empty = "" if _has_content(answer) else ", before it had any text"
    return f"was cut at {where}{tokens}{empty}"


def _reasons(answer: JsonObject) -> Iterator[str]:
    incomplete = answer.get("incomplete_details")
    found = [answer.get("stop_reason"), incomplete.get("reason") if isinstance(incomplete, Mapping) else None]
    for part in (*_parts(answer.get("choices")), *_parts(answer.get("candidates"))):
        found += [part.get("finish_reason"), part.get("finishReason")]
    return (reason for reason in found if isinstance(reason, str))


def _limit(request: JsonObject) -> int:
    settings = request.get("generationConfig")
    places = (request, settings if isinstance(settings, Mapping) else {})
    found = [place.get(name) for place in places for name in _LIMITS]
    return next((limit for limit in found if isinstance(limit, int) and not isinstance(limit, bool)), 0)


def _has_content(answer: JsonObject) -> bool:
    """Whether an answer has text or calls a tool, besides what the model thought."""
    for choice in _parts(answer.get("choices")):
        message = choice.get("message")
        if isinstance(message, Mapping) and (message.get("content") or message.get("tool_calls")):
            return True
    blocks = [*_parts(answer.get("content")), *_parts(answer.get("output"))]
    for candidate in _parts(answer.get("candidates")):
        content = candidate.get("content")
        blocks += _parts(content.get("parts")) if isinstance(content, Mapping) else []
    return any(_says(block) for block in blocks)


def _says(block: Mapping[str, Any]) -> bool:
    if block.get("thought") or block.get("type") in {"thinking", "redacted_thinking", "reasoning"}:
        return False
    inner = _parts(block.get("content")) if block.get("type") == "message" else None
    return (
        any(part.get("text") or part.get("refusal") for part in inner) if inner is not None else block.get("text") != ""
    )


def _parts(value: Any) -> list[Mapping[str, Any]]:
    return [part for part in value if isinstance(part, Mapping)] if isinstance(value, list) else []
