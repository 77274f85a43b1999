"""Scenarios that passed on one arm and failed on the other."""

from collections.abc import Iterable, Mapping, Sequence

from ratiba_action.core.model.comparison import Flip, MeasuredRun
from ratiba_action.core.model.measurement import Scored


def find_flips(head: Sequence[MeasuredRun], base: Sequence[MeasuredRun], compared: Iterable[str]) -> tuple[Flip, ...]:
    """Flips of the first trials, in order of scenario.

    Args:
        head: runs of the change; the last one counts.
        base: runs of the base; the last one counts.
        compared: ids of the scenarios that may be compared.
    """
    ours, theirs = _first_trials(head), _first_trials(base)
    return tuple(
        Flip(name, ours[name].passed, _replies(theirs[name]), _replies(ours[name]))
        for name in sorted(set(compared) & ours.keys() & theirs.keys())
        if ours[name].passed != theirs[name].passed
    )


def _first_trials(runs: Sequence[MeasuredRun]) -> Mapping[str, Scored]:
    return {
        result.trial.scenario.id: result
        for run in runs
        for result in run.results
        if isinstance(result, Scored) and result.trial.number == 0
    }


def _replies(result: Scored) -> tuple[str, ...]:
    return tuple(exchange.reply.text for exchange in result.transcript.exchanges)
