"""How many n-grams of words or characters does a reply share with its reference answer? BLEU and chrF by sacrebleu."""

from dataclasses import replace
from importlib.metadata import version
from typing import Annotated, Any, Literal

from pydantic import Field

from ratiba_action.metrics.reference_answers import score_answers
from ratiba_action.model.measurement import Case, Score
from ratiba_action.util.validation import StrictModel


class _SacrebleuMetric:
    """A hundredth of the score that sacrebleu gives a reply; the reason ends with sacrebleu's signature."""

    name: str
    judged = False

    def __init__(self) -> None:
        self.version = f"1.0.0+sacrebleu-{version('sacrebleu')}"

    def _formula(self) -> Any:
        raise NotImplementedError

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score each turn that has a reference answer."""
        formula = self._formula()

        def likeness(reply: str, reference: str) -> float:
            return min(1.0, float(formula.sentence_score(reply, [reference]).score) / 100)

        score = score_answers(self.name, self.version, case, threshold, likeness)
        return replace(score, reason=f"{score.reason}; {formula.get_signature()}")


class BleuMetric(_SacrebleuMetric):
    """Implements ``Metric`` without a judge: sentence BLEU of each reply.

    Papineni et al., "BLEU: a Method for Automatic Evaluation of Machine Translation", 2002; smoothed and of effective
    order, as replies are short.
    """

    name = "BleuMetric"

    class Parameters(StrictModel):
        """What the scenario may tell it."""

        lowercase: bool = Field(default=False, description="ignore case")
        tokenize: Literal["13a", "intl", "char", "none"] = Field(default="13a", description="sacrebleu's tokenizer")

    def __init__(self, parameters: Parameters) -> None:
        super().__init__()
        self._parameters = parameters

    def _formula(self) -> Any:
        from sacrebleu.metrics.bleu import BLEU  # an extra, and only when it measures

        return BLEU(lowercase=self._parameters.lowercase, tokenize=self._parameters.tokenize, effective_order=True)


class ChrfMetric(_SacrebleuMetric):
    """Implements ``Metric`` without a judge: chrF of each reply.

    Popović, "chrF: character n-gram F-score for automatic MT evaluation", 2015.
    """

    name = "ChrfMetric"

    class Parameters(StrictModel):
        """What the scenario may tell it."""

        lowercase: bool = Field(default=False, description="ignore case")
        word_order: Annotated[int, Field(ge=0, le=2, description="order of additional word n-grams; 2 is chrF++")] = 0

    def __init__(self, parameters: Parameters) -> None:
        super().__init__()
        self._parameters = parameters

    def _formula(self) -> Any:
        from sacrebleu.metrics.chrf import CHRF  # an extra, and only when it measures

        return CHRF(lowercase=self._parameters.lowercase, word_order=self._parameters.word_order)
