"""The summary of a run: whatever any form of the report shows, worked out once. A renderer gets it and only formats."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from ratiba_action.checks.system_exceptions import exception_of
from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.change import Mode
from ratiba_action.model.codec import encode
from ratiba_action.model.measurement import Check, Errored, NotRun, ScenarioResult, Score, Scored
from ratiba_action.model.scenario import Quarantine, Scenario
from ratiba_action.model.verdict import Conclusion, Report, TraceLink, VariantResult
from ratiba_action.reporting.comparison_words import ComparisonSummary, summarise_comparison, thresholds_told
from ratiba_action.reporting.data_set_words import CasesSummary, passing_told, summarise_cases, threshold_told
from ratiba_action.reporting.money_facts import (
    Fact,
    Part,
    called_models,
    judge_facts,
    money_facts,
    money_phrase,
    month_note,
    parts,
)
from ratiba_action.reporting.wording import (
    explanation,
    frames,
    gap_words,
    label,
    outcome,
    plural,
    scenario_label,
    trials_told,
)
from ratiba_action.util.text import part_of
from ratiba_action.verdict.exit_code import exit_code
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
from ratiba_action.verdict.trials import ScenarioOutcome, Standing, most_failures, outcomes_of

AS_IT_STANDS = "as it stands"
NOT_RUN = "not run"
VERDICT_IS_OF = "The verdict is of the system as it stands; no variant changes it."

_NAMED = 3
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.:-]+(?:/[A-Za-z0-9._~-]+)+", re.ASCII)
"""Nothing in it can end a link of Markdown or begin something else."""

_ENDED = {True: "passed", False: "failed", None: "not scored"}
_ANSWERS = {
    AnswerOrigin.REPLAY: "replayed",
    AnswerOrigin.MIXED: "live where no recording fits",
    AnswerOrigin.LIVE: "live",
    AnswerOrigin.RECORD: "recorded live",
}


@dataclass(frozen=True, slots=True)
class TrialRow:
    """One trial as every form of the report shows it.

    Args:
        name: the scenario's id, with arm and trial where they are not the ordinary ones.
        ended: how it ended, in a word or two.
        why: it could not be measured, without a traceback; empty for one that was.
        gap: the same in the room that a table has.
        frames: where the system raised an error, in several lines; empty where it raised none.
        exception: ``file:line Type`` of the exception that failed it; empty where none did.
        checks: how many deterministic assertions passed, and how many were measured; None where nothing was.
        seconds: that it took; None where it was not run.
        retried: why attempts at it errored that were run again.
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
        """Whether it ran to its end and a judged score is missing."""
        return isinstance(self.result, Errored) and self.result.lacks_grade


@dataclass(frozen=True, slots=True)
class ScenarioRow:
    """One scenario as every form of the report shows it.

    Args:
        outcome: of its trials.
        name: its id, with its arm where that is not the head.
        deciding: the trial that it passes or fails by.
        trials: all of them, in order of their number.
        of_trials: how many passed, and how many there are besides; empty for a single one.
        quarantine: in force on the day of the run, so that it does not decide; None where it does.
        expired: whether it decides again because its quarantine has ended.
        failing: whether something that was measured in it is below what is asked.
        below: whether only judged scores are, so that the pass rate decides what that means.
        must_pass: how many of the trials that decide.
    """

    outcome: ScenarioOutcome
    name: str
    deciding: TrialRow
    trials: tuple[TrialRow, ...]
    of_trials: str
    quarantine: Quarantine | None
    expired: bool
    failing: bool
    below: bool
    must_pass: int

    @property
    def scenario(self) -> Scenario:
        """The scenario itself."""
        return self.outcome.scenario

    @property
    def ended(self) -> str:
        """How it ended, with how its trials ended."""
        return f"{self.deciding.ended} ({self.of_trials})" if self.of_trials else self.deciding.ended


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One metric over all scenarios that decide.

    Args:
        passing: how many scores reach their threshold; empty where none has one.
        threshold: what its scores must reach, and the aggregates over them.
    """

    figures: MetricSummary
    passing: str
    threshold: str


@dataclass(frozen=True, slots=True)
class VariantRow:
    """One variant, or the system as it is.

    Args:
        name: of the variant; that of the system itself has none.
        differences: from the system as it is.
        ended: how its run would have ended on its own.
        why: it was not run, or its run would have ended so; empty where it would have passed.
        passed: scenarios that passed, of all; empty for one that was not run.
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
        report: its texts and figures as the run left them.
        exit_code: of the process.
        outputs: the values that a workflow reads, by their names in ``results.json``.
        counts: of scenarios by how they ended.
        regression: whether the comparison with the base is why the run fails.
        headline: the verdict in one or two words.
        caveat: what must not be overlooked about the verdict; stands in the headline.
        replacement: by which settings another system was tested than at the base; empty where it is the same.
        leniency: why a failure does not stop the merge; empty when it does or nothing failed.
        line: scenarios, mode, money and where the answers came from, in one line.
        status: the run in words and numbers of ours alone, for the status of a commit.
        scenarios: all of them, in the report's order.
        metrics: of the scenarios that decide.
        thresholds: what each metric must reach, in words, by its name.
        comparison: with the base; None where there is nothing of it.
        variants: of the system, the system as it is first.
        variant_metrics: every metric that measured one of them, in order of name.
        paid: whether a model was called for money.
        spent: who and what was paid, by headings.
        month: why nothing is said of what other runs spent; empty where it is said.
        run_link: address of all scenarios of the run together in Langfuse; empty where there is no plain one.
        traces: links to scenarios in Langfuse that are plain addresses, each with how it ended; what failed first.
    """

    report: Report
    exit_code: int
    outputs: Mapping[str, Any]
    counts: Tally
    regression: bool
    headline: str
    caveat: str
    replacement: str
    leniency: str
    line: str
    status: str
    scenarios: tuple[ScenarioRow, ...]
    metrics: tuple[MetricRow, ...]
    thresholds: Mapping[str, str]
    comparison: ComparisonSummary | None
    cases: tuple[CasesSummary, ...]
    variants: tuple[VariantRow, ...]
    variant_metrics: tuple[str, ...]
    paid: bool
    money: tuple[Fact, ...]
    spent: tuple[tuple[str, tuple[Part, ...]], ...]
    month: str
    judges: tuple[Fact, ...]
    run_link: str
    traces: tuple[tuple[TraceLink, str], ...]

    @property
    def deciding(self) -> tuple[ScenarioRow, ...]:
        """Scenarios that count for the verdict."""
        return tuple(row for row in self.scenarios if row.quarantine is None)

    @property
    def quarantined(self) -> tuple[ScenarioRow, ...]:
        """Scenarios that ran and do not count."""
        return tuple(row for row in self.scenarios if row.quarantine is not None)

    @property
    def expired(self) -> tuple[ScenarioRow, ...]:
        """Scenarios that count again because their quarantine has ended."""
        return tuple(row for row in self.scenarios if row.expired)


def summarise(report: Report) -> ReportSummary:
    """Work out everything that is shown of a report."""
    counts, code = tally(report), _exit_code(report)
    scenarios = tuple(_scenario_row(one, day_of(report.started_at)) for one in outcomes_of(report.results))
    decide = [row for row in scenarios if row.quarantine is None]
    figures = summarise_metrics(trial.result for row in decide for trial in row.trials)
    thresholds = thresholds_told(figures, report.data_sets, report.limits.metric_thresholds)
    amounts = (("by party", report.spending.by_party), ("by model", report.spending.by_model))
    return ReportSummary(
        report=report,
        exit_code=code,
        outputs=_outputs(report, counts, code),
        counts=counts,
        regression=is_regression(report),
        headline=_headline(report),
        caveat=_caveat(report, decide),
        replacement=_replacement(report),
        leniency=_leniency(report),
        line=_line(report, counts),
        status=_status(report, counts),
        scenarios=scenarios,
        metrics=tuple(MetricRow(one, passing_told(one), threshold_told(one, report.data_sets)) for one in figures),
        thresholds=thresholds,
        comparison=summarise_comparison(report, thresholds),
        cases=tuple(summarise_cases(one, report.results) for one in report.data_sets),
        variants=tuple(map(_variant_row, report.variants)),
        variant_metrics=tuple(sorted({name for one in report.variants for name in one.means})),
        paid=report.spending.live_calls > 0,
        money=money_facts(report),
        spent=tuple((what, paid) for what, by_name in amounts if (paid := parts(by_name))),
        month=month_note(report),
        judges=judge_facts(report),
        run_link="" if report.traces is None else _plain(report.traces.run_url),
        traces=_traces(report),
    )


def outputs_of(report: Report) -> dict[str, Any]:
    """The values that a workflow reads, by their names in ``results.json``."""
    return _outputs(report, tally(report), _exit_code(report))


def trial_row(result: ScenarioResult) -> TrialRow:
    """One trial in words and counts."""
    ran = None if isinstance(result, NotRun) else result
    measured = [check.passed for check in ran.checks if check.measured] if ran else []
    return TrialRow(
        result=result,
        name=label(result),
        ended=outcome(result),
        why=explanation(result),
        gap=gap_words(result),
        frames=frames(result),
        exception=exception_of(result),
        checks=(sum(measured), len(measured)) if measured or isinstance(result, Scored) else None,
        scores=ran.scores if ran else (),
        seconds=ran.seconds if ran else None,
        retried=ran.retried if ran else (),
    )


def _scenario_row(one: ScenarioOutcome, day: date) -> ScenarioRow:
    trials = {id(trial): trial_row(trial) for trial in one.trials}
    result = one.deciding
    measured: tuple[Check | Score, ...] = (
        () if isinstance(result, NotRun) else (*result.checks, *result.deciding_scores)
    )
    return ScenarioRow(
        outcome=one,
        name=scenario_label(one),
        deciding=trials[id(result)],
        trials=tuple(trials.values()),
        of_trials=trials_told(one),
        quarantine=quarantine_in_force(one.scenario, day),
        expired=bool(expired_quarantine(one.scenario, day)),
        failing=any(not each.passed for each in measured),
        below=one.standing is Standing.BELOW,
        must_pass=len(one.counted) - most_failures(one.scenario),
    )


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
        "regression_detected": regression_detected(report),
        "confidence": confidence(report),
        "spent_usd": encode(report.spending.spent),
        "budget_usd": encode(report.spending.cap),
        "exit_code": code,
    }


def _is_soft(report: Report) -> bool:
    return report.verdict.conclusion in (Conclusion.FAILED, Conclusion.INCOMPLETE) and not report.verdict.misconfigured


def _headline(report: Report) -> str:
    if report.verdict.misconfigured:
        return "Misconfigured"
    advisory = _is_soft(report) and report.decision.mode is Mode.ADVISORY
    return report.verdict.conclusion.value.capitalize() + (" (advisory)" if advisory else "")


def _caveat(report: Report, decide: Iterable[ScenarioRow]) -> str:
    if not report.results:
        return ""
    parts = [
        "" if report.system_ran else ", on captured replies: no system ran",
        ", of another system than the base's" if report.replaced else "",
        ", with recordings changed in this PR" if report.edited_recordings else "",
        _critical_failures(report, decide),
        "" if report.covered else ", but no scenario covers this change",
    ]
    return "".join(parts)


def _critical_failures(report: Report, decide: Iterable[ScenarioRow]) -> str:
    """The critical scenarios that failed in a run that stops nothing: what its reader must not overlook."""
    if report.verdict.conclusion is not Conclusion.FAILED or report.decision.mode is not Mode.ADVISORY:
        return ""
    critical = [row for row in decide if row.scenario.critical]
    failed = [row.scenario.id for row in critical if row.outcome.standing is Standing.BROKEN]
    more = f" and {len(failed) - _NAMED} more" if len(failed) > _NAMED else ""
    noun = "critical scenario" if len(failed) == 1 else "critical scenarios"
    return f", {noun} {', '.join(failed[:_NAMED])}{more} failed" if failed else ""


def _replacement(report: Report) -> str:
    return f"This change replaces the system under test: {'; '.join(report.replaced)}." if report.replaced else ""


def _leniency(report: Report) -> str:
    if not _is_soft(report):
        return ""
    if report.decision.mode is Mode.ADVISORY:
        return "The mode is advisory, so the merge is not stopped."
    return "" if report.enforce else "This is a trial period (enforce: false), so the merge is not stopped."


def _line(report: Report, counts: Tally) -> str:
    apart = f" · {counts.quarantined} in quarantine" if counts.quarantined else ""
    mode, spending = report.decision.mode.value, report.spending
    if not counts.total:
        return f"{mode}{apart} · {money_phrase(spending)}"
    passing = part_of(counts.passed, counts.total, "scenario", "passed", "passed")
    if report.verdict.conclusion is Conclusion.FAILED and counts.passed == counts.total:
        # What failed is a gate or the comparison; that every scenario passed by itself would read as a pass.
        passing = f"{plural(counts.total, 'scenario')} ran"
    answers = [_ANSWERS.get(report.llm, report.llm)] if called_models(spending) else []
    return " · ".join([f"{passing}{apart}", mode, money_phrase(spending), *answers])


def _status(report: Report, counts: Tally) -> str:
    told = "Misconfigured" if report.verdict.misconfigured else report.verdict.conclusion.value.capitalize()
    told += "" if report.system_ran or not counts.total else ", no system ran"
    told += f": {part_of(counts.passed, counts.total, 'scenario', 'passed', 'passed')}" if counts.total else ""
    if not _is_soft(report):
        return told
    if report.decision.mode is not Mode.BLOCKING:
        return f"{told}; advisory, so the merge is not stopped"
    return told if report.enforce else f"{told}; a trial period, so the merge is not stopped"


def _plain(url: str) -> str:
    return url if _ADDRESS.fullmatch(url) else ""


def _traces(report: Report) -> tuple[tuple[TraceLink, str], ...]:
    links = () if report.traces is None else report.traces.links
    ordered = sorted(filter(lambda link: _plain(link.url), links), key=lambda link: link.passed is True)
    return tuple((link, _ENDED[link.passed]) for link in ordered)
