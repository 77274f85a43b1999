"""Is the label of a single-label classifier the right one?"""

from ratiba_action.metrics.classifier_answer import read_label
from ratiba_action.metrics.labelled_turns import score_labels
from ratiba_action.model.measurement import Case, Score

__version__ = "1.0.0"


class LabelMetric:
    """Implements ``Metric`` without a judge: 1 for the label of ``expect.label``, else 0; the mean over turns."""

    name = "LabelMetric"
    version = __version__
    judged = False

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score one case from the outputs of its replies."""
        turns = [
            (number, frozenset({exchange.turn.expect.label}), read_label(exchange.reply.output))
            for number, exchange in enumerate(case.transcript.exchanges, 1)
            if exchange.turn.expect.label is not None
        ]
        return score_labels(
            (self.name, self.version), case, threshold, turns, lambda expected, got: float(expected == got)
        )
