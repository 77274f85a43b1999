"""What a run recorded, reviewed as a whole before any of it is written."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from ratiba_action.llm.recordings.comparison import RecordingComparison, compare, without_noise
from ratiba_action.llm.recordings.folder import read_reads, recording_path
from ratiba_action.llm.recordings.lines import ForbiddenText, Recording, find_forbidden
from ratiba_action.llm.recordings.writer import in_file_order
from ratiba_action.model.measurement import Check, Errored, ScenarioResult, Scored
from ratiba_action.model.reads import Reads
from ratiba_action.model.scenario import Scenario
from ratiba_action.verdict.trials import Standing, outcomes_of

_SHOWN = 3
"""Failed assertions of a scenario that are reported."""


class ReviewOutcome(StrEnum):
    """What a scenario's new recording is to the repository."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
    FAILED = "failed"
    UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True)
class RecordingCandidate:
    """One scenario's new recording, reviewed.

    Args:
        reason: why its conversation did not run to its end, or which deterministic assertions failed; untrusted text.
        passed: whether the conversation held what its scenario asks for.
        reads: what the file would say that the scenario reads; None for nothing.
        reads_differ: from what the file says; that is no change of an answer.
    """

    scenario_id: str
    path: Path
    outcome: ReviewOutcome
    lines: tuple[Recording, ...] = ()
    comparison: RecordingComparison = field(default_factory=RecordingComparison)
    findings: tuple[ForbiddenText, ...] = ()
    reason: str = ""
    passed: bool = False
    reads: Reads | None = None
    reads_differ: bool = False


@dataclass(frozen=True, slots=True)
class RecordingReview:
    """All recordings of one run."""

    candidates: tuple[RecordingCandidate, ...]

    def having(self, *outcomes: ReviewOutcome) -> tuple[RecordingCandidate, ...]:
        """Those with one of these outcomes."""
        return tuple(candidate for candidate in self.candidates if candidate.outcome in outcomes)

    @property
    def kept(self) -> tuple[RecordingCandidate, ...]:
        """What there is to write: nothing at all while one recording is refused."""
        if self.having(ReviewOutcome.REFUSED):
            return ()
        changed = {ReviewOutcome.NEW, ReviewOutcome.CHANGED}
        return tuple(
            candidate for candidate in self.candidates if candidate.outcome in changed or candidate.reads_differ
        )


def review(
    folder: Path,
    scenarios: Sequence[Scenario],
    *,
    results: Iterable[ScenarioResult],
    before: Mapping[str, Sequence[Recording]],
    recorded: Mapping[str, Sequence[Recording]],
    secrets: Sequence[str] = (),
    reads: Mapping[str, Reads] | None = None,
) -> RecordingReview:
    """Look through everything that a run recorded.

    Args:
        scenarios: those that were to be recorded.
        results: of the run; a scenario's recording is whole when each of its trials ran to its end.
        before: what the files hold now, by scenario id.
        recorded: what models and judges answered, by scenario id.
        secrets: values that no recording may hold.
        reads: what was observed of each scenario, by its id; what a file says of one that is not named stays.
    """
    reads_before = read_reads(folder, [scenario.id for scenario in scenarios])
    ended: dict[str, list[ScenarioResult]] = {}
    for result in results:
        if result.trial.arm.name != "base":
            ended.setdefault(result.trial.scenario.id, []).append(result)
    candidates: list[RecordingCandidate] = []
    for scenario in scenarios:
        trials, path = ended.get(scenario.id, []), recording_path(folder, scenario.id)
        errored = next((result for result in trials if not isinstance(result, Scored)), None)
        if not trials or errored is not None:
            candidates.append(RecordingCandidate(scenario.id, path, ReviewOutcome.UNFINISHED, reason=_why(errored)))
            continue
        old = before.get(scenario.id, ())
        new = in_file_order(recorded.get(scenario.id, ()))
        lines = without_noise(old, new)
        findings = find_forbidden(new, scenario, secrets)
        outcome, failed = _outcome(path, old, lines, findings), _failed_checks(trials)
        if failed and not findings:
            # Its recording would keep a bug in the code as what is right.
            candidates.append(RecordingCandidate(scenario.id, path, ReviewOutcome.FAILED, reason=failed))
            continue
        comparison = compare(old, lines)
        passed = all(outcome.standing is Standing.PASSED for outcome in outcomes_of(trials))
        before_it, now = reads_before.get(scenario.id), (reads or {}).get(scenario.id, reads_before.get(scenario.id))
        candidates.append(
            RecordingCandidate(
                *(scenario.id, path, outcome, lines, comparison, findings),
                passed=passed,
                reads=now,
                reads_differ=outcome is not ReviewOutcome.NEW and now != before_it,
            )
        )
    return RecordingReview(tuple(candidates))


def _failed_checks(trials: Sequence[ScenarioResult]) -> str:
    """The deterministic assertions that failed where the scenario fails by them; empty where it does not."""
    if all(outcome.standing is not Standing.FAILED for outcome in outcomes_of(trials)):
        return ""
    scored = [result for result in trials if isinstance(result, Scored)]
    reasons = [_check_words(check) for result in scored for check in result.checks if not check.passed]
    reasons += [
        f"{score.metric} is {score.value:.2f}, and must be {score.threshold:.2f}"
        for result in scored
        for score in result.deciding_scores
        if not score.passed and not score.judged
    ]
    more = f"; and {len(reasons) - _SHOWN} more" if len(reasons) > _SHOWN else ""
    return "; ".join(dict.fromkeys(reasons[:_SHOWN])) + more


def _check_words(check: Check) -> str:
    place = f"turn {check.turn}: " if check.turn else ""
    return f"{place}{check.what}: expected {check.expected}, got {check.got}"


def _why(result: ScenarioResult | None) -> str:
    if isinstance(result, Errored):
        return f"{result.phase.value} error: {result.explanation}"
    return result.reason if result is not None and not isinstance(result, Scored) else "it was not run"


def _outcome(
    path: Path, old: Sequence[Recording], new: Sequence[Recording], findings: Sequence[ForbiddenText]
) -> ReviewOutcome:
    if findings:
        return ReviewOutcome.REFUSED
    if tuple(old) == tuple(new):
        return ReviewOutcome.UNCHANGED
    return ReviewOutcome.CHANGED if path.exists() or path.is_symlink() else ReviewOutcome.NEW
