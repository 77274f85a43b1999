"""From evidence to a verdict: the rules of ``docs/verdict.md``, as one pure function."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from ratiba_action.checks.system_exceptions import exception_of, message_of
from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.change import Mode
from ratiba_action.model.plan import Plan
from ratiba_action.model.verdict import Conclusion, Evidence, Verdict
from ratiba_action.util.text import part_of, plural
from ratiba_action.verdict.case_file_scores import failed_gates, wrong_labels
from ratiba_action.verdict.conversation_cost import apply_limits
from ratiba_action.verdict.rules.completeness import judge_completeness, require_critical
from ratiba_action.verdict.rules.critical import blocking_in_every_mode
from ratiba_action.verdict.rules.findings import (
    Findings,
    find,
    first_of,
    ids_of,
    names,
    scenarios_counted,
    sentence,
)
from ratiba_action.verdict.rules.metric_means import judge_metric_means
from ratiba_action.verdict.rules.pass_rate import (
    extend,
    extended_share,
    is_unclear,
    judge_pass_rate,
    reaches_after_all,
    share_interval,
    why_not_extended,
)
from ratiba_action.verdict.trials import ScenarioOutcome, Standing, fails_by_judge_only
from ratiba_action.verdict.weighing import cost_of, is_guarded, require_base, show, unmeasured_base, weigh, with_decline


def skipped(findings: Findings) -> Verdict | None:
    """Skipped when the mode is skip and nothing ran."""
    evidence = findings.evidence
    if evidence.mode is not Mode.SKIP or evidence.results:
        return None
    return Verdict(Conclusion.SKIPPED, "Nothing that the gate watches has changed.")


def passed(findings: Findings) -> Verdict:
    """Passed, or inconclusive where the pass rate is, incomplete where it could have been measured again."""
    if is_unclear(findings) and not reaches_after_all(findings):
        return _unclear(findings)
    low = findings.below_threshold
    apart = f"; {scenarios_counted(findings.quarantined)} in quarantine" if findings.quarantined else ""
    wrong = [outcome for outcome in findings.deciding if outcome.standing >= Standing.BELOW_THRESHOLD]
    wrong = [outcome for outcome in wrong if outcome not in findings.single]
    if wrong:
        many = part_of(len(wrong), len(findings.deciding), "scenario", "is a case that fails", "are cases that fail")
        apart = f"; {many}, of which only the share decides: {names(wrong)}{apart}"
    labels = "".join(f"; {each}" for each in wrong_labels(findings.data_sets))
    if not low and wrong:
        return Verdict(Conclusion.PASSED, f"Nothing failed that decides by itself{labels}{apart}.")
    if not low:
        single = len(findings.deciding) == 1
        message = "The scenario passed" if single else f"All {scenarios_counted(findings.deciding)} passed"
        return Verdict(Conclusion.PASSED, f"{message}{labels}{apart}.")
    allowed = float(1 - Fraction(str(findings.evidence.limits.pass_rate)))
    reason = (
        f"Every deterministic assertion passed; {part_of(len(low), len(findings.deciding), 'scenario', 'has', 'have')} "
        "a judged score below its threshold, "
        f"within the allowed {allowed:.0%}: {names(low)}{apart}."
    )
    return Verdict(Conclusion.PASSED, reason, f"Read what the judge says about {ids_of(low)[0]}.")


def _unclear(findings: Findings) -> Verdict:
    rate = findings.evidence.limits.pass_rate
    doubt = _doubt(findings)
    missing = why_not_extended(findings)
    if missing:
        doubt += f" It was not measured again: {sentence(missing)}"
    if missing and findings.evidence.answers != AnswerOrigin.REPLAY:
        # A change that uses up the budget, or lets further trials error, does not gain by it.
        action = "Remove the cause, then run the gate again; its data is added to this run's."
        return Verdict(Conclusion.INCOMPLETE, f"Every deterministic assertion passed. {doubt}", action)
    return Verdict(
        Conclusion.INCONCLUSIVE,
        f"Every deterministic assertion passed. {doubt}",
        f"Read what the judge says about {ids_of(findings.below_threshold)[0]}, or set pass_rate_rule: strict to fail "
        f"every run below {rate:.0%}.",
        warnings=(doubt,),
    )


def _doubt(findings: Findings) -> str:
    judged, rate = findings.judged, findings.evidence.limits.pass_rate
    measured = extended_share(findings)
    if measured.extra:
        return (
            f"{measured.share:.0%} of {measured.extra + 1} trials of each judged scenario pass, within one standard "
            f"error ({measured.error:.0%}) of the {rate:.0%} that must."
        )
    interval, passing = share_interval(findings), sum(outcome.standing is Standing.PASSED for outcome in judged)
    return (
        f"{part_of(passing, len(judged), 'judged scenario', 'passes', 'pass')}, and {rate:.0%} must: "
        f"{names(findings.below_threshold)}. The true share lies between {interval.low:.0%} and {interval.high:.0%}, "
        "so this may be chance."
    )


def judge_exactness(findings: Findings) -> Verdict | None:
    """Failed when a deterministic assertion or a threshold of cases failed, whatever else is not known."""
    raised = [outcome for outcome in findings.failed if exception_of(outcome.deciding)]
    failed, gates = [outcome for outcome in findings.failed if outcome not in raised], failed_gates(findings.data_sets)
    if not raised and not failed and not gates:
        return None
    parts = [_exceptions(raised)] if raised else []
    if failed:
        several = part_of(len(failed), len(findings.deciding), "scenario", "failed", "failed")
        message = "The scenario failed" if len(findings.deciding) == 1 else several
        judged = all(fails_by_judge_only(outcome.deciding) for outcome in failed)
        mixed = any(fails_by_judge_only(outcome.deciding) for outcome in failed)
        what = "by the judged score of a critical scenario" if judged else "a deterministic assertion"
        what += " or the judged score of a critical scenario" if mixed and not judged else ""
        parts.append(f"{message} {what}: {names(failed)}")
    if gates:
        parts.append(f"{plural(len(gates), 'threshold')} of cases failed: {first_of(gates, '; ')}")
    if findings.open:
        parts.append(f"{scenarios_counted(findings.open)} could not be measured")
    if findings.evidence.interruption:
        parts.append(f"the run was interrupted ({findings.evidence.interruption})")
    action = "Look at the cases with the lowest scores, then fix the change."
    if failed:
        name = failed[0].scenario.id
        action = f"Compare expected with got for {name}, then fix the change or update the scenario."
        if judged:
            action = f"Read what the judge says about {name}, then fix the change."
    if raised:
        place = exception_of(raised[0].deciding)
        action = f"Fix {place}; reproduce it with: ratiba gate --scenario {raised[0].scenario.id}"
    return Verdict(Conclusion.FAILED, f"{'; '.join(parts)}.", action, blocking=blocking_in_every_mode(findings))


def _exceptions(raised: Sequence[ScenarioOutcome]) -> str:
    """Each place with its scenarios: one defect often ends many of them."""
    places: dict[str, list[ScenarioOutcome]] = {}
    for outcome in raised:
        places.setdefault(exception_of(outcome.deciding), []).append(outcome)
    messages = (f"{place}{message_of(outcomes[0].deciding)} ({names(outcomes)})" for place, outcomes in places.items())
    return first_of(list(messages), "; ")


Rule = Callable[[Findings], Verdict | None]

RULES: Sequence[Rule] = (skipped, judge_exactness, judge_completeness, judge_pass_rate, judge_metric_means)
"""The first that has a verdict decides; where none has, the comparison with the base does."""


def next_step(evidence: Evidence) -> Plan | Verdict:
    """Decide what the measurements mean.

    Deterministic assertions and scores, and everything in a ``critical`` scenario, must pass in as many trials as the
    scenario's strategy requires, and so must the thresholds of cases. Of the other scenarios that a judge scores,
    ``limits.pass_rate`` must pass; an unclear share that no base guards is measured again. Anything unmeasured makes
    the run incomplete, unless a deterministic assertion has failed already: that stays failed whatever the rest would
    have shown. A pass rate or a mean that lacks some of its scores is not final, so it cannot fail a run by itself.
    Scenarios in quarantine count for nothing.

    A run of the base branch itself that passes is compared with its anchor.

    What nothing speaks against is compared with the base (``docs/statistics.md``), and does not pass without a base
    that should have been measured. What a person has to confirm first does not pass without that.

    Args:
        evidence: all results of the run so far, in any order; those of the base's arm are only compared with.

    Returns:
        The verdict, or further trials: of both arms to confirm an alarm, of the head for an unclear pass rate.
    """
    step = _decide(evidence)
    step = step if isinstance(step, Plan) else with_decline(evidence, step)
    return step if isinstance(step, Plan) else apply_limits(replace(step, cost=cost_of(evidence)), evidence.limits)


def _decide(evidence: Evidence) -> Plan | Verdict:
    findings = find(evidence)
    verdicts = (rule(findings) for rule in RULES)
    verdict = next((verdict for verdict in verdicts if verdict is not None), None)
    if verdict is None and is_unclear(findings) and unmeasured_base(evidence) is None and not is_guarded(evidence):
        step = extend(findings)
        if isinstance(step, Plan):
            return step
        verdict = step
    if verdict is None:
        weighed = weigh(evidence, passed(findings))
        if isinstance(weighed, Plan):
            return weighed
        return require_critical(evidence, _confirmed(evidence, require_base(evidence, weighed)))
    return require_critical(evidence, replace(verdict, comparison=show(evidence)))


def _confirmed(evidence: Evidence, verdict: Verdict) -> Verdict:
    """A verdict that a person has to confirm first is incomplete; what failed has failed without it."""
    if evidence.confirm is None or verdict.conclusion not in (Conclusion.PASSED, Conclusion.INCONCLUSIVE):
        return verdict
    return replace(verdict, conclusion=Conclusion.INCOMPLETE, reason=evidence.unconfirmed, action=evidence.confirm)


def cut_short(verdict: Verdict, interruption: str) -> Verdict:
    """What a verdict is when the run is interrupted before it was published: a pass is none, and a failure stays one.

    Args:
        interruption: why the run did not go to its end.
    """
    if verdict.conclusion not in (Conclusion.PASSED, Conclusion.INCONCLUSIVE):
        return verdict
    reason = f"The run was interrupted: {sentence(interruption)}"
    return replace(verdict, conclusion=Conclusion.INCOMPLETE, reason=reason, action="Run the gate again.")


_MISCONFIGURED = 2

_EXIT_CODES = {
    Conclusion.PASSED: 0,
    Conclusion.SKIPPED: 0,
    Conclusion.INCONCLUSIVE: 0,
    Conclusion.FAILED: 1,
    Conclusion.INCOMPLETE: 3,
}


def exit_code(verdict: Verdict, mode: Mode, *, enforce: bool = True) -> int:
    """0 lets the merge pass; 1 failed; 2 misconfigured; 3 incomplete.

    Args:
        verdict: how the run ended; no mode and no trial period hides that it was misconfigured.
        mode: only ``blocking`` may stop a merge, but for what ``verdict.blocking`` names.
        enforce: False during a trial period, when no measurement stops a merge.
    """
    if verdict.misconfigured:
        return _MISCONFIGURED
    stops = mode is Mode.BLOCKING or bool(verdict.blocking)
    return _EXIT_CODES[verdict.conclusion] if enforce and stops else 0
