"""Failures at the line of the scenario and at the line of the change: annotations of a workflow, and SARIF."""

import json
import urllib.parse
from collections.abc import Iterator
from typing import Any

from ratiba_action.checks.system_exceptions import exception_of
from ratiba_action.github.workflow import Annotation
from ratiba_action.model.change import Mode
from ratiba_action.model.measurement import Errored, NotRun, Scored
from ratiba_action.model.verdict import Conclusion, Report
from ratiba_action.reporting.summary import ReportSummary
from ratiba_action.util.text import printable


def annotations_of(summary: ReportSummary) -> tuple[Annotation, ...]:
    """One annotation for each broken check, score below its threshold and broken-off trial; else why nothing was run.

    They are errors only where they may stop the merge, and warnings in an advisory run or a trial period. Scenarios in
    quarantine have none. Lines that were found to make scenarios fail come first.
    """
    return tuple(annotation for _, annotation in _found(summary))


def _found(summary: ReportSummary) -> Iterator[tuple[str, Annotation]]:
    """Each annotation with the name of its rule."""
    report = summary.report
    stops = report.verdict.misconfigured or (
        report.enforce and (report.decision.mode is Mode.BLOCKING or bool(report.verdict.blocking))
    )
    level = "error" if stops else "warning"
    for message in _why_nothing_ran(report):
        yield "run", Annotation(f"Ratiba: {report.name}", message, level=level)
    for cause in summary.explanation.causes if summary.explanation is not None else ():
        title = f"Ratiba: {', '.join(cause.scenarios)}"
        for part in cause.parts if cause.certain else ():
            yield "changed-line", Annotation(title, cause.sentence, part.path, part.line, level)
    for row in summary.deciding:
        scenario = row.scenario
        for line, message in problems_of(row.deciding.result):
            yield "scenario", Annotation(f"Ratiba: {scenario.id}", message, scenario.path, line or scenario.line, level)


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


_RULES = {
    "changed-line": "A line of the change makes scenarios fail, or leaves them without a recorded answer.",
    "scenario": "A scenario failed or could not be measured.",
}


def render_sarif(summary: ReportSummary) -> bytes:
    """``ratiba.sarif``: the same annotations for code scanning and editors.

    SARIF 2.1.0 (OASIS standard). Code scanning takes no result without a file and a line: what has no file is a
    notification of the run, what concerns a whole file stands at its first line.

    Args:
        summary: with its secrets masked already.
    """
    notifications, results = list[dict[str, Any]](), list[dict[str, Any]]()
    for rule, annotation in _found(summary):
        text = {"text": _plain(f"{annotation.title}: {annotation.message}")}
        if not annotation.path:
            notifications.append({"level": annotation.level, "message": text})
            continue
        place = {
            "artifactLocation": {"uri": urllib.parse.quote(annotation.path, errors="surrogateescape")},
            "region": {"startLine": max(1, annotation.line)},
        }
        location = {"physicalLocation": place}
        results.append({"ruleId": rule, "level": annotation.level, "message": text, "locations": [location]})
    verdict = summary.report.verdict
    rules = [{"id": rule, "shortDescription": {"text": text}} for rule, text in _RULES.items()]
    run = {
        "tool": {"driver": {"name": "Ratiba Eval Gate", "rules": rules}},
        "automationDetails": {"id": f"ratiba-eval-gate/{urllib.parse.quote(summary.report.name, safe='')}/"},
        "invocations": [
            {
                "executionSuccessful": verdict.conclusion is not Conclusion.INCOMPLETE,
                "toolExecutionNotifications": notifications,
            }
        ],
        "results": results,
    }
    return json.dumps({"version": "2.1.0", "runs": [run]}, indent=1).encode("ascii") + b"\n"


def _plain(text: str) -> str:
    """The text as a message of SARIF: braces would be placeholders (§3.11.5), ``[words](address)`` a link (§3.11.6)."""
    return printable(" ".join(text.split())).replace("](", "] (").replace("{", "{{").replace("}", "}}")
