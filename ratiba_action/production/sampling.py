"""Looks at a sample of production: reads, chooses, measures within a budget, and writes the scores back."""

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from ratiba_action.config.configuration import Configuration
from ratiba_action.errors import InfrastructureError, PublishError
from ratiba_action.metrics.registry import is_judged
from ratiba_action.model.event import Event, RunEnded, RunStarted
from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.model.verdict import Spending
from ratiba_action.money.budget import Ledger
from ratiba_action.observability.event_file import FILE, EventFile, open_descriptor
from ratiba_action.observability.event_masking import EventMask
from ratiba_action.observability.langfuse_access import LangfuseAccess
from ratiba_action.observability.langfuse_asking import Deadline, LangfuseError
from ratiba_action.observability.langfuse_server import connected
from ratiba_action.observability.no_events import NoEvents
from ratiba_action.observability.traces.model import TraceScore
from ratiba_action.ports import EventLog, Progress
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.captured import CapturedConversation
from ratiba_action.production.feedback_counts import count_feedback
from ratiba_action.production.measuring import (
    Measured,
    measure,
    sampling_configuration,
    with_metrics,
)
from ratiba_action.production.sample import Sample
from ratiba_action.production.sample_reading import Found, SampleRules, find
from ratiba_action.production.sample_scores import sample_scores
from ratiba_action.run.equipping import DEFAULT_CONCURRENCY, scratch_folder
from ratiba_action.run.paying import cache_folder, payment_without_journal, require_key
from ratiba_action.run.workshop import Workshop
from ratiba_action.settings.report_folder import refuse_links
from ratiba_action.settings.settings import Settings

MODE = "sample"
_SCORES = 100


@dataclass(frozen=True, slots=True)
class SampleRun:
    """One look at production.

    Args:
        seconds: that measuring may take; None for any number.
    """

    settings: Settings
    configuration: Configuration
    repository: Path
    environment: MutableMapping[str, str]
    access: LangfuseAccess
    rules: SampleRules
    progress: Progress
    seconds: float | None = None
    warnings: list[str] = field(default_factory=list)


def sample(run: SampleRun) -> Sample:
    """Look at production once.

    What is measured is written to ``events.jsonl`` as it happens, and its scores to the traces that it is of, with
    ids that another look would give again.

    Raises:
        InfrastructureError: Langfuse could not be read, or there is no key for the judges.
    """
    try:
        found = find(run.access, run.rules)
    except LangfuseError as error:
        raise InfrastructureError(
            f"Production could not be read from {run.access.host}: {error}.", "Run it again; nothing was measured."
        ) from error
    conversations, unmeasured = with_metrics(found.conversations, run.configuration)
    judged = any(is_judged(each.metric) for one in conversations for each in one.scenario.assertions)
    if judged:
        require_key(replace(run.settings, llm="live"), run.environment)
    redactors, mask = _redactors(run, conversations)
    ledger = Ledger(run.settings.budget_usd)
    with _event_log(run, mask) as events:
        events.emit(Event(_started(run, len(conversations))))
        measured = _measured(run, conversations, ledger, events, redactors, judged=judged)
        looked = _sample(run, found, unmeasured, measured.results, ledger.snapshot())
        looked = replace(looked, unsent=_write_back(run, looked, mask))
        reason = _conclusion(looked)
        events.emit(Event(RunEnded("passed" if looked.complete else "incomplete", reason, looked.spent, looked.budget)))
    return replace(looked, notes=(*run.warnings, *measured.interruptions))


def _redactors(
    run: SampleRun, conversations: Sequence[CapturedConversation]
) -> tuple[Mapping[str, Redactor], EventMask]:
    plain = Redactor(run.settings.secrets)
    each = {one.scenario.id: plain.knowing(one.names) for one in conversations}
    return each, EventMask(each, plain)


def _started(run: SampleRun, count: int) -> RunStarted:
    return RunStarted(
        gate=run.settings.name, mode=MODE, judge=run.configuration.judge.model, llm="live", scenarios=count
    )


def _measured(
    run: SampleRun,
    conversations: Sequence[CapturedConversation],
    ledger: Ledger,
    events: EventLog,
    redactors: Mapping[str, Redactor],
    *,
    judged: bool,
) -> Measured:
    configuration = sampling_configuration(run.configuration)
    with scratch_folder() as scratch:
        workshop = Workshop(
            environment=run.environment,
            git=None,
            scratch=scratch,
            cache=cache_folder(run.environment),
            database_url="",
            configuration=configuration,
            ledger=ledger,
            progress=run.progress,
            warn=run.warnings.append,
            concurrency=configuration.suite.concurrency or DEFAULT_CONCURRENCY,
            deadline=None if run.seconds is None else time.monotonic() + run.seconds,
            report_dir=run.settings.report_dir,
            llm="live" if judged else "replay",
            payment=payment_without_journal(run.settings, configuration.models) if judged else None,
            events=events,
        )
        return measure(conversations, workshop, run.repository, redactors)


def _sample(
    run: SampleRun, found: Found, unmeasured: tuple[str, ...], results: Sequence[ScenarioResult], spending: Spending
) -> Sample:
    reasons = [one.why.value for one in found.chosen]
    return Sample(
        since=run.rules.since,
        until=run.rules.until,
        traces=found.traces,
        chosen={reason: reasons.count(reason) for reason in dict.fromkeys(reasons)},
        known=len(found.known),
        results=tuple(results),
        empty=found.empty,
        blocked=found.blocked,
        unmeasured=unmeasured,
        unread=dict.fromkeys(found.unread, f"Langfuse: {found.problem}"),
        begun={**found.unread, **{one.scenario.id: one.scenario.now for one in found.conversations}},
        feedback=count_feedback(found.feedback),
        spent=spending.spent,
        budget=spending.cap,
    )


def _write_back(run: SampleRun, looked: Sample, mask: EventMask) -> str:
    """Send the scores; says what went wrong, empty when nothing did."""
    scores = [
        one for result in looked.results for one in sample_scores(result, looked.begun[result.trial.scenario.id], mask)
    ]
    problems: list[str] = []
    try:
        if scores:
            with connected(run.access, Deadline.after(run.access.seconds)) as server:
                _send(server.send_scores, scores, problems.append)
    except LangfuseError as error:
        problems.append(str(error))
    return "; ".join(dict.fromkeys(problems))


def _send(
    send: Callable[[Sequence[TraceScore]], tuple[int, str]], scores: Sequence[TraceScore], note: Callable[[str], None]
) -> None:
    for start in range(0, len(scores), _SCORES):
        refused, why = send(scores[start : start + _SCORES])
        if refused:
            note(f"it refused {refused} scores" + (f": {why}" if why else ""))


def _conclusion(looked: Sample) -> str:
    failed = sum(not one.passed for one in looked.scored)
    return f"{len(looked.scored)} measured, {failed} of them below a threshold, {len(looked.left)} not looked at"


@contextlib.contextmanager
def _event_log(run: SampleRun, mask: EventMask) -> Iterator[EventLog]:
    """The log of the run in the report directory; what cannot be written is a warning."""
    folder = Path(run.settings.report_dir).absolute()
    try:
        refuse_links(folder)
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = open_descriptor(folder / FILE, anew=True)
    except (OSError, PublishError) as error:
        run.warnings.append(f"Events could not be written to {str(folder)!r}: {error}.")
        yield NoEvents()
        return
    log = EventFile(
        folder / FILE,
        descriptor,
        str(uuid.uuid4()),
        (),
        mask=mask,
        clock=lambda: datetime.now(UTC),
        warn=run.warnings.append,
    )
    try:
        yield log
    finally:
        log.close()
