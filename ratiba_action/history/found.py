"""What a search for earlier results came to."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ratiba_action.model.comparison import BaselineFacts, MeasuredRun, Rules
from ratiba_action.model.note import Note


@dataclass(frozen=True, slots=True)
class FoundBaseline:
    """Runs of the base.

    Args:
        runs: the newest first; empty where there is nothing to compare with.
        source: the branch, file or folder that they come from.
        notes: what could not be used, and why.
    """

    runs: tuple[MeasuredRun, ...] = ()
    source: str = ""
    notes: tuple[str, ...] = ()

    def facts(self, now: datetime, rules: Rules) -> BaselineFacts | None:
        """What is told of them; None where there is nothing.

        Args:
            now: when the run that compares began.
            rules: say what is stale.
        """
        if not self.runs:
            return None
        newest = self.runs[0]
        stale = now - newest.started_at > timedelta(days=rules.stale_days)
        return BaselineFacts(self.source, newest.commit, newest.started_at, len(self.runs), stale)


def newest_first(runs: list[MeasuredRun], pooled: int) -> tuple[MeasuredRun, ...]:
    """The runs to pool, at most so many, the newest first."""
    return tuple(sorted(runs, key=lambda run: run.started_at, reverse=True)[:pooled])


def no_baseline(why: str, remedy: str = "") -> str:
    """The note that says why something was not compared with, and what to do about it where that is known."""
    told = f"No baseline: {why}"
    return Note(told, remedy) if remedy else told
