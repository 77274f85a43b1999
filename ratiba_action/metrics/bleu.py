"""How many n-grams of words does a reply share with its reference answer? BLEU by sacrebleu."""

from dataclasses import replace
from importlib.metadata import version
from typing import Literal

from pydantic import Field

from ratiba_action.metrics.reference_answers import score_answers
from ratiba_action.model.measurement import Case, Score
from ratiba_action.util.validation import StrictModel

__version__ = "1.0.0"


class BleuMetric:
    """Implements ``Metric`` without a judge: sentence BLEU of each reply, a hundredth of sacrebleu's.

    Papineni et al., "BLEU: a Method for Automatic Evaluation of Machine Translation", 2002; smoothed and of effective
    order, as replies are short. The reason of a score ends with sacrebleu's signature.
    """

    name = "BleuMetric"
    judged = False

    class Parameters(StrictModel):
        """What the scenario may tell it."""

        lowercase: bool = Field(default=False, description="ignore case")
        tokenize: Literal["13a", "intl", "char", "none"] = Field(default="13a", description="sacrebleu's tokenizer")

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self.version = f"{__version__}+sacrebleu-{version('sacrebleu')}"

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score each turn that has a reference answer."""
        from sacrebleu.metrics.bleu import BLEU  # noqa: PLC0415 - an extra, and only when it measures

        bleu = BLEU(lowercase=self._parameters.lowercase, tokenize=self._parameters.tokenize, effective_order=True)

        def likeness(reply: str, reference: str) -> float:
            return min(1.0, bleu.sentence_score(reply, [reference]).score / 100)

        score = score_answers(self.name, self.version, case, threshold, likeness)
        return replace(score, reason=f"{score.reason}; {bleu.get_signature()}")
