"""A sample of production: read, chosen, measured within a budget, and its scores written back."""

import contextlib
import json
import os
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ratiba_action.checks.conversation_events import result_events
from ratiba_action.config.configuration import Configuration
from ratiba_action.decide.deciding import Decided
from ratiba_action.decide.read import Change
from ratiba_action.errors import InfrastructureError, PublishError, UsageError
from ratiba_action.metrics.registry import is_judged
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.change import ChangedFiles, Mode, ModeDecision, Subject
from ratiba_action.model.event import Event, LoggedEvent, RunEnded, RunStarted
from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.model.plan import Selection
from ratiba_action.model.scenario import Suite
from ratiba_action.model.verdict import Spending
from ratiba_action.money.budget import Ledger
from ratiba_action.observability.event_file import FILE, EventFile, open_descriptor
from ratiba_action.observability.event_masking import EventMask
from ratiba_action.observability.langfuse_asking import Deadline, LangfuseAccess, LangfuseError
from ratiba_action.observability.langfuse_server import connected
from ratiba_action.observability.logged_ports import NoEvents
from ratiba_action.observability.traces.model import TraceScore
from ratiba_action.observability.traces.scores import scores_of
from ratiba_action.ports import EventLog, Progress
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.conversation import CapturedConversation
from ratiba_action.production.feedback import count_feedback
from ratiba_action.production.measuring import measure, sampling_configuration, with_metrics
from ratiba_action.production.sample_reading import Found, Sample, SampleRules, find
from ratiba_action.run.arms import scratch_folder
from ratiba_action.run.inputs import RunInputs, RunLog
from ratiba_action.run.provider_keys import require_key
from ratiba_action.settings.report_folder import refuse_links
from ratiba_action.settings.settings import Settings


def read_cursor(path: Path) -> datetime | None:
    """The moment, aware; None where no run has left one.

    Raises:
        UsageError: the file cannot be read or is not a cursor.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"The cursor {str(path)!r} cannot be read: {error.strerror}.", _REMEDY) from error
    try:
        moment = datetime.fromisoformat(json.loads(content)["until"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(f"{str(path)!r} is no cursor of `ratiba sample`.", _REMEDY) from error
    if moment.tzinfo is None:
        raise UsageError(f"The cursor {str(path)!r} has a time without an offset.", _REMEDY)
    return moment


def write_cursor(path: Path, moment: datetime) -> None:
    """Keep a moment; a reader sees the earlier one or this one, never a part.

    Raises:
        UsageError: it cannot be written.
    """
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(json.dumps({"schema": 1, "until": moment.isoformat()}) + "\n")
        Path(temporary).replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            Path(temporary or path.parent / ".none").unlink()
        raise UsageError(f"The cursor {str(path)!r} cannot be written: {error.strerror}.", _REMEDY) from error


_REMEDY = "Name another file with --cursor, or begin anew with --since."


SCHEMA = 1
_SHOWN = 20


def sample_json(looked: Sample, redactor: Redactor) -> dict[str, Any]:
    """The whole of it; texts are masked."""
    feedback, below = looked.feedback, [one for one in looked.scored if not one.passed]
    return {
        "schema": SCHEMA,
        "since": looked.since.isoformat(),
        "until": looked.until.isoformat(),
        "next_since": looked.next_since.isoformat(),
        "complete": looked.complete,
        "conversations": looked.traces,
        "chosen": dict(looked.chosen),
        "measured_before": looked.known,
        "measured": len(looked.scored),
        "below_a_threshold": [_below(one.trial.scenario.id, one, redactor) for one in below],
        "not_looked_at": [{"trace": name, "reason": redactor.text(why)} for name, why in looked.left],
        "blocked": [{"trace": name, "reason": redactor.text(why)} for name, why in looked.blocked.items()],
        "without_text": list(looked.empty),
        "without_metric": list(looked.unmeasured),
        "scores_not_written": redactor.text(looked.unsent),
        "feedback": {
            "positive": feedback.positive,
            "negative": feedback.negative,
            "other": feedback.other,
            "negative_share": feedback.negative_share,
        },
        "spent_usd": str(looked.spent),
        "budget_usd": str(looked.budget),
        "notes": [redactor.text(note) for note in looked.notes],
    }


def _below(trace: str, result: Any, redactor: Redactor) -> dict[str, Any]:
    scores = [one for one in result.scores if not one.passed]
    told = [
        {"metric": one.metric, "score": one.value, "threshold": one.threshold, "reason": redactor.text(one.reason)}
        for one in scores
    ]
    return {"trace": trace, "scores": told}


def sample_lines(looked: Sample, redactor: Redactor) -> Iterator[str]:
    """The same in lines, the longest lists cut."""
    told = sample_json(looked, redactor)
    chosen = ", ".join(f"{count} for {reason}" for reason, count in looked.chosen.items()) or "none"
    yield f"Production from {told['since']} to {told['until']}: {looked.traces} conversations began, chosen: {chosen}."
    share = looked.feedback.negative_share
    if share is not None:
        total = looked.feedback.positive + looked.feedback.negative
        yield f"Feedback: {looked.feedback.negative} of {total} negative ({share:.0%})."
    before = f", {looked.known} had been before" if looked.known else ""
    yield f"Measured: {told['measured']}{before}. Below a threshold: {len(told['below_a_threshold'])}."
    for one in told["below_a_threshold"][:_SHOWN]:
        scores = ", ".join(f"{each['metric']} {each['score']:.2f} < {each['threshold']:.2f}" for each in one["scores"])
        yield f"  {one['trace']}: {scores}"
    if looked.left:
        yield f"Not looked at: {len(looked.left)}; the next run begins with them."
        yield from (f"  {one['trace']}: {one['reason']}" for one in told["not_looked_at"][:_SHOWN])
    if looked.blocked:
        yield f"Blocked, since what has to be masked is not known: {len(looked.blocked)}."
        yield from dict.fromkeys(f"  {one['reason']}" for one in told["blocked"])
    if looked.empty:
        yield f"Without any text that can be read: {len(looked.empty)}."
    if looked.unmeasured:
        yield f"Without a metric that could measure them: {len(looked.unmeasured)}."
    if looked.unsent:
        yield f"Scores were not all written back: {told['scores_not_written']}. The next run writes them."
    yield f"Spent {looked.spent} of {looked.budget} US dollars."
    yield from (f"Note: {note}" for note in told["notes"])


def sample_scores(result: ScenarioResult, started: datetime, mask: EventMask) -> Iterator[TraceScore]:
    """Scores to write back, masked.

    Args:
        result: of a scenario that has its trace's id.
        started: when the conversation began: a server overwrites by id and day, and this does not move.
        mask: of the run.
    """
    trace = result.trial.scenario.id
    events = [
        LoggedEvent(trace, number, started, mask.event(event)) for number, event in enumerate(result_events(result), 1)
    ]
    return scores_of(trace, events)


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
        require_key(replace(run.settings, llm=Llm.LIVE), run.environment)
    redactors, mask = _redactors(run, conversations)
    ledger = Ledger(run.settings.budget_usd)
    with _event_log(run, mask) as events:
        events.emit(Event(_started(run, len(conversations))))
        inputs, log = _inputs(run, conversations, judged=judged), RunLog(run.progress, events, run.warnings)
        with scratch_folder() as scratch:
            results, interruptions = measure(
                conversations, inputs, ledger=ledger, log=log, scratch=scratch, redactors=redactors
            )
        looked = _sample(run, found, unmeasured, results, ledger.snapshot())
        looked = replace(looked, unsent=_write_back(run, looked, mask))
        reason = _conclusion(looked)
        events.emit(Event(RunEnded("passed" if looked.complete else "incomplete", reason, looked.spent, looked.budget)))
    return replace(looked, notes=(*run.warnings, *interruptions))


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


def _inputs(run: SampleRun, conversations: Sequence[CapturedConversation], *, judged: bool) -> RunInputs:
    """What is measured: no change, and nothing that a base would decide."""
    suite = Suite(tuple(one.scenario for one in conversations), "")
    decision = ModeDecision(Mode.ADVISORY, ())
    return RunInputs(
        settings=replace(run.settings, llm=Llm.LIVE if judged else Llm.REPLAY),
        decided=Decided(decision, Change(ChangedFiles(()), Subject())),
        repository=run.repository,
        environment=run.environment,
        seconds=run.seconds,
        configuration=sampling_configuration(run.configuration),
        suite=suite,
        selection=Selection(decision, suite.scenarios),
    )


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
