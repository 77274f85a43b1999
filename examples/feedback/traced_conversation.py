"""How the production system traces a conversation, so that it can be promoted: one trace, one span for each turn."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from spa_assistant import answer

if TYPE_CHECKING:
    from langfuse import Langfuse


def hold(langfuse: "Langfuse", conversation_id: str, messages: Iterable[str], facts: Mapping[str, str]) -> str:
    """Answer every message of a customer.

    Args:
        langfuse: the client of the production system.
        conversation_id: names the trace: the same one whenever it is asked for.
        messages: in order.
        facts: metadata of the trace: tenant_id, vertical, customer_name, language, prompt_version.

    Returns:
        The id of the trace.
    """
    from langfuse import propagate_attributes  # the gate's own run needs no Langfuse

    trace_id = langfuse.create_trace_id(seed=conversation_id)
    history: list[dict[str, str]] = []
    with (
        langfuse.start_as_current_observation(name="conversation", trace_context={"trace_id": trace_id}),
        propagate_attributes(metadata={**facts, "conversation_id": conversation_id}),
    ):
        for number, message in enumerate(messages):
            with langfuse.start_as_current_observation(name=f"turn {number}", input=message) as turn:
                reply = answer(message, history)["text"]
                turn.update(output=reply)
            history += [{"role": "user", "content": message}, {"role": "assistant", "content": reply}]
    return trace_id
