"""From evidence to a verdict: the rules of ``docs/verdict.md``, as one pure function."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ratiba_action.model.plan import Plan
from ratiba_action.model.verdict import Conclusion, Evidence, Verdict
from ratiba_action.verdict.rules.completeness import judge_completeness
from ratiba_action.verdict.rules.exactness import judge_exactness
from ratiba_action.verdict.rules.findings import Findings, find
from ratiba_action.verdict.rules.metric_means import judge_metric_means
from ratiba_action.verdict.rules.pass_rate import extend, is_unclear, judge_pass_rate
from ratiba_action.verdict.rules.passing import passed, skipped
from ratiba_action.verdict.rules.phrases import sentence
from ratiba_action.verdict.weighing import is_guarded, show, weigh

Rule = Callable[[Findings], Verdict | None]

RULES: Sequence[Rule] = (skipped, judge_exactness, judge_completeness, judge_pass_rate, judge_metric_means)
"""The first that has a verdict decides; where none has, the comparison with the base does."""


def next_step(evidence: Evidence) -> Plan | Verdict:
    """Decide what the measurements mean.

    Exact checks, deterministic scores and everything in a ``critical`` scenario must hold, in as many trials as the
    scenario's strategy asks for, and so must the gates of data sets. Of the other scenarios that a judge scores,
    ``limits.pass_rate`` must pass; an unclear share that no base guards is measured again. Anything unmeasured makes
    the run incomplete, unless something exact has failed already: what is measured as broken stays broken whatever the
    rest would have shown. A pass rate or a mean that lacks some of its scores is not final, so it cannot fail a run by
    itself. Scenarios in quarantine count for nothing.

    What nothing speaks against is compared with the base (``docs/statistics.md``). What a person has to confirm first
    does not pass without that.

    Args:
        evidence: all results of the run so far, in any order; those of the base's arm are only compared with.

    Returns:
        The verdict, or further trials: of both arms to confirm an alarm, of the head for an unclear pass rate.
    """
    findings = find(evidence)
    verdicts = (rule(findings) for rule in RULES)
    verdict = next((verdict for verdict in verdicts if verdict is not None), None)
    if verdict is None and is_unclear(findings) and not is_guarded(evidence):
        step = extend(findings)
        if isinstance(step, Plan):
            return step
        verdict = step
    if verdict is None:
        weighed = weigh(evidence, passed(findings))
        return weighed if isinstance(weighed, Plan) else _confirmed(evidence, weighed)
    return replace(verdict, comparison=show(evidence))


def _confirmed(evidence: Evidence, verdict: Verdict) -> Verdict:
    """A verdict that a person has to confirm first is incomplete; what failed has failed without it."""
    if not evidence.unconfirmed or verdict.conclusion not in (Conclusion.PASSED, Conclusion.INCONCLUSIVE):
        return verdict
    return replace(verdict, conclusion=Conclusion.INCOMPLETE, reason=evidence.unconfirmed, action=evidence.confirm)


def cut_short(verdict: Verdict, interruption: str) -> Verdict:
    """What a verdict is when the run is interrupted before it was published: a pass is none, and a failure stays one.

    Args:
        verdict: of all that was measured.
        interruption: why the run did not go to its end.
    """
    if verdict.conclusion not in (Conclusion.PASSED, Conclusion.INCONCLUSIVE):
        return verdict
    reason = f"The run was interrupted: {sentence(interruption)}"
    return replace(verdict, conclusion=Conclusion.INCOMPLETE, reason=reason, action="Run the gate again.")
