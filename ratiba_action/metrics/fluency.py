"""Is the assistant's text natural in a language without a rubric of its own? One rubric that is given the language."""

from typing import Annotated

from pydantic import Field

from ratiba_action.metrics.english_fluency import Audience
from ratiba_action.metrics.judging.judged_identity import version_with
from ratiba_action.metrics.rubric import DATA_STEP, RubricMetric
from ratiba_action.ports import Judge
from ratiba_action.util.validation import StrictModel

__version__ = "1.0.0"


class FluencyParameters(StrictModel):
    """The language, and the house style."""

    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}$", description="ISO 639 code of the replies")]
    audience: Audience | None = Field(default=None, description="house style: who reads it; neutral without")


def steps_for(language: str, audience: str | None) -> tuple[str, ...]:
    """The rubric for a language, by its ISO 639 code, and for an audience."""
    style = (
        f"The house style: the assistant writes to {audience}. Where the steps above and this audience differ in "
        "words, spelling or register, what is usual for this audience is right."
    )
    return (
        "Look only at the assistant's turns; the customer's turns are context and are not scored.",
        (
            f"The replies have to be in the language with the ISO 639 code '{language}'. Judge whether they read as a "
            "fluent writer of it would put them: idiomatic, and not as a word-by-word translation."
        ),
        (
            "Judge agreement, inflection, word order, spelling and script by the rules of that language; every "
            "national standard of it is right. Names, brands and words that its speakers borrow are no fault."
        ),
        "Judge whether the register, and how the customer is addressed, suit the conversation and stay the same.",
        (
            "Give 10 when a fluent reader would find nothing to change, 8 for small slips that do not disturb, 5 when "
            "it is understandable and clearly foreign, and 2 or less when it is confusing or another language."
        ),
        *([style] if audience is not None else []),
        DATA_STEP,
    )


class FluencyMetric(RubricMetric):
    """Scores how natural the assistant's replies are in a given language, 0 to 1.

    Language and audience are part of the version, so a score for one is never used for another.
    """

    Parameters = FluencyParameters

    def __init__(self, judge: Judge, parameters: FluencyParameters) -> None:
        version = version_with(__version__, parameters.model_dump(mode="json"))
        super().__init__("FluencyMetric", version, steps_for(parameters.language, parameters.audience), judge)
