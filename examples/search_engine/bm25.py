"""Okapi BM25: how well a text answers a query, by the words that both have."""

import math
import re
from collections import Counter

K1, B = 1.2, 0.75  # the usual values; Robertson and Zaragoza, 2009


def words(text: str) -> list[str]:
    """The words of a text in lower case."""
    return re.findall(r"\w+", text.lower())


class Index:
    """Texts that can be searched.

    Args:
        texts: each text by its id.
    """

    def __init__(self, texts: dict[str, str]) -> None:
        self._counts = {name: Counter(words(text)) for name, text in texts.items()}
        self._mean_length = sum(count.total() for count in self._counts.values()) / len(texts)

    def search(self, query: str) -> list[tuple[str, float]]:
        """The ids of the texts that have a word of the query, with their scores, the best first."""
        scores = {name: self._score(words(query), count) for name, count in self._counts.items()}
        found = [(name, score) for name, score in scores.items() if score > 0]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))

    def _score(self, query: list[str], count: Counter[str]) -> float:
        long = 1 - B + B * count.total() / self._mean_length
        return sum(self._rarity(word) * count[word] * (K1 + 1) / (count[word] + K1 * long) for word in query)

    def _rarity(self, word: str) -> float:
        having = sum(word in count for count in self._counts.values())
        return math.log(1 + (len(self._counts) - having + 0.5) / (having + 0.5))
