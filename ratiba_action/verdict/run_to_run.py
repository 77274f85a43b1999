"""Noise from run to run: what all trials share that one version ran in one round, however many scenarios there are.

An arm's scenarios are scored anew in each run of it. If runs vary by more than their scenarios explain (a cold cache, a
replica of the provider that one arm happened to get), more scenarios do not average that away: only more runs do.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ratiba_action.model.comparison import Pair
from ratiba_action.verdict.families import Cluster, clusters_of


@dataclass(frozen=True, slots=True)
class RunToRun:
    """How much the means of runs of one arm vary.

    Args:
        ratio: their variance, divided by what the noise of scenarios explains; at least 1.
        freedom: degrees of freedom of the variance: runs, less one for each arm.
    """

    ratio: float = 1.0
    freedom: int = 0

    @property
    def degrees(self) -> float:
        """Degrees of freedom of an error that this ratio has widened; infinite where none was.

        They have the form of Satterthwaite (1946), for the runs' share of the variance alone; simulated, not derived.
        """
        if self.ratio <= 1:
            return math.inf
        return self.freedom / (1 - 1 / self.ratio) ** 2

    def widened(self, error: float) -> float:
        """A standard error of a mean over scenarios, as wide as runs vary."""
        return error * math.sqrt(self.ratio)

    def drop_p(self, change: float, error: float) -> float:
        """One-sided p-value of the hypothesis that a mean did not fall, with runs as a random effect.

        Args:
            change: of the mean, head minus base.
            error: its standard error over scenarios.
        """
        from scipy import special  # a quarter of a second, only when a run is compared

        if self.ratio <= 1 or not error:
            return 0.0
        t = change / self.widened(error)
        return float(special.stdtr(self.degrees, t))


def run_to_run(arms: Sequence[Sequence[Sequence[Cluster]]]) -> RunToRun:
    """The variance component of runs, by analysis of variance with scenarios and runs crossed.

    The ratio is the F statistic of runs within arms (Searle, Casella and McCulloch 1992, chapter 4), where every
    cluster is one scenario; larger ones have the sandwich estimator of their totals. A ratio below 1 counts as 1, so
    that it never narrows an error (Röver, Knapp and Friede 2015).

    Args:
        arms: of each its runs, of each run its clusters: the same ones in the same order everywhere. An arm with a
            single run shows nothing.
    """
    varied = [runs for runs in arms if len(runs) > 1]
    freedom = sum(len(runs) - 1 for runs in varied)
    count = len(varied[0][0]) if varied else 0
    if count < 2:  # noqa: PLR2004 - one cluster does not tell its own noise from the run's
        return RunToRun()
    number = sum(cluster.size for cluster in varied[0][0])
    between = within = 0.0
    for runs in varied:
        means = [math.fsum(cluster.total for cluster in run) / number for run in runs]
        level = math.fsum(means) / len(means)
        between += math.fsum((value - level) ** 2 for value in means)
        for same in zip(*runs, strict=True):
            own = math.fsum(cluster.total for cluster in same) / len(same)
            within += math.fsum(
                (cluster.total - own - cluster.size * (value - level)) ** 2
                for cluster, value in zip(same, means, strict=True)
            )
    explained = within * count / (count - 1) / number**2
    return RunToRun(max(1.0, between / explained), freedom) if explained > _NO_NOISE else RunToRun()


_NO_NOISE = 1e-12
"""Variance of scores that differ by rounding alone: runs cannot be compared with that."""


def runs_of(pairs: Sequence[Pair], rounds: int) -> list[list[list[Cluster]]]:
    """The runs that ``run_to_run`` looks at: those of the baseline, of the change, and of the base beside it.

    A run counts once, by the first planned trial of each scenario: further ones share its noise. The planned run of the
    change is one of its runs. Those of the baseline were measured at another time than the base's further trials, so
    they are a group of their own: a drift in between is none of their noise. Nor is one between two attempts at the
    same commit, so that nothing of an earlier attempt counts.

    Args:
        rounds: of further trials that every scenario has on both arms.
    """

    def run(scores: Sequence[float]) -> list[Cluster]:
        return clusters_of(pairs, scores)

    planned_base = [_first_of_runs(pair.base, pair.base_runs) for pair in pairs]
    planned_head = [_first_of_runs(pair.head, pair.head_runs) for pair in pairs]
    shared = sorted(frozenset.intersection(*map(frozenset, planned_base)))
    present = max(number for found in planned_head for number in found)
    baseline = [run([found[number] for found in planned_base]) for number in shared]
    base = [run([pair.fresh_base[each] for pair in pairs]) for each in range(rounds)]
    head = [run([pair.fresh_head[each] for pair in pairs]) for each in range(rounds)]
    if all(present in found for found in planned_head):
        head.insert(0, run([found[present] for found in planned_head]))
    return [baseline, base, head]


def _first_of_runs(values: Sequence[float], runs: Sequence[int]) -> dict[int, float]:
    """The first value of each run; without ``runs`` each value is of another one."""
    found: dict[int, float] = {}
    for number, value in zip(runs or range(len(values)), values, strict=True):
        found.setdefault(number, value)
    return found
