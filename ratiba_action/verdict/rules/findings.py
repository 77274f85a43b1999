"""What the rules of the verdict look at: the outcome of each scenario, put in order, and how sentences name them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.case_file import CaseFileScores
from ratiba_action.model.measurement import ScenarioResult, Scored
from ratiba_action.model.verdict import Evidence
from ratiba_action.util.text import plural
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
    def data_sets(self) -> tuple[CaseFileScores, ...]:
        """Case files of which some case decides."""
        apart = {outcome.scenario.data_set for outcome in self.quarantined} - {
            outcome.scenario.data_set for outcome in self.deciding
        }
        return tuple(scores for scores in self.evidence.data_sets if scores.id not in apart)

    @property
    def single(self) -> tuple[ScenarioOutcome, ...]:
        """Those that count by themselves: not the measured cases of which only the share that passes decides."""
        shared = {scores.id for scores in self.evidence.data_sets if scores.share_decides}
        return tuple(
            outcome
            for outcome in self.deciding
            if outcome.scenario.data_set not in shared
            or outcome.scenario.critical
            or not isinstance(outcome.deciding, Scored)
        )

    @property
    def failed(self) -> tuple[ScenarioOutcome, ...]:
        """Those that break something exact, critical ones first."""
        failed = [outcome for outcome in self.single if outcome.standing is Standing.FAILED]
        return tuple(sorted(failed, key=lambda outcome: not outcome.scenario.critical))

    @property
    def open(self) -> tuple[ScenarioOutcome, ...]:
        """Those of which something is not known that could change the verdict."""
        return tuple(outcome for outcome in self.deciding if outcome.open)

    @property
    def below_threshold(self) -> tuple[ScenarioOutcome, ...]:
        """Those that only judged scores keep from passing."""
        return tuple(outcome for outcome in self.single if outcome.standing is Standing.BELOW_THRESHOLD)

    @property
    def judged(self) -> tuple[ScenarioOutcome, ...]:
        """Those that the pass rate covers: not critical, and measured by a judge."""
        counted = (Standing.PASSED, Standing.BELOW_THRESHOLD)
        apart = self.evidence.recorded_only if self.evidence.answers != AnswerOrigin.REPLAY else ()
        return tuple(
            outcome
            for outcome in self.single
            if outcome.standing in counted
            and outcome.scenario.id not in apart
            and not outcome.scenario.critical
            and any(score.judged for score in getattr(outcome.deciding, "deciding_scores", ()))
        )


def find(evidence: Evidence) -> Findings:
    """Tell the outcomes of the head that decide from those that do not."""
    counted = filter(decides, results_of_change(evidence.results))
    outcomes = outcomes_of(_in_order(tuple(counted)))
    quarantined = [outcome for outcome in outcomes if quarantine_in_force(outcome.scenario, evidence.day)]
    return Findings(evidence, tuple(outcome for outcome in outcomes if outcome not in quarantined), tuple(quarantined))


def _in_order(results: Sequence[ScenarioResult]) -> list[ScenarioResult]:
    places = Counter(map(_place, results))
    # To spell out a transcript is slow; it only distinguishes results of one and the same trial.
    return sorted(results, key=lambda result: (*_place(result), repr(result) if places[_place(result)] > 1 else ""))


def _place(result: ScenarioResult) -> tuple[str, str, int]:
    return result.trial.scenario.id, result.trial.arm.name, result.trial.number


_NAMED = 3
_LONGEST = 300


def ids_of(outcomes: Iterable[ScenarioOutcome]) -> tuple[str, ...]:
    """Ids of the scenarios, each once."""
    return tuple(dict.fromkeys(outcome.scenario.id for outcome in outcomes))


def names(outcomes: Iterable[ScenarioOutcome]) -> str:
    """The ids of the first few scenarios, and how many more there are."""
    return first_of(ids_of(outcomes))


def first_of(texts: Sequence[str], between: str = ", ") -> str:
    """The first few texts, and how many more there are."""
    shown = between.join(texts[:_NAMED])
    return shown if len(texts) <= _NAMED else f"{shown} and {len(texts) - _NAMED} more"


def scenarios_counted(outcomes: Sequence[ScenarioOutcome]) -> str:
    """How many scenarios."""
    return plural(len(outcomes), "scenario")


def sentence(text: str) -> str:
    """One line of bounded length that ends like a sentence: the system under test may have worded it."""
    text = " ".join(text.split())
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()} …"
    return text if text.endswith((".", "!", "?")) else f"{text}."
