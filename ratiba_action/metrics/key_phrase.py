"""Does each reply mention what a good answer mentions? Coverage of ``expect.key_phrases``."""

from ratiba_action.metrics.text.key_phrases import missing_phrases
from ratiba_action.metrics.turn_scores import TurnValue, mean_of_turns
from ratiba_action.model.measurement import Case, Score

__version__ = "1.0.0"


class KeyPhraseMetric:
    """Implements ``Metric`` without a judge: the share of a turn's key phrases that its reply holds."""

    name = "KeyPhraseMetric"
    version = __version__
    judged = False

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score each turn that has key phrases."""
        values = []
        for number, exchange in enumerate(case.transcript.exchanges, 1):
            phrases = exchange.turn.expect.key_phrases
            if phrases:
                missing = missing_phrases(exchange.reply.text, phrases)
                detail = f"not mentioned: {', '.join(map(repr, missing))}" if missing else ""
                values.append(TurnValue(number, 1 - len(missing) / len(phrases), detail))
        return mean_of_turns(self.name, self.version, threshold, values, "Give a turn `expect.key_phrases`.")
