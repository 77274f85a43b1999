"""What the rules of the verdict look at: the outcome of each scenario, put in order."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.data_set import DataSetScores
from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.model.verdict import Evidence
from ratiba_action.verdict.pairing import results_of_change
from ratiba_action.verdict.quarantine import quarantine_in_force
from ratiba_action.verdict.trials import ScenarioOutcome, Standing, decides, outcomes_of


@dataclass(frozen=True, slots=True)
class Findings:
    """The evidence, scenario by scenario.

    Args:
        deciding: outcomes that count, in order of id and arm.
        quarantined: outcomes that do not.
    """

    evidence: Evidence
    deciding: tuple[ScenarioOutcome, ...]
    quarantined: tuple[ScenarioOutcome, ...]

    @property
    def data_sets(self) -> tuple[DataSetScores, ...]:
        """Data sets of which some case decides."""
        apart = {one.scenario.data_set for one in self.quarantined} - {one.scenario.data_set for one in self.deciding}
        return tuple(one for one in self.evidence.data_sets if one.id not in apart)

    @property
    def broken(self) -> tuple[ScenarioOutcome, ...]:
        """Those that break something exact, critical ones first."""
        broken = [one for one in self.deciding if one.standing is Standing.BROKEN]
        return tuple(sorted(broken, key=lambda one: not one.scenario.critical))

    @property
    def open(self) -> tuple[ScenarioOutcome, ...]:
        """Those of which something is not known that could change the verdict."""
        return tuple(one for one in self.deciding if one.open)

    @property
    def below(self) -> tuple[ScenarioOutcome, ...]:
        """Those that only judged scores keep from passing."""
        return tuple(one for one in self.deciding if one.standing is Standing.BELOW)

    @property
    def judged(self) -> tuple[ScenarioOutcome, ...]:
        """Those that the pass rate covers: not critical, and measured by a judge."""
        counted = (Standing.PASSED, Standing.BELOW)
        apart = self.evidence.recorded_only if self.evidence.answers != AnswerOrigin.REPLAY else ()
        return tuple(
            one
            for one in self.deciding
            if one.standing in counted
            and one.scenario.id not in apart
            and not one.scenario.critical
            and any(score.judged for score in getattr(one.deciding, "deciding_scores", ()))
        )


def find(evidence: Evidence) -> Findings:
    """Tell the outcomes of the head that decide from those that do not."""
    counted = filter(decides, results_of_change(evidence.results))
    outcomes = outcomes_of(_in_order(tuple(counted)))
    held = [one for one in outcomes if quarantine_in_force(one.scenario, evidence.day)]
    return Findings(evidence, tuple(one for one in outcomes if one not in held), tuple(held))


def _in_order(results: Sequence[ScenarioResult]) -> list[ScenarioResult]:
    places = Counter(map(_place, results))
    # To spell out a transcript is slow; it only tells results of one and the same trial apart.
    return sorted(results, key=lambda one: (*_place(one), repr(one) if places[_place(one)] > 1 else ""))


def _place(result: ScenarioResult) -> tuple[str, str, int]:
    return result.trial.scenario.id, result.trial.arm.name, result.trial.number
