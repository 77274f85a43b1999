"""How many n-grams of characters does a reply share with its reference answer? chrF by sacrebleu."""

from dataclasses import replace
from importlib.metadata import version
from typing import Annotated

from pydantic import Field

from ratiba_action.metrics.reference_answers import score_answers
from ratiba_action.model.measurement import Case, Score
from ratiba_action.util.validation import StrictModel

__version__ = "1.0.0"


class ChrfMetric:
    """Implements ``Metric`` without a judge: chrF of each reply, a hundredth of sacrebleu's.

    Popović, "chrF: character n-gram F-score for automatic MT evaluation", 2015. The reason of a score ends with
    sacrebleu's signature.
    """

    name = "ChrfMetric"
    judged = False

    class Parameters(StrictModel):
        """What the scenario may tell it."""

        lowercase: bool = Field(default=False, description="ignore case")
        word_order: Annotated[int, Field(ge=0, le=2, description="order of additional word n-grams; 2 is chrF++")] = 0

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self.version = f"{__version__}+sacrebleu-{version('sacrebleu')}"

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score each turn that has a reference answer."""
        from sacrebleu.metrics.chrf import CHRF  # noqa: PLC0415 - an extra, and only when it measures

        chrf = CHRF(lowercase=self._parameters.lowercase, word_order=self._parameters.word_order)

        def likeness(reply: str, reference: str) -> float:
            return min(1.0, float(chrf.sentence_score(reply, [reference]).score) / 100)

        score = score_answers(self.name, self.version, case, threshold, likeness)
        return replace(score, reason=f"{score.reason}; {chrf.get_signature()}")
