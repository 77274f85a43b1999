"""Does the conversation hang together? One score of the whole.

Coherence of a dialogue as in Zhong et al. 2022, "Towards a Unified Multi-Dimensional Evaluator for Text Generation":
each reply is a valid continuation of what was said before. Whether it is about the matter is TurnRelevancyMetric's.
"""

from ratiba_action.metrics.rubric import DATA_STEP, RubricMetric
from ratiba_action.ports import Judge

__version__ = "1.0.0"

STEPS = (
    "Look only at the assistant's turns; the customer's turns are context and are not graded.",
    (
        "Check of each reply whether it follows from what was said before it: it takes up the matter in hand, its "
        "'it', 'then' and 'there' point at the right things, and its sentences belong together in this order."
    ),
    (
        "Take points off for a reply that contradicts an earlier one without saying so, that brings up what was "
        "settled as if it were new, or that jumps to another matter without a word."
    ),
    (
        "A new matter that the customer brings up is no fault of the assistant; nor are short replies, a change of "
        "language or mistakes of spelling. Whether a statement is true is not graded."
    ),
    (
        "Give 10 when every reply follows, 8 for one small break that does not disturb, 5 when a reader must guess "
        "what belongs together, and 2 or less when the conversation makes no sense as a whole."
    ),
    DATA_STEP,
)


class CoherenceMetric(RubricMetric):
    """Scores how the assistant's replies hang together, 0 to 1."""

    def __init__(self, judge: Judge) -> None:
        super().__init__("CoherenceMetric", __version__, STEPS, judge)
