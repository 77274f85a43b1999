"""How far two judges agree, and how they were compared."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GradePair:
    """One conversation that two judges scored.

    Args:
        metric: ``name:version`` of the metric.
        transcript: SHA-256 of the canonical transcript.
        threshold: least score that passes, frozen when the run starts.
        first: score of the primary judge, 0 to 1; it alone counts for the verdict.
        second: score of the cross-check judge, 0 to 1.
    """

    scenario_id: str
    metric: str
    transcript: str
    threshold: float
    first: float
    second: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two judges agree.

    Args:
        pairs: how many conversations both scored.
        same_side: share of the pairs in which both pass or both fail, 0 to 1; None without pairs.
        unweighted: Cohen's kappa of pass and fail, -1 to 1; None where it is undefined.
        quadratic: quadratic-weighted kappa of the grades 0 to 10, -1 to 1; None where it is undefined.
    """

    pairs: int
    same_side: float | None = None
    unweighted: float | None = None
    quadratic: float | None = None


@dataclass(frozen=True, slots=True)
class CrossCheckStatus:
    """What became of the cross-check of one run.

    Args:
        share: of the scores that were to be asked of the second judge too, 0 to 1.
        sampled: how many scores fell into the sample.
        compared: of those, how many the second judge scored as well.
        stopped: why the share went to 0 during the run; empty when it did not.
        cached: of the compared ones, how many grades of the second judge came from the judge cache.
    """

    share: float
    sampled: int
    compared: int
    stopped: str = ""
    cached: int = 0
