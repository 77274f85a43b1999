"""From one value a turn to a metric's score of the conversation."""

from collections.abc import Sequence
from dataclasses import dataclass

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.measurement import Score
from ratiba_action.util.clipping import clip

_NAMED = 3


@dataclass(frozen=True, slots=True)
class TurnValue:
    """What a metric found in one turn.

    Args:
        turn: its number, from 1.
        value: 0 to 1, 1 is best.
        detail: why, in words; may quote a reply.
    """

    turn: int
    value: float
    detail: str = ""


def mean_of_turns(metric: str, version: str, threshold: float, values: Sequence[TurnValue], remedy: str) -> Score:
    """The mean over the turns that could be measured; the reason names the lowest.

    Args:
        metric: the metric's name.
        version: its version.
        threshold: least value that passes.
        values: one for each turn that has something to measure.
        remedy: what to do when there is none.

    Raises:
        ConfigurationError: no turn had anything to measure.
    """
    if not values:
        raise ConfigurationError(f"{metric} found nothing to measure in this conversation.", remedy)
    mean = sum(one.value for one in values) / len(values)
    lowest = sorted(values, key=lambda one: one.value)[:_NAMED]
    told = "; ".join(f"turn {one.turn}: {one.value:.2f}{_because(one)}" for one in lowest)
    more = f"; {len(values) - _NAMED} more turns, none lower" if len(values) > _NAMED else ""
    # Rounding of the sum must not lead out of the range.
    return Score(metric, version, min(1.0, max(0.0, mean)), threshold, judged=False, reason=told + more)


def _because(value: TurnValue) -> str:
    return f", {clip(value.detail)}" if value.detail else ""
