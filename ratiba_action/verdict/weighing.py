"""What a comparison means for a run whose deterministic assertions and thresholds passed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeGuard

from ratiba_action.checks.system_exceptions import raised
from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.comparison import Comparison, ConversationCost, MeasuredRun, Tier
from ratiba_action.model.measurement import BY_SAMPLES, Errored, NotRun, Phase, ScenarioResult, Scored
from ratiba_action.model.plan import BASE, HEAD, Arm, Plan, Trial
from ratiba_action.model.scenario import Scenario
from ratiba_action.model.verdict import Conclusion, Evidence, Verdict
from ratiba_action.util.text import few, plural
from ratiba_action.verdict.comparison import Wanted, points
from ratiba_action.verdict.conversation_cost import conversation_cost
from ratiba_action.verdict.decline import find_decline, note_of_decline
from ratiba_action.verdict.judge_levels import is_coin
from ratiba_action.verdict.pairing import content_digest, results_of
from ratiba_action.verdict.quarantine import quarantine_in_force
from ratiba_action.verdict.rules.findings import sentence
from ratiba_action.verdict.runs import compare_runs, passed_on
from ratiba_action.verdict.trend import describe_trend

_UNTIMED = datetime.min.replace(tzinfo=UTC)


def compare(evidence: Evidence) -> Comparison | Wanted | None:
    """Head against base; None where there is nothing of the base.

    Earlier runs of the base and a base arm that was run now are pooled, and so are earlier attempts of the head.
    Scenarios in quarantine are left out, and so are those that this run does not include. A run of the base branch
    itself has no base: what is run beside it is its anchor.
    """
    base = _base(evidence)
    if not base:
        return None
    found = compare_runs((*evidence.earlier, *_run(evidence, HEAD)), base, evidence.rules)
    trend = describe_trend(evidence.results)
    if not trend:
        return found
    if isinstance(found, Wanted):
        return replace(found, so_far=replace(found.so_far, trend=trend))
    return replace(found, trend=trend)


def cost_of(evidence: Evidence) -> ConversationCost | None:
    """What a conversation takes on both sides; against the base of this run where it ran, else against earlier runs."""
    base = _run(evidence, BASE) or _base(evidence)
    if not base or evidence.anchor is not None:
        return None
    return conversation_cost(_run(evidence, HEAD), base, evidence.limits.increases)


def passed_by_base(evidence: Evidence, scenarios: Sequence[Scenario]) -> tuple[str, ...]:
    """Ids of those of the scenarios that the base is known to pass, with the same content."""
    base, known = _base(evidence), evidence.scenario_digests
    return tuple(
        scenario.id
        for scenario in scenarios
        if passed_on(base, scenario.id, known.get(scenario.id) or content_digest(scenario))
    )


def _base(evidence: Evidence) -> tuple[MeasuredRun, ...]:
    if evidence.anchor is not None:
        return ()
    return (*(_selected(run, evidence.left_out) for run in evidence.baseline), *_run(evidence, BASE))


def _selected(run: MeasuredRun, left_out: Sequence[str]) -> MeasuredRun:
    return replace(run, results=tuple(result for result in run.results if result.trial.scenario.id not in left_out))


def _run(evidence: Evidence, arm: str) -> tuple[MeasuredRun, ...]:
    day, apart = evidence.day, evidence.recorded_only if evidence.answers != AnswerOrigin.REPLAY else ()
    results = tuple(
        result
        for result in results_of(evidence.results, arm)
        if not quarantine_in_force(result.trial.scenario, day) and result.trial.scenario.id not in apart
    )
    if not results:
        return ()
    known = evidence.scenario_digests
    run = MeasuredRun(None, _UNTIMED, evidence.judge_model, evidence.answers, results, known, this_run=True)
    return (run,)


_NAMED = 3
_SMALLEST_REPORTED = 0.0005
"""Scores without any noise would be said to show drops of 0 points."""


def weigh(evidence: Evidence, otherwise: Verdict) -> Plan | Verdict:
    """Let the comparison with the base speak.

    An alarm asks for further trials on both arms. One that cannot be confirmed leaves the run incomplete: it neither
    blocks nor passes. Few scenarios raise one so easily that without a large drop it leaves the run inconclusive. So
    does a drop of the margin that cannot be ruled out, which does not block.

    Args:
        evidence: of a run that would pass without a base.
    """
    found = compare(evidence)
    if found is None:
        return otherwise
    if isinstance(found, Wanted):
        return _confirm(evidence, found, otherwise)
    compared = replace(otherwise, comparison=found)
    if found.tier is Tier.REGRESSION:
        return replace(compared, conclusion=Conclusion.FAILED, reason=found.reason, action=_look_at(found), warnings=())
    if found.tier is Tier.UNCLEAR:
        return _inconclusive(compared, found.reason, _to_see_more(evidence))
    return replace(compared, reason=f"{otherwise.reason} {found.reason}")


def _to_see_more(evidence: Evidence) -> str:
    """What makes smaller drops visible: a judge of 0 or 1 is so noisy that further scenarios are a dear way."""
    given: dict[str, list[float]] = {}
    for score in (score for result in evidence.results if isinstance(result, Scored) for score in result.scores):
        if score.judged and BY_SAMPLES not in score.version:
            given.setdefault(score.metric, []).append(score.value)
    coins = sorted(metric for metric, values in given.items() if is_coin(values))
    if not coins:
        return "Add scenarios, or more trials of them, to see smaller drops."
    verb = "answers" if len(coins) == 1 else "answer"
    return (
        f"{few(coins, _NAMED)} {verb} only 0 or 1, as noisy as a coin: to see smaller drops, set judge.samples: 3 "
        "(three judge calls for each score), let the judge use a rubric of several levels, or add scenarios."
    )


def _inconclusive(verdict: Verdict, doubt: str, action: str) -> Verdict:
    """The verdict with a doubt that keeps it from passing; a second doubt makes an incomplete run no milder."""
    seen = sensitivity(verdict.comparison) if verdict.comparison is not None else ""
    incomplete = verdict.conclusion is Conclusion.INCOMPLETE
    return replace(
        verdict,
        conclusion=verdict.conclusion if incomplete else Conclusion.INCONCLUSIVE,
        reason=f"{verdict.reason} {doubt}",
        action=verdict.action if incomplete else action,
        warnings=(*verdict.warnings, f"{doubt} {seen}".strip()),
    )


def with_decline(evidence: Evidence, verdict: Verdict) -> Plan | Verdict:
    """Compare a run of the base branch itself with its anchor; a confirmed decline warns, or fails where configured.

    Args:
        verdict: without the anchor. A run that did not pass says enough, and nothing more is paid for.
    """
    head = _run(evidence, HEAD)
    if evidence.anchor is None or not head or verdict.conclusion not in (Conclusion.PASSED, Conclusion.INCONCLUSIVE):
        return verdict
    found, trials = find_decline(head, evidence.anchor, _run(evidence, BASE), evidence.rules)
    if trials:
        obstacle = _obstacle(evidence, trials)
        if not obstacle:
            return _plan(evidence, trials)
        found = replace(found, problem=obstacle)
    note = note_of_decline(found)
    if note is None:
        return replace(verdict, decline=found)
    if trials and evidence.rules.decline.block:
        # What a decline would fail does not pass by being unable to confirm it.
        reason = note.removesuffix(note.remedy).rstrip()
        return replace(verdict, conclusion=Conclusion.INCOMPLETE, reason=reason, action=note.remedy, decline=found)
    if found.confirmed and evidence.rules.decline.block:
        reason = note.removesuffix(note.remedy).rstrip()
        return replace(verdict, conclusion=Conclusion.FAILED, reason=reason, action=note.remedy, decline=found)
    return replace(verdict, decline=found, warnings=(*verdict.warnings, note))


_REMOVE_THE_CAUSE = "Remove the cause, then run the gate again; its data is added to this run's."


def show(evidence: Evidence) -> Comparison | None:
    """The comparison of a run that something else decides, as far as it goes."""
    found = compare(evidence)
    return found.so_far if isinstance(found, Wanted) else found


_WITHOUT_BASE = (
    "Remove the cause, then run the gate again. If the base branch itself cannot be run, whoever decides on the "
    "workflow sets its input `baseline: none` (ratiba gate --baseline none) until it can."
)


def unmeasured_base(evidence: Evidence) -> str | None:
    """Why the base, which should have been measured in this run, was not; None where it was, or was not to be.

    A trial of the base that its own system raised an exception in, or that its own recordings no longer fit, says how
    the base is: it is only not compared. Every other error may be caused by what runs beside it.
    """
    if evidence.base_failed is not None or evidence.anchor is not None:
        return evidence.base_failed
    lost = [
        result
        for result in results_of(evidence.results, BASE)
        if _is_lost(result)
        and result.trial.scenario.id not in evidence.left_out
        and not quarantine_in_force(result.trial.scenario, evidence.day)
    ]
    if not lost:
        return None
    first = lost[0]
    why = first.reason if isinstance(first, NotRun) else f"{first.phase.value} error, {first.message}"
    more = f" ({len(lost)} trials of the base were not measured)" if len(lost) > 1 else ""
    return f"{first.trial.scenario.id} on the base: {why}{more}"


def _is_lost(result: ScenarioResult) -> TypeGuard[NotRun | Errored]:
    own = isinstance(result, Errored) and (result.phase is Phase.RECORDING or raised(result))
    return not isinstance(result, Scored) and not own


def require_base(evidence: Evidence, verdict: Verdict) -> Verdict:
    """A verdict that lets a change pass is incomplete where its base should have been measured and was not."""
    why = unmeasured_base(evidence)
    if why is None or verdict.conclusion not in (Conclusion.PASSED, Conclusion.INCONCLUSIVE):
        return verdict
    reason = f"The base could not be measured, so nothing shows that this change is no worse: {sentence(why)}"
    return replace(verdict, conclusion=Conclusion.INCOMPLETE, reason=reason, action=_WITHOUT_BASE, warnings=())


def is_guarded(evidence: Evidence) -> bool:
    """Whether the comparison with the base can find a drop of this change, as small as those that many scenarios show.

    Few scenarios never excuse a pass rate that is too low: it is measured again as if there were no base.
    """
    found = compare(evidence)
    if isinstance(found, Wanted):
        return found.so_far.further_trials is None
    return found is not None and (found.exact or (found.low is not None and found.further_trials is None))


def sensitivity(comparison: Comparison) -> str:
    """What a comparison of this size can see, in words; empty where that is unknown."""
    number = plural(len(comparison.scenarios), "scenario")
    if comparison.families is not None:
        number += " in 1 family" if comparison.families == 1 else f" in {comparison.families} families"
    if comparison.detectable is None and comparison.further_trials and comparison.families is not None:
        return f"The planned trials of {number} do not show how large a drop this run can see."
    if comparison.detectable is None and comparison.further_trials:
        return "One trial on base and head does not show how much scores vary, nor how large a drop this run can see."
    if comparison.detectable is None or comparison.detectable < _SMALLEST_REPORTED:
        return ""
    further = f", in up to {comparison.further_trials} further trials" if comparison.further_trials else ""
    return f"With {number} this run can see drops of {points(comparison.detectable)} or more{further}."


def _confirm(evidence: Evidence, wanted: Wanted, otherwise: Verdict) -> Plan | Verdict:
    obstacle = _obstacle(evidence, wanted.trials)
    if not obstacle:
        return _plan(evidence, wanted.trials)
    doubt, action = f"{wanted.so_far.reason} It cannot be confirmed: {obstacle}.", _REMOVE_THE_CAUSE
    if wanted.mild and otherwise.conclusion is not Conclusion.INCOMPLETE:
        return _inconclusive(replace(otherwise, comparison=wanted.so_far), doubt, action)
    return Verdict(Conclusion.INCOMPLETE, doubt, action, comparison=wanted.so_far)


def _obstacle(evidence: Evidence, wanted: Mapping[str, int]) -> str:
    """Why further trials of both arms cannot be run, or were not measured; empty where they can."""
    lost = unmeasured_base(evidence)
    return evidence.no_base or lost or evidence.no_further or _errored(evidence, wanted)


def _errored(evidence: Evidence, wanted: Mapping[str, int]) -> str:
    """Which of the scenarios that are looked at again were not measured then; they are not run a third time."""
    lost = {
        result.trial.scenario.id
        for result in evidence.results
        if not isinstance(result, Scored) and result.trial.number >= result.trial.scenario.strategy.trials
    }
    names = sorted(lost & wanted.keys())
    return f"further trials of {few(names, _NAMED)} were not measured" if names else ""


def _plan(evidence: Evidence, wanted: Mapping[str, int]) -> Plan:
    """Trials of both arms, which run within the same minutes, so that only the change itself distinguishes them."""
    head = results_of(evidence.results, HEAD)
    arms = {result.trial.arm.name: result.trial.arm for result in evidence.results}
    both = (arms[HEAD], arms.get(BASE, Arm(BASE, "")))
    # The base's planned trials may be an earlier run's, so their numbers are never those of further ones.
    following = {
        (arm.name, result.trial.scenario.id): result.trial.scenario.strategy.trials for result in head for arm in both
    }
    for trial in (result.trial for result in evidence.results):
        place = (trial.arm.name, trial.scenario.id)
        following[place] = max(following.get(place, 0), trial.number + 1)
    return Plan(
        tuple(
            Trial(scenario, arm, following[arm.name, scenario.id] + step)
            for scenario in {result.trial.scenario.id: result.trial.scenario for result in head}.values()
            for step in range(wanted.get(scenario.id, 0))
            for arm in both
        )
    )


def _look_at(comparison: Comparison) -> str:
    fallen = sorted(comparison.scenarios, key=lambda scenario: scenario.head - scenario.base)
    names = few([scenario.scenario_id for scenario in fallen if scenario.head < scenario.base], _NAMED)
    return f"Compare both answers of {names}, then fix the change." if names else "Fix the change."
