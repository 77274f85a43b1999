"""``junit.xml``: one test case per conversation and gate, for programs that show test results."""

import re
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree as ET

from ratiba_action.model.comparison import Comparison, Tier
from ratiba_action.model.data_set import DataSetScores, GateResult, GateStatus
from ratiba_action.model.measurement import Check, Errored, NotRun, ScenarioResult, Score, Scored
from ratiba_action.model.scenario import Quarantine
from ratiba_action.model.verdict import Conclusion, Report, VariantResult
from ratiba_action.reporting.comparison_words import baseline_told, flip_told, metric_rows
from ratiba_action.reporting.data_set_words import about, gate_names, status, value
from ratiba_action.reporting.variant_words import NOT_RUN, differences_of, ended, passed_of, why
from ratiba_action.reporting.wording import explanation, number, outcome, scenario_ended, scenario_label, trials_told
from ratiba_action.verdict.quarantine import day_of, quarantine_in_force
from ratiba_action.verdict.tally import tally
from ratiba_action.verdict.trials import ScenarioOutcome, outcomes_of


def variant_cases(variants: Iterable[VariantResult]) -> Sequence[tuple[str, str, str]]:
    """Of each variant its name, why its case is skipped (empty where it would have passed), and all its figures.

    The system as it stands has none: the other cases are its own.
    """
    return [(one.name, _skipped(one), _figures(one)) for one in variants if one.name]


def _skipped(one: VariantResult) -> str:
    if one.problem:
        return f"{NOT_RUN}: {why(one)}"
    been = "" if one.conclusion == Conclusion.FAILED.value else "been "
    passed = one.conclusion == Conclusion.PASSED.value
    return "" if passed else f"not the system as it stands: it would have {been}{ended(one)}: {why(one)}"


def _figures(one: VariantResult) -> str:
    lines = [f"differs in: {differences_of(one)}"]
    if not one.problem:
        lines += [f"passed: {passed_of(one)}", f"errors: {one.errored + one.not_run}"]
        lines += [f"{name}: {number(mean)}" for name, mean in sorted(one.means.items())]
        lines += [f"estimated cost (USD): {one.list_price:.4f}"]
    return "\n".join(lines)


# Everything outside the Char production of XML 1.0 makes the whole file unreadable.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


_OPEN = (Tier.UNCLEAR, Tier.NOT_COMPARABLE)
"""Tiers of a comparison that establishes nothing."""


def render_junit(report: Report) -> bytes:
    """The XML document, in UTF-8.

    A judged score below its threshold is a failure of its test case even where the pass rate allows it.
    """
    counts, compared = tally(report), report.verdict.comparison
    tier = None if compared is None else compared.tier
    gates = [gate.status for one in report.data_sets for gate in one.gates]
    variants = variant_cases(report.variants)
    apart = sum(bool(skipped) for _, skipped, _ in variants)
    totals = {
        "name": _xml(report.name),
        "tests": str(counts.total + counts.quarantined + len(gates) + (tier is not None) + len(variants)),
        "failures": str(counts.failed + gates.count(GateStatus.FAILED) + (tier is Tier.REGRESSION)),
        "errors": str(counts.errored),
        "skipped": str(counts.not_run + counts.quarantined + gates.count(GateStatus.UNKNOWN) + (tier in _OPEN) + apart),
        "time": f"{report.seconds:.3f}",
    }
    root = ET.Element("testsuites", totals)
    suite = ET.SubElement(root, "testsuite", totals | {"timestamp": report.started_at.isoformat()})
    properties = ET.SubElement(suite, "properties")
    for name, told in _properties(report).items():
        ET.SubElement(properties, "property", {"name": name, "value": _xml(told)})
    day = day_of(report.started_at)
    for one in outcomes_of(report.results):
        _add_case(suite, one, quarantine_in_force(one.scenario, day))
    if compared is not None:
        _add_comparison(suite, report, compared)
    for scores, gate, name in gate_names(report.data_sets):
        _add_gate(suite, scores, gate, name)
    for name, skipped, figures in variants:
        _add_variant(suite, name, skipped, figures)
    ET.indent(root)
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _properties(report: Report) -> dict[str, str]:
    return {
        "conclusion": report.verdict.conclusion.value,
        "reason": report.verdict.reason,
        "mode": report.decision.mode.value,
        "spent_usd": format(report.spending.spent, "f"),
        "llm": report.llm,
    }


def _add_case(suite: ET.Element, one: ScenarioOutcome, quarantine: Quarantine | None) -> None:
    scenario, result = one.scenario, one.deciding
    name = _xml(scenario_label(one))
    attributes = {"name": name, "classname": _xml(f"{scenario.layer}.{scenario.vertical or 'general'}")}
    attributes |= {"file": _xml(scenario.path)} if scenario.path else {}
    attributes |= {"line": str(_line(result))} if _line(result) else {}
    if not isinstance(result, NotRun):
        attributes["time"] = f"{sum(getattr(trial, 'seconds', 0.0) for trial in one.trials):.3f}"
    case = ET.SubElement(suite, "testcase", attributes)
    if quarantine is not None:
        told = f"quarantined until {quarantine.until} by {quarantine.owner}: it would have {scenario_ended(one)}"
        ET.SubElement(case, "skipped", {"message": _xml(told)})
    elif isinstance(result, NotRun):
        ET.SubElement(case, "skipped", {"message": _xml(explanation(result))})
    else:
        _add_measured(case, result)
    if trials_told(one):
        ET.SubElement(case, "system-out").text = _xml(_trials(one))


def _add_measured(case: ET.Element, result: Scored | Errored) -> None:
    for check in result.checks:
        _add_check(case, check)
    for score in result.deciding_scores:
        _add_score(case, score)
    if isinstance(result, Errored):
        error = ET.SubElement(case, "error", {"type": result.phase.value, "message": _xml(explanation(result))})
        error.text = _xml(result.told)


def _trials(one: ScenarioOutcome) -> str:
    """What each trial came to, as lines."""
    lines = [f"{trials_told(one)}; trial {one.deciding.trial.number + 1} decides"]
    for trial in one.trials:
        why = explanation(trial)
        lines.append(f"trial {trial.trial.number + 1}: {outcome(trial)}" + (f": {why}" if why else ""))
        retried = () if isinstance(trial, NotRun) else trial.retried
        lines += [f"trial {trial.trial.number + 1}: retried after: {each}" for each in retried]
    return "\n".join(lines)


def _add_gate(suite: ET.Element, scores: DataSetScores, result: GateResult, name: str) -> None:
    attributes = {"name": _xml(name), "classname": "gate", "file": _xml(scores.path)}
    case = ET.SubElement(suite, "testcase", attributes)
    if result.status is GateStatus.UNKNOWN:
        ET.SubElement(case, "skipped", {"message": _xml(status(scores, result))})
    if result.status is GateStatus.FAILED:
        message = f"{name} {value(result)} is below {number(result.gate.at_least)}"
        failure = ET.SubElement(case, "failure", {"type": _xml(result.gate.metric), "message": _xml(message)})
        failure.text = _xml(f"{status(scores, result)}; {about(scores)}")


def _add_variant(suite: ET.Element, name: str, skipped: str, figures: str) -> None:
    case = ET.SubElement(suite, "testcase", {"name": _xml(name), "classname": "variant"})
    if skipped:
        ET.SubElement(case, "skipped", {"message": _xml(skipped)})
    ET.SubElement(case, "system-out").text = _xml(figures)


def _add_comparison(suite: ET.Element, report: Report, compared: Comparison) -> None:
    case = ET.SubElement(suite, "testcase", {"name": "compared with the base", "classname": "comparison"})
    message = {"message": _xml(f"{compared.tier.value}: {compared.reason}")}
    if compared.tier is Tier.REGRESSION:
        ET.SubElement(case, "failure", {"type": "comparison", **message})
    elif compared.tier in _OPEN:
        ET.SubElement(case, "skipped", message)
    rows = metric_rows(compared, {})
    lines = [f"base: {baseline_told(report.baseline, report.started_at)}"]
    lines += [f"{row.name}: {row.base} to {row.head}, {row.change} points, {row.status}" for row in rows]
    lines += [f"{one.scenario_id}: {flip_told(one)}" for one in compared.flips]
    ET.SubElement(case, "system-out").text = _xml("\n".join(lines))


def _line(result: ScenarioResult) -> int:
    broken = [] if isinstance(result, NotRun) else [check.line for check in result.checks if not check.passed]
    return next((line for line in broken if line), result.trial.scenario.line)


def _add_check(case: ET.Element, check: Check) -> None:
    if check.passed:
        return
    where = f"turn {check.turn}" if check.turn else "conversation"
    failure = ET.SubElement(case, "failure", {"type": check.kind, "message": _xml(f"{where}: {check.what}")})
    failure.text = _xml(f"expected: {check.expected}\ngot: {check.got}")


def _add_score(case: ET.Element, score: Score) -> None:
    if score.passed:
        return
    message = f"{score.metric} {number(score.value)} is below {number(score.threshold)}"
    failure = ET.SubElement(case, "failure", {"type": _xml(score.metric), "message": _xml(message)})
    broken = [f"{item.name}: {item.detail}" for item in score.invariants if not item.satisfied]
    failure.text = _xml("\n".join([score.reason, *broken]))


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
