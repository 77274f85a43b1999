"""``junit.xml``: one test case per scenario, threshold of cases and variant, for tools that show test results."""

import re
from collections.abc import Mapping
from xml.etree import ElementTree as ET

from ratiba_action.model.case_file import CaseThresholdStatus
from ratiba_action.model.comparison import Tier
from ratiba_action.model.measurement import Check, Errored, NotRun, ScenarioResult, Score, Scored
from ratiba_action.model.scenario import with_title
from ratiba_action.model.verdict import Conclusion, Report
from ratiba_action.reporting.cases_summary import CasesSummary, GateRow
from ratiba_action.reporting.comparison_summary import ComparisonSummary
from ratiba_action.reporting.summary import NOT_RUN, ReportSummary, ScenarioRow, VariantRow
from ratiba_action.reporting.wording import explanation, number

# Everything outside the Char production of XML 1.0 makes the whole file unreadable.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


_OPEN = (Tier.UNCLEAR, Tier.NOT_COMPARABLE)
"""Tiers of a comparison that establishes nothing."""


def render_junit(summary: ReportSummary) -> bytes:
    """The XML document, in UTF-8.

    A judged score below its threshold fails its test case even if the pass rate allows it.
    """
    report = summary.report
    totals = {"name": _xml(report.name), **_totals(summary), "time": f"{report.seconds:.3f}"}
    root = ET.Element("testsuites", totals)
    suite = ET.SubElement(root, "testsuite", totals | {"timestamp": report.started_at.isoformat()})
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(report).items():
        ET.SubElement(properties, "property", {"name": name, "value": _xml(value)})
    for row in summary.scenarios:
        _add_case(suite, row)
    if summary.comparison is not None:
        _add_comparison(suite, summary.comparison, summary.titles)
    for cases in summary.cases:
        for gate in cases.gates:
            _add_gate(suite, cases, gate)
    for variant in _variants(summary):
        _add_variant(suite, variant)
    ET.indent(root)
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _totals(summary: ReportSummary) -> dict[str, str]:
    counts, variants = summary.counts, _variants(summary)
    tier = None if summary.comparison is None else summary.comparison.found.tier
    gates = [gate.result.status for cases in summary.cases for gate in cases.gates]
    apart = sum(bool(_why_skipped(cases)) for cases in variants)
    skipped = counts.not_run + counts.quarantined + gates.count(CaseThresholdStatus.UNKNOWN) + (tier in _OPEN) + apart
    return {
        "tests": str(counts.total + counts.quarantined + len(gates) + (tier is not None) + len(variants)),
        "failures": str(counts.failed + gates.count(CaseThresholdStatus.FAILED) + (tier is Tier.REGRESSION)),
        "errors": str(counts.errored),
        "skipped": str(skipped),
    }


def _variants(summary: ReportSummary) -> list[VariantRow]:
    """Variants other than the system as it is, whose scenarios have their own test cases."""
    return [row for row in summary.variants if row.figures.name]


def _properties(report: Report) -> dict[str, str]:
    return {
        "conclusion": report.verdict.conclusion.value,
        "reason": report.verdict.reason,
        "mode": report.decision.mode.value,
        "spent_usd": format(report.spending.spent, "f"),
        "llm": report.llm,
    }


def _add_case(suite: ET.Element, row: ScenarioRow) -> None:
    scenario, result, quarantine = row.scenario, row.deciding.result, row.quarantine
    attributes = {"name": _xml(row.label), "classname": _xml(f"{scenario.layer}.{scenario.vertical or 'general'}")}
    attributes |= {"file": _xml(scenario.path)} if scenario.path else {}
    attributes |= {"line": str(_line(result))} if _line(result) else {}
    if row.deciding.seconds is not None:
        attributes["time"] = f"{sum(trial.seconds or 0.0 for trial in row.trials):.3f}"
    case = ET.SubElement(suite, "testcase", attributes)
    if quarantine is not None:
        why = f"quarantined until {quarantine.until} by {quarantine.owner}: it would have {row.ended}"
        _skip(case, why)
    elif isinstance(result, NotRun):
        _skip(case, row.deciding.why)
    else:
        _add_measured(case, result)
    if row.of_trials:
        _add_text(case, _trials(row))


def _skip(case: ET.Element, why: str) -> None:
    ET.SubElement(case, "skipped", {"message": _xml(why)})


def _add_text(case: ET.Element, text: str) -> None:
    ET.SubElement(case, "system-out").text = _xml(text)


def _add_measured(case: ET.Element, result: Scored | Errored) -> None:
    for check in result.checks:
        _add_check(case, check)
    for score in result.deciding_scores:
        _add_score(case, score)
    if isinstance(result, Errored):
        error = ET.SubElement(case, "error", {"type": result.phase.value, "message": _xml(explanation(result))})
        error.text = _xml(result.explanation)


def _trials(row: ScenarioRow) -> str:
    """One line per trial with its result."""
    lines = [f"{row.of_trials}; trial {row.deciding.result.trial.number + 1} decides"]
    for trial in row.trials:
        name = f"trial {trial.result.trial.number + 1}"
        lines.append(f"{name}: {trial.ended}" + (f": {trial.why}" if trial.why else ""))
        lines += [f"{name}: retried after: {each}" for each in trial.retried]
    return "\n".join(lines)


def _add_gate(suite: ET.Element, cases: CasesSummary, row: GateRow) -> None:
    attributes = {"name": _xml(row.name), "classname": "gate", "file": _xml(cases.scores.path)}
    case, gate = ET.SubElement(suite, "testcase", attributes), row.result.gate
    if row.result.status is CaseThresholdStatus.UNKNOWN:
        _skip(case, row.status)
    if row.result.status is CaseThresholdStatus.FAILED:
        message = f"{row.name} {row.value} is below {number(gate.at_least)}"
        failure = ET.SubElement(case, "failure", {"type": _xml(gate.metric), "message": _xml(message)})
        failure.text = _xml(f"{row.status}; {cases.about}")


def _add_variant(suite: ET.Element, row: VariantRow) -> None:
    case = ET.SubElement(suite, "testcase", {"name": _xml(row.name), "classname": "variant"})
    if why := _why_skipped(row):
        _skip(case, why)
    figures, lines = row.figures, [f"differs in: {row.differences}"]
    if not figures.problem:
        lines += [f"passed: {row.passed}", f"errors: {figures.errored + figures.not_run}"]
        lines += [f"{name}: {number(mean)}" for name, mean in sorted(figures.means.items())]
        lines += [f"estimated cost (USD): {figures.list_price:.4f}"]
    _add_text(case, "\n".join(lines))


def _why_skipped(row: VariantRow) -> str:
    """Why the test case of a variant is skipped; empty if it would have passed."""
    if row.figures.problem:
        return f"{NOT_RUN}: {row.why}"
    been = "" if row.figures.conclusion == Conclusion.FAILED.value else "been "
    passed = row.figures.conclusion == Conclusion.PASSED.value
    return "" if passed else f"not the system as it is: it would have {been}{row.ended}: {row.why}"


def _add_comparison(suite: ET.Element, compared: ComparisonSummary, titles: Mapping[str, str]) -> None:
    case = ET.SubElement(suite, "testcase", {"name": "compared with the base", "classname": "comparison"})
    found = compared.found
    message = {"message": _xml(f"{found.tier.value}: {found.reason}")}
    if found.tier is Tier.REGRESSION:
        ET.SubElement(case, "failure", {"type": "comparison", **message})
    elif found.tier in _OPEN:
        ET.SubElement(case, "skipped", message)
    lines = [f"base: {compared.baseline}"]
    lines += [f"{row.name}: {row.base} to {row.head}, {row.change} points, {row.status}" for row in compared.rows]
    lines += [
        f"{with_title(flip.scenario_id, titles.get(flip.scenario_id, ''))}: {direction}"
        for flip, direction in compared.flips
    ]
    _add_text(case, "\n".join(lines))


def _line(result: ScenarioResult) -> int:
    failed = [] if isinstance(result, NotRun) else [check.line for check in result.checks if not check.passed]
    return next((line for line in failed if line), result.trial.scenario.line)


def _add_check(case: ET.Element, check: Check) -> None:
    if check.passed:
        return
    place = f"turn {check.turn}" if check.turn else "conversation"
    failure = ET.SubElement(case, "failure", {"type": check.kind, "message": _xml(f"{place}: {check.what}")})
    failure.text = _xml(f"expected: {check.expected}\ngot: {check.got}")


def _add_score(case: ET.Element, score: Score) -> None:
    if score.passed:
        return
    message = f"{score.metric} {number(score.value)}{score.vote_note} is below {number(score.threshold)}"
    failure = ET.SubElement(case, "failure", {"type": _xml(score.metric), "message": _xml(message)})
    violated = [f"{item.name}: {item.detail}" for item in score.invariants if not item.satisfied]
    failure.text = _xml("\n".join([score.reason, *violated]))


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
