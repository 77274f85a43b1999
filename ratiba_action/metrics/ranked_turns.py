"""What the metrics of search share: the turns whose relevant documents are known, and the mean over them."""

from collections.abc import Callable, Sequence
from typing import Annotated

from pydantic import Field

from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.ranking import Judgements
from ratiba_action.model.measurement import Case, Score
from ratiba_action.model.values import mean
from ratiba_action.util.validation import StrictModel

Formula = Callable[[Sequence[str], Judgements], float]
"""Value of one ranked list of document ids."""

Cut = Annotated[int, Field(ge=1, le=10_000, description="number of documents of the list that count")]


class CutParameters(StrictModel):
    """How many documents of the list count."""

    k: Cut = 10


def score_rankings(name: str, version: str, case: Case, threshold: float, formula: Formula) -> Score:
    """The mean of a formula over the turns whose relevant documents the scenario gives.

    A reply without documents found nothing: its value is 0.

    Raises:
        ConfigurationError: no turn says which documents are relevant.
    """
    values: list[float] = []
    details: list[str] = []
    for number, exchange in enumerate(case.transcript.exchanges, 1):
        judgements = exchange.turn.expect.documents
        if judgements is None:
            continue
        if not any(relevance > 0 for relevance in judgements.values()):
            raise _nothing(name, f"turn {number} of {case.scenario.id} names no relevant document")
        found = [document.id for document in exchange.reply.documents]
        values.append(formula(found, judgements))
        details.append(f"turn {number}: {values[-1]:.4f}" + ("" if found else ", the reply has no documents"))
    if not values:
        raise _nothing(name, f"no turn of {case.scenario.id} has expect.documents")
    return Score(name, version, mean(values), threshold, judged=False, reason="; ".join(details))


def _nothing(name: str, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"{name} has nothing to measure: {why}.", "Give the relevant documents, such as expect: {documents: [d1, d7]}."
    )
