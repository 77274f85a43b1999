"""The summary of a run: everything that any report format shows, computed once. Renderers only format it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from ratiba_action.checks.system_exceptions import exception_of
from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.change import Mode
from ratiba_action.model.codec import encode
from ratiba_action.model.measurement import Check, Errored, NotRun, ScenarioResult, Score, Scored
from ratiba_action.model.scenario import Quarantine, Scenario, titled
from ratiba_action.model.verdict import Conclusion, Report, TraceLink, VariantResult
from ratiba_action.reporting.cases_summary import CasesSummary, describe_passing, describe_threshold, summarise_cases
from ratiba_action.reporting.comparison_summary import (
    ComparisonSummary,
    describe_thresholds,
    signed_points,
    summarise_comparison,
)
from ratiba_action.reporting.cost_summary import CostSummary, summarise_cost
from ratiba_action.reporting.links import SourceLinks, source_links
from ratiba_action.reporting.money_facts import (
    AmountPart,
    Fact,
    called_models,
    judge_facts,
    money_facts,
    money_phrase,
    month_note,
    parts,
)
from ratiba_action.reporting.remedy import Remedy, remedy_of
from ratiba_action.reporting.wording import (
    ExplanationText,
    describe_explanation,
    describe_trials,
    explanation,
    frames,
    label,
    outcome,
    scenario_label,
    short_explanation,
)
from ratiba_action.util.text import few, part_of, plural
from ratiba_action.verdict.case_file_scores import wrong_labels
from ratiba_action.verdict.decision import exit_code
from ratiba_action.verdict.quarantine import day_of, expired_quarantine, quarantine_in_force
from ratiba_action.verdict.tally import (
    MetricSummary,
    Tally,
    confidence,
    is_regression,
    regression_detected,
    summarise_metrics,
    tally,
)
from ratiba_action.verdict.trials import ScenarioOutcome, Standing, max_failures, outcomes_of

AS_IT_STANDS = "as it is"
NOT_RUN = "not run"
VERDICT_IS_OF = "The verdict is about the system as it is; variants do not change it."

_NAMED = 3
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.:-]+(?:/[A-Za-z0-9._~-]+)+", re.ASCII)
"""No character in it can end a Markdown link or start other markup."""

_LETS_PASS = (Conclusion.PASSED, Conclusion.INCONCLUSIVE)
_ENDED = {True: "passed", False: "failed", None: "not scored"}
_ANSWERS = {
    AnswerOrigin.REPLAY: "replayed",
    AnswerOrigin.MIXED: "live where no recording fits",
    AnswerOrigin.LIVE: "live",
    AnswerOrigin.RECORD: "recorded live",
}


@dataclass(frozen=True, slots=True)
class TrialRow:
    """One trial as every report format shows it.

    Args:
        name: the scenario's id, with arm and trial unless they are head and the first.
        ended: how it ended, in a word or two.
        why: why it could not be measured, without a traceback; empty if it was.
        gap: the same, short enough for a table.
        frames: the traceback of the system's error; empty if there was none.
        exception: ``file:line Type`` of the exception that failed it; empty if there was none.
        checks: how many deterministic assertions passed, and how many were measured; None if none were.
        seconds: duration; None if it was not run.
        retried: the errors after which it was run again.
    """

    result: ScenarioResult
    name: str
    ended: str
    why: str
    gap: str
    frames: str
    exception: str
    checks: tuple[int, int] | None
    scores: tuple[Score, ...]
    seconds: float | None
    retried: tuple[str, ...]

    @property
    def lacks_score(self) -> bool:
        """Whether it finished but a judged score is missing."""
        return isinstance(self.result, Errored) and self.result.lacks_score


@dataclass(frozen=True, slots=True)
class ScenarioRow:
    """One scenario as every report format shows it.

    Args:
        name: its id, with its arm unless that is head.
        deciding: the trial that decides whether it passes or fails.
        trials: all of them, in order.
        of_trials: how many trials passed and how many others there are; empty for a single trial.
        quarantine: in force on the day of the run, so the scenario does not count; None if it counts.
        expired: whether it counts again because its quarantine has expired.
        failing: whether an assertion or a score of it failed.
        below_threshold: whether only judged scores failed, so that the pass rate applies.
        must_pass: how many of the counted trials must pass.
    """

    outcome: ScenarioOutcome
    name: str
    deciding: TrialRow
    trials: tuple[TrialRow, ...]
    of_trials: str
    quarantine: Quarantine | None
    expired: bool
    failing: bool
    below_threshold: bool
    must_pass: int

    @property
    def scenario(self) -> Scenario:
        """The scenario itself."""
        return self.outcome.scenario

    @property
    def label(self) -> str:
        """Its name, with its title if it has one, for plain text."""
        return titled(self.name, self.scenario)

    @property
    def ended(self) -> str:
        """How it ended, with how its trials ended."""
        return f"{self.deciding.ended} ({self.of_trials})" if self.of_trials else self.deciding.ended


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One metric over all scenarios that count.

    Args:
        passing: how many scores reach their threshold; empty if there is none.
        threshold: of its scores and of the aggregates over them.
    """

    figures: MetricSummary
    passing: str
    threshold: str


@dataclass(frozen=True, slots=True)
class VariantRow:
    """One variant, or the system as it is.

    Args:
        name: of the variant; "as it is" for the system itself.
        differences: from the system as it is.
        ended: how its run would have ended on its own.
        why: why it was not run or would not have passed; empty if it would have passed.
        passed: scenarios that passed, of all; empty if it was not run.
    """

    figures: VariantResult
    name: str
    differences: str
    ended: str
    why: str
    total: int
    passed: str


@dataclass(frozen=True, slots=True)
class ReportSummary:
    """What a renderer gets.

    Args:
        report: the run's report, with secrets masked.
        outputs: the values that a workflow reads, by their names in ``results.json``.
        counts: of scenarios by how they ended.
        regression: whether the run fails because of the comparison with the base.
        headline: the verdict in one or two words.
        numbers: scenarios that passed, and what became worse; empty where nothing ran.
        caveat: a limitation of the verdict that belongs in the headline.
        replacement: which settings make the tested system differ from the base's; empty if none do.
        leniency: why a failure does not block the merge; empty if it does or nothing failed.
        line: mode, money and where the answers came from, in one line.
        caveats: notes that qualify a verdict that lets the merge pass; empty for any other.
        notes: the other notes.
        status: the run in text of our own only, for a commit status.
        scenarios: all of them, in the report's order.
        thresholds: each metric's thresholds as text, by metric.
        comparison: with the base; None if there was none.
        cost: what a conversation takes on both sides; None if nothing can be compared.
        explanation: which lines of the change make scenarios fail; None if that was not looked for.
        variants: of the system, the system as it is first.
        variant_metrics: every metric of a variant, sorted by name.
        paid: whether a paid model call was made.
        spent: amounts by party and by model, under their headings.
        month: why the spending of other runs is unknown; empty if it is known.
        run_link: address of the run in Langfuse; empty if it is not a plain address.
        traces: plain links to scenarios in Langfuse, each with its result, failures first.
    """

    report: Report
    exit_code: int
    outputs: Mapping[str, Any]
    counts: Tally
    regression: bool
    headline: str
    numbers: str
    caveat: str
    replacement: str
    leniency: str
    line: str
    caveats: tuple[str, ...]
    notes: tuple[str, ...]
    status: str
    scenarios: tuple[ScenarioRow, ...]
    metrics: tuple[MetricRow, ...]
    thresholds: Mapping[str, str]
    comparison: ComparisonSummary | None
    cost: CostSummary | None
    explanation: ExplanationText | None
    remedy: Remedy
    links: SourceLinks
    cases: tuple[CasesSummary, ...]
    variants: tuple[VariantRow, ...]
    variant_metrics: tuple[str, ...]
    paid: bool
    money: tuple[Fact, ...]
    spent: tuple[tuple[str, tuple[AmountPart, ...]], ...]
    month: str
    judges: tuple[Fact, ...]
    run_link: str
    traces: tuple[tuple[TraceLink, str], ...]

    @property
    def deciding(self) -> tuple[ScenarioRow, ...]:
        """Scenarios that count for the verdict."""
        return tuple(row for row in self.scenarios if row.quarantine is None)

    @property
    def titles(self) -> Mapping[str, str]:
        """Titles of the scenarios that have one, by id."""
        return {row.scenario.id: row.scenario.title for row in self.scenarios if row.scenario.title}

    @property
    def quarantined(self) -> tuple[ScenarioRow, ...]:
        """Scenarios that ran and do not count."""
        return tuple(row for row in self.scenarios if row.quarantine is not None)

    @property
    def expired(self) -> tuple[ScenarioRow, ...]:
        """Scenarios that count again because their quarantine has ended."""
        return tuple(row for row in self.scenarios if row.expired)


def summarise(report: Report) -> ReportSummary:
    """Compute everything that is shown of a report."""
    counts, code, outcomes = tally(report), _exit_code(report), outcomes_of(report.results)
    scenarios = tuple(_scenario_row(outcome, day_of(report.started_at)) for outcome in outcomes)
    decide = [row for row in scenarios if row.quarantine is None]
    figures = _figures(report, outcomes)
    thresholds = describe_thresholds(figures, report.data_sets, report.limits.metric_thresholds)
    explained = describe_explanation(report.explanation)
    failing = [row.scenario.id for row in sorted(decide, key=lambda row: not row.scenario.critical) if row.failing]
    caveats = caveats_of(report)
    amounts = (("by party", report.spending.by_party), ("by model", report.spending.by_model))
    return ReportSummary(
        report=report,
        exit_code=code,
        outputs=_outputs(report, counts, code),
        counts=counts,
        regression=is_regression(report),
        headline=_headline(report),
        numbers=_numbers(report, counts),
        caveat=_caveat(report, decide),
        replacement=_replacement(report),
        leniency=_leniency(report),
        line=_line(report, counts),
        caveats=caveats,
        notes=tuple(note for note in report.notes if note not in caveats),
        status=_status(report, counts),
        scenarios=scenarios,
        metrics=tuple(_metric_row(metric, report) for metric in figures),
        thresholds=thresholds,
        comparison=summarise_comparison(report, thresholds),
        cost=summarise_cost(report.verdict.cost),
        explanation=explained,
        remedy=remedy_of(report.verdict, explained, failing),
        links=source_links(report.subject),
        cases=tuple(summarise_cases(scores, report.results) for scores in report.data_sets),
        variants=tuple(map(_variant_row, report.variants)),
        variant_metrics=tuple(sorted({name for variant in report.variants for name in variant.means})),
        paid=report.spending.live_calls > 0,
        money=money_facts(report),
        spent=tuple((what, paid) for what, by_name in amounts if (paid := parts(by_name))),
        month=month_note(report),
        judges=judge_facts(report),
        run_link="" if report.traces is None else _plain(report.traces.run_url),
        traces=_traces(report),
    )


def _figures(report: Report, outcomes: Iterable[ScenarioOutcome]) -> tuple[MetricSummary, ...]:
    """Of the scenarios that count for the verdict."""
    day = day_of(report.started_at)
    decide = (outcome for outcome in outcomes if quarantine_in_force(outcome.scenario, day) is None)
    return summarise_metrics(trial for outcome in decide for trial in outcome.trials)


def described_thresholds(report: Report, outcomes: Iterable[ScenarioOutcome]) -> Mapping[str, str]:
    """The thresholds of each metric, as ``summarise`` describes them.

    Args:
        outcomes: of the report.
    """
    return describe_thresholds(_figures(report, outcomes), report.data_sets, report.limits.metric_thresholds)


def caveats_of(report: Report) -> tuple[str, ...]:
    """What a reader must know who sees only that the run passed."""
    return report.caveats if report.verdict.conclusion in _LETS_PASS else ()


def outputs_of(report: Report) -> dict[str, Any]:
    """The values that a workflow reads, by their names in ``results.json``."""
    return _outputs(report, tally(report), _exit_code(report))


def trial_row(result: ScenarioResult) -> TrialRow:
    """One trial as text and counts."""
    ran = None if isinstance(result, NotRun) else result
    measured = [check.passed for check in ran.checks if check.measured] if ran else []
    return TrialRow(
        result=result,
        name=label(result),
        ended=outcome(result),
        why=explanation(result),
        gap=short_explanation(result),
        frames=frames(result),
        exception=exception_of(result),
        checks=(sum(measured), len(measured)) if measured or isinstance(result, Scored) else None,
        scores=ran.scores if ran else (),
        seconds=ran.seconds if ran else None,
        retried=ran.retried if ran else (),
    )


def _scenario_row(outcome: ScenarioOutcome, day: date) -> ScenarioRow:
    trials = {id(trial): trial_row(trial) for trial in outcome.trials}
    result = outcome.deciding
    measured: tuple[Check | Score, ...] = (
        () if isinstance(result, NotRun) else (*result.checks, *result.deciding_scores)
    )
    return ScenarioRow(
        outcome=outcome,
        name=scenario_label(outcome),
        deciding=trials[id(result)],
        trials=tuple(trials.values()),
        of_trials=describe_trials(outcome),
        quarantine=quarantine_in_force(outcome.scenario, day),
        expired=bool(expired_quarantine(outcome.scenario, day)),
        failing=any(not item.passed for item in measured),
        below_threshold=outcome.standing is Standing.BELOW_THRESHOLD,
        must_pass=len(outcome.counted) - max_failures(outcome.scenario),
    )


def _metric_row(metric: MetricSummary, report: Report) -> MetricRow:
    return MetricRow(metric, describe_passing(metric), describe_threshold(metric, report.data_sets))


def _variant_row(figures: VariantResult) -> VariantRow:
    total = figures.passed + figures.failed + figures.errored + figures.not_run
    return VariantRow(
        figures=figures,
        name=figures.name or AS_IT_STANDS,
        differences=", ".join(figures.differences) or "nothing",
        ended=NOT_RUN if figures.problem else figures.conclusion,
        why=figures.problem or figures.reason,
        total=total,
        passed="" if figures.problem else f"{figures.passed} of {total}",
    )


def _exit_code(report: Report) -> int:
    if report.shard is not None and not report.verdict.misconfigured:
        # A shard decides nothing: it ends with 0 once it ran its share, and is run again where it did not.
        return 0 if report.shard.measured else exit_code(report.verdict, Mode.BLOCKING)
    return exit_code(report.verdict, report.decision.mode, enforce=report.enforce)


def _outputs(report: Report, counts: Tally, code: int) -> dict[str, Any]:
    return {
        "mode": report.decision.mode.value,
        "reasons": encode(report.decision.reasons),
        "conclusion": report.verdict.conclusion.value,
        "passed": counts.passed,
        "failed": counts.failed,
        "errored": counts.errored,
        "not_run": counts.not_run,
        "duration_seconds": round(report.seconds, 3),
        "duration_ms": round(report.seconds * 1_000),
        "regression_detected": regression_detected(report),
        "confidence": confidence(report),
        "spent_usd": encode(report.spending.spent),
        "budget_usd": encode(report.spending.cap),
        "exit_code": code,
    }


def _is_soft(report: Report) -> bool:
    soft = report.verdict.conclusion in (Conclusion.FAILED, Conclusion.INCOMPLETE)
    return soft and not report.verdict.misconfigured and report.shard is None


def _stops(report: Report) -> bool:
    """Whether a critical scenario stops the merge in a mode that does not."""
    return report.enforce and report.decision.mode is Mode.ADVISORY and bool(report.verdict.blocking)


def _headline(report: Report) -> str:
    if report.verdict.misconfigured:
        return "Misconfigured"
    if report.shard is not None:
        return f"Shard {report.shard.shard}" + ("" if report.shard.measured else " is incomplete")
    advisory = _is_soft(report) and report.decision.mode is Mode.ADVISORY and not _stops(report)
    return report.verdict.conclusion.value.capitalize() + (" (advisory)" if advisory else "")


def _caveat(report: Report, decide: Iterable[ScenarioRow]) -> str:
    if not report.results:
        return _unfit(report)
    parts = [
        "" if report.system_ran else ", on captured replies: no system ran",
        ", of another system than the base's" if report.replaced else "",
        ", with recordings changed in this PR" if report.edited_recordings else "",
        ", by rules or metrics changed in this PR" if report.edited_judges else "",
        _edited_scenarios(report),
        _critical_failures(report, decide),
        _unfit(report),
        _coverage(report),
    ]
    return "".join(parts)


def _edited_scenarios(report: Report) -> str:
    """That the change is not compared by scenarios of its base, since it edits or removes them."""
    edited, total = report.edited_scenarios, report.base_scenarios
    if not edited:
        return ""
    return f", with {'every scenario' if edited == total else f'{edited} of {total} scenarios'} changed in this PR"


def _coverage(report: Report) -> str:
    """That no scenario was chosen for the changed files; a scenario that failed all the same is no less a failure."""
    if report.covered:
        return ""
    failed = report.verdict.conclusion is Conclusion.FAILED
    return ", in scenarios that do not name the changed files" if failed else ", but no scenario covers this change"


def _critical_failures(report: Report, decide: Iterable[ScenarioRow]) -> str:
    """The critical scenarios that failed in an advisory run, named because the run does not block."""
    if report.verdict.conclusion is not Conclusion.FAILED or report.decision.mode is not Mode.ADVISORY:
        return ""
    critical = [row for row in decide if row.scenario.critical]
    return _of_critical([row.scenario.id for row in critical if row.outcome.standing is Standing.FAILED], "failed")


def _unfit(report: Report) -> str:
    return _of_critical(report.unfit, "could not be measured")


def _of_critical(ids: Sequence[str], what: str) -> str:
    noun = "critical scenario" if len(ids) == 1 else "critical scenarios"
    return f", {noun} {few(ids, _NAMED)} {what}" if ids else ""


def _replacement(report: Report) -> str:
    return f"This change replaces the system under test: {'; '.join(report.replaced)}." if report.replaced else ""


def _leniency(report: Report) -> str:
    if not _is_soft(report):
        return ""
    if _stops(report):
        return (
            "The mode is advisory, but a deterministic failure of a critical scenario that the base does not have "
            "blocks in every mode."
        )
    if report.decision.mode is Mode.ADVISORY:
        return "The mode is advisory, so the merge is not blocked."
    return "" if report.enforce else "This is a trial period (enforce: false), so the merge is not blocked."


def _line(report: Report, counts: Tally) -> str:
    apart = [f"{counts.quarantined} in quarantine"] if counts.quarantined else []
    labels = wrong_labels(report.data_sets) if report.verdict.conclusion is Conclusion.PASSED else ()
    answers = [_ANSWERS.get(report.llm, report.llm)] if counts.total and called_models(report.spending) else []
    return " · ".join([*labels, *apart, report.decision.mode.value, _money(report), *answers])


def _money(report: Report) -> str:
    """See ``money_phrase``; where nothing called a model because each is mocked, that."""
    scripts = [result.trial.scenario.script for result in report.results]
    mocked = bool(scripts) and all(script is not None for script in scripts)
    if not mocked or called_models(report.spending) or report.spending.attempts or report.spending.refused.count:
        return money_phrase(report.spending)
    return "every model was mocked" if any(scripts) else "no scenario calls a model"


def _numbers(report: Report, counts: Tally) -> str:
    if not counts.total or report.verdict.misconfigured:
        return ""
    compared = report.verdict.comparison
    failed = report.verdict.conclusion is Conclusion.FAILED
    # A threshold of cases or the comparison failed: "26 of 26 passed" would read as a pass.
    passing = part_of(counts.passed, counts.total, "scenario", "passed", "passed")
    parts = [f"{plural(counts.total, 'scenario')} ran" if failed and counts.passed == counts.total else passing]
    worse = sum(not flip.passes for flip in compared.flips) if compared else 0
    parts += [f"{worse} newly failing"] if worse else []
    if is_regression(report) and compared is not None and compared.mean_fell and compared.difference is not None:
        parts.append(f"mean score {signed_points(compared.difference)} points")
    return ", ".join(parts)


def _status(report: Report, counts: Tally) -> str:
    text = "Misconfigured" if report.verdict.misconfigured else report.verdict.conclusion.value.capitalize()
    text += "" if report.system_ran or not counts.total else ", no system ran"
    text += f": {part_of(counts.passed, counts.total, 'scenario', 'passed', 'passed')}" if counts.total else ""
    if not _is_soft(report):
        return text
    if _stops(report):
        return f"{text}; a critical scenario blocks in every mode"
    if report.decision.mode is not Mode.BLOCKING:
        return f"{text}; advisory, so the merge is not blocked"
    return text if report.enforce else f"{text}; a trial period, so the merge is not blocked"


def _plain(url: str) -> str:
    return url if _ADDRESS.fullmatch(url) else ""


def _traces(report: Report) -> tuple[tuple[TraceLink, str], ...]:
    links = () if report.traces is None else report.traces.links
    ordered = sorted(filter(lambda link: _plain(link.url), links), key=lambda link: link.passed is True)
    return tuple((link, _ENDED[link.passed]) for link in ordered)
