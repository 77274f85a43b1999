"""Whether a model's answer ended because it had reached its output limit."""

from collections.abc import Mapping

from ratiba_action.llm.wire_format import CUT_OFF, Endpoint
from ratiba_action.model.values import JsonObject

_WINDOW = "model_context_window_exceeded"


def cut_off(endpoint: Endpoint, request: JsonObject, answer: JsonObject, output_tokens: int) -> str:
    """How an answer was cut, to follow a noun; empty for one that ended by itself.

    Args:
        request: that it answers, in the same format.
        answer: whole, whether it was streamed or not.
        output_tokens: that it has, where the request gave no limit of its own.
    """
    reasons = CUT_OFF.intersection(reason for reason in endpoint.endings(answer) if isinstance(reason, str))
    if not reasons:
        return ""
    limit = _limit(endpoint, request) or output_tokens
    where = "the end of the model's context" if _WINDOW in reasons else "its output limit"
    tokens = f" of {limit} tokens" if limit and _WINDOW not in reasons else ""
    empty = "" if endpoint.has_content(answer) else ", before it had any text"
    return f"was cut at {where}{tokens}{empty}"


def _limit(endpoint: Endpoint, request: JsonObject) -> int:
    holder = request.get(endpoint.limits_in) if endpoint.limits_in else request
    found = [holder.get(name) for name in endpoint.limits] if isinstance(holder, Mapping) else []
    return next((limit for limit in found if isinstance(limit, int) and not isinstance(limit, bool)), 0)
