"""Runs before this one: of the base, to be compared with, and earlier attempts of its own, to be added to."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ratiba_action.baseline.files import read_named_baseline
from ratiba_action.baseline.found import FoundBaseline, no_baseline
from ratiba_action.changes.git import Git
from ratiba_action.core.model.comparison import BaselineFacts, MeasuredRun, Rules
from ratiba_action.errors import InfrastructureError
from ratiba_action.preparing import GateRun

AUTO = "auto"
NONE = "none"
FIRST_RUN = "There is nothing to compare with yet; this run becomes the baseline when it is merged."
NOT_COMPARED = frozenset({"push", "schedule"})
"""Events of the base branch itself: what they measure is the baseline of others."""


@dataclass(frozen=True, slots=True)
class EarlierRuns:
    """What a run may look at besides its own results.

    Args:
        baseline: runs of the base, pooled.
        earlier: earlier attempts of the same commit, whose answers were asked for anew.
        facts: of the baseline; None where there is none.
        notes: for the report.
    """

    baseline: tuple[MeasuredRun, ...] = ()
    earlier: tuple[MeasuredRun, ...] = ()
    facts: BaselineFacts | None = None
    notes: tuple[str, ...] = ()


def find_earlier_runs(run: GateRun, now: datetime, rules: Rules) -> EarlierRuns:
    """Find them; whatever goes wrong is a note, and never changes a verdict.

    Args:
        run: what is evaluated.
        now: when it began.
        rules: of the comparison.
    """
    found = _baseline(run)
    facts = found.facts(now, rules)
    return EarlierRuns(found.runs, (), facts, (*found.notes, *_warning_of_age(facts, now, rules)))


def measured_commit(git: Git | None) -> str:
    """The commit that the work tree is equal to; empty where it has changes of its own, or git cannot tell."""
    try:
        commit = git.commit("HEAD") if git is not None else None
        return commit if git is not None and commit and not git.changed(commit) else ""
    except InfrastructureError:
        return ""


def _baseline(run: GateRun) -> FoundBaseline:
    asked = run.settings.baseline
    if asked == NONE:
        return FoundBaseline()
    if asked == AUTO:
        return FoundBaseline()
    if _is_doubtful(run, Path(asked)):
        why = f"what the change edits is not known, and {asked!r} is a file of the repository."
        return FoundBaseline(notes=(no_baseline(why),))
    change = run.decided.change
    return read_named_baseline(asked, run.repository, change.files, change.subject.repository)


def _is_doubtful(run: GateRun, path: Path) -> bool:
    """Whether the change may have edited the file and nobody can tell."""
    change = run.decided.change
    if change.git is None or not change.files.doubt:
        return False
    try:
        return bool(change.git.run("ls-files", "-z", "--", str(path.absolute())))
    except InfrastructureError:
        return False  # it lies outside the repository


def _warning_of_age(facts: BaselineFacts | None, now: datetime, rules: Rules) -> Sequence[str]:
    if facts is None or not facts.stale:
        return ()
    days = (now - facts.started_at).days
    told = f"The baseline is {days} days old, and {rules.stale_days} are usual at most"
    return [f"{told}: run the gate on the base branch again."]
