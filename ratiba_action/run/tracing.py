"""Sends a run's conversations to Langfuse, out of the events that it has written down."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from ratiba_action.errors import UsageError
from ratiba_action.model.codec import encode
from ratiba_action.model.delivery import TraceDelivery
from ratiba_action.model.note import in_order
from ratiba_action.model.verdict import Conclusion, Report
from ratiba_action.observability.event_reader import read_events
from ratiba_action.observability.langfuse_access import LangfuseAccess
from ratiba_action.observability.langfuse_delivery import deliver
from ratiba_action.observability.traces.conversations import traced_runs
from ratiba_action.observability.traces.words import missing_note
from ratiba_action.ports import EventLog
from ratiba_action.reporting.wording import plural
from ratiba_action.settings.run_deadline import LANGFUSE_SECONDS, langfuse_seconds
from ratiba_action.settings.settings import Settings
from ratiba_action.util.printable import printable
from ratiba_action.util.proxy import Proxy, proxy_for

_INCOMPLETE_SECONDS = 3.0
"""A run that was cut off waits no longer: a runner kills it 10 seconds after it was told to end."""

Tracer = Callable[[Settings, Mapping[str, str], EventLog], Callable[[Report], Report] | None]
"""Makes what sends a run and says in its report what came of it; see ``tracer_of``."""

_RESEND_SECONDS = 120.0
_INCOMPLETE = 3


def langfuse_access(settings: Settings, environment: Mapping[str, str]) -> LangfuseAccess | None:
    """Where conversations are sent; None without keys."""
    if not (settings.langfuse_host and settings.langfuse_public_key and settings.langfuse_secret_key):
        return None
    return LangfuseAccess(
        settings.langfuse_host,
        settings.langfuse_public_key,
        settings.langfuse_secret_key,
        langfuse_seconds(environment),
        _proxy_with_user(settings.langfuse_host, environment),
    )


def _proxy_with_user(host: str, environment: Mapping[str, str]) -> Proxy | None:
    """A proxy whose variable was taken out of the process's own, since it holds a password."""
    try:
        proxy = proxy_for(host, environment)
    except ValueError:
        return None  # not one that could be used; what speaks with GitHub and the providers says so
    return proxy if proxy is not None and proxy.credentials else None


def required_access(settings: Settings, environment: Mapping[str, str], purpose: str) -> LangfuseAccess:
    """The same, for what cannot do without.

    Raises:
        UsageError: there are no keys.
    """
    access = langfuse_access(settings, environment)
    if access is None:
        names = "RATIBA_LANGFUSE_HOST, RATIBA_LANGFUSE_PUBLIC_KEY and RATIBA_LANGFUSE_SECRET_KEY"
        raise UsageError(f"There are no keys of Langfuse, so {purpose}.", f"Set {names}.")
    return access


def tracer_of(
    settings: Settings, environment: Mapping[str, str], events: EventLog
) -> Callable[[Report], Report] | None:
    """What sends a run and says in its report what came of it; None without keys, or without events.

    Args:
        settings: the run's own.
        environment: the process's own.
        events: log of the run, complete.
    """
    access, path = langfuse_access(settings, environment), events.path
    if access is None or path is None:
        return None
    shown = f"{settings.report_dir.rstrip('/')}/{path.name}" if path.parent.name == _name(settings) else str(path)
    return lambda report: _traced(report, access, path, events.run, shown)


def _name(settings: Settings) -> str:
    return Path(settings.report_dir).absolute().name


def _traced(report: Report, access: LangfuseAccess, path: Path, run: str, shown: str) -> Report:
    delivery = deliver(limited(access, report), traced_runs(one for one in read_events(path).events if one.run == run))
    note = missing_note(delivery, shown)
    return replace(report, traces=delivery, notes=in_order((*report.notes, note)) if note else report.notes)


def limited(access: LangfuseAccess, report: Report) -> LangfuseAccess:
    """The access with no more time than the end of a run leaves."""
    if report.verdict.conclusion is not Conclusion.INCOMPLETE:
        return access
    return replace(access, seconds=min(access.seconds, _INCOMPLETE_SECONDS))


def resend(settings: Settings, environment: Mapping[str, str], path: Path, *, as_json: bool) -> int:
    """Send every run of a log, but for what is there already, and print what came of it.

    Args:
        settings: with the keys.
        environment: the process's own.
        path: an ``events.jsonl``.
        as_json: print JSON.

    Returns:
        The exit code: 0 when everything is there.

    Raises:
        UsageError: there are no keys.
        ConfigurationError: the file cannot be read.
    """
    access = required_access(settings, environment, "nothing can be sent")
    if LANGFUSE_SECONDS not in environment:
        access = replace(access, seconds=_RESEND_SECONDS)
    read = read_events(path)
    for line in read.unreadable:
        sys.stderr.write(f"warning: {printable(line)}\n")
    delivery = deliver(access, traced_runs(read.events))
    if as_json:
        sys.stdout.write(json.dumps(encode(delivery), indent=2) + "\n")
    else:
        sys.stdout.write(f"{printable(_told(delivery, path))}\n")
    return 0 if delivery.complete else _INCOMPLETE


def _told(delivery: TraceDelivery, path: Path) -> str:
    if delivery.complete:
        counts = f"{plural(delivery.spans, 'span')} and {plural(delivery.scores, 'score')}"
        return f"{delivery.host} has everything: {plural(delivery.traces, 'conversation')} with {counts}."
    return missing_note(delivery, str(path))
