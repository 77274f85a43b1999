"""Is each reply in the language that it has to be in?"""

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from ratiba_action.metrics.measured_language import DECIDED, LanguageParameters, reply_languages, undecided
from ratiba_action.metrics.turn_scores import TurnValue, mean_of_turns
from ratiba_action.model.measurement import Case, Score

__version__ = "1.0.0"


class ReplyLanguageMetric:
    """Implements ``Metric`` without a judge: the share of the replies whose words are mostly in their language."""

    name = "ReplyLanguageMetric"
    version = __version__
    judged = False

    class Parameters(LanguageParameters):
        """What the scenario may tell it."""

        least_share: Annotated[
            float,
            Field(
                gt=0, le=1, allow_inf_nan=False, description="least share of a reply's words in the expected language"
            ),
        ] = 0.5

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score each reply that is long enough to tell."""
        values = [
            TurnValue(
                reply.turn,
                float(reply.share >= self._parameters.least_share),
                f"expected {reply.expected}: {reply.described}",
            )
            for reply in reply_languages(self.name, case, self._parameters)
        ]
        score = mean_of_turns(self.name, self.version, threshold, values, DECIDED)
        return replace(score, reason=score.reason + undecided(case, len(values)))
