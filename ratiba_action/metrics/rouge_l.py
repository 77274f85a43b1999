"""How many words, in their order, does a reply share with its reference answer? ROUGE-L."""

from ratiba_action.metrics.reference_answers import score_answers
from ratiba_action.metrics.text.rouge_l import rouge_l
from ratiba_action.model.measurement import Case, Score
from ratiba_action.util.words import words

__version__ = "1.0.0"


class RougeLMetric:
    """Implements ``Metric`` without a judge: F-measure of the longest common subsequence of words."""

    name = "RougeLMetric"
    version = __version__
    judged = False

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score each turn that has a reference answer."""
        return score_answers(
            self.name,
            self.version,
            case,
            threshold,
            lambda reply, reference: rouge_l(words(reply), words(reference)),
        )
