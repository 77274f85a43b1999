"""How alike two texts are written: cosine of the counts of their character n-grams.

The vector model is that of Salton, Wong and Yang, "A Vector Space Model for Automatic Indexing", 1975; n-grams in the
place of words as in Cavnar and Trenkle, "N-Gram-Based Text Categorization", 1994.
"""

from collections import Counter
from math import sqrt

from ratiba_action.util.words import words


def character_similarity(one: str, other: str, size: int = 3) -> float:
    """Cosine of two texts' n-gram counts, 0 to 1; symmetric.

    Words are normalised and each is padded with a space on either side, so that its ends count.

    Args:
        one: a text.
        other: another.
        size: characters of an n-gram, at least 1.

    Returns:
        1 for texts of the same n-grams, also when both have none; 0 when only one has any.
    """
    left, right = _grams(one, size), _grams(other, size)
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
