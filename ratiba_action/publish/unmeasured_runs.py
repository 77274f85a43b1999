"""The reports of runs that measured nothing: skipped, stopped by a mistake, or ended early. Standard library only."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ratiba_action.decide.deciding import Decided
from ratiba_action.errors import ConfigurationError, FileProblem, RatibaError, SuiteError, UsageError
from ratiba_action.model.change import Mode
from ratiba_action.settings.settings import Settings
from ratiba_action.util.text import plural, short_commit

if TYPE_CHECKING:
    from ratiba_action.model.verdict import Report, ShardReport, Verdict


def refuse_wrong_start(decided: Decided, problems: Sequence[str]) -> None:
    """Refuse what no mode excuses.

    Raises:
        SuiteError: an input is wrong.
        ConfigurationError: the event is one that the gate must not run on.
    """
    if problems:
        raise SuiteError([FileProblem("inputs", 0, problem) for problem in problems])
    refused = decided.change.refused
    if refused is not None:
        raise ConfigurationError(refused.problem, refused.remedy)


def report_without_run(settings: Settings, decided: Decided, verdict: "Verdict", notes: Sequence[str]) -> "Report":
    """The report of a run that started nothing."""
    from ratiba_action.model.verdict import Limits, Report
    from ratiba_action.money.budget import Ledger

    return Report(
        name=settings.name,
        subject=decided.change.subject,
        decision=decided.decision,
        verdict=verdict,
        results=(),
        spending=Ledger(settings.budget_usd).snapshot(),
        limits=Limits(),
        started_at=datetime.now(UTC),
        seconds=0.0,
        enforce=settings.enforce,
        notes=tuple(notes),
        shard=_shard(settings, decided, verdict),
    )


def _shard(settings: Settings, decided: Decided, verdict: "Verdict") -> "ShardReport | None":
    """That a shard measured nothing; a skipped run has no shards."""
    from ratiba_action.model.verdict import Conclusion, ShardReport

    if settings.shard is None or verdict.conclusion is Conclusion.SKIPPED:
        return None
    return ShardReport(settings.shard, max(1, decided.change.subject.run_attempt), problem=verdict.reason)


def skipped(settings: Settings, decided: Decided, notes: Sequence[str]) -> "Report":
    """The report of a skipped run."""
    from ratiba_action.model.plan import Plan
    from ratiba_action.model.verdict import Evidence, Limits
    from ratiba_action.verdict.decision import next_step

    verdict = next_step(Evidence(Mode.SKIP, (), Limits()))
    if isinstance(verdict, Plan):
        raise TypeError("a skipped run has nothing to plan")
    verdict = verdict if decided.change.subject.event else _skipped_on_a_laptop(decided)
    return report_without_run(settings, decided, verdict, notes)


def _skipped_on_a_laptop(decided: Decided) -> "Verdict":
    """What was compared with what, and how the scenarios run all the same."""
    from ratiba_action.model.verdict import Conclusion, Verdict

    base = short_commit(decided.change.files.base or "")
    compared = f"the base commit {base}" if base else "the base"
    count = len(decided.change.files.paths)
    reason = f"Nothing differs from {compared}, so there is no change to evaluate."
    if count:
        differ = "the only file that differs" if count == 1 else f"all {count} files that differ"
        reason = f"The rules skip {differ} from {compared}."
    return Verdict(Conclusion.SKIPPED, reason, "To run every scenario all the same, run: ratiba gate --mode blocking")


def stopped(settings: Settings, decided: Decided, error: RatibaError, notes: Sequence[str]) -> "Report":
    """The report of a run that an error stopped before anything was measured."""
    from ratiba_action.model.verdict import Conclusion, Verdict

    wrong = isinstance(error, ConfigurationError | UsageError)
    problems = [str(problem) for problem in error.problems] if isinstance(error, SuiteError) else []
    if not problems:
        verdict = Verdict(Conclusion.INCOMPLETE, error.problem, error.remedy, misconfigured=wrong)
        return report_without_run(settings, decided, verdict, notes)
    reason = f"{plural(len(problems), 'mistake')} must be fixed before anything can be measured."
    verdict = Verdict(Conclusion.INCOMPLETE, reason, error.remedy, tuple(problems), misconfigured=True)
    return report_without_run(settings, decided, verdict, notes)
