"""Where a run of the gate writes its events, and the events of the run as a whole."""

import contextlib
import json
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ratiba_action.errors import PublishError, UsageError
from ratiba_action.model.codec import encode
from ratiba_action.model.event import Event, LoggedEvent, Place, RunEnded, RunStarted
from ratiba_action.model.note import in_order
from ratiba_action.model.verdict import Conclusion, Report, TraceDelivery
from ratiba_action.observability.event_file import FILE, EventFile, open_descriptor
from ratiba_action.observability.event_lines import read_events, unfinished_run
from ratiba_action.observability.event_masking import EventMask, mask_for
from ratiba_action.observability.logged_ports import NoEvents
from ratiba_action.ports import EventLog
from ratiba_action.privacy.masking import Redactor
from ratiba_action.run.earlier_runs import measured_commit
from ratiba_action.run.inputs import RunInputs
from ratiba_action.settings.report_folder import make_report_folder, refuse_links, remove_entry
from ratiba_action.settings.run_deadline import LANGFUSE_SECONDS, OTLP_SECONDS, sending_seconds
from ratiba_action.settings.settings import Settings
from ratiba_action.util.git import Git
from ratiba_action.util.proxy import Proxy, proxy_for
from ratiba_action.util.text import plural, printable

if TYPE_CHECKING:
    from ratiba_action.observability.langfuse_asking import LangfuseAccess
    from ratiba_action.observability.otlp import OtlpAccess, OtlpDelivery
    from ratiba_action.observability.traces.model import TracedRun

_INCOMPLETE_SECONDS = 3.0
"""A run that was cut off waits no longer: a runner kills it 10 seconds after the signal to end."""

Tracer = Callable[[Settings, Mapping[str, str], EventLog], Callable[[Report], Report] | None]
"""Makes what sends a run and says in its report what came of it; see ``tracer_of``."""

_RESEND_SECONDS = 120.0
_INCOMPLETE = 3


def langfuse_access(settings: Settings, environment: Mapping[str, str]) -> "LangfuseAccess | None":
    """Where conversations are sent; None without keys."""
    from ratiba_action.observability.langfuse_asking import LangfuseAccess

    if not (settings.langfuse_host and settings.langfuse_public_key and settings.langfuse_secret_key):
        return None
    return LangfuseAccess(
        settings.langfuse_host,
        settings.langfuse_public_key,
        settings.langfuse_secret_key,
        sending_seconds(LANGFUSE_SECONDS, environment),
        _proxy_with_user(settings.langfuse_host, environment),
    )


def _proxy_with_user(host: str, environment: Mapping[str, str]) -> Proxy | None:
    """A proxy whose variable was taken out of the process's own, since it holds a password."""
    try:
        proxy = proxy_for(host, environment)
    except ValueError:
        return None  # not one that could be used; what speaks with GitHub and the providers says so
    return proxy if proxy is not None and proxy.credentials else None


def otlp_access(settings: Settings, environment: Mapping[str, str]) -> "OtlpAccess | None":
    """The collector that receives runs; None without one."""
    from ratiba_action.observability.otlp import OtlpAccess

    if not settings.otlp_endpoint:
        return None
    seconds = sending_seconds(OTLP_SECONDS, environment)
    return OtlpAccess(settings.otlp_endpoint, settings.otlp_headers, seconds, environment)


def required_access(settings: Settings, environment: Mapping[str, str], purpose: str) -> "LangfuseAccess":
    """The same, for what cannot do without.

    Raises:
        UsageError: there are no keys.
    """
    access = langfuse_access(settings, environment)
    if access is None:
        names = "RATIBA_LANGFUSE_HOST, RATIBA_LANGFUSE_PUBLIC_KEY and RATIBA_LANGFUSE_SECRET_KEY"
        raise UsageError(f"The keys of Langfuse are not set, so {purpose}.", f"Set {names}.")
    return access


def tracer_of(
    settings: Settings, environment: Mapping[str, str], events: EventLog
) -> Callable[[Report], Report] | None:
    """What sends a run to each server and says in its report what came of it; None without any, or without events.

    Args:
        events: log of the run, complete.
    """
    access, collector, path = langfuse_access(settings, environment), otlp_access(settings, environment), events.path
    if (access is None and collector is None) or path is None:
        return None
    shown = f"{settings.report_dir.rstrip('/')}/{path.name}" if path.parent.name == _name(settings) else str(path)
    return partial(_traced, path=path, access=access, collector=collector, run=events.run, shown=shown)


def _name(settings: Settings) -> str:
    return Path(settings.report_dir).absolute().name


def _traced(
    report: Report, path: Path, *, access: "LangfuseAccess | None", collector: "OtlpAccess | None", run: str, shown: str
) -> Report:
    """Both servers are sent to at once, so that neither takes the time of the other."""
    from ratiba_action.observability.langfuse_delivery import deliver
    from ratiba_action.observability.otlp import not_received, send
    from ratiba_action.observability.traces.conversations import traced_runs
    from ratiba_action.observability.traces.metadata import missing_note

    runs = traced_runs(event for event in read_events(path).events if event.run == run)
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(send, limited(collector, report), runs) if collector is not None else None
        delivery = deliver(limited(access, report), runs) if access is not None else None
        received = sent.result() if sent is not None else None
    notes = [missing_note(delivery, shown)] if delivery is not None else []
    notes += [not_received(received, shown)] if received is not None else []
    return replace(report, traces=delivery, notes=in_order((*report.notes, *filter(None, notes))))


Access = TypeVar("Access", "LangfuseAccess", "OtlpAccess")


def limited(access: Access, report: Report) -> Access:
    """The access with no more time than the end of a run leaves."""
    if report.verdict.conclusion is not Conclusion.INCOMPLETE:
        return access
    return replace(access, seconds=min(access.seconds, _INCOMPLETE_SECONDS))


def resend_to_collector(settings: Settings, environment: Mapping[str, str], path: Path, *, as_json: bool) -> int:
    """Send every run of a log to the collector, with the ids that it had before, and print what came of it.

    Args:
        settings: with the endpoint.
        path: an ``events.jsonl``.

    Returns:
        The exit code: 0 when everything was taken.

    Raises:
        UsageError: there is no endpoint.
        ConfigurationError: the file cannot be read.
    """
    from ratiba_action.observability.otlp import not_received, send

    access = otlp_access(settings, environment)
    if access is None:
        raise UsageError("There is no collector, so nothing can be sent.", "Set RATIBA_OTLP_ENDPOINT.")
    if OTLP_SECONDS not in environment:
        access = replace(access, seconds=_RESEND_SECONDS)
    delivery = send(access, _all_runs(path))
    counts = f"{plural(delivery.spans, 'span')} and {plural(delivery.events, 'event')}"
    taken = f"{delivery.endpoint} has taken everything: {counts}."
    redactor = Redactor(settings.secrets)
    _print_delivery(delivery, redactor.text(not_received(delivery, str(path)) or taken), as_json=as_json)
    return 0 if delivery.complete else _INCOMPLETE


def _all_runs(path: Path) -> "tuple[TracedRun, ...]":
    from ratiba_action.observability.traces.conversations import traced_runs

    read = read_events(path)
    for line in read.unreadable:
        sys.stderr.write(f"warning: {printable(line)}\n")
    return traced_runs(read.events)


def _print_delivery(delivery: "TraceDelivery | OtlpDelivery", message: str, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(encode(delivery), indent=2) + "\n")
    else:
        sys.stdout.write(f"{printable(message)}\n")


def resend(settings: Settings, environment: Mapping[str, str], path: Path, *, as_json: bool) -> int:
    """Send every run of a log, but for what is there already, and print what came of it.

    Args:
        settings: with the keys.
        path: an ``events.jsonl``.

    Returns:
        The exit code: 0 when everything is known to be there.

    Raises:
        UsageError: there are no keys.
        ConfigurationError: the file cannot be read.
    """
    from ratiba_action.observability.langfuse_delivery import deliver

    access = required_access(settings, environment, "nothing can be sent")
    if LANGFUSE_SECONDS not in environment:
        access = replace(access, seconds=_RESEND_SECONDS)
    delivery = deliver(access, _all_runs(path))
    _print_delivery(delivery, _delivered(delivery, path), as_json=as_json)
    return 0 if delivery.complete and not delivery.unverified else _INCOMPLETE


def _delivered(delivery: TraceDelivery, path: Path) -> str:
    from ratiba_action.observability.traces.metadata import missing_note

    if delivery.complete and not delivery.unverified:
        counts = f"{plural(delivery.spans, 'span')} and {plural(delivery.scores, 'score')}"
        return f"{delivery.host} has everything: {plural(delivery.traces, 'scenario')} with {counts}."
    return missing_note(delivery, str(path))


@contextmanager
def open_event_log(run: RunInputs, redactor: Redactor, warn: Callable[[str], None]) -> Iterator[EventLog]:
    """The log of a run: in the folder that the configuration names, or else in the report directory.

    What cannot be written is a warning of the run. Of a run that an error ends, the end is written too.

    Args:
        redactor: of the run; nothing is written that did not pass it.
        warn: called with what cannot be written.
    """
    mask = mask_for(redactor, run.customers)
    report = Path(run.settings.report_dir).absolute()
    log = _open(run, mask, warn)
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


def run_started(run: RunInputs, commit: str, prompt_versions: tuple[str, ...] = (), llm: str = "") -> Event:
    """A run begins, or that of a variant.

    Args:
        commit: ``measured_commit`` of the run.
        llm: where its answers come from.
    """
    subject, configuration = run.decided.change.subject, run.configuration
    started = RunStarted(
        gate=run.settings.name,
        mode=run.decided.decision.mode.value,
        commit=subject.head or commit or _edited(run.decided.change.git),
        base=subject.base,
        repository=subject.repository,
        pull_request=subject.pull_request,
        workflow_run=f"{subject.run_id}.{subject.run_attempt}" if subject.run_id else "",
        llm=llm,
        suite=run.suite.digest,
        judge=configuration.judge.model,
        prompt_versions=prompt_versions,
        tenants="postgresql" if configuration.system.has_database else "none",
        scenarios=len(run.selection.scenarios),
    )
    return Event(started, Place(variant=run.variant or None))


def _edited(git: Git | None) -> str:
    """The commit of a work tree that has changes of its own, with a mark; empty where git cannot tell."""
    commit = git.commit("HEAD") if git is not None else None
    return f"{commit}-dirty" if commit else ""


def run_ended(report: Report) -> Event:
    """A run has its verdict."""
    verdict, spending, decline = report.verdict, report.spending, report.verdict.decline
    return Event(
        RunEnded(
            verdict.conclusion.value,
            verdict.reason,
            spending.spent,
            spending.cap,
            anchor="" if decline is None else decline.commit,
            slow_decline=decline.difference if decline is not None and decline.confirmed else None,
        )
    )


def _open(run: RunInputs, mask: EventMask, warn: Callable[[str], None]) -> EventFile | None:
    report = Path(run.settings.report_dir).absolute()
    configured = run.configuration.events.directory
    folders = [report] if configured is None else [run.repository / configured, report]
    for folder in folders:
        try:
            refuse_links(folder)
            _make(folder, ours=folder == report)
            return _open_in(folder, run, mask, warn, only_run=folder == report)
        except (OSError, PublishError) as error:
            cause = error.strerror if isinstance(error, OSError) and error.strerror else str(error).rstrip(".")
            instead = "" if folder == report else " They are written to the report directory instead."
            warn(f"Events could not be written to {str(folder)!r}: {cause}.{instead}")
    return None


def _remove_forged(report: Path, path: Path | None) -> None:
    """Remove the events that somebody else put into the report where the run's own are elsewhere, or nowhere."""
    if path != report / FILE and not report.is_symlink():
        with contextlib.suppress(OSError):  # the publication reports what is in its way
            remove_entry(report / FILE)


def _make(folder: Path, *, ours: bool) -> None:
    if ours:
        make_report_folder(folder)
    else:
        folder.mkdir(parents=True, exist_ok=True)


def _open_in(
    folder: Path, run: RunInputs, mask: EventMask, warn: Callable[[str], None], *, only_run: bool
) -> EventFile:
    """The file of a folder. In the report directory it is of one run; in another folder, of all."""
    path = folder / FILE
    descriptor = open_descriptor(path, anew=only_run and not run.resume)
    before = _before(path, run_started(run, measured_commit(run.decided.change.git)), mask) if run.resume else ()
    return EventFile(
        path,
        descriptor,
        before[0].run if before else str(uuid.uuid4()),
        before,
        mask=mask,
        clock=lambda: datetime.now(UTC),
        warn=warn,
        only_run=only_run,
    )


def _before(path: Path, begins: Event, mask: EventMask) -> tuple[LoggedEvent, ...]:
    """What the run that is resumed has said already."""
    data = mask.event(begins).data
    return unfinished_run(read_events(path).events, data) if isinstance(data, RunStarted) else ()
