"""Is a reply written like its reference answer? Character n-grams see spelling, not meaning.

The score is the cosine of the counts of character n-grams: Salton, Wong and Yang, "A Vector Space Model for Automatic
Indexing", 1975; n-grams instead of words as in Cavnar and Trenkle, "N-Gram-Based Text Categorization", 1994.
"""

from collections import Counter
from math import sqrt
from typing import Annotated

from pydantic import Field

from ratiba_action.metrics.reference_answers import score_answers
from ratiba_action.model.measurement import Case, Score
from ratiba_action.util.text import words
from ratiba_action.util.validation import StrictModel


def character_similarity(first: str, second: str, size: int = 3) -> float:
    """Cosine of two texts' n-gram counts, 0 to 1; symmetric.

    Words are normalised and each is padded with a space on either side, so that its ends count.

    Args:
        size: characters of an n-gram, at least 1.

    Returns:
        1 for texts of the same n-grams, also when both have none; 0 when only one has any.
    """
    left, right = _grams(first, size), _grams(second, size)
    if not left or not right:
        return float(left == right)
    product = sum(count * right[gram] for gram, count in left.items())
    # Whole numbers up to here, so that identical texts give exactly 1.
    length = sum(count * count for count in left.values()) * sum(count * count for count in right.values())
    return min(1.0, product / sqrt(length))


def _grams(text: str, size: int) -> Counter[str]:
    grams: Counter[str] = Counter()
    for word in words(text):
        padded = f" {word} "
        grams.update(padded[at : at + size] for at in range(max(1, len(padded) - size + 1)))
    return grams


__version__ = "1.0.0"


class CharacterSimilarityMetric:
    """Implements ``Metric`` without a judge or a model: cosine of the counts of character n-grams."""

    name = "CharacterSimilarityMetric"
    version = __version__
    judged = False

    class Parameters(StrictModel):
        """What the scenario may tell it."""

        size: Annotated[int, Field(ge=1, le=10, description="characters per n-gram")] = 3

    def __init__(self, parameters: Parameters) -> None:
        self._size = parameters.size

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score each turn that has a reference answer."""
        return score_answers(
            self.name,
            self.version,
            case,
            threshold,
            lambda reply, reference: character_similarity(reply, reference, self._size),
        )
