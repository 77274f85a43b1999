"""Is the assistant's English natural for a small business in Kenya? The rubric is that of ``seeds/000`` §6."""

from ratiba_action.metrics.rubric import DATA_STEP, RubricMetric
from ratiba_action.ports import Judge

__version__ = "1.0.0"

STEPS = (
    "Look only at the assistant's turns; the customer's turns are context and are not graded.",
    (
        "Judge whether the English reads as a Kenyan writes it to a customer: clear, idiomatic, with local words where "
        "they are usual ('M-Pesa', 'KES', 'karibu'), and not as American marketing English or a translation."
    ),
    (
        "Judge the formality for a small business: warmer than a corporation, more direct than a luxury hotel. Take "
        "points off for stock phrases of either kind, flattery and long preambles."
    ),
    "Take points off for grammar and spelling that would make a customer stop; British and Kenyan spelling are right.",
    (
        "Give 10 when a Kenyan customer would find nothing to change, 8 for small slips that do not disturb, 5 when it "
        "is understandable and in the wrong register, and 2 or less when it is confusing or not English."
    ),
    DATA_STEP,
)


class EnglishFluencyMetric(RubricMetric):
    """Grades the English of the assistant's replies, 0 to 1."""

    def __init__(self, judge: Judge) -> None:
        super().__init__("EnglishFluencyMetric", __version__, STEPS, judge)
