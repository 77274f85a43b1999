"""What is known of both sides of a change: earlier runs of the base, pairs of scores, and what they come to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.case_file import CaseFileScores
from ratiba_action.model.conversation import MergeAttempt, ToolCall
from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.model.values import JsonObject


@dataclass(frozen=True, slots=True)
class ScorePair:
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
        quadratic: quadratic-weighted kappa of the scores 0 to 10, -1 to 1; None where it is undefined.
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
        stopped: why the share went to 0 during the run; empty when it did not.
        cached: of the compared ones, how many scores of the second judge came from the judge cache.
    """

    share: float
    sampled: int
    compared: int
    stopped: str = ""
    cached: int = 0


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """The results of one run, with all that another run must share to be compared with it.

    Args:
        commit: that was measured; None for a working tree.
        answers: where its model answers came from.
        scenario_digests: digest of each scenario's content by its id, of results that were masked since; what is
            missing is taken from the results.
        this_run: measured by the run that asks, so that its further trials ran beside those of the other arm.
        confirming: composites of the further trials of an earlier attempt, by scenario id: base, then head.
        data_sets: what its case files came to, with the gates that they had to pass.
        mean_thresholds: least mean of a metric that passed, by metric.
        conclusion: what the run itself concluded; empty where that is not known.
        merges: of an earlier attempt that merged shards: what it called models for itself.
    """

    commit: str | None
    started_at: datetime
    judge_model: str
    answers: AnswerOrigin
    results: tuple[ScenarioResult, ...]
    scenario_digests: Mapping[str, str] = field(default_factory=dict)
    this_run: bool = False
    confirming: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]] = field(default_factory=dict)
    data_sets: tuple[CaseFileScores, ...] = ()
    mean_thresholds: Mapping[str, float] = field(default_factory=dict)
    conclusion: str = ""
    merges: tuple[MergeAttempt, ...] = ()


@dataclass(frozen=True, slots=True)
class BaselineFacts:
    """What a run was compared with, for people.

    Args:
        source: the branch that was measured, or the file or folder that was named; untrusted text.
        commit: that was measured; None where it is not known.
        stale: older than the rules allow without a warning.
    """

    source: str
    commit: str | None
    started_at: datetime
    runs: int
    stale: bool


class Figure(StrEnum):
    """What a conversation takes."""

    USD = "usd"
    CALLS = "calls"
    INPUT_TOKENS = "input_tokens"
    OUTPUT_TOKENS = "output_tokens"
    SECONDS = "seconds"
    """From a turn to its whole reply."""


@dataclass(frozen=True, slots=True)
class FigureChange:
    """What a conversation takes on the base and with this change, in the mean over the scenarios.

    Args:
        scenarios: how many both sides measured.
        low: of the 95 % interval of head minus base; None where nothing varies by chance, or there is one scenario.
        limit: greatest allowed increase as a share of the base's; None where there is none.
        exceeded: whether the increase is over its limit, by more than chance explains.
        median: of all replies, base and head; for seconds only.
        p95: 95th percentile of all replies, base and head; for seconds only.
    """

    figure: Figure
    scenarios: int
    base: float
    head: float
    low: float | None = None
    high: float | None = None
    limit: float | None = None
    exceeded: bool = False
    median: tuple[float, ...] = ()
    p95: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class ScenarioCost:
    """What one scenario takes on both sides, in the mean over its trials; only figures that both sides measured."""

    scenario_id: str
    base: Mapping[str, float]
    head: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ConversationCost:
    """What a conversation takes, and how far the change moves that.

    Args:
        figures: those that at least one scenario has on both sides.
        scenarios: in order of id.
    """

    figures: tuple[FigureChange, ...]
    scenarios: tuple[ScenarioCost, ...]


BEST = "best"
"""The anchor that the history chooses."""
NO_ANCHOR = "none"


@dataclass(frozen=True, slots=True)
class DeclineRules:
    """How a slow decline of the base branch is looked for; defaults: ``docs/history-of-scores.md``.

    Args:
        anchor: ``best`` of the last weeks, ``none``, or the name of a tag or commit that is compared with.
        weeks: of which the best run is chosen, from one commit a week.
        level: p-value of the first look, and chance of a false alarm in ten runs of the branch together.
        block: whether a confirmed decline fails the base branch's run; else it is a warning.
    """

    anchor: str = BEST
    weeks: int = 8
    level: float = 0.01
    block: bool = False


@dataclass(frozen=True, slots=True)
class Anchor:
    """An earlier version of the base branch that its own new runs are compared with.

    Args:
        candidates: commits that it was chosen from; the p-value of the first look is multiplied by them.
    """

    name: str
    commit: str
    runs: tuple[MeasuredRun, ...]
    candidates: int = 1


@dataclass(frozen=True, slots=True)
class Decline:
    """How far the base branch has fallen below its anchor.

    Args:
        anchor: what it was compared with, in words for people.
        measured_at: when the anchor's newest run began.
        candidates: commits that the anchor was chosen from.
        difference: of the means, now minus then; of trials that ran side by side where there are some, which no
            choice of the anchor has favoured. None where nothing can be compared.
        low: lower end of its 90 % interval; None with fewer than two scenarios.
        screen_p: of the stored scores, multiplied by the candidates; None where nothing was tested.
        confirm_p: over the trials that ran side by side; None before any.
        problem: why an alarm could not be confirmed, or nothing could be compared; empty for neither.
    """

    anchor: str
    commit: str
    measured_at: datetime
    candidates: int
    scenarios: int = 0
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    screen_p: float | None = None
    confirm_p: float | None = None
    confirmed: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Rules:
    """The limits of a comparison; frozen when the run starts. Defaults are those of ``docs/statistics.md``.

    Args:
        screen_level: p-value of the first look that asks for confirmation.
        single_run_screen_level: the same where a single run of the base is compared with, which has more noise.
        confirm_level: chance that the looks at further trials take noise for a drop of the mean, all looks together.
        min_margin: drop of the mean that must be ruled out, in points of the score; more where fewer scenarios
            can see less.
        scenario_drop: drop of one scenario that is looked at by itself.
        confirming_trials: looks after an alarm at most, one further trial of every scenario on both arms before each.
        suspect_trials: of a scenario that dropped, on both arms.
        min_scenarios: below this the pairs of further trials are tested, and not the scenarios.
        pooled_runs: runs of the base that are pooled at most.
        stale_days: age of a baseline that is warned about.
        detectable_power: power of the minimum detectable effect that a report states.
        decline: how the base branch's own runs are compared with an earlier version of it.
    """

    screen_level: float = 0.20
    single_run_screen_level: float = 0.25
    confirm_level: float = 0.025
    min_margin: float = 0.10
    scenario_drop: float = 0.25
    confirming_trials: int = 5
    suspect_trials: int = 3
    min_scenarios: int = 10
    pooled_runs: int = 3
    stale_days: int = 7
    detectable_power: float = 0.80
    decline: DeclineRules = DeclineRules()


@dataclass(frozen=True, slots=True)
class Pair:
    """One scenario's composite scores on both arms.

    Args:
        base: of the planned trials of each pooled run of the base.
        head: of the planned trials; of several runs when a red run was repeated.
        fresh_base: of further trials, run beside those of the head.
        fresh_head: of further trials, run beside those of the base.
        added_base: of further trials of earlier attempts at the same commit.
        base_runs: which pooled run each value of ``base`` is of; empty where each is of another one.
        head_runs: which run each value of ``head`` is of, the present one last; empty where each is of another one.
        metrics: that the composite is the mean of, by name, each with its means on base and head.
        family: of scenarios whose scores vary together; empty for a scenario that is none's.
    """

    scenario_id: str
    critical: bool
    base: tuple[float, ...]
    head: tuple[float, ...]
    fresh_base: tuple[float, ...] = ()
    fresh_head: tuple[float, ...] = ()
    added_base: tuple[float, ...] = ()
    added_head: tuple[float, ...] = ()
    base_runs: tuple[int, ...] = ()
    head_runs: tuple[int, ...] = ()
    metrics: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    family: str = ""


@dataclass(frozen=True, slots=True)
class NotComparable:
    """A scenario, or one of its metrics, that no difference may be given for.

    Args:
        metric: empty for the whole scenario.
    """

    scenario_id: str
    metric: str
    reason: str


class Tier(StrEnum):
    """What a comparison came to, of the whole or of one scenario."""

    REGRESSION = "regression"
    UNCLEAR = "unclear"
    WITHIN_NOISE = "within noise"
    IMPROVED = "improved"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True, slots=True)
class ScenarioComparison:
    """One scenario on both arms.

    Args:
        base: mean composite, over as many trials as every scenario has.
        dropped_again: its drop showed again in the further trials alone.
        confirming_base: composites of all further trials; a repeated run adds its own to them.
    """

    scenario_id: str
    base: float
    head: float
    tier: Tier
    critical: bool = False
    dropped_again: bool = False
    confirming_base: tuple[float, ...] = ()
    confirming_head: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """One metric over the scenarios that have it on both arms.

    Args:
        base: mean of the scenarios' means.
        low: lower end of the 90 % interval of the difference; None for fewer than two scenarios.
    """

    metric: str
    scenarios: int
    base: float
    head: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class ComparedTurn:
    """What happened in a turn of a conversation that changed, besides the words of the reply.

    Args:
        user: the customer's message, or None.
        event: what was delivered instead of a message, or None.
        output: a structured answer, any JSON.
    """

    user: str | None = None
    event: JsonObject | None = None
    state: str | None = None
    payment: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    output: Any = None


@dataclass(frozen=True, slots=True)
class OutcomeChange:
    """A scenario whose outcome or conversation is another one than on the base.

    Args:
        passes: on the head.
        base_replies: what the system said on the base, one a turn; untrusted text.
        base_turns: what else happened in each turn on the base; empty where that was too much to keep.
    """

    scenario_id: str
    passes: bool
    base_replies: tuple[str, ...]
    head_replies: tuple[str, ...]
    critical: bool = False
    base_turns: tuple[ComparedTurn, ...] = ()
    head_turns: tuple[ComparedTurn, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Head against base.

    Args:
        tier: of the mean over all scenarios.
        exact: answers were replayed once on both arms, so that every difference is real.
        difference: of the means, head minus base; None where nothing is comparable.
        low: lower end of the 90 % interval of the difference; None where it has none. Of exact answers it is for
            other conversations like these, and decides nothing.
        screen_p: of the first look; None where none was taken.
        confirm_p: over the further trials of both arms, up to the look that was last; None before any.
        mean_fell: the drop of the mean is confirmed; a regression without it rests on single scenarios.
        margin: drop that had to be ruled out.
        detectable: smallest drop that so many scenarios show with 80 % power; None where it cannot be known.
        further_trials: of both arms, by which an alarm of fewer than ``min_scenarios`` scenarios or families is
            confirmed at most; 0 for recordings, which have none; None for more of them.
        reason: why the tier is what it is, in one sentence.
        metrics: each metric by itself; shown, and nothing is decided by it.
        flips: scenarios that passed on one arm and failed on the other: newly failing before newly passing.
        changed: other scenarios in which the conversation changed: see ``verdict.runs.find_changed_conversations``.
        families: how many the scenarios are, where those are fewer; None where each counts for itself.
        trend: a sentence about scores that changed over time while further trials ran; empty for nothing.
    """

    tier: Tier
    scenarios: tuple[ScenarioComparison, ...]
    not_comparable: tuple[NotComparable, ...]
    reason: str
    exact: bool = False
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    screen_p: float | None = None
    confirm_p: float | None = None
    mean_fell: bool = False
    margin: float | None = None
    detectable: float | None = None
    further_trials: int | None = None
    metrics: tuple[MetricComparison, ...] = ()
    flips: tuple[OutcomeChange, ...] = ()
    changed: tuple[OutcomeChange, ...] = ()
    families: int | None = None
    trend: str = ""
