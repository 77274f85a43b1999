"""What was not measured cannot pass."""

from collections.abc import Sequence
from dataclasses import replace

from ratiba_action.model.measurement import Errored, NotRun, Phase, ScenarioResult
from ratiba_action.model.scenario import Scenario
from ratiba_action.model.verdict import Conclusion, Evidence, Verdict
from ratiba_action.util.text import plural, summary_of
from ratiba_action.verdict.case_file_scores import open_gates
from ratiba_action.verdict.rules.findings import Findings, first_of, names, scenarios_counted, sentence
from ratiba_action.verdict.trials import ScenarioOutcome, Standing, standing
from ratiba_action.verdict.weighing import passed_by_base

_NAMED = 8
"""Most scenarios that a command names one by one."""


def judge_completeness(findings: Findings) -> Verdict | None:
    """Incomplete when nothing was measured, something was not, or the run did not go to its end."""
    evidence, gaps = findings.evidence, findings.open
    if all(outcome.standing is Standing.UNMEASURED for outcome in findings.deciding):
        return _nothing_measured(findings)
    if not gaps and evidence.interruption:
        reason = f"The run was interrupted: {sentence(evidence.interruption)}"
        return Verdict(Conclusion.INCOMPLETE, reason, evidence.way_out or "Run the gate again.")
    if not gaps and evidence.shortfall:
        return Verdict(Conclusion.INCOMPLETE, sentence(evidence.shortfall), "Fix this, then run the gate again.")
    if not gaps:
        return _gates_without_answer(findings)
    reason = f"{len(gaps)} of {scenarios_counted(findings.deciding)} could not be measured ({names(gaps)}): "
    reason += sentence(evidence.interruption or _why_all(evidence, gaps)) + _on_the_base(evidence, gaps)
    return Verdict(Conclusion.INCOMPLETE, reason, _action(evidence, gaps, len(findings.deciding)))


def require_critical(evidence: Evidence, verdict: Verdict) -> Verdict:
    """A verdict that would pass although a critical scenario no longer has recordings that fit is incomplete."""
    unfit = [scenario for scenario in evidence.unfit if scenario.critical]
    if not unfit or verdict.conclusion not in (Conclusion.PASSED, Conclusion.INCONCLUSIVE):
        return verdict
    return replace(verdict, conclusion=Conclusion.INCOMPLETE, reason=_unfit(unfit), action=_record(unfit))


def _unfit(scenarios: Sequence[Scenario]) -> str:
    kind = "critical scenario" if all(scenario.critical for scenario in scenarios) else "scenario"
    listed = first_of([scenario.id for scenario in scenarios])
    whose = "its" if len(scenarios) == 1 else "their"
    return f"{plural(len(scenarios), kind)} could not be measured ({listed}): {whose} recordings no longer fit."


def _record(scenarios: Sequence[Scenario]) -> str:
    named = "".join(f" --scenario {scenario.id}" for scenario in scenarios) if len(scenarios) <= _NAMED else ""
    return f"If the change is right, run: ratiba record{named} --accept"


def _gates_without_answer(findings: Findings) -> Verdict | None:
    gates = open_gates(findings.data_sets)
    if not gates:
        return None
    reason = f"Nothing was measured for a threshold of cases: {first_of(gates)}."
    return Verdict(
        Conclusion.INCOMPLETE,
        reason,
        "Let the cases assert and the system return what the threshold is about, or remove the threshold.",
    )


def _nothing_measured(findings: Findings) -> Verdict:
    evidence = findings.evidence
    if evidence.unfit and not evidence.results and not evidence.interruption:
        return Verdict(Conclusion.INCOMPLETE, _unfit(evidence.unfit), _record(evidence.unfit))
    if not evidence.results:
        why = evidence.interruption or "no scenario was selected"
        action = "Tag a scenario `smoke`, or let its `touches` name the files that it depends on."
        return Verdict(Conclusion.INCOMPLETE, f"Nothing was measured: {why}.", action)
    if not findings.deciding:
        apart = scenarios_counted(findings.quarantined)
        reason = f"Nothing that decides was measured, so the run cannot pass: {apart} in quarantine, and no other."
        return Verdict(Conclusion.INCOMPLETE, reason, "Run scenarios that are not in quarantine too.")
    gap = _gap_of(findings.deciding[0])
    why = evidence.interruption or f"{gap.trial.scenario.id}: {_why(gap)}"
    checks = _checks_of(findings.deciding)
    opening = "Nothing was measured, so"
    if checks:
        opening = f"{plural(checks, 'assertion')} of {scenarios_counted(findings.deciding)} passed, but"
    reason = f"{opening} the run cannot pass: {sentence(why)}"
    reason += _on_the_base(evidence, findings.deciding)
    return Verdict(Conclusion.INCOMPLETE, reason, _action(evidence, findings.deciding, len(findings.deciding)))


def _checks_of(outcomes: Sequence[ScenarioOutcome]) -> int:
    """How many checks of trials that errored held; one that fails leaves no trial unmeasured."""
    errored = [outcome.deciding for outcome in outcomes if isinstance(outcome.deciding, Errored)]
    return sum(check.measured for result in errored for check in result.checks)


def _gap_of(outcome: ScenarioOutcome) -> ScenarioResult:
    """The first trial that lacks a measurement."""
    return next(trial for trial in outcome.trials if standing(trial) is Standing.UNMEASURED)


def _on_the_base(evidence: Evidence, gaps: Sequence[ScenarioOutcome]) -> str:
    """That the base passes what the system errored in here; empty where that is not known."""
    crashed = [
        outcome for outcome in gaps if isinstance(gap := _gap_of(outcome), Errored) and gap.phase is Phase.SYSTEM
    ]
    passing = passed_by_base(evidence, [outcome.scenario for outcome in crashed])
    if not passing:
        return ""
    if len(crashed) == 1:
        return " On the base, this scenario passed."
    return f" The base passes {len(passing)} of the {len(crashed)} scenarios in which the system errored."


def _action(evidence: Evidence, gaps: Sequence[ScenarioOutcome], deciding: int) -> str:
    result = _gap_of(gaps[0])
    if evidence.way_out:
        return evidence.way_out
    if evidence.interruption:
        return "Run the gate again."
    if isinstance(result, Errored) and result.remedy:
        return f"{sentence(_remedy_of_all(result, gaps, deciding))} Then run the gate again."
    if isinstance(result, Errored):
        return f"Fix the {result.phase.value} error of {result.trial.scenario.id}, then run the gate again."
    if isinstance(result, NotRun):
        return "Remove the cause, then run the gate again."
    return f"Give {result.trial.scenario.id} an expectation, a rule or a metric."


def _remedy_of_all(first: Errored, gaps: Sequence[ScenarioOutcome], deciding: int) -> str:
    """The remedy of a scenario, as one command for every scenario that has the same but for its own id."""
    option = f"--scenario {first.trial.scenario.id} "
    same = [
        name
        for outcome in gaps
        if isinstance(gap := _gap_of(outcome), Errored)
        and gap.remedy.replace(f"--scenario {(name := outcome.scenario.id)} ", option) == first.remedy
    ]
    every = len(same) > _NAMED or len(same) == deciding > 1
    return first.remedy.replace(option, "" if every else "".join(f"--scenario {name} " for name in same))


def _why(result: ScenarioResult) -> str:
    if isinstance(result, Errored):
        return f"{result.phase.value} error, {summary_of(result.message, result.trial.scenario.id)}"
    return result.reason if isinstance(result, NotRun) else "the scenario asserts nothing"


def _why_all(evidence: Evidence, gaps: Sequence[ScenarioOutcome]) -> str:
    first = [_gap_of(outcome) for outcome in gaps]
    unheld = all(isinstance(gap, NotRun) or (isinstance(gap, Errored) and gap.phase is Phase.BUDGET) for gap in first)
    if evidence.way_out and unheld:
        return f"the budget is not enough for {'it' if len(gaps) == 1 else 'them'}"
    return _why(first[0])
