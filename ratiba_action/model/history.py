"""What is kept of every run, and how a metric went over runs."""

from dataclasses import dataclass
from datetime import datetime

from ratiba_action.model.values import Usd


@dataclass(frozen=True, slots=True)
class ResultRecord:
    """How one trial of one conversation ended.

    Args:
        trial: its number, from 0.
        status: ``passed``, ``failed``, ``errored`` or ``not run``.
        digest: of the scenario's content; empty for a run that an earlier version of the gate wrote.
    """

    scenario: str
    trial: int
    status: str
    digest: str = ""


@dataclass(frozen=True, slots=True)
class ScoreRecord:
    """One score of one trial.

    Args:
        judge_model: that gave it; empty for an exact score.
        score: 0 to 1.
        status: ``passed`` or ``failed``.
        required: thresholds of the metric in that run in words, those of cases and means too; ``none`` without any.
        repeats: what the judge itself gave this transcript when it was called several times; empty for one score.
        answered_by: the models that answered for the judge, where they name themselves otherwise than it.
    """

    scenario: str
    trial: int
    metric: str
    version: str
    judge_model: str
    score: float
    threshold: float
    status: str
    required: str = ""
    repeats: tuple[float, ...] = ()
    answered_by: str = ""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run as the history keeps it; its texts are masked.

    Repository, gate, commit, workflow run, attempt and start identify it.

    Args:
        commit: that was evaluated; empty for a work tree with changes of its own.
        run_id: id of the workflow run, 0 outside a workflow.
        branch: that was evaluated itself; empty for a pull request and on a laptop.
        suite_version: digest of the suite.
        answers: ``replay``, ``mixed`` or ``live``.
        second_model: of the cross-check; empty without one.
        pairs: scores that both judges gave.
        same_side: share of them on the same side of the threshold; None without any.
        kappa: quadratic-weighted; None where it is undefined.
        anchor: commit that the run was compared with, of a run of the base branch itself; empty without one.
        decline: confirmed difference to it, now minus then; None where none was confirmed.
    """

    repository: str
    gate: str
    commit: str
    run_id: int
    run_attempt: int
    started_at: datetime
    event: str
    branch: str
    pull_request: int | None
    suite_version: str
    mode: str
    conclusion: str
    answers: str
    judge_model: str
    spent_usd: Usd
    seconds: float
    trials: int
    results: tuple[ResultRecord, ...] = ()
    scores: tuple[ScoreRecord, ...] = ()
    second_model: str = ""
    pairs: int = 0
    same_side: float | None = None
    kappa: float | None = None
    anchor: str = ""
    decline: float | None = None


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A run of the history that an anchor may be chosen from.

    Args:
        answers: ``replay``, ``mixed`` or ``live``.
    """

    id: int
    commit: str
    started_at: datetime
    judge_model: str
    answers: str


@dataclass(frozen=True, slots=True)
class KeptScore:
    """A score of a kept run, or a trial without any: its metric is then empty.

    Args:
        digest: of the scenario's content; empty where an earlier version of the gate wrote it.
        judged: whether a judge gave it.
    """

    run: int
    scenario: str
    trial: int
    status: str
    digest: str
    metric: str = ""
    version: str = ""
    judged: bool = False
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class KeptValue:
    """A judged score of a scenario in one run."""

    digest: str
    metric: str
    version: str
    started_at: datetime
    score: float


@dataclass(frozen=True, slots=True)
class KeptDecline:
    """What the latest run of a branch that was compared with an anchor came to.

    Args:
        decline: confirmed difference to it; None where none was confirmed.
    """

    started_at: datetime
    commit: str
    anchor: str
    decline: float | None


@dataclass(frozen=True, slots=True)
class AgreementPoint:
    """How far the two judges of one run agreed.

    Args:
        pairs: scores that both gave.
        same_side: share of them on the same side of the threshold; None without any.
        kappa: quadratic-weighted; None where it is undefined.
    """

    started_at: datetime
    commit: str
    judge_model: str
    second_model: str
    pairs: int
    same_side: float | None
    kappa: float | None


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """The mean of one metric in one run.

    Args:
        judge_model: empty for an exact metric.
        mean: of all scores, 0 to 1.
        threshold: the highest that one of them had to reach.
        required: thresholds of the metric in words, those of cases and means too; empty for a run that an earlier
            version of the gate wrote.
    """

    started_at: datetime
    commit: str
    metric: str
    version: str
    judge_model: str
    answers: str
    suite_version: str
    mean: float
    count: int
    threshold: float
    required: str = ""


@dataclass(frozen=True, slots=True)
class TrendSegment:
    """Points that can be compared with each other, the oldest first.

    Args:
        why: the points before them cannot; empty for the first ones.
    """

    why: str
    points: tuple[TrendPoint, ...]


@dataclass(frozen=True, slots=True)
class TrendWindow:
    """The runs of the last days before the latest one that can be compared with it.

    Args:
        mean: of their scores; None without any.
    """

    days: int
    runs: int
    mean: float | None


@dataclass(frozen=True, slots=True)
class Trend:
    """One metric over the runs of a branch.

    Args:
        windows: of 7, 30 and 90 days.
    """

    metric: str
    segments: tuple[TrendSegment, ...]
    windows: tuple[TrendWindow, ...] = ()

    @property
    def points(self) -> tuple[TrendPoint, ...]:
        """All of them, the oldest first."""
        return tuple(point for segment in self.segments for point in segment.points)
