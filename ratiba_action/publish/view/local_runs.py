"""Which runs the served pages show: the last one of this checkout, those that ended meanwhile, and a kept history."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ratiba_action.errors import RatibaError
from ratiba_action.history.results import load_baseline
from ratiba_action.history.run_files import BrokenFile, RunFiles
from ratiba_action.model.published import Transcripts
from ratiba_action.model.verdict import Report
from ratiba_action.privacy.masking import Redactor
from ratiba_action.publish.site.pages import History, all_pages
from ratiba_action.publish.site.runs import RunLine, ScenarioFacts, facts_of, line_of, newest_first
from ratiba_action.reporting.results_file import MAX_BYTES
from ratiba_action.util.locked_folder import read_plain_file

RESULTS = "results.json"
KEPT_RUNS = 30
"""Runs that have ended while the pages are served, and are kept in memory; and runs with a page of their own."""

Stamp = tuple[int, int, int]


class LocalRuns:
    """Reads runs, and makes pages of them.

    Args:
        report: the report directory; every run replaces what the one before has left there.
        history: files of earlier runs; None without any.
        branch: whose own runs trends are of; empty for the one with the most runs.
        redactor: knows the secrets of this machine.
        chat: whether there is a page to talk with the system.
    """

    def __init__(
        self, report: Path, history: RunFiles | None, *, branch: str, redactor: Redactor, chat: bool = False
    ) -> None:
        self._report, self._history, self._branch, self._redactor = report, history, branch, redactor
        self._chat = chat
        self._lines: dict[str, RunLine] = {}
        self._facts: dict[str, tuple[str, ScenarioFacts]] = {}
        self._files: dict[str, str] = {}
        self._own: dict[str, bytes] = {}
        self._broken: tuple[BrokenFile, ...] = ()
        self._unread = history
        self._edition = 0

    @property
    def source(self) -> str:
        """Where the runs come from, in words."""
        return "this checkout" if self._history is None else f"this checkout and {self._history.source}"

    @property
    def nothing_yet(self) -> History:
        """What there is before anything was read."""
        return History(self.source, (), self._branch, {}, (), Transcripts.ALL, edition=self._edition, chat=self._chat)

    def stamp(self) -> Stamp | None:
        """Another one for each state of the report directory; None where no run has left results."""
        try:
            found = (self._report / RESULTS).lstat()
        except OSError:
            return None
        if self._report.is_symlink():  # a change may have put it there, to somewhere else
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def pages(self) -> Mapping[str, bytes]:
        """Every page by its path, made anew; takes seconds where the history is long."""
        if self._unread is not None:
            found, self._unread = self._unread.read(self._keep), None
            self._files = {run: name for name, run in found.runs}
            self._broken = found.broken
        self._edition += 1
        problem = self._take_report()
        lines = newest_first(self._lines.values())
        counted = Counter(line.branch for line in lines if line.branch)
        history = replace(
            self.nothing_yet,
            lines=lines,
            branch=self._branch or max(counted, key=lambda name: (counted[name], name), default=""),
            facts={name: facts for name, (_, facts) in self._facts.items()},
            broken=(*problem, *self._broken),
        )
        paged = {line.id for line in lines[:KEPT_RUNS]}
        try:
            return dict(all_pages(history, lambda line: self._load(line) if line.id in paged else None))
        finally:
            if self._history is not None:
                self._history.close()

    def _take_report(self) -> tuple[BrokenFile, ...]:
        """Keep the run that the report directory has now."""
        if self.stamp() is None:
            return ()
        try:
            content = read_plain_file(self._report, RESULTS, MAX_BYTES)
            run = self._keep(load_baseline(content))
        except OSError as error:
            return (BrokenFile(RESULTS, f"It cannot be read: {error.strerror}."),)
        except RatibaError as error:
            return (BrokenFile(RESULTS, error.problem),)
        self._own.pop(run, None)
        self._own[run] = content
        while len(self._own) > KEPT_RUNS:
            self._own.pop(next(iter(self._own)))
        return ()

    def _keep(self, report: Report) -> str:
        """Keep what lists and charts show of a run; returns its id."""
        line = line_of(report)
        self._lines[line.id] = line
        for name, facts in facts_of(report).items():
            if line.id >= self._facts.get(name, ("", facts))[0]:
                self._facts[name] = (line.id, facts)
        return line.id

    def _load(self, line: RunLine) -> Report | None:
        """The run again, masked; None where it is no longer there."""
        content, name = self._own.get(line.id), self._files.get(line.id)
        try:
            if content is not None:
                return self._redactor.report(load_baseline(content))
            return self._redactor.report(self._history.files[name]()) if self._history and name else None
        except RatibaError:
            return None
