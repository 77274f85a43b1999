"""How many customers said what of their conversations."""

from collections.abc import Iterable
from dataclasses import dataclass

from ratiba_action.core.production.feedback import Feedback


@dataclass(frozen=True, slots=True)
class FeedbackCounts:
    """Conversations by the last word on each."""

    positive: int = 0
    negative: int = 0

    @property
    def negative_share(self) -> float | None:
        """0 to 1; None where nobody said anything."""
        total = self.positive + self.negative
        return self.negative / total if total else None


def count_feedback(feedback: Iterable[Feedback]) -> FeedbackCounts:
    """Count the last word on each conversation: who presses twice has changed their mind."""
    last = {(one.subject, one.subject_id): one for one in sorted(feedback, key=lambda one: (one.at, one.score_id))}
    negative = sum(one.negative for one in last.values())
    return FeedbackCounts(len(last) - negative, negative)
