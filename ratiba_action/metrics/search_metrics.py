"""The metrics of search: the mean of a formula of ``metrics/ranking.py`` over the turns with ``expect.documents``."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated

from pydantic import Field

from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.ranking import Gain, Judgements, average_precision, ndcg, precision, recall, reciprocal_rank
from ratiba_action.model.measurement import Case, Score
from ratiba_action.model.values import mean
from ratiba_action.util.validation import StrictModel

__version__ = "1.0.0"

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


class SearchMetric:
    """Implements ``Metric`` without a judge: the mean over the turns that have ``expect.documents``.

    Args:
        formula: value of one ranked list, 0 to 1.
    """

    name: str
    version = __version__
    judged = False

    def __init__(self, formula: Formula) -> None:
        self._formula = formula

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score one case from the documents of its replies."""
        return score_rankings(self.name, self.version, case, threshold, self._formula)


class MapMetric(SearchMetric):
    """Is each relevant document found early? The mean average precision at k."""

    name = "MapMetric"
    Parameters = CutParameters

    def __init__(self, parameters: CutParameters | None = None) -> None:
        super().__init__(partial(average_precision, k=(parameters or CutParameters()).k))


class PrecisionAtKMetric(SearchMetric):
    """How many of the first k documents are relevant? The mean precision at k."""

    name = "PrecisionAtKMetric"
    Parameters = CutParameters

    def __init__(self, parameters: CutParameters | None = None) -> None:
        super().__init__(partial(precision, k=(parameters or CutParameters()).k))


class RecallAtKMetric(SearchMetric):
    """How many of the relevant documents are among the first k? The mean recall at k."""

    name = "RecallAtKMetric"
    Parameters = CutParameters

    def __init__(self, parameters: CutParameters | None = None) -> None:
        super().__init__(partial(recall, k=(parameters or CutParameters()).k))


class MrrParameters(StrictModel):
    """How many documents of the list count."""

    k: Cut | None = Field(default=None, description="default: the whole list")


class MrrMetric(SearchMetric):
    """How soon comes the first relevant document? The mean reciprocal rank."""

    name = "MrrMetric"
    Parameters = MrrParameters

    def __init__(self, parameters: MrrParameters | None = None) -> None:
        super().__init__(partial(reciprocal_rank, k=(parameters or MrrParameters()).k))


class NdcgParameters(CutParameters):
    """How many documents of the list count, and what one of some relevance is worth."""

    gain: Gain = Field(default="linear", description="linear: the grade; exponential: 2 ** grade - 1")


class NdcgMetric(SearchMetric):
    """Are the most relevant documents first? NDCG at k."""

    name = "NdcgMetric"
    Parameters = NdcgParameters

    def __init__(self, parameters: NdcgParameters | None = None) -> None:
        given = parameters or NdcgParameters()
        super().__init__(partial(ndcg, k=given.k, gain=given.gain))
