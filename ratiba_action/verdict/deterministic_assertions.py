"""Scenarios that pass on base and head by deterministic assertions, where no metric was measured."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ratiba_action.model.comparison import MeasuredRun
from ratiba_action.model.measurement import ScenarioResult, Scored
from ratiba_action.verdict.pairing import content_digest
from ratiba_action.verdict.trials import Standing, standing


@dataclass(frozen=True, slots=True)
class PassedOnBoth:
    """How many scenarios pass on base and on head, by their first trials.

    Args:
        total: scenarios with the same content and a result on both.
        base: passed on the base.
        head: passed with the change.
    """

    total: int
    base: int
    head: int


def count_passed(head: Sequence[MeasuredRun], base: Sequence[MeasuredRun]) -> PassedOnBoth:
    """Count the scenarios that passed; of several runs of an arm the last one counts."""
    ours, theirs = first_trials(head), first_trials(base)
    same = [name for name in ours.keys() & theirs.keys() if ours[name][0] == theirs[name][0]]
    return PassedOnBoth(len(same), _count(theirs[name][1] for name in same), _count(ours[name][1] for name in same))


def passed_on(runs: Sequence[MeasuredRun], scenario_id: str, digest: str) -> bool:
    """Whether a scenario of the same content ran, and all that was measured of it passed.

    Args:
        runs: of one arm; the last one counts.
        scenario_id: of the scenario.
        digest: of its content.
    """
    content, result = first_trials(runs).get(scenario_id, ("", None))
    return result is not None and content == digest and _passes(result)


def first_trials(runs: Sequence[MeasuredRun]) -> Mapping[str, tuple[str, ScenarioResult]]:
    """Content and result of each scenario's first trial, by id; of several runs the last one counts."""
    return {
        (scenario := result.trial.scenario).id: (
            run.scenario_digests.get(scenario.id) or content_digest(scenario),
            result,
        )
        for run in runs
        for result in run.results
        if result.trial.number == 0
    }


def _count(results: Iterable[ScenarioResult]) -> int:
    return sum(map(_passes, results))


def _passes(result: ScenarioResult) -> bool:
    return isinstance(result, Scored) and standing(result) is Standing.PASSED
