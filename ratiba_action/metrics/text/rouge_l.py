"""ROUGE-L: Lin, "ROUGE: A Package for Automatic Evaluation of Summaries", 2004, section 3.1, with β = 1."""

from collections.abc import Sequence

from ratiba_action.metrics.text.subsequence import longest_common_subsequence

MAX_WORDS = 1_500
"""Longer texts are cut there: the time grows with the product of the lengths, and a model decides one of them."""


def rouge_l(candidate: Sequence[str], reference: Sequence[str]) -> float:
    """F-measure of the longest common subsequence of words, 0 to 1; 0 when either has none.

    Args:
        candidate: words of what was answered.
        reference: words of what should have been.
    """
    candidate, reference = candidate[:MAX_WORDS], reference[:MAX_WORDS]
    common = longest_common_subsequence(candidate, reference)
    # 2PR / (P + R) with P = common / |candidate| and R = common / |reference|, reduced.
    return 2 * common / (len(candidate) + len(reference)) if common else 0.0
