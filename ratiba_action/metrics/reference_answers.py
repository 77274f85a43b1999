"""Metrics that compare each reply with the reference answer of its turn."""

from collections.abc import Callable

from ratiba_action.metrics.turn_scores import TurnValue, mean_of_turns
from ratiba_action.model.measurement import Case, Score
from ratiba_action.util.text import clip, in_quotes

_SHOWN = 120


def score_answers(
    metric: str, version: str, case: Case, threshold: float, likeness: Callable[[str, str], float]
) -> Score:
    """The mean likeness of the replies to their turns' ``expect.answer``.

    Args:
        threshold: least value that passes.
        likeness: of a reply and a reference, 0 to 1.

    Raises:
        ConfigurationError: no turn that was held has a reference answer.
    """
    values = []
    for number, exchange in enumerate(case.transcript.exchanges, 1):
        reference = exchange.turn.expect.answer
        if reference is not None:
            value = likeness(exchange.reply.text, reference)
            values.append(TurnValue(number, value, f"the reply is {in_quotes(clip(exchange.reply.text, _SHOWN))}"))
    return mean_of_turns(metric, version, threshold, values, "Give a turn `expect.answer`.")
