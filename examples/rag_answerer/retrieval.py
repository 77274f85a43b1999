"""Which documents bear on a question: cosine of their words, rare words weighing more."""

import math
import re
from collections import Counter


def words(text: str) -> list[str]:
    """The words of a text in lower case, without the ending of a plural."""
    return [word.removesuffix("s") for word in re.findall(r"\w+", text.lower())]


class Retriever:
    """Documents in memory.

    Args:
        documents: the text of each by its id.
    """

    def __init__(self, documents: dict[str, str]) -> None:
        counts = {name: Counter(words(text)) for name, text in documents.items()}
        having = Counter(word for count in counts.values() for word in count)
        self._rarity = {word: math.log(1 + len(documents) / number) for word, number in having.items()}
        self._vectors = {name: self._vector(count) for name, count in counts.items()}

    def best(self, question: str, maximum: int) -> list[tuple[str, float]]:
        """Ids and scores of the documents nearest to a question, the best first."""
        query = self._vector(Counter(words(question)))
        scores = {
            name: sum(weight * vector.get(word, 0.0) for word, weight in query.items())
            for name, vector in self._vectors.items()
        }
        ranked = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
        return [(name, score) for name, score in ranked[:maximum] if score > 0]

    def _vector(self, count: Counter[str]) -> dict[str, float]:
        """Weights of the words, of length 1."""
        weights = {word: number * self._rarity.get(word, 0.0) for word, number in count.items()}
        length = math.sqrt(sum(weight * weight for weight in weights.values()))
        return {word: weight / length for word, weight in weights.items()} if length else {}
