"""A run from its start to its exit code: however it ends, its report is published, and kept for later runs."""

import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from ratiba_action.errors import ConfigurationError, InfrastructureError, LedgerError, RatibaError, UsageError
from ratiba_action.model.note import in_order
from ratiba_action.observability.logged_ports import NoEvents
from ratiba_action.publish.publishing import Publication
from ratiba_action.publish.unmeasured_runs import stopped
from ratiba_action.run.earlier_history import begin_history, notes_of_history
from ratiba_action.run.event_logging import Tracer
from ratiba_action.run.inputs import RunLog, RunRequest
from ratiba_action.settings.gitlab import gitlab_job
from ratiba_action.settings.step_output import leave
from ratiba_action.util.interruption import Interruption, current
from ratiba_action.util.persisted_credentials import in_job

if TYPE_CHECKING:
    from ratiba_action.history.run_history import RunHistory
    from ratiba_action.model.verdict import Report
    from ratiba_action.reporting.summary import ReportSummary


def in_pipeline(environment: Mapping[str, str]) -> bool:
    """Whether somebody reads the report instead of the terminal."""
    return in_job(environment) or gitlab_job(environment) is not None


def leave_early(interruption: Interruption) -> NoReturn:
    """Exit before there is anything to report; the action's last step publishes the report."""
    sys.stderr.write(f"ratiba: {_cancelled(interruption)}\n")
    leave(_cancelled(interruption).exit_code)


class Lifecycle:
    """One run, from the moment when it is known what it reports on.

    Args:
        tracer: makes the function that sends its traces.
    """

    def __init__(self, request: RunRequest, log: RunLog, publication: Publication, tracer: Tracer) -> None:
        self.request, self.log, self.publication = request, log, publication
        self.history: RunHistory | None = None
        """Of earlier runs, once the run's inputs are known."""
        self._tracer, self._interruption = tracer, current()

    def go_on(self) -> None:
        """Check for cancellation between two steps.

        Raises:
            InfrastructureError: the run was cancelled.
        """
        if self._interruption.name is not None:
            raise _cancelled(self._interruption)

    def begin(self) -> None:
        """Begin to read what the report's trends need, and write down in the ledger's database that the run begins.

        A failure never changes the verdict.
        """
        begin_history(self.history)
        request, subject = self.request, self.request.decided.change.subject
        if not request.settings.ledger_url:
            return
        from ratiba_action.history.executions import BegunExecution, begin_execution

        begun = BegunExecution(
            repository=subject.repository,
            gate=request.settings.name,
            commit=subject.head,
            run_id=subject.run_id,
            run_attempt=subject.run_attempt,
            mode=request.decided.decision.mode.value,
            seconds=request.seconds,
        )
        try:
            self.log.execution = begin_execution(request.settings.ledger_url, begun)
            self.publication.print_line(f"Execution: {self.log.execution}")
        except LedgerError as error:
            self.publication.warn(f"The run is not in the ledger's database: {error}")

    def conclude(
        self,
        evaluate: "Callable[[], Report | None]",
        add_notes: "Callable[[Report], Report]",
        show: "Callable[[ReportSummary], None]",
    ) -> int:
        """Evaluate, publish the report, of a failure too, and keep the run for later ones; returns the exit code.

        Args:
            evaluate: gives the report; None where nothing is to be published.
            add_notes: to the report of a whole run.
            show: what was published, where the command was asked to.

        Raises:
            UsageError: an option is invalid.
            ConfigurationError: the same of the configuration, where nobody but the terminal's reader waits.
        """
        failure: RatibaError | None = None
        self._interruption.replace_stand_in(self._publish_nothing)
        try:
            report = evaluate()
        except Exception as error:  # every failure leaves a report, also a bug of the gate
            if self._is_for_the_terminal(error):
                raise
            failure = error if isinstance(error, RatibaError) else _defect(error)
            self.log.events = NoEvents()
            report = self._stopped(failure)
        if report is None:
            return 0
        self._interruption.conclude()
        published = self._publish(report, failure, add_notes)
        if self.log.end_journal is not None and failure is None:
            self.log.end_journal(self._interruption.name is not None)
        show(published)
        if published.report.shard is None:
            # Last, because a cancelled run may be killed while a server is slow.
            self._keep(published.report)
            self._end(published)
            self._notify(published.report)
        return published.exit_code

    def _publish(
        self, report: "Report", failure: RatibaError | None, add_notes: "Callable[[Report], Report]"
    ) -> "ReportSummary":
        from ratiba_action.run.shards import with_readable_answers

        publication = self.publication
        trace = self._tracer(self.request.settings, self.request.environment, self.log.events)
        report = with_readable_answers(self._cut_short(report), publication.redactor.result)
        if report.shard is None:
            report = add_notes(self._with_trends(report))
        published = publication.publish(report, trace, complaint="" if failure is None else str(failure))
        # A signal may arrive while GitHub is slow: a cancelled run is never shown as passed.
        short = self._cut_short(published.report)
        return published if short == published.report else publication.publish(short)

    def publish_if_cut_short(self, report: "Report") -> None:
        """Publish what was measured, whatever happens from here on."""
        publish = self.publication.publish
        self._interruption.replace_stand_in(lambda: leave(publish(self._cut_short(report)).exit_code))

    def _is_for_the_terminal(self, error: Exception) -> bool:
        """Whether a mistake of whoever started the run leaves the last report as it is, which --failed reads."""
        if isinstance(error, UsageError):
            return True
        begun = in_pipeline(self.request.environment) or self.log.execution
        return isinstance(error, ConfigurationError) and not begun

    def _stopped(self, failure: RatibaError) -> "Report":
        return stopped(self.request.settings, self.request.decided, failure, self.log.warnings)

    def _publish_nothing(self) -> NoReturn:
        """Publish a report without measurements for a cancelled run whose main thread does not return in time."""
        report = self._stopped(_cancelled(self._interruption))
        leave(self.publication.publish(report).exit_code)

    def _cut_short(self, report: "Report") -> "Report":
        """The report, marked as cancelled if the run was cancelled after the verdict."""
        from ratiba_action.verdict.decision import cut_short

        reason, name = self._interruption.reason, self._interruption.name
        if reason is None or name is None or any(name in text for text in (report.verdict.reason, *report.notes)):
            return report
        note = f"The run was cancelled by {name} after everything had been measured."
        return replace(report, verdict=cut_short(report.verdict, reason), notes=in_order((*report.notes, note)))

    def _with_trends(self, report: "Report") -> "Report":
        """The report with the trends of its base branch, if there is a readable history."""
        from ratiba_action.history.keeping import with_trends

        if self.history is None:
            return report
        known = notes_of_history(self.history)
        try:
            report = with_trends(report, self.history)
        except LedgerError as error:
            self.publication.warn(str(error))
            return report
        # A run that asked it nothing before has not said yet where its trends come from, nor that a file is broken.
        read = notes_of_history(self.history)
        notes = (*(note for note in report.notes if note not in known), *read)
        return report if read == known else replace(report, notes=in_order(notes))

    def _keep(self, report: "Report") -> None:
        """Add the run to the history; a failure never changes the verdict."""
        from ratiba_action.history.keeping import keep_run
        from ratiba_action.model.verdict import Conclusion

        url = self.publication.settings.ledger_url
        if not url or report.verdict.conclusion is Conclusion.SKIPPED:
            return
        try:
            keep_run(report, url)
        except LedgerError as error:
            self.publication.warn(str(error))

    def _end(self, published: "ReportSummary") -> None:
        from ratiba_action.history.executions import end_execution
        from ratiba_action.verdict.tally import status_of

        if not self.log.execution:
            return
        outcome = {
            "exit_code": published.exit_code,
            **{name.replace("-", "_"): value for name, value in published.outputs.items()},
            "results": [
                {"scenario": each.trial.scenario.id, "trial": each.trial.number, "status": status_of(each)}
                for each in published.report.results
            ],
        }
        try:
            end_execution(self.publication.settings.ledger_url, self.log.execution, outcome)
        except LedgerError as error:
            self.publication.warn(f"How the run ended is not in the ledger's database: {error}")

    def _notify(self, report: "Report") -> None:
        """Send the run's alerts; a failure never changes the verdict."""
        from ratiba_action.publish.notifications import CANCELLED_SECONDS, NOTIFY_SECONDS, alerts_of, message_of, notify

        request, publication = self.request, self.publication
        alerts = tuple(alerts_of(report, default_branch=request.decided.change.on_default_branch))
        notify(
            request.settings,
            request.environment,
            message_of(report, alerts),
            self.log.alerts,
            publication.warn,
            redactor=publication.redactor,
            seconds=NOTIFY_SECONDS if self._interruption.name is None else CANCELLED_SECONDS,
        )


def _cancelled(interruption: Interruption) -> InfrastructureError:
    return InfrastructureError(f"The run was cancelled by {interruption.name}.", "Run the gate again.")


def _defect(error: Exception) -> RatibaError:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    problem = f"The gate itself failed at {Path(frame.filename).name}:{frame.lineno}: {type(error).__name__}: {error}"
    return InfrastructureError(problem, "Please report it, with this line.")
