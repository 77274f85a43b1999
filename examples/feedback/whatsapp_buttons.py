"""Feedback buttons of WhatsApp → scores in Langfuse.

The id of a button carries the trace that it is about, so that the handler needs no memory, and WhatsApp may deliver a
press as often as it likes: the score's id is made of the message's, and Langfuse overwrites a score with the same id,
name and day.
"""

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langfuse import Langfuse

_TITLES = {"thumbs_down": "👎", "thumbs_up": "👍", "comment": "💬"}
_BUTTON = re.compile(r"feedback:(thumbs_up|thumbs_down|comment):([0-9a-f]{32})")


def feedback_buttons(trace_id: str, question: str) -> dict[str, Any]:
    """The interactive message that asks for feedback; to be sent when a conversation ends.

    Args:
        trace_id: of the conversation, 32 hexadecimal digits.
        question: above the buttons.
    """
    buttons = [
        {"type": "reply", "reply": {"id": f"feedback:{value}:{trace_id}", "title": title}}
        for value, title in _TITLES.items()
    ]
    return {"type": "button", "body": {"text": question}, "action": {"buttons": buttons}}


def take_reply(langfuse: "Langfuse", message: Mapping[str, Any]) -> bool:
    """Write the score of a pressed button.

    Args:
        langfuse: the client of the production system.
        message: one of ``entry[].changes[].value.messages[]`` of the webhook.

    Returns:
        Whether it was one of these buttons; anything else is for the assistant to answer.
    """
    interactive = message.get("interactive") or {}
    pressed = _BUTTON.fullmatch(str((interactive.get("button_reply") or {}).get("id", "")))
    if message.get("type") != "interactive" or pressed is None:
        return False
    value, trace_id = pressed.groups()
    langfuse.create_score(
        name="user_feedback",
        value=value,
        data_type="CATEGORICAL",
        trace_id=trace_id,
        score_id=hashlib.sha256(f"user_feedback\n{message['id']}".encode()).hexdigest()[:32],
        # Of the press, not of its delivery: a score that comes again on another day would be a second one.
        timestamp=datetime.fromtimestamp(int(message["timestamp"]), UTC),
    )
    return True
