"""What the trials of one scenario came to: at least ``passes`` of them must pass.

The trials are put in order from best to worst, and the one at the place that the strategy asks for decides: of 5 trials
of which 4 must pass, the fourth. It passes exactly when at least 4 pass. A trial that errored stands between those
that passed and those that failed, so it decides only where the trials beside it leave the answer open.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from enum import IntEnum

from ratiba_action.model.measurement import Errored, NotRun, ScenarioResult, Scored
from ratiba_action.model.plan import Trial
from ratiba_action.model.scenario import Scenario
from ratiba_action.model.values import mean
from ratiba_action.verdict.pairing import results_of_change
from ratiba_action.verdict.quarantine import quarantine_in_force


class Standing(IntEnum):
    """How a trial or a scenario stands, from best to worst."""

    PASSED = 0
    UNMEASURED = 1
    BELOW_THRESHOLD = 2
    """Only judged scores are below what they must reach; the pass rate decides what that means."""
    FAILED = 3
    """Something exact failed."""


@dataclass(frozen=True, slots=True)
class ScenarioOutcome:
    """What the trials of a scenario on one arm came to.

    Args:
        trials: in order of their number, one for each that was planned, and further ones of a comparison.
        deciding: the trial that the scenario stands and falls with; see ``decides``.
        standing: how the scenario stands, which is how that trial does.
    """

    trials: tuple[ScenarioResult, ...]
    deciding: ScenarioResult
    standing: Standing

    @property
    def scenario(self) -> Scenario:
        """The scenario that was held."""
        return self.deciding.trial.scenario

    @property
    def passed(self) -> int:
        """How many of the trials that decide passed."""
        return sum(standing(trial) is Standing.PASSED for trial in self.counted)

    @property
    def counted(self) -> tuple[ScenarioResult, ...]:
        """The trials that decide; the others only compare with the base."""
        return tuple(filter(decides, self.trials))

    @property
    def open(self) -> bool:
        """Whether a trial is unmeasured that could change what the scenario counts for."""
        if self.standing is Standing.BELOW_THRESHOLD:
            # How many of its judged scores count is not known before all are.
            return any(standing(trial) is Standing.UNMEASURED for trial in self.trials)
        return self.standing is Standing.UNMEASURED

    @property
    def retried(self) -> tuple[str, ...]:
        """Why attempts at its trials errored that were run again."""
        return tuple(why for trial in self.trials if not isinstance(trial, NotRun) for why in trial.retried)


def outcomes_of(results: Iterable[ScenarioResult]) -> tuple[ScenarioOutcome, ...]:
    """The outcome of each scenario on each arm, in the order in which they first appear."""
    groups: dict[tuple[str, str], list[ScenarioResult]] = {}
    for result in results:
        groups.setdefault(_key(result), []).append(result)
    return tuple(_outcome(group) for group in groups.values())


def standing(result: ScenarioResult) -> Standing:
    """How one trial stands; one that errored has failed when something exact was measured that failed."""
    if isinstance(result, NotRun):
        return Standing.UNMEASURED
    if _fails_deterministically(result):
        return Standing.FAILED
    if isinstance(result, Errored) or not is_measured(result):
        return Standing.UNMEASURED
    return Standing.PASSED if result.passed else Standing.BELOW_THRESHOLD


def decides(result: ScenarioResult) -> bool:
    """Whether a trial says anything besides the comparison with the base.

    A further trial only confirms: the worst of more trials would be held to the threshold otherwise. What is exact
    stays exact, so one that breaks something counts.
    """
    further = result.trial.number >= result.trial.scenario.strategy.trials
    return not further or standing(result) is Standing.FAILED


def is_measured(result: Scored) -> bool:
    """Whether a trial that ran to its end says anything about the system."""
    return bool(result.scores) or any(check.measured for check in result.checks)


def max_failures(scenario: Scenario) -> int:
    """How many trials of a scenario may fail; none of a critical one."""
    strategy = scenario.strategy
    return 0 if scenario.critical or strategy.passes is None else strategy.trials - strategy.passes


def _fails_deterministically(result: Scored | Errored) -> bool:
    exact = result.trial.scenario.critical
    return not all(check.passed for check in result.checks) or any(
        not score.passed and (exact or not score.judged) for score in result.deciding_scores
    )


def fails_by_judge_only(result: ScenarioResult) -> bool:
    """Whether nothing but a judged score failed in a trial."""
    if isinstance(result, NotRun) or not all(check.passed for check in result.checks):
        return False
    failed = [score for score in result.deciding_scores if not score.passed]
    return bool(failed) and all(score.judged for score in failed)


def _outcome(given: Sequence[ScenarioResult]) -> ScenarioOutcome:
    first = given[0].trial
    trials = sorted((*given, *_missing(first, given)), key=lambda result: result.trial.number)
    counted = [trial for trial in trials if decides(trial)]
    place = max(len(counted) - max_failures(first.scenario), 1)
    deciding = sorted(counted, key=_from_best_to_worst)[place - 1]
    return ScenarioOutcome(tuple(trials), deciding, standing(deciding))


def _missing(first: Trial, given: Sequence[ScenarioResult]) -> Iterable[NotRun]:
    present = {result.trial.number for result in given}
    for number in range(first.scenario.strategy.trials):
        if number not in present:
            yield NotRun(Trial(first.scenario, first.arm, number), "this trial was not planned")


def _from_best_to_worst(result: ScenarioResult) -> tuple[int, int, float, int]:
    scores = () if isinstance(result, NotRun) else result.deciding_scores
    below = sum(not score.passed for score in scores)
    middle = mean([score.value for score in scores]) if scores else 0.0
    return standing(result), below, -middle if math.isfinite(middle) else 0.0, result.trial.number


class FailureLimit:
    """Why no further conversation of a plan is begun.

    A scenario counts once it breaks something exact whatever its other trials may show, and is not in quarantine. What
    the base breaks is not the change's.

    Args:
        max_failed: after so many failed scenarios the run stops; None for never.
    """

    def __init__(self, max_failed: int | None, day: date) -> None:
        self._max_failed, self._day = max_failed, day
        self._trials: dict[tuple[str, str], list[ScenarioResult]] = {}
        self._failed: set[str] = set()

    def add(self, result: ScenarioResult) -> None:
        """Count the next result of the plan."""
        if self._max_failed is None or not results_of_change([result]):
            return
        trials = self._trials.setdefault(_key(result), [])
        trials.append(result)
        outcome = _outcome(trials)
        if outcome.standing is Standing.FAILED and not quarantine_in_force(outcome.scenario, self._day):
            self._failed.add(outcome.scenario.id)

    @property
    def reason(self) -> str:
        """In words; empty while a conversation may begin."""
        if self._max_failed is None or len(self._failed) < self._max_failed:
            return ""
        names = ", ".join(sorted(self._failed)[:3])
        return f"the run stopped after {len(self._failed)} failed: {names} (suite.stop_on_failure)"


def _key(result: ScenarioResult) -> tuple[str, str]:
    return result.trial.scenario.id, result.trial.arm.name
