"""From the cosine of two embeddings to a value that uses the range from 0 to 1.

The card of the model multilingual-e5-small says that its cosines lie around 0.7 to 1.0, because it was trained with the
low temperature of 0.01, and that their order tells more than their size (Wang et al., "Multilingual E5 Text
Embeddings: A Technical Report", 2024). So the value is the place of the cosine between a floor and 1.
"""

from collections.abc import Sequence
from math import fsum

USUAL_FLOOR = 0.7
"""The least cosine that is usual for the model, of texts that have nothing in common."""
_DIGITS = 4


def embedding_similarity(first: Sequence[float], second: Sequence[float], floor: float = USUAL_FLOOR) -> float:
    """How alike two embeddings are, 0 to 1; symmetric.

    Args:
        first: an embedding, of length 1.
        second: another, of as many numbers.
        floor: the cosine that is worth 0, below 1.

    Returns:
        (cosine - floor) / (1 - floor), between 0 and 1, to four digits: processors differ in those behind.
    """
    cosine = fsum(left * right for left, right in zip(first, second, strict=True))
    return round(min(1.0, max(0.0, (cosine - floor) / (1 - floor))), _DIGITS)
