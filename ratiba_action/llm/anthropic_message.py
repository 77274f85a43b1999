"""Build a message as Anthropic's Messages endpoint answers it, with an id that follows from its content."""

from typing import Any

from ratiba_action.llm.script import Step
from ratiba_action.model.canonical import digest
from ratiba_action.model.conversation import Usage
from ratiba_action.model.values import JsonObject


def anthropic_message(step: Step, model: str, seed: str, usage: Usage) -> JsonObject:
    """The whole body of an answer.

    Args:
        step: what the model says and which tools it calls.
        model: the model that answers.
        seed: makes the ids of two equal answers differ.
        usage: the tokens to report.
    """
    text = step.spoken()
    content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    for number, call in enumerate(step.tools):
        ident = f"toolu_{digest([seed, number])[:24]}"
        content.append({"type": "tool_use", "id": ident, "name": call.name, "input": dict(call.args)})
    return {
        "id": f"msg_{digest(seed)[:24]}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": "tool_use" if step.tools else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_creation_input_tokens": usage.cache_write_tokens,
            "cache_read_input_tokens": usage.cache_read_tokens,
        },
    }
