"""What customers said of conversations by a button, and which of it means that something went wrong."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

FEEDBACK = "user_feedback"
"""Name of the score that a button becomes (``seeds/000``, row "Customer feedback bridge")."""

_NEGATIVE_WORDS = frozenset({"thumbs_down", "thumbs-down", "thumbsdown", "down", "negative", "bad", "\U0001f44e"})
_LEAST_POSITIVE = 0.5


@dataclass(frozen=True, slots=True)
class Feedback:
    """One button that was pressed.

    Args:
        subject: whether ``subject_id`` is that of a trace or of a session, which holds several.
        at: aware of its time zone.
        comment: what the customer wrote with it; not masked.
    """

    score_id: str
    subject: Literal["trace", "session"]
    subject_id: str
    value: str | float | bool
    at: datetime
    comment: str = ""

    @property
    def negative(self) -> bool:
        """Whether the customer disliked the conversation."""
        return is_negative(self.value)


def is_negative(value: str | float | bool) -> bool:  # noqa: FBT001 - a value, not a switch
    """Whether a feedback score is a thumbs-down.

    Args:
        value: a category such as ``thumbs_down``; false of a boolean; a number below 0.5, so that both scales that
            are in use, 0 to 1 and -1 to 1, are understood.
    """
    if isinstance(value, str):
        return value.strip().casefold() in _NEGATIVE_WORDS
    return float(value) < _LEAST_POSITIVE
