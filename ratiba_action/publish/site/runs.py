"""What the site keeps of each run: little, because a history may have thousands of them."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from hashlib import sha256

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.change import Mode
from ratiba_action.model.history import AgreementPoint, RunRecord, TrendPoint
from ratiba_action.model.measurement import NotRun, Scored
from ratiba_action.model.plan import HEAD
from ratiba_action.model.scenario import Scenario
from ratiba_action.model.values import Usd, mean
from ratiba_action.model.verdict import Conclusion, Report, SharedSpending
from ratiba_action.publish.site.outcomes import FAILED, INCOMPLETE, PASSED, Outcome, Outcomes
from ratiba_action.reporting.links import page_id, page_id_of
from ratiba_action.reporting.summary import caveats_of, described_thresholds
from ratiba_action.reporting.wording import outcome
from ratiba_action.verdict.trials import ScenarioOutcome, outcomes_of

_LONGEST_NAME = 60
_RUN_URL = re.compile(r"https://[A-Za-z0-9._:-]+/[A-Za-z0-9._/-]+/actions/runs/[0-9]+", re.ASCII)
_PLAIN_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run, as every list and chart shows it.

    Args:
        id: in addresses of pages.
        commit: that was evaluated; empty where it is not known.
        branch: that was evaluated itself; empty for a pull request and on a laptop.
        answers: ``replay``, ``mixed``, ``live`` or ``record``.
        outcomes: by the scenario's id.
        points: the mean of each metric.
        shared: what runs that share a ledger have spent together.
        remarks: what a reader of the run should keep in mind.
        run_url: of the workflow run; empty where it has none, or names no such address.
    """

    id: str
    started_at: datetime
    repository: str
    gate: str
    commit: str
    branch: str
    pull_request: int | None
    event: str
    mode: str
    conclusion: str
    answers: str
    judge_model: str
    suite: str
    spent: Usd
    seconds: float
    outcomes: Outcomes
    points: tuple[TrendPoint, ...] = ()
    agreement: AgreementPoint | None = None
    title: str = ""
    reason: str = ""
    by_party: Mapping[str, Usd] = field(default_factory=dict)
    by_model: Mapping[str, Usd] = field(default_factory=dict)
    shared: tuple[SharedSpending, ...] = ()
    remarks: tuple[str, ...] = ()
    run_url: str = ""

    @property
    def passed(self) -> int:
        """Scenarios that passed."""
        return self.outcomes.count(PASSED)

    @property
    def rate(self) -> float | None:
        """Share of the scenarios that passed; None where nothing was measured."""
        measured = self.passed + self.outcomes.count(FAILED)
        return self.passed / measured if measured else None

    @property
    def in_trends(self) -> bool:
        """Whether its means belong in a trend of its branch: a whole, blocking run of the branch itself."""
        ended = self.conclusion not in {Conclusion.INCOMPLETE, Conclusion.SKIPPED}
        return self.mode == Mode.BLOCKING and ended and bool(self.points)


@dataclass(frozen=True, slots=True)
class ScenarioFacts:
    """What a scenario is, as the newest run that had it says.

    Args:
        page: the name of its page, without an ending.
        until: the last day of its quarantine; None without one.
        reads: files that it reads, as far as the run listed them.
    """

    id: str
    page: str
    title: str = ""
    language: str = ""
    vertical: str = ""
    tags: tuple[str, ...] = ()
    path: str = ""
    layer: str = ""
    critical: bool = False
    until: date | None = None
    owner: str = ""
    why: str = ""
    reads: tuple[str, ...] = ()


def line_of(report: Report) -> RunLine:
    """What is kept of a run.

    Args:
        report: with its secrets and identifiers masked already.

    Raises:
        ConfigurationError: it says no time zone, or is of one shard.
    """
    if report.started_at.tzinfo is None:
        raise ConfigurationError(f"The time {report.started_at.isoformat()!r} has no time zone.")
    if report.shard is not None:
        raise ConfigurationError("It is of one shard, not of a whole run.")
    subject, checking, found = report.subject, report.cross_checking, outcomes_of(report.results)
    began, commit = report.started_at.astimezone(UTC), report.commit or subject.head
    agreement = None
    if checking is not None and checking.agreement.pairs:
        pairs = checking.agreement
        agreement = AgreementPoint(
            began, commit, report.judge_model, checking.model, pairs.pairs, pairs.same_side, pairs.quadratic
        )
    return RunLine(
        id=page_id(report),
        started_at=began,
        repository=subject.repository,
        gate=report.name,
        commit=commit,
        branch=subject.branch,
        pull_request=subject.pull_request,
        event=subject.event,
        mode=report.decision.mode.value,
        conclusion=report.verdict.conclusion.value,
        answers=report.llm.value,
        judge_model=report.judge_model,
        suite=report.suite_digest,
        spent=report.spending.spent,
        seconds=report.seconds if math.isfinite(report.seconds) else 0.0,
        outcomes=Outcomes.of(
            {
                each.scenario.id: _outcome(each, report.scenario_digests.get(each.scenario.id, ""))
                for each in found
                if each.deciding.trial.arm.name == HEAD
            }
        ),
        points=_points(report, described_thresholds(report, found), began, commit),
        agreement=agreement,
        title=subject.title,
        reason=report.verdict.reason,
        by_party=report.spending.by_party,
        by_model=report.spending.by_model,
        shared=report.shared_spending,
        remarks=(*report.verdict.warnings, *caveats_of(report)),
        run_url=plain_run_url(subject.run_url),
    )


def line_of_record(record: RunRecord) -> RunLine:
    """The same of a run that the ledger's database has kept, which knows no costs, titles or reasons."""
    began, groups, trials = record.started_at.astimezone(UTC), _Groups(), dict[str, list[str]]()
    digests = {each.scenario: each.digest for each in record.results}
    for result in record.results:
        trials.setdefault(result.scenario, []).append(result.status)
    for score in record.scores:
        groups.add(score.metric, score.version, score.judge_model, score.score, score.threshold)
    required = {score.metric: score.required for score in record.scores}
    pairs = AgreementPoint(
        began, record.commit, record.judge_model, record.second_model, record.pairs, record.same_side, record.kappa
    )
    return RunLine(
        id=page_id_of(began, record.repository, record.gate, record.commit, record.run_id, record.run_attempt),
        started_at=began,
        repository=record.repository,
        gate=record.gate,
        commit=record.commit,
        branch=record.branch,
        pull_request=record.pull_request,
        event=record.event,
        mode=record.mode,
        conclusion=record.conclusion,
        answers=record.answers,
        judge_model=record.judge_model,
        suite=record.suite_version,
        spent=record.spent_usd,
        seconds=record.seconds,
        outcomes=Outcomes.of(
            {
                name: Outcome(_status_of_trials(found), found.count(PASSED), len(found), digest=digests[name])
                for name, found in trials.items()
            }
        ),
        points=groups.points(began, record.commit, record.answers, record.suite_version, required),
        agreement=pairs if record.pairs else None,
    )


def _status_of_trials(found: Sequence[str]) -> str:
    """The database does not keep how many trials had to pass: more than half, as by default."""
    if 2 * found.count(PASSED) > len(found):
        return PASSED
    return FAILED if FAILED in found else INCOMPLETE


def facts_of(report: Report) -> dict[str, ScenarioFacts]:
    """What each scenario of a run is, by its id."""
    read: dict[str, list[str]] = {}
    for readers in report.reads.files if report.reads is not None else ():
        for name in readers.scenarios:
            read.setdefault(name, []).append(readers.path)
    scenarios = {result.trial.scenario.id: result.trial.scenario for result in report.results}
    return {name: _facts(scenario, tuple(read.get(name, ()))) for name, scenario in scenarios.items()}


def plain_run_url(text: str) -> str:
    """The address of a workflow run; empty where the text is none."""
    return text if _RUN_URL.fullmatch(text) else ""


def facts_of_name(name: str) -> ScenarioFacts:
    """A scenario of which nothing but its id is known."""
    return ScenarioFacts(name, page_name(name))


def _facts(scenario: Scenario, reads: tuple[str, ...]) -> ScenarioFacts:
    held = scenario.quarantine
    return ScenarioFacts(
        id=scenario.id,
        page=page_name(scenario.id),
        title=scenario.title,
        language=scenario.language,
        vertical=scenario.vertical,
        tags=tuple(sorted(scenario.tags)),
        path=scenario.path,
        layer=scenario.layer.value,
        critical=scenario.critical,
        until=None if held is None else held.until,
        owner="" if held is None else held.owner,
        why="" if held is None else held.reason,
        reads=reads,
    )


def page_name(name: str) -> str:
    """A name for a file: what a scenario may be called is no path, and differs by more than the case of letters."""
    if _PLAIN_NAME.fullmatch(name) and len(name) <= _LONGEST_NAME:
        return name
    plain = re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-")[:_LONGEST_NAME] or "scenario"
    return f"{plain}-{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}"


def _outcome(found: ScenarioOutcome, digest: str) -> Outcome:
    deciding, ended = found.deciding, outcome(found.deciding)
    costs = [
        exchange.usd
        for result in found.trials
        if not isinstance(result, NotRun) and result.transcript is not None
        for exchange in result.transcript.exchanges
        if exchange.usd is not None
    ]
    return Outcome(
        status=ended if ended in (PASSED, FAILED) else INCOMPLETE,
        passes=sum(isinstance(result, Scored) and result.passed for result in found.trials),
        trials=len(found.trials),
        usd=sum(costs, Decimal(0)) if costs else None,
        seconds=None if isinstance(deciding, NotRun) else deciding.seconds,
        digest=digest,
    )


class _Groups:
    """Scores by metric, version and judge."""

    def __init__(self) -> None:
        self._scores: dict[tuple[str, str, str], list[tuple[float, float]]] = {}

    def add(self, metric: str, version: str, judge: str, value: float, threshold: float) -> None:
        self._scores.setdefault((metric, version, judge), []).append((value, threshold))

    def points(
        self, began: datetime, commit: str, answers: str, suite: str, required: Mapping[str, str]
    ) -> tuple[TrendPoint, ...]:
        """The mean of each; one that is no number is left out."""
        made = (
            TrendPoint(
                began,
                commit,
                metric,
                version,
                judge,
                answers,
                suite,
                mean([value for value, _ in found]),
                len(found),
                max(threshold for _, threshold in found),
                required.get(metric, ""),
            )
            for (metric, version, judge), found in self._scores.items()
        )
        return tuple(point for point in made if math.isfinite(point.mean))


def _points(report: Report, required: Mapping[str, str], began: datetime, commit: str) -> tuple[TrendPoint, ...]:
    groups = _Groups()
    for result in report.results:
        if isinstance(result, Scored) and result.trial.arm.name == HEAD:
            for score in result.scores:
                judge = report.judge_model if score.judged else ""
                groups.add(score.metric, score.version, judge, score.value, score.threshold)
    return groups.points(began, commit, report.llm.value, report.suite_digest, required)


def newest_first(lines: Iterable[RunLine]) -> tuple[RunLine, ...]:
    """Each run once, the newest first; a run that stands in several files is one."""
    return tuple(sorted({line.id: line for line in lines}.values(), key=lambda line: (line.started_at, line.id))[::-1])
