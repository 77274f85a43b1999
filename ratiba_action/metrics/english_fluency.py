"""Is the assistant's English natural for its readers?"""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from ratiba_action.metrics.judging.judged_identity import version_with
from ratiba_action.metrics.rubric import DATA_STEP, RubricMetric
from ratiba_action.ports import Judge
from ratiba_action.util.validation import StrictModel

__version__ = "2.0.0"
_KENYAN_VERSION = "1.0.0"

KENYAN_AUDIENCE = "customers of a small business in Kenya"
"""The audience with steps of its own; scores that version 1.0.0 recorded are scores for it."""

Audience = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200,
        pattern=r"^[^\x00-\x1f\x7f]*\S[^\x00-\x1f\x7f]*$",
        description="who reads the English, and how it is written to them: one line",
    ),
]

_ASSISTANT_ONLY = "Look only at the assistant's turns; the customer's turns are context and are not graded."
KENYAN_STEPS = (
    _ASSISTANT_ONLY,
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

STEPS = (
    _ASSISTANT_ONLY,
    (
        "Judge whether the English reads as a fluent writer would put it to a customer: clear, idiomatic, and not as a "
        "word-by-word translation."
    ),
    (
        "Judge whether the register suits the conversation and stays the same throughout. Take points off for stock "
        "phrases, flattery and long preambles."
    ),
    (
        "Take points off for grammar and spelling that would make a reader stop. Every national standard of English is "
        "right; do not prefer one to another."
    ),
    (
        "Give 10 when a fluent reader would find nothing to change, 8 for small slips that do not disturb, 5 when it "
        "is understandable and in the wrong register, and 2 or less when it is confusing or not English."
    ),
    DATA_STEP,
)
"""The neutral rubric."""


def rubric(audience: str | None) -> tuple[str, Sequence[str]]:
    """Version and steps of the rubric for an audience; the neutral rubric for None.

    The audience is part of the version, so a score for one audience is never used for another.
    """
    if audience is None:
        return __version__, STEPS
    if audience == KENYAN_AUDIENCE:
        return _KENYAN_VERSION, KENYAN_STEPS
    style = (
        f"The house style: the assistant writes to {audience}. Where the steps above and this audience differ in "
        "words, spelling or register, what is usual for this audience is right."
    )
    return version_with(__version__, {"audience": audience}), (*STEPS[:-1], style, DATA_STEP)


class EnglishFluencyParameters(StrictModel):
    """The house style."""

    audience: Audience | None = Field(default=None, description="house style: who reads the English; neutral without")


class EnglishFluencyMetric(RubricMetric):
    """Scores the English of the assistant's replies, 0 to 1.

    Args:
        parameters: the audience; None for the neutral rubric.
    """

    Parameters = EnglishFluencyParameters

    def __init__(self, judge: Judge, parameters: EnglishFluencyParameters) -> None:
        version, steps = rubric(parameters.audience)
        super().__init__("EnglishFluencyMetric", version, steps, judge)
