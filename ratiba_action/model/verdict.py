"""What the measurements mean, and everything that is published about a run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.attribution import Explanation
from ratiba_action.model.case_file import CaseFileScores
from ratiba_action.model.change import Mode, ModeDecision, Subject
from ratiba_action.model.comparison import (
    Agreement,
    Anchor,
    BaselineFacts,
    Comparison,
    ConversationCost,
    CrossCheckStatus,
    Decline,
    MeasuredRun,
    Rules,
    ScorePair,
)
from ratiba_action.model.conversation import MergeAttempt, ModelCall
from ratiba_action.model.history import Trend
from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.model.reads import ReadMap
from ratiba_action.model.scenario import Scenario
from ratiba_action.model.shard import Shard
from ratiba_action.model.values import Usd


@dataclass(frozen=True, slots=True)
class VariantResult:
    """One variant of the system over the conversations of a run.

    Args:
        name: of the variant; empty for the system as it is.
        differences: ``name=value`` of each thing that differs from the system as it is.
        means: of each metric that measured something, by its name.
        list_price: of its model calls, replayed ones too.
        problem: why it was not run; empty when it was.
        conclusion: what its run would have been on its own; empty when it was not run.
        reason: of that conclusion; empty when it passed.
    """

    name: str
    differences: tuple[str, ...] = ()
    passed: int = 0
    failed: int = 0
    errored: int = 0
    not_run: int = 0
    means: Mapping[str, float] = field(default_factory=dict)
    list_price: Usd = field(default_factory=lambda: Usd(0))
    problem: str = ""
    conclusion: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TraceLink:
    """Where one conversation can be looked at.

    Args:
        label: the scenario, with its arm, variant and trial where they tell it from others.
        passed: None where it was not scored to its end.
    """

    label: str
    url: str
    passed: bool | None = None


@dataclass(frozen=True, slots=True)
class TraceDelivery:
    """What a server has taken, of what there was.

    Args:
        spans: that the run's traces have; ``spans_there`` of them are on the server, as far as it has said.
        scores: of the traces; ``scores_there`` of them are on the server.
        problem: why something is missing, in one sentence; empty when nothing is.
        unverified: why nobody knows what it has kept of what it took; empty when it could be asked.
        run_url: where they stand together, of one run; empty when none is there.
    """

    host: str
    traces: int = 0
    spans: int = 0
    spans_there: int = 0
    scores: int = 0
    scores_there: int = 0
    problem: str = ""
    unverified: str = ""
    links: tuple[TraceLink, ...] = ()
    run_url: str = ""

    @property
    def complete(self) -> bool:
        """Whether it took everything."""
        return self.spans_there >= self.spans and self.scores_there >= self.scores and not self.problem


@dataclass(frozen=True, slots=True)
class Refusals:
    """The requests to models that the gateway received from the system and refused.

    Args:
        first: why the first one was, in one sentence; empty where none was.
    """

    count: int = 0
    first: str = ""

    def __add__(self, later: "Refusals") -> "Refusals":
        """Of two runs, or of two times of one run."""
        return Refusals(self.count + later.count, self.first or later.first)


@dataclass(frozen=True, slots=True)
class Spending:
    """The money of a run, and its calls.

    Args:
        attempts: how often a process of the run, or its shards, set money aside for a call, answered or not.
    """

    cap: Usd
    spent: Usd
    list_price: Usd
    live_calls: int
    replayed_calls: int
    cache_hits: int
    by_party: Mapping[str, Usd] = field(default_factory=dict)
    by_model: Mapping[str, Usd] = field(default_factory=dict)
    refused: Refusals = field(default_factory=Refusals)
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class SharedSpending:
    """What runs that share a ledger have spent together.

    Args:
        name: of the account, such as a month.
        spent: with what is reserved for calls in flight.
    """

    name: str
    spent: Usd
    cap: Usd


@dataclass(frozen=True, slots=True)
class CrossChecking:
    """How the second judge agreed with the first.

    Args:
        model: of the second judge; empty when nothing was to be cross-checked.
        off: why nothing was, in a few words.
    """

    model: str
    status: CrossCheckStatus
    agreement: Agreement
    off: str = ""


class PassRateRule(StrEnum):
    """When a share of scenarios below the pass rate fails a run whose answers vary by chance."""

    INTERVAL = "interval"
    """When chance does not explain it: an unclear share is measured again, and may stay inconclusive."""
    STRICT = "strict"
    """Always."""


class InAdvisory(StrEnum):
    """What a new deterministic failure of a critical scenario does in an advisory run."""

    ALLOW = "allow"
    """As any other failure: the exit code stays 0."""
    BLOCK = "block"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a run; frozen when it starts.

    Args:
        pass_rate: least share of scenarios whose judged scores must all reach their threshold, 0 to 1.
        pass_rate_rule: what happens to a share below it where answers vary by chance.
        metric_thresholds: what the mean of a metric over all scenarios must reach, by its name.
        increases: how much more a conversation may take than on the base, as a share, by ``Figure``.
        increases_block: whether more than that fails the run; else it is a warning.
        critical: what a new deterministic failure of a critical scenario does in an advisory run.
    """

    pass_rate: float = 0.80
    pass_rate_rule: PassRateRule = PassRateRule.INTERVAL
    metric_thresholds: Mapping[str, float] = field(default_factory=dict)
    increases: Mapping[str, float] = field(default_factory=dict)
    increases_block: bool = False
    critical: InAdvisory = InAdvisory.BLOCK


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that the verdict may look at.

    Args:
        interruption: why the run did not go to its end.
        shortfall: what was asked for and not done, such as live answers; with one a run never passes.
        way_out: what to do about conversations that a cap did not hold; None where all were run.
        data_sets: what the cases of each case file came to together.
        answers: ``replay``, ``mixed`` or ``live``: where the model answers came from.
        earlier: earlier attempts of the same commit; a repeated run adds its data to theirs.
        rules: of the comparison with the base.
        no_further: why no further trial can be run; None where it can.
        no_base: why there is no base to run trials on, known before anything of the change ran; None where there is
            one.
        base_failed: why the base, which should have been measured, was not; None where it was. With one a run never
            passes.
        day: of the run, in UTC; a quarantine that ended before it does not hold. Without it none holds.
        scenario_digests: of the contents of scenarios by their ids; worked out where they are missing.
        left_out: ids of scenarios that this run was not to hold.
        confirm: how a person confirms what ``unconfirmed`` says before the run may pass; None where nobody has to.
        unconfirmed: what nobody has confirmed, in one sentence.
        recorded_only: ids of scenarios for which no model is called; where other answers are live, their judged scores
            are neither compared nor counted.
        anchor: what a run of the base branch itself is compared with, instead of a base; None for every other run.
        unfit: scenarios that ran only because they cost nothing, and were left out since their recordings no longer
            fit. With a critical one a run never passes.
    """

    mode: Mode
    results: tuple[ScenarioResult, ...]
    limits: Limits
    interruption: str | None = None
    shortfall: str | None = None
    way_out: str | None = None
    data_sets: tuple[CaseFileScores, ...] = ()
    judge_model: str = ""
    answers: AnswerOrigin = AnswerOrigin.REPLAY
    baseline: tuple[MeasuredRun, ...] = ()
    earlier: tuple[MeasuredRun, ...] = ()
    rules: Rules = field(default_factory=Rules)
    no_further: str | None = None
    no_base: str | None = None
    base_failed: str | None = None
    day: date = date.max
    scenario_digests: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    confirm: str | None = None
    unconfirmed: str = "This change replaces the system under test, and no maintainer has confirmed it by a manual run."
    recorded_only: tuple[str, ...] = ()
    anchor: Anchor | None = None
    unfit: tuple[Scenario, ...] = ()


class Conclusion(StrEnum):
    """How a run ended."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"
    INCOMPLETE = "incomplete"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The conclusion, the reason for it in one sentence, and what to do next.

    Args:
        misconfigured: an input or a file is wrong, which neither mode nor trial period excuses.
        comparison: head against base, as far as it goes; None where there is nothing of the base.
        cost: what a conversation takes on both sides; None where nothing of it can be compared.
        decline: since the anchor, of a run of the base branch itself; None where it has none.
        blocking: ids of critical scenarios whose failure stops the merge in every mode.
    """

    conclusion: Conclusion
    reason: str
    action: str = ""
    warnings: tuple[str, ...] = ()
    misconfigured: bool = False
    comparison: Comparison | None = None
    cost: ConversationCost | None = None
    decline: Decline | None = None
    blocking: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShardReport:
    """What one shard measured and paid for, beside its report: ``ratiba merge`` decides from all of them.

    Args:
        attempt: of the job that ran the shard, from 1.
        identity: what all shards of one run must share, such as the commit, by its name.
        base_results: of the base, which ran beside the change.
        calls: every model call, paid or replayed.
        cache_hits: scores that were taken from the judge cache.
        breaches: each call that cost more than its reservation, in words.
        pairs: what the second judge scored.
        interruption: why the shard did not go to its end; None where it did.
        no_base: why there is no base to run trials on, known before anything of the change ran; None where there is
            one.
        base_failed: why the base, which should have been measured, was not; None where it was.
        reported_calls: model calls that the system reported and the gateway did not see.
        altered: a path of what set-up made for both sides that one of them has changed; empty where none has.
        way_out: what to do about trials that the shard's budget did not cover; None where it covered all.
        problem: why nothing was measured; empty where something was.
        resumed: earlier attempts that this one went on with, so that ``calls`` has theirs too.
        carried: what of the cost of ``calls`` came from them, in US dollars.
    """

    shard: Shard
    attempt: int = 1
    identity: Mapping[str, str] = field(default_factory=dict)
    base_results: tuple[ScenarioResult, ...] = ()
    calls: tuple[ModelCall, ...] = ()
    cache_hits: int = 0
    breaches: tuple[str, ...] = ()
    pairs: tuple[ScorePair, ...] = ()
    interruption: str | None = None
    no_base: str | None = None
    base_failed: str | None = None
    reported_calls: int = 0
    altered: str = ""
    way_out: str | None = None
    problem: str = ""
    resumed: tuple[int, ...] = ()
    carried: Usd = field(default_factory=lambda: Usd(0))

    @property
    def measured(self) -> bool:
        """Whether the shard ran its share to its end, whatever came of it."""
        return not self.problem and self.interruption is None


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that is published about a run.

    Args:
        name: of the gate; several may live in one repository.
        enforce: False during a trial period, when failures do not block.
        llm: ``replay``, ``mixed``, ``live`` or ``record``: where the model answers came from.
        cross_checking: None when every score was replayed.
        shared_spending: of the ledger that other runs share; empty when there is none, or it could not be read.
        shared_ledger: whether there is one.
        system_ran: False when nothing but captured replies was measured.
        edited_recordings: how many of the recordings that it is judged by the change itself edits.
        edited_scenarios: how many scenarios of the base the change edits or removes, so that they compare nothing.
        replaced: each setting by which the change tests another system than its base.
        edited_judges: addresses of rules and metrics that the change edits, and that measured it as it has them.
        self_reported: ids of scenarios of which some result comes from a process that runs the system's code too.
        notes: what the reader must know besides the verdict, such as recordings that the change itself edited.
        caveats: those of the notes that qualify a pass, so that everybody who reads one sees them.
        data_sets: what the cases of each case file came to together.
        variants: of the system, the system as it is first; empty when only that was run.
        commit: that the work tree was equal to when the run began; empty where it had changes of its own.
        scenario_digests: digest of each scenario's content by its id; identifiers are masked in the scenarios
            themselves.
        baseline: what was compared with; None where there was nothing.
        rules: of that comparison; frozen when the run started.
        covered: False where an advisory run had neither a scenario that touches a changed file nor a smoke scenario.
        explanation: which lines of the change make scenarios fail; None where that was not looked for.
        traces: what came of sending the conversations to Langfuse; None where nothing was to be sent.
        trends: of the base branch up to this run, from the metrics history; empty where there is none.
        shard: of a run that is one of several; such a report has no verdict of its own. None for every other run.
        merges: of a merge of shards: what each attempt of it has called models for itself; empty for every other run.
        unfit: ids of critical scenarios that an advisory run left out, since their recordings no longer fit.
        reads: which files the scenarios of the base read; None where nothing was observed.
        site: address of the site of all runs, as the base's configuration has it; empty without one.
    """

    name: str
    subject: Subject
    decision: ModeDecision
    verdict: Verdict
    results: tuple[ScenarioResult, ...]
    spending: Spending
    limits: Limits
    started_at: datetime
    seconds: float
    enforce: bool = True
    llm: AnswerOrigin = AnswerOrigin.REPLAY
    judge_model: str = ""
    suite_digest: str = ""
    edited_recordings: int = 0
    edited_scenarios: int = 0
    base_scenarios: int = 0
    replaced: tuple[str, ...] = ()
    edited_judges: tuple[str, ...] = ()
    self_reported: tuple[str, ...] = ()
    system_ran: bool = True
    notes: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    cross_checking: CrossChecking | None = None
    shared_spending: tuple[SharedSpending, ...] = ()
    shared_ledger: bool = False
    data_sets: tuple[CaseFileScores, ...] = ()
    variants: tuple[VariantResult, ...] = ()
    commit: str = ""
    scenario_digests: Mapping[str, str] = field(default_factory=dict)
    baseline: BaselineFacts | None = None
    rules: Rules = field(default_factory=Rules)
    trends: tuple[Trend, ...] = ()
    traces: TraceDelivery | None = None
    covered: bool = True
    explanation: Explanation | None = None
    shard: ShardReport | None = None
    merges: tuple[MergeAttempt, ...] = ()
    unfit: tuple[str, ...] = ()
    reads: ReadMap | None = None
    site: str = ""
