"""How a conversation was measured. Failure is a value: never NaN, never a score of 0."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise

from ratiba_action.model.conversation import Transcript, Usage
from ratiba_action.model.event import EvaluationFailed
from ratiba_action.model.plan import Trial
from ratiba_action.model.scenario import Assertion, Scenario
from ratiba_action.model.values import JsonObject, Usd, mean


@dataclass(frozen=True, slots=True)
class Case:
    """All that a metric may look at.

    Args:
        trial: number of the repeat of this scenario, from 0; a repeat is never answered from a cache.
        arm: the side of a comparison that ran the conversation.
        first_ordinal: of the first question about it. A vote measures the same case with questions of its own.
    """

    scenario: Scenario
    transcript: Transcript
    trial: int = 0
    arm: str = "head"
    first_ordinal: int = 0

    def question(self, metric: str, shown: str, schema: JsonObject | None = None) -> "Question":
        """A metric's first question about the case, not worded yet.

        Args:
            metric: ``name:version`` of it.
            shown: SHA-256 of exactly what it shows.
            schema: of the answer; None asks for a score.
        """
        return Question(self.scenario.id, metric, shown, self.first_ordinal, "", self.trial, self.arm, schema)


@dataclass(frozen=True, slots=True)
class Question:
    """One call of a judge, identified independently of how a metric library words its prompt.

    Args:
        metric: ``name:version`` of the metric that asks.
        transcript: SHA-256 of exactly what the metric shows of a case; of one that shows only what was said, the
            canonical transcript's.
        ordinal: number of this question within the metric, from 0.
        prompt: what a live model is sent; not part of the question's identity.
        schema: JSON Schema of the answer; None asks for a score.
        temperature: of the model; None for the provider's. The version of the metric distinguishes questions by it.
        trial: number of the repeat of the scenario, from 0.
        arm: the side of a comparison that ran the conversation.
    """

    scenario_id: str
    metric: str
    transcript: str
    ordinal: int
    prompt: str = field(repr=False, compare=False)
    trial: int = 0
    arm: str = "head"
    schema: JsonObject | None = field(default=None, repr=False, compare=False)
    temperature: float | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """A judge's answer, validated.

    Args:
        body: fits the question's schema; of a score ``{"score": 0 to 1, "reason": "…"}``. Its texts are untrusted.
        replayed: it came from a recording.
        usage: tokens of it, as far as they are known.
        answered_by: the model that gave it, where the answer names it otherwise than the request; else empty.
        usd: what was paid for it; None where nothing was, or an earlier process of the run did.
    """

    body: JsonObject
    replayed: bool = False
    usage: Usage = field(default_factory=Usage, compare=False)
    answered_by: str = field(default="", compare=False)
    usd: Usd | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class JudgeScore:
    """A score that a judge gave, validated.

    Args:
        score: 0 to 1.
        reason: the judge's own words; untrusted text.
        replayed: it came from a recording.
    """

    score: float
    reason: str
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Invariant:
    """One named condition of a deterministic metric that applied to a case."""

    name: str
    satisfied: bool
    detail: str = ""


BY_SAMPLES = "+samples-"
"""Before the number of measurements that a score is the mean of, in the version of a metric that has several."""


@dataclass(frozen=True, slots=True)
class Score:
    """A metric's value for one case.

    Args:
        value: 0 to 1, 1 is best.
        threshold: least value that passes, frozen when the run starts.
        judged: True when a model gave it, so that the pass rate covers it; False is exact.
        invariants: of a deterministic metric, each one that applied.
        cached: taken from the judge cache.
        votes: each measurement in the order taken when there were several. ``value`` is the first of them, so that
            means never contain a vote; whether it passed is what the majority says.
        voters: the model that gave each vote; empty texts for recorded ones.
        answered_by: the models that answered for the judge, sorted, where they name themselves otherwise than it.
    """

    metric: str
    version: str
    value: float
    threshold: float
    judged: bool
    reason: str = ""
    invariants: tuple[Invariant, ...] = ()
    cached: bool = False
    votes: tuple[float, ...] = ()
    voters: tuple[str, ...] = ()
    answered_by: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the value, or of several votes the majority, reaches the threshold."""
        if not self.votes:
            return self.value >= self.threshold
        return 2 * sum(vote >= self.threshold for vote in self.votes) > len(self.votes)

    @property
    def vote_note(self) -> str:
        """The votes, to be written behind the value; empty where there were none."""
        return f" (votes {', '.join(f'{vote:.2f}' for vote in self.votes)})" if self.votes else ""


@dataclass(frozen=True, slots=True)
class Check:
    """A deterministic assertion, passed or failed.

    Args:
        kind: ``state``, ``payment``, ``tools``, ``event``, ``transitions``, ``output``, ``language``, ``rows``,
            ``limit``, ``reply``, ``test``, ``goal`` or ``rule``.
        turn: number of the turn, from 1; 0 for the whole conversation.
        line: its line in the scenario's file.
        measured: False when this run could not tell; ``passed`` is True then and counts for nothing.
        stand_in: measured while recorded answers to other requests stood in for those that were not recorded.
    """

    kind: str
    turn: int
    what: str
    expected: str
    got: str
    passed: bool
    line: int = 0
    measured: bool = True
    stand_in: bool = False


class Phase(StrEnum):
    """Where a scenario's trial errored."""

    TENANT = "tenant"
    SYSTEM = "system"
    RECORDING = "recording"
    BUDGET = "budget"
    LEDGER = "ledger"
    PROVIDER = "provider"
    JUDGE = "judge"
    METRIC = "metric"
    CONFIGURATION = "configuration"
    REQUEST = "request"
    """A request of the system to a model, which the gateway refused."""
    TIMEOUT = "time-out"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class Scored:
    """A trial that ran to its end.

    Args:
        retried: why each earlier attempt at it errored.
        place: of a further trial: how many of its round ran before it; None for a planned one.
        began: of a further trial: seconds from the start of the run's first trial to the part of the round it ran in.
    """

    trial: Trial
    transcript: Transcript
    checks: tuple[Check, ...]
    scores: tuple[Score, ...]
    seconds: float
    retried: tuple[str, ...] = ()
    place: int | None = None
    began: float | None = None

    @property
    def deciding_scores(self) -> tuple[Score, ...]:
        """What must reach its threshold: every score, or their mean where the scenario's strategy says so."""
        minimum = min_mean_of(self.trial.scenario)
        return self.scores if minimum is None or not self.scores else (_mean_score(self.scores, minimum),)

    @property
    def passed(self) -> bool:
        """Whether every check passes and every deciding score reaches its threshold."""
        return all(check.passed for check in self.checks) and all(score.passed for score in self.deciding_scores)


@dataclass(frozen=True, slots=True)
class Errored:
    """A trial that errored; what was measured all the same is kept, and can still fail the run.

    Args:
        retried: why each earlier attempt at it errored.
        remedy: what ends it, where the message does not say so.
        suspected: deterministic assertions on what the code did that failed while recorded answers to other requests
            stood in; each counts only where the base passes it.
    """

    trial: Trial
    phase: Phase
    message: str
    transcript: Transcript | None = None
    seconds: float = 0.0
    checks: tuple[Check, ...] = ()
    scores: tuple[Score, ...] = ()
    retried: tuple[str, ...] = ()
    remedy: str = ""
    suspected: tuple[Check, ...] = ()

    @property
    def explanation(self) -> str:
        """What errored, and how to fix it."""
        return f"{self.message} {self.remedy}".rstrip()

    @property
    def ran_whole(self) -> bool:
        """Whether the conversation was run to its end, and only what was recorded or mocked does not fit it."""
        if self.phase is not Phase.RECORDING or not self.remedy or self.transcript is None:
            return False
        return len(self.transcript.exchanges) >= len(self.trial.scenario.turns)

    @property
    def lacks_score(self) -> bool:
        """Whether only a recorded answer about a whole conversation is missing."""
        return self.ran_whole and len(self.scores) < len(self.trial.scenario.assertions)

    @property
    def deciding_scores(self) -> tuple[Score, ...]:
        """Scores that count by themselves; a mean that lacks some of its scores is none."""
        return self.scores if min_mean_of(self.trial.scenario) is None else ()


def min_mean_of(scenario: Scenario) -> float | None:
    """What the mean of a scenario's scores must reach; None where each has its threshold, as in a critical one."""
    return None if scenario.critical else scenario.strategy.min_mean


def threshold_of(scenario: Scenario, assertion: Assertion, version: str) -> float:
    """What a score must reach: the bound of its own history where the strategy says so and there is one.

    What a rule asks for and what a critical scenario measures keep their thresholds.

    Args:
        scenario: with what was read of its history.
    """
    own = scenario.strategy.statistical
    if own is None or scenario.critical or assertion.of_rule:
        return assertion.threshold
    return own.threshold(assertion.label, version, assertion.threshold)


def _mean_score(scores: tuple[Score, ...], minimum: float) -> Score:
    names = ", ".join(score.metric for score in scores)
    judged = any(score.judged for score in scores)
    return Score(MEAN, "1", mean([score.value for score in scores]), minimum, judged=judged, reason=f"mean of {names}")


MEAN = "mean of the scores"
"""What the score of a strategy with ``min_mean`` is called."""


@dataclass(frozen=True, slots=True)
class NotRun:
    """A trial that was planned and not started."""

    trial: Trial
    reason: str


ScenarioResult = Scored | Errored | NotRun


def evaluation_failures(result: ScenarioResult) -> Iterator[tuple[int, EvaluationFailed]]:
    """Each check that does not hold, each deciding score below its threshold, and where the trial errored.

    A trial that was not run failed at nothing.

    Yields:
        The number of the turn, from 1, 0 for the whole conversation; and what failed.
    """
    if isinstance(result, NotRun):
        return
    for check in result.checks:
        if not check.passed:
            yield check.turn, EvaluationFailed("check", check.kind, check.expected, check.got, check.what)
    for score in result.deciding_scores:
        if not score.passed:
            yield 0, _of_score(score)
    if isinstance(result, Errored):
        yield 0, EvaluationFailed("error", result.phase.value, reason=result.message)


def _of_score(score: Score) -> EvaluationFailed:
    return EvaluationFailed(
        "score", score.metric, f"at least {score.threshold:g}", f"{score.value:g}{score.vote_note}", score.reason
    )


@dataclass(frozen=True, slots=True)
class CriterionThreshold:
    """What failing scores below a threshold would do.

    Args:
        precision: share of the failed conversations that people find bad; None where none fails.
        recall: share of the bad ones that fail; None without any.
        false_failures: share of the good ones that fail; None without any.
    """

    threshold: float
    precision: float | None
    recall: float | None
    false_failures: float | None


@dataclass(frozen=True, slots=True)
class MeanByPeople:
    """What people would say on average about conversations that only a judge has scored.

    Args:
        estimate: the mean, 0 to 1.
        low: lower bound of its 95 % interval; None, as ``high``, where the labels do not show how far the judge is from
            people: they and the scores do not vary, or the estimate lies beyond the scale by its whole interval.
        labels: conversations that people labelled and the judge scored.
        others: conversations that only the judge scored.
        more: labels that would halve the interval, besides those there are; None where no number of them would.
    """

    estimate: float
    low: float | None
    high: float | None
    labels: int
    others: int
    more: int | None


@dataclass(frozen=True, slots=True)
class JudgeThresholds:
    """Thresholds of one judge and criterion.

    Args:
        metric: what its scores on the golden set go by; empty where the judge has scored nothing.
        n: conversations with a label and a score.
        suggested: the highest threshold that is proven to fail at most 5 % of the good ones; None where none is.
        golden: minimum, quartiles and maximum of the metric on the golden set; empty where it is not measured there.
        by_people: what people would say of the golden set; None with fewer than 30 labels, or another judge there.
    """

    judge: str
    criterion: str
    metric: str
    n: int
    good: int
    rows: tuple[CriterionThreshold, ...]
    suggested: float | None
    golden: tuple[float, ...] = ()
    by_people: MeanByPeople | None = None

    @property
    def at_suggested(self) -> CriterionThreshold | None:
        """The row of the suggested threshold; None without one."""
        return next((row for row in self.rows if row.threshold == self.suggested), None)

    @property
    def changes(self) -> tuple[CriterionThreshold, ...]:
        """The first row, and those that differ from the one before in more than the threshold."""
        changed = (row for before, row in pairwise(self.rows) if replace(before, threshold=row.threshold) != row)
        return (*self.rows[:1], *changed)
