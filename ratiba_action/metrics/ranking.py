"""How well a ranked list of documents answers a query whose relevant documents are known.

The same is understood in every formula:

- The list's order is the ranking, the best first. Scores that the system gives are not read: of two documents with
  one score the system has still shown one before the other.
- A document that nobody judged has relevance 0. A relevant one that is missing from the list gains nothing.
- Only the first place of a document counts. A repetition keeps its place in the list and is not relevant there.
- A document is relevant when its relevance is above 0.
"""

from collections.abc import Mapping, Sequence
from math import log2
from typing import Literal

Gain = Literal["linear", "exponential"]
Judgements = Mapping[str, float]
"""Relevance, 0 or more, of each judged document by its id."""


def ndcg(ranking: Sequence[str], judgements: Judgements, k: int, gain: Gain = "linear") -> float:
    """Normalised discounted cumulative gain at ``k``.

    DCG@k is the sum over ranks i from 1 to k of gain / log2(i + 1). It is divided by the DCG@k of the ideal list, all
    judged documents in falling order of relevance, whether the system found them or not.

    Sources: Järvelin and Kekäläinen 2002, "Cumulated gain-based evaluation of IR techniques", for the linear gain,
    the relevance itself; Burges et al. 2005, "Learning to rank using gradient descent", for the exponential one,
    2 ** relevance - 1. The discount of both is that of Burges et al., as in trec_eval and scikit-learn.

    Args:
        ranking: ids of documents, the best first.
        judgements: at least one above 0.
        k: length of the list that counts, from 1.
        gain: what a document of some relevance is worth.

    Returns:
        0 to 1.
    """
    ideal = sorted(judgements.values(), reverse=True)
    return _discounted(_relevances(ranking, judgements, k), gain) / _discounted(ideal[:k], gain)


def average_precision(ranking: Sequence[str], judgements: Judgements, k: int) -> float:
    """Average precision at ``k``; its mean over queries is MAP@k.

    The precision at the rank of each relevant document among the first k, summed, over the smaller of k and the number
    of relevant documents, so that the best list there is reaches 1.

    Source: Manning, Raghavan and Schütze 2008, "Introduction to Information Retrieval", section 8.4, for lists that
    are long enough; trec_eval's map_cut divides by all relevant documents instead.
    """
    found, total = 0, 0.0
    for rank, relevance in enumerate(_relevances(ranking, judgements, k), 1):
        if relevance > 0:
            found += 1
            total += found / rank
    return total / min(k, _relevant(judgements))


def reciprocal_rank(ranking: Sequence[str], judgements: Judgements, k: int | None = None) -> float:
    """One over the rank of the first relevant document, 0 without any; its mean over queries is MRR.

    Source: Voorhees 1999, "The TREC-8 Question Answering Track Report".

    Args:
        ranking: ids of documents, the best first.
        judgements: relevance by id.
        k: length of the list that counts; None for all of it.
    """
    relevances = _relevances(ranking, judgements, len(ranking) if k is None else k)
    return next((1 / rank for rank, relevance in enumerate(relevances, 1) if relevance > 0), 0.0)


def precision(ranking: Sequence[str], judgements: Judgements, k: int) -> float:
    """Relevant documents among the first ``k``, over k, however short the list is.

    Source: Manning, Raghavan and Schütze 2008, section 8.4; trec_eval's P.
    """
    return _found(ranking, judgements, k) / k


def recall(ranking: Sequence[str], judgements: Judgements, k: int) -> float:
    """Relevant documents among the first ``k``, over all relevant ones.

    Source: Manning, Raghavan and Schütze 2008, section 8.3, of the first k; trec_eval's recall.
    """
    return _found(ranking, judgements, k) / _relevant(judgements)


def ideal_ranking(judgements: Judgements) -> tuple[str, ...]:
    """The judged documents, the most relevant first."""
    return tuple(sorted(judgements, key=lambda document: -judgements[document]))


def _relevances(ranking: Sequence[str], judgements: Judgements, k: int) -> list[float]:
    """The relevance at each of the first ``k`` ranks; a repetition has 0."""
    seen: set[str] = set()
    relevances: list[float] = []
    for document in ranking[:k]:
        relevances.append(0.0 if document in seen else judgements.get(document, 0.0))
        seen.add(document)
    return relevances


def _discounted(relevances: Sequence[float], gain: Gain) -> float:
    worth = [2.0**relevance - 1 for relevance in relevances] if gain == "exponential" else relevances
    return sum(value / log2(rank + 1) for rank, value in enumerate(worth, 1))


def _found(ranking: Sequence[str], judgements: Judgements, k: int) -> int:
    return sum(relevance > 0 for relevance in _relevances(ranking, judgements, k))


def _relevant(judgements: Judgements) -> int:
    return sum(relevance > 0 for relevance in judgements.values())
