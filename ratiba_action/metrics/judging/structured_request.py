"""The request for one structured answer, as each provider wants it.

Instructions and schema are constants of the caller. Whatever was said in a conversation is in the one user message,
so no transcript can add a message, a role or a field.
"""

from collections.abc import Mapping
from typing import Any

from ratiba_action.errors import ConfigurationError, JudgeError
from ratiba_action.metrics.judging.answer import JudgeModel
from ratiba_action.metrics.judging.json_shape import without_limits
from ratiba_action.model.values import JsonObject

ENDPOINTS: Mapping[str, str] = {
    "anthropic": "messages",
    "openai": "chat/completions",
    "gemini": "generateContent",
}
"""The endpoint of each format that judges are asked through."""


def structured_request(model: JudgeModel, instructions: str, form: str, schema: JsonObject) -> JsonObject:
    """The body of one request.

    No temperature is set: current models refuse it. A metric whose template is a repository's own may add one.

    Args:
        model: who is asked.
        instructions: the system prompt; never holds text of a conversation.
        form: the user message with the quoted conversation.
        schema: JSON Schema of the answer, with a ``title``; the providers hold the model to it.

    Raises:
        ConfigurationError: the provider is unknown.
    """
    sayable = form.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate has no UTF-8 form
    shape = without_limits({name: value for name, value in schema.items() if name != "title"})
    if model.format == "anthropic":
        return {
            "model": model.name,
            "max_tokens": model.answer_tokens,
            "system": instructions,
            "messages": [{"role": "user", "content": sayable}],
            "output_config": {"format": {"type": "json_schema", "schema": shape}},
        }
    if model.format == "openai":
        named = {"name": schema["title"], "strict": True, "schema": shape}
        return {
            "model": model.name,
            "max_completion_tokens": model.answer_tokens,
            "messages": [{"role": "system", "content": instructions}, {"role": "user", "content": sayable}],
            "response_format": {"type": "json_schema", "json_schema": named},
        }
    if model.format == "gemini":
        return {
            "model": model.name,
            "systemInstruction": {"parts": [{"text": instructions}]},
            "contents": [{"role": "user", "parts": [{"text": sayable}]}],
            "generationConfig": {
                "maxOutputTokens": model.answer_tokens,
                "responseMimeType": "application/json",
                "responseJsonSchema": shape,
            },
        }
    raise ConfigurationError(
        f"No judge can be asked at the provider {model.provider!r}.", f"Use one of {', '.join(sorted(ENDPOINTS))}."
    )


_SHOWN = 120
_REMEDY = "Run the scenario again; if it repeats, use another judge model."
_CUT_OFF = ("max_tokens", "model_context_window_exceeded", "length", "MAX_TOKENS")
_GEMINI_REFUSALS = ("BLOCKLIST", "PROHIBITED_CONTENT", "RECITATION", "SAFETY", "SPII")


def answer_text(wire: str, body: JsonObject) -> str:
    """The text of a whole answer.

    Args:
        wire: whose format it has, ``anthropic``, ``openai`` or ``gemini``.
        body: as it came over the wire.

    Raises:
        JudgeError: the model refused, was cut off or said nothing, or the answer has another shape.
    """
    texts = {"anthropic": _anthropic_text, "gemini": _gemini_text}
    text = texts.get(wire, _openai_text)(body)
    if not text.strip():
        raise JudgeError("The judge's answer is empty.", _REMEDY)
    return text


def _anthropic_text(body: JsonObject) -> str:
    reason, blocks = body.get("stop_reason"), body.get("content")
    if reason == "refusal":
        raise _refusal("")
    _require_end(reason, ("end_turn", "stop_sequence"))
    if not isinstance(blocks, list) or not all(isinstance(block, Mapping) for block in blocks):
        raise _misshapen("content", blocks)
    texts = [block.get("text") for block in blocks if block.get("type") == "text"]
    if not all(isinstance(text, str) for text in texts):
        raise _misshapen("content", blocks)
    return "".join(str(text) for text in texts)


def _openai_text(body: JsonObject) -> str:
    choices = body.get("choices")
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], Mapping):
        raise _misshapen("choices", choices)
    message = choices[0].get("message")
    if not isinstance(message, Mapping):
        raise _misshapen("message", message)
    reason = choices[0].get("finish_reason")
    if message.get("refusal") or reason == "content_filter":
        raise _refusal(str(message.get("refusal") or ""))
    _require_end(reason, ("stop",))
    content = message.get("content")
    if content is not None and not isinstance(content, str):
        raise _misshapen("content", content)
    return content or ""


def _gemini_text(body: JsonObject) -> str:
    candidates, feedback = body.get("candidates"), body.get("promptFeedback")
    if not candidates and isinstance(feedback, Mapping) and feedback.get("blockReason"):
        raise _refusal(str(feedback["blockReason"]))
    if not isinstance(candidates, list) or len(candidates) != 1 or not isinstance(candidates[0], Mapping):
        raise _misshapen("candidates", candidates)
    reason, content = candidates[0].get("finishReason"), candidates[0].get("content")
    if reason in _GEMINI_REFUSALS:
        raise _refusal(str(reason))
    _require_end(reason, ("STOP",))
    parts = content.get("parts") if isinstance(content, Mapping) else None
    if not isinstance(parts, list) or not all(isinstance(part, Mapping) for part in parts):
        raise _misshapen("content", content)
    texts = [part.get("text", "") for part in parts if not part.get("thought")]
    if not all(isinstance(text, str) for text in texts):
        raise _misshapen("content", content)
    return "".join(texts)


def _require_end(reason: Any, ends: tuple[str, ...]) -> None:
    if reason in _CUT_OFF:
        raise JudgeError(f"The judge's answer was cut off ({reason}).", _REMEDY)
    if reason not in ends:
        raise _misshapen("stop reason", reason)


def _refusal(words: str) -> JudgeError:
    explanation = f": {words[:_SHOWN]!r}" if words else ""
    return JudgeError(
        f"The judge refused to answer{explanation}.", "Look at the conversation, or use another judge model."
    )


def _misshapen(name: str, value: Any) -> JudgeError:
    return JudgeError(f"The judge's answer has an unexpected {name}: {repr(value)[:_SHOWN]}.", _REMEDY)
