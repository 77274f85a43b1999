"""What both sides of a change come to by deterministic assertions, where no metric was measured."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ratiba_action.model.comparison import MeasuredRun
from ratiba_action.model.measurement import ScenarioResult, Scored
from ratiba_action.verdict.pairing import content_digest
from ratiba_action.verdict.trials import Standing, standing


@dataclass(frozen=True, slots=True)
class PassedOnBoth:
    """How many of the same conversations hold on each side, by their first trials.

    Args:
        total: that both sides have a result of, and whose scenario is the same.
        base: of them hold on the base.
        head: of them hold with the change.
    """

    total: int
    base: int
    head: int


def count_passed(head: Sequence[MeasuredRun], base: Sequence[MeasuredRun]) -> PassedOnBoth:
    """Count the conversations that hold; of several runs of one side the last one counts."""
    ours, theirs = first_trials(head), first_trials(base)
    same = [name for name in ours.keys() & theirs.keys() if ours[name][0] == theirs[name][0]]
    return PassedOnBoth(len(same), _held(theirs[name][1] for name in same), _held(ours[name][1] for name in same))


def passed_on(runs: Sequence[MeasuredRun], scenario_id: str, digest: str) -> bool:
    """Whether a conversation of the same content was held, and all that was measured of it holds.

    Args:
        runs: of one side; the last one counts.
        scenario_id: of the conversation.
        digest: of its content.
    """
    content, result = first_trials(runs).get(scenario_id, ("", None))
    return result is not None and content == digest and _holds(result)


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


def _held(results: Iterable[ScenarioResult]) -> int:
    return sum(map(_holds, results))


def _holds(result: ScenarioResult) -> bool:
    return isinstance(result, Scored) and standing(result) is Standing.PASSED
