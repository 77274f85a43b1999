"""Is a reply written like its reference answer? Character n-grams see spelling, not meaning."""

from typing import Annotated

from pydantic import Field

from ratiba_action.metrics.reference_answers import score_answers
from ratiba_action.metrics.text.character_similarity import character_similarity
from ratiba_action.model.measurement import Case, Score
from ratiba_action.util.validation import StrictModel

__version__ = "1.0.0"


class CharacterSimilarityMetric:
    """Implements ``Metric`` without a judge or a model: cosine of the counts of character n-grams."""

    name = "CharacterSimilarityMetric"
    version = __version__
    judged = False

    class Parameters(StrictModel):
        """What the scenario may tell it."""

        size: Annotated[int, Field(ge=1, le=10, description="characters of an n-gram")] = 3

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
