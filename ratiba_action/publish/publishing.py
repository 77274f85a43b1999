"""Where a report goes: the report directory, the terminal or log, the step's files, the pull request.

A failure here is a warning; it never changes the verdict.
"""

import contextlib
import hashlib
import io
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

from ratiba_action.errors import PublishError, ReportedError
from ratiba_action.github.step_files import StepFile, remember, reserve_space, write_outputs, write_summary
from ratiba_action.github.urllib_repository import UrllibRepository
from ratiba_action.model.plan import Selection
from ratiba_action.model.scenario import titled
from ratiba_action.privacy.masking import Redactor
from ratiba_action.publish.seal import SEAL, SEAL_KEY, Sealed, seal
from ratiba_action.reporting.directory import FileParts, entries_of, plain_files, write_report_directory
from ratiba_action.reporting.plain_printer import PlainPrinter, Printer
from ratiba_action.settings.environment import FROM_STDIN
from ratiba_action.settings.gitlab import gitlab_job
from ratiba_action.settings.settings import Settings
from ratiba_action.util.http_exchange import Outage
from ratiba_action.util.interruption import current
from ratiba_action.util.persisted_credentials import Persisted
from ratiba_action.util.text import plural, printable

if TYPE_CHECKING:
    from ratiba_action.github.github_api import GithubApi
    from ratiba_action.model.change import ModeDecision
    from ratiba_action.model.verdict import Report
    from ratiba_action.money.forecast import Forecast
    from ratiba_action.ports import GithubRepository
    from ratiba_action.reporting.summary import ReportSummary

Result = TypeVar("Result")

_STEP_FILES = ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", SEAL)
_SUMMARY_CHARACTERS = 1_000_000
_CANCELLED_SECONDS = 4.0
"""For the comment of a cancelled run: a runner kills it 10 seconds after it was asked to end."""

_ROOM = 512 << 10  # bytes; the outputs and a summary of the usual length

OUTPUTS = (
    "mode",
    "reasons",
    "conclusion",
    "passed",
    "failed",
    "duration-seconds",
    "regression-detected",
    "confidence",
    "spent-usd",
    "budget-usd",
    "report",
    "comment-url",
)
"""Names of the action's outputs."""


@dataclass(frozen=True, slots=True)
class Publication:
    """Publishes one run's report; make it before any code of the change runs, which could write to the same files.

    Everything that it writes, prints or posts goes through its redactor first. As it is, it needs only the standard
    library; ``full_publication`` has everything.

    Args:
        environment: the process's own; names the runner's files and GitHub's address.
        stream: what a person or the log reads.
        files: renders the files of the report directory, by name.
        connect: which client writes the comment and the status.
        outage: what the run knows of GitHub; see ``GithubApi``.
        quiet: print no lines on the way to the verdict.
        redactor: the run's own, for whatever else is printed.
    """

    settings: Settings
    environment: Mapping[str, str]
    stream: TextIO
    make_printer: Callable[[TextIO, Mapping[str, str]], Printer] = PlainPrinter
    files: "Callable[[ReportSummary], Mapping[str, FileParts]]" = plain_files
    connect: "Callable[[GithubApi], GithubRepository]" = UrllibRepository
    outage: Outage = field(default_factory=Outage, repr=False, compare=False)
    quiet: bool = False
    redactor: Redactor = field(init=False, repr=False)
    _step_files: Mapping[str, StepFile] = field(init=False, repr=False)
    _report_before: frozenset[str] | None = field(init=False, repr=False)
    _room: list[int] = field(init=False, repr=False, default_factory=list)
    _warnings: list[str] = field(init=False, repr=False, default_factory=list)

    def __post_init__(self) -> None:
        named = {name: path for name in _STEP_FILES if (path := self.environment.get(name))}
        object.__setattr__(self, "redactor", Redactor(self.settings.secrets))
        object.__setattr__(self, "_step_files", {name: remember(Path(path)) for name, path in named.items()})
        object.__setattr__(self, "_report_before", entries_of(self._directory))

    @property
    def _directory(self) -> Path:
        return Path(self.settings.report_dir).absolute()

    @property
    def _shown_directory(self) -> Path:
        """The report directory as people know it: a container sees it elsewhere."""
        return Path(self.environment.get("RATIBA_REPORT_DIR_OUTSIDE") or self._directory)

    @property
    def in_workflow(self) -> bool:
        """Whether a workflow's runner reads the stream."""
        return self.environment.get("GITHUB_ACTIONS") == "true"

    def hide_secrets(self) -> None:
        """Have the runner mask every secret of the run, before anything is printed.

        Whoever hands them over on standard input, as the action does, has them masked before that.
        """
        if self.environment.get(FROM_STDIN) != "stdin":
            self._mask(self.settings.secrets)

    def hide(self, found: Persisted) -> None:
        """Hide the credentials that a job has left behind, and warn of them.

        Args:
            found: in what git reads.
        """
        object.__setattr__(self, "redactor", Redactor((*self.settings.secrets, *found.secrets)))
        self._mask(found.secrets)
        if found.warning:
            self.warn(found.warning)

    def _mask(self, secrets: Iterable[str]) -> None:
        from ratiba_action.github.workflow import WorkflowLog

        if self.in_workflow:
            for secret in secrets:
                WorkflowLog(self.stream).mask(secret)

    def reserve_space(self) -> None:
        """Keep room for the step's files until they are written, since the run itself may fill the disk."""
        for folder in {file.path.parent for file in self._step_files.values()}:
            number = reserve_space(folder, _ROOM)
            self._room.extend([] if number is None else [number])

    def publish(
        self, report: "Report", trace: "Callable[[Report], Report] | None" = None, *, complaint: str = ""
    ) -> "ReportSummary":
        """Write everything that can be written; the rest becomes warnings.

        Args:
            trace: sends the run's conversations to where traces are kept, and says in the report what came of it.
                Everything of the run has been written down by then.
            complaint: what stopped the run, one problem a line. A person sees that instead of the comment.

        Returns:
            The summary of the report as it was published.
        """
        from ratiba_action.github.workflow import WorkflowLog
        from ratiba_action.publish.annotations import annotations_of
        from ratiba_action.reporting.summary import summarise

        self._warnings.clear()
        summary = summarise(self.redactor.report(report))
        # Before anything that takes room on a disk, or time: whatever happens then, verdict and summary are there.
        self._write_step_files(summary, None, early=True)
        paths = self._try(lambda: self._write_files(summary)) or {}
        summary, paths = self._traced(summary, paths, trace)
        if complaint and not self.in_workflow:
            self._try(lambda: self._print_complaint(summary, complaint))
        else:
            self._try(lambda: self._print(summary, paths))
        if complaint and self.in_workflow:
            self.complain(complaint)
        url = None
        # Without its seal the run does not count, and the step after it has said so: its daemon may be gone.
        if sealed := self._try(lambda: self._seal(summary, None)):
            url = self._try(lambda: self._post(summary))
        else:
            self.warn("The run could not be sealed, so it writes no comment and no commit status.")
        self._write_step_files(summary, url, sealed=bool(sealed))
        if self.in_workflow:
            WorkflowLog(self.stream).annotate(annotations_of(summary))
        return summary

    def publish_comment(self, report: "Report", *, only_missing: bool = False) -> str | None:
        """Only what people read of another run's report: the log, the summary and the comment.

        Args:
            only_missing: leave the comment as it is where that run has written it.

        Returns:
            The comment's address, None when there is none.
        """
        from ratiba_action.reporting.summary import summarise

        summary = summarise(self.redactor.report(report))
        self._write_summary(summary, early=True)
        self._try(lambda: self._print(summary, {}))
        url = self._try(lambda: self._comment(summary, only_missing=only_missing))
        self._write_summary(summary)
        outputs = self._step_files.get("GITHUB_OUTPUT")
        if outputs:
            self._try(lambda: write_outputs(outputs, {"comment-url": url or ""}))
        return url

    def show(self, report: "Report") -> None:
        """Only print a report."""
        from ratiba_action.reporting.summary import summarise

        self._print(summarise(self.redactor.report(report)), {})

    @property
    def progress_stream(self) -> TextIO:
        """Where the progress of a run is printed: nowhere if only the verdict is wanted."""
        return io.StringIO() if self.quiet else self.stream

    def print_line(self, message: str) -> None:
        """Say something in one line, unless only the verdict is wanted."""
        if not self.quiet:
            self._line(message)

    def _line(self, message: str) -> None:
        self._text(f"{printable(self.redactor.text(message))}\n")

    def warn(self, message: str) -> None:
        """Say what could not be done, and stop nothing."""
        from ratiba_action.github.workflow import WorkflowLog

        message = self.redactor.text(message)
        if self.in_workflow:
            WorkflowLog(self.stream).warning(message)
        else:
            self._text(f"warning: {printable(message)}\n")

    def complain(self, message: str) -> None:
        """Say what stopped the run, one problem a line."""
        self._text("".join(f"ratiba: {printable(line)}\n" for line in self.redactor.text(message).splitlines()))

    def announce(
        self,
        decision: "ModeDecision",
        selection: Selection,
        notes: tuple[str, ...],
        forecast: "Forecast | None" = None,
    ) -> None:
        """Say what would run, for a dry run; ``forecast`` is None for a run that calls no model."""
        from ratiba_action.reporting.money_facts import forecast_lines
        from ratiba_action.reporting.wording import selection_line

        lines = [f"Mode: {decision.mode}"]
        lines += [f"- {reason.path or reason.rule}: {reason.why}" for reason in decision.reasons]
        message = selection_line(selection)
        lines += [message] if message else []
        turns = sum(len(scenario.turns) for scenario in selection.scenarios)
        count = f"{plural(len(selection.scenarios), 'scenario')} with {plural(turns, 'turn')}"
        lines += [f"Would run {count}, replayed: USD 0.00."] if forecast is None else [f"Would run {count}."]
        lines += forecast_lines(forecast) if forecast is not None else ()
        lines += [f"- {titled(scenario.id, scenario)}" for scenario in selection.scenarios]
        lines += [f"Note: {self.redactor.text(note)}" for note in notes]
        self.stream.write("".join(f"{printable(line)}\n" for line in lines))

    def _traced(
        self, summary: "ReportSummary", paths: Mapping[str, Path], trace: "Callable[[Report], Report] | None"
    ) -> "tuple[ReportSummary, Mapping[str, Path]]":
        """The report that says what came of sending its conversations, and its files, written once more."""
        from ratiba_action.reporting.summary import summarise

        traced = self._try(lambda: self.redactor.report(trace(summary.report))) if trace is not None else None
        if traced is None or traced == summary.report:
            return summary, paths
        again = summarise(traced)
        return again, self._try(lambda: self._write_files(again)) or paths

    def _write_files(self, summary: "ReportSummary") -> Mapping[str, Path]:
        return write_report_directory(summary, self._directory, self._report_before, self.files)

    def _print(self, summary: "ReportSummary", paths: Mapping[str, Path]) -> None:
        from ratiba_action.github.workflow import WorkflowLog
        from ratiba_action.model.verdict import Conclusion
        from ratiba_action.reporting.comment import render_comment

        verdict = summary.report.verdict
        if verdict.conclusion is Conclusion.SKIPPED:
            # A fork may have written the reason.
            self._line(f"Skipped: {verdict.reason} {verdict.action}".rstrip())
            return
        printer = self.make_printer(self.stream, self.environment)
        with WorkflowLog(self.stream).plain() if self.in_workflow else contextlib.nullcontext():
            printer.comment(render_comment(summary))
        printer.results(summary, in_workflow=self.in_workflow)
        printer.end(summary, {name: self._shown_directory / name for name in paths})

    def _print_complaint(self, summary: "ReportSummary", complaint: str) -> None:
        """Each problem once, with its path as it can be copied, and where the report lies."""
        verdict = summary.report.verdict
        self._line(f"{summary.headline}. {verdict.reason}" if verdict.warnings else f"{summary.headline}.")
        self.complain(complaint)
        for note in summary.report.notes:
            self._line(f"Note: {note}")
        self._line(f"Report: {self._shown_directory}")

    def _write_step_files(
        self, summary: "ReportSummary", url: str | None, *, early: bool = False, sealed: bool = True
    ) -> None:
        """Write outputs, their seal and the summary.

        Args:
            early: they are written once more. What can only be added to is left alone, and nothing is warned of yet.
            sealed: False where the run could not be sealed; it is not tried again.
        """
        while self._room:
            os.close(self._room.pop())
        outputs = self._step_files.get("GITHUB_OUTPUT")
        if outputs and not (early and not outputs.plain):
            self._try(lambda: write_outputs(outputs, self._outputs(summary, url)), quiet=early)
        if sealed:
            self._try(lambda: self._seal(summary, url), quiet=early)
        self._write_summary(summary, early=early)

    def _write_summary(self, summary: "ReportSummary", *, early: bool = False) -> None:
        """Write the summary, with what could not be done so far; ``early`` as in ``_write_step_files``."""
        from ratiba_action.reporting.comment import render_comment
        from ratiba_action.reporting.markdown import inline

        file = self._step_files.get("GITHUB_STEP_SUMMARY")
        if file and not (early and not file.plain):
            notes = [f"> **Warning:** {inline(warning, 600)}" for warning in self._warnings]
            text = "\n\n".join([render_comment(summary, limit=_SUMMARY_CHARACTERS), *notes])
            self._try(lambda: write_summary(file, text), quiet=early)

    def _post(self, summary: "ReportSummary") -> str | None:
        """Write the comment, and then the commit status, unless the step after has reported the run already."""
        url = self._try(lambda: self._comment(summary), passing=ReportedError)
        self._status(summary)
        return url

    def _comment(self, summary: "ReportSummary", *, only_missing: bool = False) -> str | None:
        from ratiba_action.github.comment import COMMENT_SECONDS, PullRequestComment
        from ratiba_action.github.github_api import GITHUB_API
        from ratiba_action.github.gitlab_note import as_note
        from ratiba_action.model.verdict import Conclusion
        from ratiba_action.reporting.comment import render_comment

        report = summary.report
        if not self.settings.comment or self.settings.shard is not None or report.subject.pull_request is None:
            return None
        publisher = PullRequestComment(
            token=self.settings.github_token,
            render=lambda _, earlier: render_comment(summary, earlier=earlier),
            api_url=self.environment.get("GITHUB_API_URL") or GITHUB_API,
            create=report.verdict.conclusion is not Conclusion.SKIPPED,
            deadline_seconds=_CANCELLED_SECONDS if current().name else COMMENT_SECONDS,
            environment=self.environment,
            only_missing=only_missing,
            keeps_incomplete=SEAL in self._step_files,
            connect=self.connect,
            outage=self.outage,
        )
        if (job := gitlab_job(self.environment)) is not None:
            publisher = as_note(publisher, job, self.settings.gitlab_token)
        return publisher.publish(report)

    def _status(self, summary: "ReportSummary") -> None:
        from ratiba_action.github.github_api import GITHUB_API
        from ratiba_action.github.status import CommitStatus

        if self.settings.shard is not None:
            return
        publisher = CommitStatus(
            token=self.settings.github_token,
            api_url=self.environment.get("GITHUB_API_URL") or GITHUB_API,
            environment=self.environment,
            connect=self.connect,
            outage=self.outage,
        )
        self._try(lambda: publisher.publish(summary.report, code=summary.exit_code, description=summary.status))

    def _seal(self, summary: "ReportSummary", url: str | None) -> bool:
        """Say under the run's key what it came to; it counts only if the gate ends with that exit code, too."""
        from ratiba_action.reporting.results_json import results_parts

        file, key = self._step_files.get(SEAL), self.environment.get(SEAL_KEY)
        if file is None or not key:
            return True
        digest = hashlib.sha256()
        for part in results_parts(summary):
            digest.update(part)
        file.publish(seal(Sealed(summary.exit_code, digest.hexdigest(), self._outputs(summary, url)), key), "seal")
        return True

    def _outputs(self, summary: "ReportSummary", url: str | None) -> dict[str, str]:
        from ratiba_action.reporting.decision_json import reasons_output

        known = {name.replace("_", "-"): value for name, value in summary.outputs.items()}
        known |= {"report": str(self._shown_directory), "comment-url": url or ""}
        known["reasons"] = reasons_output(summary.report.decision)
        return {name: _text_of(known[name]) for name in OUTPUTS}

    def _try(
        self, work: Callable[[], Result], *, quiet: bool = False, passing: type[Exception] | tuple[()] = ()
    ) -> Result | None:
        try:
            return work()
        except passing:
            raise
        except Exception as error:  # noqa: BLE001 - nothing that goes wrong here may change the verdict
            if quiet:
                return None
            message = str(error) if isinstance(error, PublishError) else f"{type(error).__name__}: {error}"
            with contextlib.suppress(OSError, ValueError):
                self.warn(message)
            self._warnings.append(self.redactor.text(message))
            return None

    def _text(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


def _text_of(value: object) -> str:
    """An output's text: booleans and numbers as JSON, nothing as an empty text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)
