"""Does each reply mention what a good answer mentions? Coverage of ``expect.key_phrases``."""

from collections.abc import Sequence

from ratiba_action.metrics.turn_scores import TurnValue, mean_of_turns
from ratiba_action.model.measurement import Case, Score
from ratiba_action.util.comparable import has_text, unicode_form
from ratiba_action.util.text import in_quotes, words


def missing_phrases(text: str, phrases: Sequence[str]) -> tuple[str, ...]:
    """The phrases that a text lacks, in their order.

    A phrase is there when its words stand in the text next to each other and in order; case, diacritics and
    punctuation do not count. A phrase without a word, such as ``✓``, is looked for as it is written.
    """
    reply_words = words(unicode_form(text))
    return tuple(phrase for phrase in phrases if not _mentions(text, reply_words, phrase))


def _mentions(text: str, reply_words: Sequence[str], phrase: str) -> bool:
    wanted = words(unicode_form(phrase))
    if not wanted:
        return has_text(text, phrase.strip())
    return any(reply_words[at : at + len(wanted)] == wanted for at in range(len(reply_words) - len(wanted) + 1))


__version__ = "1.1.0"


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
                detail = f"not mentioned: {', '.join(map(in_quotes, missing))}" if missing else ""
                values.append(TurnValue(number, 1 - len(missing) / len(phrases), detail))
        return mean_of_turns(self.name, self.version, threshold, values, "Give a turn `expect.key_phrases`.")
