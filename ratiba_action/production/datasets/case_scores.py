"""Whether a conversation was answered correctly and how sure the system was (``seeds/003``, "Results in Langfuse")."""

from collections.abc import Iterator
from statistics import fmean

from ratiba_action.model.measurement import Scored
from ratiba_action.verdict.data_set_scores import labelled_of

CORRECT, CONFIDENCE = "correct", "confidence"


def case_scores(result: Scored) -> Iterator[tuple[str, float]]:
    """Name and value of each score of a case.

    A classifier is correct where every label is the expected one; any other system where the conversation passed.

    Args:
        result: of one trial.
    """
    labelled = [one for exchange in result.transcript.exchanges for one in labelled_of(exchange)]
    right = all(one.expected == one.given for one in labelled) if labelled else result.passed
    yield CORRECT, float(right)
    sure = [one.confidence for one in labelled if one.confidence is not None]
    if sure:
        yield CONFIDENCE, fmean(sure)
