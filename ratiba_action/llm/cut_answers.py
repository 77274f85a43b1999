"""Whether a model's answer ended before the model was done: at its output limit, or by its provider."""

from collections.abc import Mapping, Sequence

from ratiba_action.llm.wire_format import CUT_OFF, Endpoint
from ratiba_action.model.values import JsonObject

_WINDOWS = frozenset({"model_context_window_exceeded", "model_length"})
_FILTERS = frozenset({
    "content_filter", "content_filtered", "guardrail_intervened", "refusal", "BLOCKLIST", "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION", "IMAGE_SAFETY", "JAILBREAK", "LANGUAGE", "MODEL_ARMOR", "PROHIBITED_CONTENT", "RECITATION",
    "SAFETY", "SPII",
})  # fmt: skip
"""How the formats say that a filter, or the model's own guard, ended an answer."""
_BROKEN_OFF = frozenset({
    "abort", "error", "insufficient_system_resource", "malformed_model_output", "malformed_tool_use", "IMAGE_OTHER",
    "MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE", "NO_IMAGE", "OTHER",
    "TOO_MANY_TOOL_CALLS", "UNEXPECTED_TOOL_CALL",
})  # fmt: skip
"""How they say that whoever serves the model gave up."""


def cut_off(endpoint: Endpoint, request: JsonObject, answer: JsonObject, output_tokens: int) -> str:
    """How an answer was cut or ended from outside, to follow a noun; empty for one that ended by itself.

    Args:
        answer: whole, whether it was streamed or not.
        output_tokens: that it has, where the request gave no limit of its own.
    """
    reasons = [reason for reason in endpoint.endings(answer) if isinstance(reason, str)]
    empty = "" if endpoint.has_content(answer) else ", before it had any text"
    if any(reason in CUT_OFF for reason in reasons):
        return f"was cut at {_where(reasons, _limit(endpoint, request) or output_tokens)}{empty}"
    for who, known in (("by the provider's content filter", _FILTERS), ("early by the provider", _BROKEN_OFF)):
        if found := known.intersection(reasons):
            return f"was ended {who} ({min(found)}){empty}"
    return ""


def _where(reasons: Sequence[str], limit: int) -> str:
    if not _WINDOWS.isdisjoint(reasons):
        return "the end of the model's context"
    return "its output limit" + (f" of {limit} tokens" if limit else "")


def _limit(endpoint: Endpoint, request: JsonObject) -> int:
    holder = request.get(endpoint.limits_in) if endpoint.limits_in else request
    found = [holder.get(name) for name in endpoint.limits] if isinstance(holder, Mapping) else []
    return next((limit for limit in found if isinstance(limit, int) and not isinstance(limit, bool)), 0)
