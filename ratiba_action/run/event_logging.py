"""Where a run of the gate writes its events, and how the whole of it is told."""

import contextlib
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from ratiba_action.errors import InfrastructureError, PublishError
from ratiba_action.model.event import Event, LoggedEvent, Place, RunEnded, RunStarted
from ratiba_action.model.verdict import Conclusion, Report
from ratiba_action.observability.event_file import FILE, EventFile, open_descriptor
from ratiba_action.observability.event_masking import EventMask
from ratiba_action.observability.event_reader import read_events
from ratiba_action.observability.event_resumption import unfinished_run
from ratiba_action.observability.no_events import NoEvents
from ratiba_action.ports import EventLog
from ratiba_action.privacy.masking import Redactor
from ratiba_action.run.earlier_runs import measured_commit
from ratiba_action.run.preparing import GateRun, Prepared
from ratiba_action.settings.report_folder import refuse_links, remove_entry
from ratiba_action.util.git import Git


@contextmanager
def open_event_log(run: GateRun, prepared: Prepared, redactor: Redactor) -> Iterator[EventLog]:
    """The log of a run: in the folder that the configuration names, or else in the report directory.

    What cannot be written is a warning of the run. A run that an error ends is told to have ended.

    Args:
        run: its inputs.
        prepared: what it evaluates.
        redactor: of the run; nothing is written that did not pass it.
    """
    mask = EventMask(
        {one.id: redactor.knowing([one.customer.name]) for one in prepared.selection.scenarios},
        # The verdict of a run may quote what any of its scenarios said.
        redactor.knowing([one.customer.name for one in prepared.selection.scenarios]),
    )
    report = Path(run.settings.report_dir).absolute()
    log = _open(run, prepared, mask)
    if log is None:
        try:
            yield NoEvents()
        finally:
            _remove_forged(report, None)
        return
    path = log.path
    try:
        yield log
    except BaseException as error:
        reason = str(error) or type(error).__name__
        log.emit(Event(RunEnded(Conclusion.INCOMPLETE.value, reason, None, run.settings.budget_usd)))
        raise
    finally:
        log.close()
        _remove_forged(report, path)


def run_started(run: GateRun, prepared: Prepared, prompt_versions: tuple[str, ...] = (), llm: str = "") -> Event:
    """A run begins, or that of a variant.

    Args:
        run: its inputs.
        prepared: what it evaluates.
        prompt_versions: of the change.
        llm: where its answers come from.
    """
    subject, configuration = run.decided.change.subject, prepared.inputs.configuration
    started = RunStarted(
        gate=run.settings.name,
        mode=run.decided.decision.mode.value,
        commit=subject.head or _checked_out(run.decided.change.git),
        base=subject.base,
        repository=subject.repository,
        pull_request=subject.pull_request,
        workflow_run=f"{subject.run_id}.{subject.run_attempt}" if subject.run_id else "",
        llm=llm,
        suite=prepared.inputs.suite.digest,
        judge=configuration.judge.model,
        prompt_versions=prompt_versions,
        tenants="postgresql" if configuration.system.has_database else "none",
        scenarios=len(prepared.selection.scenarios),
    )
    return Event(started, Place(variant=run.variant or None))


def _checked_out(git: Git | None) -> str:
    """The commit of a work tree, with a mark where it has changes of its own; empty where git cannot tell."""
    try:
        commit = git.commit("HEAD") if git is not None else None
        return f"{commit}-dirty" if commit and not measured_commit(git) else commit or ""
    except InfrastructureError:
        return ""


def run_ended(report: Report) -> Event:
    """A run has its verdict."""
    verdict, spending = report.verdict, report.spending
    return Event(RunEnded(verdict.conclusion.value, verdict.reason, spending.spent, spending.cap))


def _open(run: GateRun, prepared: Prepared, mask: EventMask) -> EventFile | None:
    report = Path(run.settings.report_dir).absolute()
    configured = prepared.inputs.configuration.events.directory
    folders = [report] if configured is None else [run.repository / configured, report]
    for folder in folders:
        try:
            refuse_links(folder)
            _make(folder, ours=folder == report)
            return _open_in(folder, run, prepared, mask, only_run=folder == report)
        except (OSError, PublishError) as error:
            told = error.strerror if isinstance(error, OSError) and error.strerror else error
            instead = "" if folder == report else " They are written to the report directory instead."
            run.warnings.append(f"Events could not be written to {str(folder)!r}: {told}.{instead}")
    return None


def _remove_forged(report: Path, path: Path | None) -> None:
    """Remove the events that somebody else put into the report where the run's own are elsewhere, or nowhere."""
    if path != report / FILE and not report.is_symlink():
        with contextlib.suppress(OSError):  # the publication tells of what is in its way
            remove_entry(report / FILE)


def _make(folder: Path, *, ours: bool) -> None:
    if folder.is_dir():
        return
    folder.mkdir(parents=True)
    if ours:
        # The gate's own reports are no change to the repository that they lie in.
        (folder / ".gitignore").write_bytes(b"*\n")


def _open_in(folder: Path, run: GateRun, prepared: Prepared, mask: EventMask, *, only_run: bool) -> EventFile:
    """The file of a folder. In the report directory it is of one run; in another folder, of all."""
    path = folder / FILE
    descriptor = open_descriptor(path, anew=only_run and not run.resume)
    before = _before(path, run_started(run, prepared), mask) if run.resume else ()
    return EventFile(
        path,
        descriptor,
        before[0].run if before else str(uuid.uuid4()),
        before,
        mask=mask,
        clock=lambda: datetime.now(UTC),
        warn=run.warnings.append,
        only_run=only_run,
    )


def _before(path: Path, begins: Event, mask: EventMask) -> tuple[LoggedEvent, ...]:
    """What the run that is resumed has said already."""
    data = mask.event(begins).data
    return unfinished_run(read_events(path).events, data) if isinstance(data, RunStarted) else ()
