"""Errors at the line of the scenario that broke, and at the line of the change that broke it."""

from collections.abc import Iterator

from ratiba_action.checks.system_exceptions import exception_of
from ratiba_action.github.workflow import Annotation
from ratiba_action.model.change import Mode
from ratiba_action.model.measurement import Errored, NotRun, Scored
from ratiba_action.model.verdict import Conclusion, Report
from ratiba_action.reporting.summary import ReportSummary


def annotations_of(summary: ReportSummary) -> tuple[Annotation, ...]:
    """One annotation for each broken check, score below its threshold and broken-off trial; else why nothing was run.

    They are errors only where they may stop the merge, and warnings in an advisory run or a trial period. Scenarios in
    quarantine have none. Lines that were found to make scenarios fail come first.
    """
    report = summary.report
    stops = report.verdict.misconfigured or (report.enforce and report.decision.mode is Mode.BLOCKING)
    level = "error" if stops else "warning"
    found = [Annotation(f"Ratiba: {report.name}", message, level=level) for message in _why_nothing_ran(report)]
    for cause in summary.explanation.causes if summary.explanation is not None else ():
        title = f"Ratiba: {', '.join(cause.scenarios)}"
        found += [
            Annotation(title, cause.sentence, part.path, part.line, level) for part in cause.parts if cause.certain
        ]
    for row in summary.deciding:
        scenario = row.scenario
        for line, message in problems_of(row.deciding.result):
            found.append(Annotation(f"Ratiba: {scenario.id}", message, scenario.path, line or scenario.line, level))
    return tuple(found)


def _why_nothing_ran(report: Report) -> tuple[str, ...]:
    verdict = report.verdict
    if report.results or verdict.conclusion is not Conclusion.INCOMPLETE:
        return ()
    return verdict.warnings or (f"{verdict.reason} {verdict.action}".strip(),)


def problems_of(result: Scored | Errored | NotRun) -> Iterator[tuple[int, str]]:
    """What failed in a trial or kept it from being measured, each with its line in the scenario's file or 0."""
    if isinstance(result, NotRun):
        yield 0, f"Not run: {result.reason}"
        return
    for check in result.checks:
        if not check.passed:
            turn = f"Turn {check.turn}: " if check.turn else ""
            yield check.line, f"{turn}{check.what}: expected {check.expected}, got {check.got}"
    lines = {item.label: item.line for item in result.trial.scenario.assertions}
    for score in result.deciding_scores:
        if not score.passed:
            failed = "".join(f"; {item.name}: {item.detail}" for item in score.invariants if not item.satisfied)
            message = f"{score.metric} {score.value:.2f}{score.vote_note} is below {score.threshold:.2f}{failed}"
            yield lines.get(score.metric, 0), message
    if isinstance(result, Errored) and not exception_of(result):
        yield 0, f"Could not be measured ({result.phase.value}): {result.explanation}"
