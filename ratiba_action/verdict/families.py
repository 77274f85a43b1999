"""Families: scenarios whose scores vary together, so that they are fewer measurements than they seem.

The test changes the signs of whole families, and intervals count families (Cameron, Gelbach and Miller 2008; Miller
2024). Few families leave too few signs. Then one family's change in one round of further trials is a
measurement: if the change does nothing, it is as likely to rise as to fall, so the test stays exact, and its result is
about these families only.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ratiba_action.model.comparison import Pair, Rules
from ratiba_action.model.values import mean
from ratiba_action.verdict.interval import Interval

_MEASUREMENTS = 6
"""Of few families at least, once every round ran: with fewer, no p-value of the test is as small as its level."""

_MIN_FOR_INTERVAL = 2


@dataclass(frozen=True, slots=True)
class Cluster:
    """The changes of scenarios that count as one measurement.

    Args:
        total: their sum.
        size: how many there are.
    """

    total: float
    size: int


def clusters_of(pairs: Sequence[Pair], changes: Sequence[float]) -> list[Cluster]:
    """One cluster a family, in the order in which they first appear; a scenario of no family is one of its own.

    Args:
        changes: head minus base of each pair.
    """
    found: dict[tuple[str, str], list[float]] = {}
    for pair, change in zip(pairs, changes, strict=True):
        found.setdefault((pair.family, "" if pair.family else pair.scenario_id), []).append(change)
    return [Cluster(math.fsum(values), len(values)) for values in found.values()]


def clusters_of_rounds(pairs: Sequence[Pair], rounds: int) -> list[Cluster]:
    """One cluster a family and round of further trials, those of earlier attempts first.

    Args:
        rounds: that every scenario has on both arms.
    """
    added = min(min(len(pair.added_base), len(pair.added_head)) for pair in pairs)
    earlier = ([pair.added_head[number] - pair.added_base[number] for pair in pairs] for number in range(added))
    fresh = ([pair.fresh_head[number] - pair.fresh_base[number] for pair in pairs] for number in range(rounds))
    return [cluster for changes in (*earlier, *fresh) for cluster in clusters_of(pairs, changes)]


def merged(pairs: Sequence[Pair]) -> list[Pair]:
    """One pair a family, each of its trials the mean over the scenarios; a scenario of no family as it is."""
    groups: dict[tuple[str, str], list[Pair]] = {}
    for pair in pairs:
        groups.setdefault((pair.family, "" if pair.family else pair.scenario_id), []).append(pair)
    return [group[0] if len(group) == 1 else _merged(group) for group in groups.values()]


def _merged(group: Sequence[Pair]) -> Pair:
    def means(*trials: Sequence[float]) -> tuple[float, ...]:
        return tuple(map(mean, zip(*trials, strict=False)))

    return Pair(
        group[0].family,
        any(pair.critical for pair in group),
        means(*(pair.base for pair in group)),
        means(*(pair.head for pair in group)),
        means(*(pair.fresh_base for pair in group)),
        means(*(pair.fresh_head for pair in group)),
        means(*(pair.added_base for pair in group)),
        means(*(pair.added_head for pair in group)),
    )


def effective_number(clusters: Iterable[Cluster]) -> float:
    """How many clusters of one size say as much as these (Kish 1965); the largest ones count most."""
    sizes = [cluster.size for cluster in clusters]
    return sum(sizes) ** 2 / sum(size**2 for size in sizes)


def rounds_of_families(effective: float, rules: Rules) -> int:
    """How many further trials of each scenario of few families run on either arm at most."""
    return max(rules.confirming_trials, math.ceil(_MEASUREMENTS / effective))


def cluster_error(clusters: Sequence[Cluster]) -> float | None:
    """Standard error of the mean change of a scenario, robust against what scenarios of one cluster share.

    The sandwich estimator with the correction G / (G - 1) for few clusters (Cameron, Gelbach and Miller 2008).

    Returns:
        None where the clusters are effectively fewer than two.
    """
    if effective_number(clusters) < _MIN_FOR_INTERVAL:
        return None
    number = sum(cluster.size for cluster in clusters)
    middle = math.fsum(cluster.total for cluster in clusters) / number
    squares = math.fsum((cluster.total - cluster.size * middle) ** 2 for cluster in clusters)
    return math.sqrt(squares * len(clusters) / (len(clusters) - 1)) / number


def cluster_interval(
    clusters: Sequence[Cluster], confidence: float, *, ratio: float = 1.0, freedom: float = math.inf
) -> Interval | None:
    """Interval of the mean change of a scenario, two-sided, by Student's distribution with the effective number.

    It is ``t_interval`` where every cluster is one scenario.

    Args:
        confidence: such as 0.90.
        ratio: that the variance is multiplied by, for noise that clusters do not show.
        freedom: degrees of freedom of that noise; with fewer than the clusters have, they apply.

    Returns:
        None where the clusters are effectively fewer than two.
    """
    from scipy import special  # a quarter of a second, only when a run is compared

    error = cluster_error(clusters)
    if error is None:
        return None
    middle = math.fsum(cluster.total for cluster in clusters) / sum(cluster.size for cluster in clusters)
    degrees = min(effective_number(clusters) - 1, freedom)
    reach = float(special.stdtrit(degrees, (1 + confidence) / 2)) * error * math.sqrt(ratio)
    return Interval(middle - reach, middle + reach)
