"""Scenarios that passed on one arm and failed on the other."""

from collections.abc import Mapping, Sequence

from ratiba_action.model.comparison import Flip, MeasuredRun
from ratiba_action.model.measurement import Errored, ScenarioResult, Scored
from ratiba_action.verdict.exact_checks import first_trials
from ratiba_action.verdict.trials import Standing, standing


def find_flips(head: Sequence[MeasuredRun], base: Sequence[MeasuredRun]) -> tuple[Flip, ...]:
    """Flips of the first trials of scenarios with the same content: newly failing before newly passing, critical first.

    A trial that errored counts where something deterministic failed in it.

    Args:
        head: runs of the change; the last one counts.
        base: runs of the base; the last one counts.
    """
    ours, theirs = _decided(head), _decided(base)
    same = [name for name in sorted(ours.keys() & theirs.keys()) if ours[name][0] == theirs[name][0]]
    flips = (_flip(ours[name][1], theirs[name][1]) for name in same)
    return tuple(sorted(filter(None, flips), key=lambda one: (one.passes, not one.critical)))


def _flip(head: ScenarioResult, base: ScenarioResult) -> Flip | None:
    if _passes(head) == _passes(base):
        return None
    scenario = head.trial.scenario
    return Flip(scenario.id, _passes(head), _replies(base), _replies(head), critical=scenario.critical)


def _decided(runs: Sequence[MeasuredRun]) -> Mapping[str, tuple[str, ScenarioResult]]:
    """Content and result of each first trial that passed or failed, by scenario id."""
    return {
        name: (content, result)
        for name, (content, result) in first_trials(runs).items()
        if isinstance(result, Scored) or standing(result) is Standing.BROKEN
    }


def _passes(result: ScenarioResult) -> bool:
    return isinstance(result, Scored) and result.passed


def _replies(result: ScenarioResult) -> tuple[str, ...]:
    transcript = result.transcript if isinstance(result, Scored | Errored) else None
    return tuple(exchange.reply.text for exchange in transcript.exchanges) if transcript else ()
