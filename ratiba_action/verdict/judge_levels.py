"""What a judge that answers only 0 or 1 costs: such a score is as noisy as a coin."""

import math
from collections.abc import Mapping, Sequence

from ratiba_action.verdict.interval import minimum_detectable_effect

_MIN_SCORES = 10
_SAMPLES = (1, 3, 5)
_MIN_SHARE = 0.1
"""A share of passes nearer to 0 or 1 is not known from so few scores."""


def is_coin(scores: Sequence[float]) -> bool:
    """Whether a judge answers 0 or 1 and nothing else, as far as ten scores or more show it."""
    return len(scores) >= _MIN_SCORES and set(scores) == {0.0, 1.0}


def detectable_by_coin(share: float, scenarios: int, samples: int) -> float:
    """The smallest drop that is found with 80 % power where a score is the mean of answers of 0 or 1.

    An answer varies by ``share * (1 - share)`` (Bernoulli), a difference of two means of ``samples`` answers by twice
    that divided by ``samples``. The noise is the judge's: answers about one conversation are independent.

    Args:
        share: of answers that are 1.
        scenarios: at least two, each measured once on base and head.
    """
    spread = math.sqrt(2 * share * (1 - share) / samples)
    return minimum_detectable_effect(spread, scenarios)


def coarse_judges(scores: Mapping[str, Sequence[float]], scenarios: Mapping[str, int], samples: int) -> tuple[str, ...]:
    """A sentence for each metric whose recorded scores are only 0 and 1.

    Args:
        scores: that were recorded, by metric.
        scenarios: how many have the metric.
        samples: measurements that a score is the mean of, as configured.
    """
    found: list[str] = []
    for metric, values in sorted(scores.items()):
        number = scenarios.get(metric, 0)
        if not is_coin(values) or number < 2:  # noqa: PLR2004 - a mean needs two
            continue
        share = min(max(sum(values) / len(values), _MIN_SHARE), 1 - _MIN_SHARE)
        drops = {count: detectable_by_coin(share, number, count) * 100 for count in {samples, *_SAMPLES}}
        more = ", ".join(
            f"{drops[count]:.0f} with judge.samples: {count}" for count in sorted(drops) if count > samples
        )
        found.append(
            f"{metric} was 0 or 1 in all {len(values)} recorded scores. With {number} scenarios, such a judge finds "
            f"drops of its mean of {drops[samples]:.0f} points or more" + (f"; {more}" if more else "") + ". "
            "A rubric of several levels finds smaller ones for less."
        )
    return tuple(found)
