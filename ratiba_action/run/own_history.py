"""Scenarios that pass by the history of their own scores (``strategy: statistical``), before and after a run."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC

from ratiba_action.errors import LedgerError
from ratiba_action.history.own_history import read_own_values, with_bounds
from ratiba_action.history.store import Series
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.measurement import ScenarioResult, Score, Scored
from ratiba_action.model.own_history import Statistical
from ratiba_action.model.scenario import Scenario
from ratiba_action.run.earlier_runs import workflow_started
from ratiba_action.run.inputs import RunInputs

_NAMED = 5


def with_own_history(inputs: RunInputs, commit: str, *, in_shards: bool) -> RunInputs:
    """The inputs with what the history says of the scenarios that pass by it, read once, before anything is measured.

    Where it cannot be had, thresholds apply, and a note says why. Critical scenarios are exact: nothing is read.

    Args:
        inputs: of the run.
        commit: ``measured_commit`` of the run.
        in_shards: it is one of several shards, or merges them: all look at the history of the same moment.
    """
    meant = {
        scenario.id: (scenario, scenario.strategy.statistical)
        for scenario in inputs.selection.scenarios
        if scenario.strategy.statistical is not None and not scenario.critical
    }
    if not meant:
        return inputs
    why = _why_not(inputs)
    subject, settings = inputs.decided.change.subject, inputs.settings
    branch = subject.base_branch or subject.branch
    started = (workflow_started(inputs) if in_shards else None) or inputs.started_at
    series = Series(subject.repository, settings.name, branch, before=started.astimezone(UTC))
    digests = {name: inputs.digests.of(scenario) for name, (scenario, _) in meant.items()}
    judge = inputs.configuration.judge.model
    try:
        values = {} if why else read_own_values(settings.ledger_url, series, judge, commit, sorted(digests.values()))
    except LedgerError as error:
        why = error.problem.rstrip(".")
    if why:
        note = f"The thresholds of {_listed(sorted(meant))} apply instead of their own history (strategy): {why}."
        return replace(inputs, notes=(*inputs.notes, note))
    read = {
        name: with_bounds(wanted, values.get(digests[name], ()), branch, started) for name, (_, wanted) in meant.items()
    }
    scenarios = tuple(_with(scenario, read.get(scenario.id)) for scenario in inputs.selection.scenarios)
    return replace(inputs, selection=replace(inputs.selection, scenarios=scenarios))


def _with(scenario: Scenario, read: Statistical | None) -> Scenario:
    return scenario if read is None else replace(scenario, strategy=replace(scenario.strategy, statistical=read))


def _why_not(inputs: RunInputs) -> str:
    """Why there is no history that this run can be judged by; empty where there may be one."""
    subject = inputs.decided.change.subject
    if inputs.llm in {Llm.REPLAY, Llm.RECORD}:
        return "recorded answers are repeated, so they do not vary as the history does"
    if inputs.variant:
        return "a variant of the system has none"
    if not inputs.settings.ledger_url:
        return "without ledger-url none is kept"
    return "" if subject.base_branch or subject.branch else "this run has no base branch"


def notes_of_own_history(results: Sequence[ScenarioResult]) -> tuple[str, ...]:
    """What failed by the history, what passed by it below the threshold, and where it was too short to decide.

    Args:
        results: of the change.
    """
    spared, failed, short = list[str](), list[str](), list[str]()
    for scenario, wanted, score, threshold in _judged(results):
        name, bound = f"{scenario.id} {score.metric}", wanted.bound_of(score.metric, score.version)
        if bound.low is None:
            short.append(f"{name} ({bound.values} of {wanted.needed} values)")
            continue
        shown = (
            f"{name} {score.value:.2f}{score.vote_note} (threshold {threshold:.2f}, own history {bound.low:.2f}: "
            f"{bound.values} values of {wanted.branch!r}, confidence {wanted.confidence_level:.1%})"
        )
        if not score.passed:
            failed.append(shown)
        elif not replace(score, threshold=threshold).passed:
            spared.append(shown)
    notes = (
        ("Below the threshold, and passed by the scenario's own history: ", spared),
        ("Below the scenario's own history, and failed: ", failed),
        ("The threshold applies, since the scenario's own history is too short: ", short),
    )
    return tuple(f"{what}{_listed(found)}." for what, found in notes if found)


def _judged(results: Sequence[ScenarioResult]) -> Iterator[tuple[Scenario, Statistical, Score, float]]:
    """Each score that the history was read for, with its strategy and the threshold of its assertion."""
    for result in results:
        scenario = result.trial.scenario
        wanted = scenario.strategy.statistical
        if not isinstance(result, Scored) or wanted is None or not wanted.branch:
            continue
        thresholds = {entry.label: entry.threshold for entry in scenario.assertions if not entry.of_rule}
        for score in result.scores:
            if score.judged and score.metric in thresholds and wanted.applies_to(score.metric):
                yield scenario, wanted, score, thresholds[score.metric]


def _listed(items: Sequence[str]) -> str:
    """Each item once, a bounded number of them."""
    found = list(dict.fromkeys(items))
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return ", ".join(found[:_NAMED]) + more
