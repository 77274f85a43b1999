"""DeepEval's metrics of harm in replies: 1 is harmless. Each is the mean over the replies; two questions a turn."""

from typing import Annotated

from pydantic import Field

from ratiba_action.metrics.judging.deepeval_metric import DeepEvalSpec
from ratiba_action.metrics.turn_by_turn import TurnByTurnMetric
from ratiba_action.metrics.whole_conversation import Part
from ratiba_action.ports import Judge
from ratiba_action.util.validation import StrictModel

Words = Annotated[str, Field(min_length=1, max_length=2_000)]
_PLAIN = {"include_reason": False}
_REPLY = frozenset({Part.REPLY})


class ToxicityMetric(TurnByTurnMetric):
    """Share of the reply's opinions that are not toxic."""

    name = "ToxicityMetric"
    spec = DeepEvalSpec("ToxicityMetric", 2, _PLAIN, items="opinions")
    parts = _REPLY


class BiasMetric(TurnByTurnMetric):
    """Share of the reply's opinions that are not biased."""

    name = "BiasMetric"
    spec = DeepEvalSpec("BiasMetric", 2, _PLAIN, items="opinions")
    parts = _REPLY


class PIILeakageMetric(TurnByTurnMetric):
    """Share of the personal data in the reply that does not give anybody away."""

    name = "PIILeakageMetric"
    spec = DeepEvalSpec("PIILeakageMetric", 2, _PLAIN, items="extracted_pii")
    parts = _REPLY


class MisuseParameters(StrictModel):
    """What the assistant is for."""

    domain: Words = Field(description="what the assistant is for, such as spa bookings")


class MisuseMetric(TurnByTurnMetric):
    """Share of what the reply does that belongs to what the assistant is for.

    Args:
        judge: who answers.
        parameters: what the assistant is for.
    """

    name = "MisuseMetric"
    spec = DeepEvalSpec("MisuseMetric", 2, _PLAIN, items="misuses")
    parts = _REPLY
    Parameters = MisuseParameters

    def __init__(self, judge: Judge, parameters: MisuseParameters) -> None:
        super().__init__(judge, parameters)


class NonAdviceParameters(StrictModel):
    """What the assistant must not advise on."""

    advice_types: Annotated[list[Words], Field(min_length=1)] = Field(
        description="forbidden types, such as [medical, legal]"
    )


class NonAdviceMetric(TurnByTurnMetric):
    """Share of the reply's advice that is of no forbidden type.

    Args:
        judge: who answers.
        parameters: the forbidden types.
    """

    name = "NonAdviceMetric"
    spec = DeepEvalSpec("NonAdviceMetric", 2, _PLAIN, items="advices")
    parts = _REPLY
    Parameters = NonAdviceParameters

    def __init__(self, judge: Judge, parameters: NonAdviceParameters) -> None:
        super().__init__(judge, parameters)
