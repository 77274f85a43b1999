"""How much of the replies stays in their language? What is left is switched to another."""

from dataclasses import replace

from ratiba_action.metrics.measured_language import DECIDED, LanguageParameters, reply_languages, undecided
from ratiba_action.metrics.turn_scores import TurnValue, mean_of_turns
from ratiba_action.model.measurement import Case, Score

__version__ = "1.0.0"


class CodeSwitchMetric:
    """Implements ``Metric`` without a judge: 1 less the share of a reply's words in other languages, as a mean."""

    name = "CodeSwitchMetric"
    version = __version__
    judged = False
    Parameters = LanguageParameters

    def __init__(self, parameters: LanguageParameters) -> None:
        self._parameters = parameters

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score each reply that is long enough to tell."""
        values = [
            TurnValue(reply.turn, reply.share, reply.described)
            for reply in reply_languages(self.name, case, self._parameters)
        ]
        score = mean_of_turns(self.name, self.version, threshold, values, DECIDED)
        return replace(score, reason=score.reason + undecided(case, len(values)))
