"""From evidence to a verdict: the rules of ``docs/verdict.md``, as one pure function."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ratiba_action.core.data_set_scores import failed_gates, open_gates
from ratiba_action.core.model.change import Mode
from ratiba_action.core.model.measurement import Errored, NotRun, Phase, ScenarioResult, Score, Scored
from ratiba_action.core.model.plan import Plan
from ratiba_action.core.model.verdict import Conclusion, Evidence, Verdict
from ratiba_action.core.tally import tally, unmeasured

_NAMED = 3
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class _Findings:
    broken: tuple[str, ...]
    judged: tuple[Score, ...]
    gaps: tuple[ScenarioResult, ...]


def next_step(evidence: Evidence) -> Plan | Verdict:
    """Decide what the measurements mean.

    Exact checks, deterministic scores, everything in a ``critical`` scenario and the gates of data sets must hold. Of
    the judged scores of
    other scenarios, ``limits.pass_rate`` must. Anything unmeasured makes the run incomplete, unless something exact
    has failed already: what is measured as broken stays broken whatever the rest would have shown. A pass rate that
    lacks some of its scores is not final, so it cannot fail a run by itself.

    Args:
        evidence: all results of the run, in any order.

    Returns:
        The verdict. A further plan is possible in the type, and this form of the rules never asks for one.
    """
    if evidence.mode is Mode.SKIP and not evidence.results:
        return Verdict(Conclusion.SKIPPED, "Nothing that the gate watches has changed.")
    findings = _find(evidence.results)
    gates = failed_gates(evidence.data_sets)
    if findings.broken or gates:
        return _broken(evidence, findings, gates)
    if len(findings.gaps) == len(evidence.results):
        return _nothing_measured(evidence)
    if findings.gaps or evidence.interruption or evidence.shortfall or open_gates(evidence.data_sets):
        return _incomplete(evidence, findings)
    if not _reaches_rate(findings.judged, evidence.limits.pass_rate):
        return _below_rate(findings, evidence.limits.pass_rate, evidence.results)
    return _passed(evidence)


def _find(results: Iterable[ScenarioResult]) -> _Findings:
    ordered = sorted(results, key=_order)
    measured = [result for result in ordered if not isinstance(result, NotRun)]
    measured.sort(key=lambda result: not result.trial.scenario.critical)
    scored = [result for result in ordered if isinstance(result, Scored)]
    return _Findings(
        broken=_ids(result for result in measured if _is_broken(result)),
        judged=tuple(
            score for result in scored if not result.trial.scenario.critical for score in result.scores if score.judged
        ),
        gaps=unmeasured(ordered),
    )


def _is_broken(result: Scored | Errored) -> bool:
    exact = result.trial.scenario.critical
    return not all(check.passed for check in result.checks) or any(
        not score.passed and (exact or not score.judged) for score in result.scores
    )


def _reaches_rate(scores: Sequence[Score], rate: float) -> bool:
    # Fractions of the written number: 0.8 must mean four of five, not the float just above it.
    return not scores or Fraction(sum(score.passed for score in scores), len(scores)) >= Fraction(str(rate))


def _broken(evidence: Evidence, findings: _Findings, gates: Sequence[str]) -> Verdict:
    broken, total = len(findings.broken), len(_ids(evidence.results))
    verb = "breaks" if broken == 1 else "break"
    parts = []
    if broken:
        parts.append(f"{broken} of {_conversations(total)} {verb} an exact check: {_names(findings.broken)}")
    if gates:
        parts.append(f"{_count(len(gates), 'gate')} {'fails' if len(gates) == 1 else 'fail'}: {_names(gates, '; ')}")
    if findings.gaps:
        parts.append(f"{_conversations(len(findings.gaps))} could not be measured")
    if evidence.interruption:
        parts.append(f"the run was interrupted ({evidence.interruption})")
    action = "Look at the lowest cases of the data set, then mend the change."
    if broken:
        action = f"Compare expected with got for {findings.broken[0]}, then mend the change or update the scenario."
    return Verdict(Conclusion.FAILED, f"{'; '.join(parts)}.", action)


def _below_rate(findings: _Findings, rate: float, results: Iterable[ScenarioResult]) -> Verdict:
    passed = sum(score.passed for score in findings.judged)
    low = _ids(result for result in sorted(results, key=_order) if isinstance(result, Scored) and not result.passed)
    reason = (
        f"{passed} of {_count(len(findings.judged), 'judged score')} "
        f"{'reaches its' if passed == 1 else 'reach their'} threshold, and {rate:.0%} must: {_names(low)}."
    )
    return Verdict(Conclusion.FAILED, reason, f"Read what the judge says about {low[0]}, then mend the prompt.")


def _nothing_measured(evidence: Evidence) -> Verdict:
    if not evidence.results:
        why = evidence.interruption or "no conversation was selected"
        action = "Tag a scenario `smoke`, or let its `touches` name the files that it depends on."
        return Verdict(Conclusion.INCOMPLETE, f"Nothing was measured: {why}.", action)
    first = min(evidence.results, key=_order)
    why = evidence.interruption or f"{first.trial.scenario.id}: {_why(first)}"
    reason = f"Nothing was measured, so nothing can pass: {_sentence(why)}"
    return Verdict(Conclusion.INCOMPLETE, reason, _gap_action(evidence, first))


def _incomplete(evidence: Evidence, findings: _Findings) -> Verdict:
    if not findings.gaps and not evidence.interruption and not evidence.shortfall:
        reason = f"Nothing was measured for a gate: {_names(open_gates(evidence.data_sets))}."
        return Verdict(Conclusion.INCOMPLETE, reason, "Let the system give what the gate is about.")
    if not findings.gaps and not evidence.interruption:
        return Verdict(Conclusion.INCOMPLETE, _sentence(evidence.shortfall), "Mend this, then run the gate again.")
    if not findings.gaps:
        reason = f"The run was interrupted: {_sentence(evidence.interruption or '')}"
        return Verdict(Conclusion.INCOMPLETE, reason, "Run the gate again.")
    names = _names(_ids(findings.gaps))
    reason = f"{len(findings.gaps)} of {_conversations(len(evidence.results))} could not be measured ({names}): "
    reason += _sentence(evidence.interruption or _why_all(evidence, findings.gaps))
    return Verdict(Conclusion.INCOMPLETE, reason, _gap_action(evidence, findings.gaps[0]))


def _passed(evidence: Evidence) -> Verdict:
    counts = tally(evidence.results)
    total = _conversations(len(evidence.results))
    if not counts.failed:
        holds = "holds" if len(evidence.results) == 1 else "hold"
        return Verdict(Conclusion.PASSED, f"{'The' if holds == 'holds' else 'All'} {total} {holds}.")
    low = _ids(r for r in sorted(evidence.results, key=_order) if isinstance(r, Scored) and not r.passed)
    reason = (
        f"Every exact check holds; {counts.failed} of {total} "
        f"{'has' if counts.failed == 1 else 'have'} a judged score below its threshold, "
        f"within the allowed {float(1 - Fraction(str(evidence.limits.pass_rate))):.0%}: {_names(low)}."
    )
    return Verdict(Conclusion.PASSED, reason, f"Read what the judge says about {low[0]}.")


def _gap_action(evidence: Evidence, result: ScenarioResult) -> str:
    if evidence.way_out:
        return evidence.way_out
    if evidence.interruption:
        return "Run the gate again."
    if isinstance(result, Errored):
        return f"Mend the {result.phase.value} error of {result.trial.scenario.id}, then run the gate again."
    if isinstance(result, NotRun):
        return "Remove the cause, then run the gate again."
    return f"Give {result.trial.scenario.id} an expectation, a rule or a metric."


def _why(result: ScenarioResult) -> str:
    if isinstance(result, Errored):
        return f"{result.phase.value} error, {result.message}"
    return result.reason if isinstance(result, NotRun) else "the scenario asserts nothing"


def _why_all(evidence: Evidence, gaps: Sequence[ScenarioResult]) -> str:
    unheld = all(isinstance(one, NotRun) or (isinstance(one, Errored) and one.phase is Phase.BUDGET) for one in gaps)
    if evidence.way_out and unheld:
        return "the budget does not hold it" if len(gaps) == 1 else "the budget does not hold them"
    return _why(gaps[0])


def _order(result: ScenarioResult) -> tuple[str, str, int, str]:
    return (result.trial.scenario.id, result.trial.arm.name, result.trial.number, repr(result))


def _ids(results: Iterable[ScenarioResult]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(result.trial.scenario.id for result in results))


def _names(ids: Sequence[str], between: str = ", ") -> str:
    shown = between.join(ids[:_NAMED])
    return shown if len(ids) <= _NAMED else f"{shown} and {len(ids) - _NAMED} more"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _conversations(number: int) -> str:
    return _count(number, "conversation")


def _sentence(text: str) -> str:
    # The system under test may have worded it, at any length.
    text = " ".join(text.split())
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()} …"
    return text if text.endswith((".", "!", "?")) else f"{text}."
