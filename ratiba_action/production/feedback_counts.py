"""How many customers said what of their conversations."""

from collections.abc import Iterable
from dataclasses import dataclass

from ratiba_action.production.feedback import Feedback

_POSITIVE_WORDS = frozenset({"thumbs_up", "thumbs-up", "thumbsup", "up", "positive", "good", "\U0001f44d"})


@dataclass(frozen=True, slots=True)
class FeedbackCounts:
    """Conversations by the last word on each.

    Args:
        other: of which nobody said either, such as those with a comment alone.
    """

    positive: int = 0
    negative: int = 0
    other: int = 0

    @property
    def negative_share(self) -> float | None:
        """Of those that are one or the other, 0 to 1; None where none is."""
        decided = self.positive + self.negative
        return self.negative / decided if decided else None


def count_feedback(feedback: Iterable[Feedback]) -> FeedbackCounts:
    """Count conversations: who presses twice has changed their mind, and a comment changes nothing."""
    last: dict[tuple[str, str], Feedback] = {}
    for one in sorted(feedback, key=lambda each: (each.at, each.score_id)):
        subject = one.subject, one.subject_id
        if subject not in last or one.negative or _positive(one):
            last[subject] = one
    negative, positive = (sum(map(said, last.values())) for said in (_negative, _positive))
    return FeedbackCounts(positive, negative, len(last) - positive - negative)


def _negative(feedback: Feedback) -> bool:
    return feedback.negative


def _positive(feedback: Feedback) -> bool:
    if isinstance(feedback.value, str):
        return feedback.value.strip().casefold() in _POSITIVE_WORDS
    return not feedback.negative
