"""How many words, in their order, does a reply share with its reference answer? ROUGE-L."""

from collections.abc import Sequence

from ratiba_action.metrics.reference_answers import score_answers
from ratiba_action.metrics.tool_calls import longest_common_subsequence
from ratiba_action.model.measurement import Case, Score
from ratiba_action.util.text import words

MAX_WORDS = 1_500
"""Longer texts are cut there: the time grows with the product of the lengths, and a model decides one of them."""


def rouge_l(candidate: Sequence[str], reference: Sequence[str]) -> float:
    """F-measure of the longest common subsequence of words, 0 to 1; 0 when either has none.

    Lin, "ROUGE: A Package for Automatic Evaluation of Summaries", 2004, section 3.1, with β = 1.

    Args:
        reference: words of what should have been.
    """
    candidate, reference = candidate[:MAX_WORDS], reference[:MAX_WORDS]
    common = longest_common_subsequence(candidate, reference)
    # 2PR / (P + R) with P = common / |candidate| and R = common / |reference|, reduced.
    return 2 * common / (len(candidate) + len(reference)) if common else 0.0


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
