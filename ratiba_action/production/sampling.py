"""Samples production conversations: selects them, measures them within a budget and writes scores back."""

import contextlib
import json
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
from ratiba_action.metrics.judging.judge_independence import family_notes
from ratiba_action.metrics.registry import is_judged
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.change import ChangedFiles, Mode, ModeDecision, Subject
from ratiba_action.model.event import Event, LoggedEvent, RunEnded, RunStarted
from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.model.plan import Selection
from ratiba_action.model.scenario import Suite
from ratiba_action.model.verdict import Spending
from ratiba_action.money.budget import Ledger
from ratiba_action.money.pricing import base_model
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
from ratiba_action.production.sample_files import find_in_files
from ratiba_action.production.sample_reading import Sample, SampleRules, SelectedConversations, find
from ratiba_action.run.arms import scratch_folder
from ratiba_action.run.earlier_history import history_of
from ratiba_action.run.inputs import RunInputs, RunLog
from ratiba_action.run.provider_keys import keys_line, require_key
from ratiba_action.settings.report_folder import make_report_folder, refuse_links
from ratiba_action.settings.settings import Settings
from ratiba_action.util.whole_files import write_whole_files


def read_cursor(path: Path) -> datetime | None:
    """The time to start from; None if no run has saved one.

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
        raise UsageError(f"{str(path)!r} is not a cursor file of `ratiba sample`.", _REMEDY) from error
    if moment.tzinfo is None:
        raise UsageError(f"The cursor {str(path)!r} has a time without time zone.", _REMEDY)
    return moment


def write_cursor(path: Path, moment: datetime) -> None:
    """Save the time to start from next, atomically.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        write_whole_files({path: (json.dumps({"schema": 1, "until": moment.isoformat()}) + "\n").encode()})
    except OSError as error:
        raise UsageError(f"The cursor {str(path)!r} cannot be written: {error.strerror}.", _REMEDY) from error


_REMEDY = "Use another file with --cursor, or start over with --since."


SCHEMA = 1
_SHOWN = 20


def sample_json(sampled: Sample, redactor: Redactor) -> dict[str, Any]:
    """The sample as JSON values, with texts masked."""
    feedback, below = sampled.feedback, [result for result in sampled.scored if not result.passed]
    return {
        "schema": SCHEMA,
        "since": sampled.since.isoformat(),
        "until": sampled.until.isoformat(),
        "next_since": sampled.next_since.isoformat(),
        "complete": sampled.complete,
        "conversations": sampled.traces,
        "chosen": dict(sampled.chosen),
        "measured_before": sampled.known,
        "measured": len(sampled.scored),
        "below_a_threshold": [_below(result.trial.scenario.id, result, redactor) for result in below],
        "not_looked_at": [{"trace": name, "reason": redactor.text(why)} for name, why in sampled.left],
        "blocked": [{"trace": name, "reason": redactor.text(why)} for name, why in sampled.blocked.items()],
        "flagged": [{"trace": name, "reasons": list(why)} for name, why in sampled.flagged.items()],
        "without_text": list(sampled.empty),
        "without_metric": list(sampled.unmeasured),
        "scores_not_written": redactor.text(sampled.unsent),
        "feedback": {
            "positive": feedback.positive,
            "negative": feedback.negative,
            "other": feedback.other,
            "negative_share": feedback.negative_share,
        },
        "spent_usd": str(sampled.spent),
        "budget_usd": str(sampled.budget),
        "notes": [redactor.text(note) for note in sampled.notes],
    }


def _below(trace: str, result: Any, redactor: Redactor) -> dict[str, Any]:
    scores = [score for score in result.scores if not score.passed]
    scores_below = [
        {
            "metric": score.metric,
            "score": score.value,
            "threshold": score.threshold,
            "reason": redactor.text(score.reason),
        }
        for score in scores
    ]
    return {"trace": trace, "scores": scores_below}


def sample_lines(sampled: Sample, redactor: Redactor) -> Iterator[str]:
    """The sample as lines of text, with long lists shortened."""
    values = sample_json(sampled, redactor)
    chosen = ", ".join(f"{count} for {reason}" for reason, count in sampled.chosen.items()) or "none"
    count = f"{sampled.traces} conversations began"
    yield f"Production from {values['since']} to {values['until']}: {count}, selected: {chosen}."
    share = sampled.feedback.negative_share
    if share is not None:
        total = sampled.feedback.positive + sampled.feedback.negative
        yield f"Feedback: {sampled.feedback.negative} of {total} negative ({share:.0%})."
    before = f", {sampled.known} were measured before" if sampled.known else ""
    yield f"Measured: {values['measured']}{before}. Below a threshold: {len(values['below_a_threshold'])}."
    for entry in values["below_a_threshold"][:_SHOWN]:
        scores = ", ".join(
            f"{score['metric']} {score['score']:.2f} < {score['threshold']:.2f}" for score in entry["scores"]
        )
        yield f"  {entry['trace']}: {scores}"
    if sampled.flagged:
        yield f"Slow or of low confidence: {len(sampled.flagged)}."
        yield from (f"  {entry['trace']}: {', '.join(entry['reasons'])}" for entry in values["flagged"][:_SHOWN])
    if sampled.left:
        yield f"Not measured: {len(sampled.left)}; the next run tries them again."
        yield from (f"  {entry['trace']}: {entry['reason']}" for entry in values["not_looked_at"][:_SHOWN])
    if sampled.blocked:
        yield f"Blocked, because it is unknown what must be masked: {len(sampled.blocked)}."
        yield from dict.fromkeys(f"  {entry['reason']}" for entry in values["blocked"])
    if sampled.empty:
        yield f"Without readable turns: {len(sampled.empty)}."
    if sampled.unmeasured:
        yield f"Without an applicable metric: {len(sampled.unmeasured)}."
    if sampled.unsent:
        yield f"Some scores were not written back: {values['scores_not_written']}. The next run writes them."
    yield f"Spent {sampled.spent} of {sampled.budget} US dollars."
    yield from (f"Note: {note}" for note in values["notes"])


def sample_scores(result: ScenarioResult, started: datetime, mask: EventMask, judge: str) -> Iterator[TraceScore]:
    """Scores to write back, masked.

    Args:
        result: of a scenario whose id is the trace's.
        started: start of the conversation: the server overwrites scores by id and day, so the day must not change.
        judge: model of the judge: scores of different ones are different series for `ratiba drift`.
    """
    trace = result.trial.scenario.id
    events = [
        LoggedEvent(trace, number, started, mask.event(event)) for number, event in enumerate(result_events(result), 1)
    ]
    for score in scores_of(trace, events):
        judged = {"judge": judge} if score.metadata.get("judged") == "true" else {}
        yield replace(score, metadata={**score.metadata, **judged, "mode": MODE}) if score.metadata else score


MODE = "sample"
_SCORES = 100


@dataclass(frozen=True, slots=True)
class SampleRun:
    """One sampling run.

    Args:
        access: to Langfuse; None to read files, whose scores are written to ``events.jsonl`` only.
        seconds: time limit for measuring; None for no limit.
    """

    settings: Settings
    configuration: Configuration
    repository: Path
    environment: MutableMapping[str, str]
    access: LangfuseAccess | None
    rules: SampleRules
    progress: Progress
    seconds: float | None = None
    files: tuple[Path, ...] = ()
    warnings: list[str] = field(default_factory=list)


def sample(run: SampleRun) -> Sample:
    """Sample production once.

    Results are written to ``events.jsonl`` as they happen, and scores to their traces under stable ids.

    Raises:
        InfrastructureError: Langfuse could not be read, or there is no key for the judges.
    """
    found = _find(run)
    conversations, unmeasured = with_metrics(found.conversations, run.configuration)
    judged = any(
        is_judged(assertion.metric, assertion.parameters)
        for conversation in conversations
        for assertion in conversation.scenario.assertions
    )
    if judged:
        live = replace(run.settings, llm=Llm.LIVE, shell_keys={})
        require_key(live, run.configuration, run.environment)
        run.warnings.append(keys_line(live, run.configuration, run.environment))
        run.warnings.extend(_notes_on_judges(run.configuration, conversations))
    redactors, mask = _redactors(run, conversations)
    ledger = Ledger(run.settings.budget_usd)
    with _event_log(run, mask) as events:
        events.emit(Event(_started(run, len(conversations))))
        inputs, log = _inputs(run, conversations, judged=judged), RunLog(run.progress, events, run.warnings)
        with scratch_folder() as scratch:
            results, interruptions = measure(
                conversations, inputs, ledger=ledger, log=log, scratch=scratch, redactors=redactors
            )
        sampled = _sample(run, found, unmeasured, results, ledger.snapshot())
        sampled = replace(sampled, unsent=_write_back(run, sampled, mask))
        reason = _conclusion(sampled)
        events.emit(
            Event(RunEnded("passed" if sampled.complete else "incomplete", reason, sampled.spent, sampled.budget))
        )
    return replace(sampled, notes=(*run.warnings, *interruptions))


def _find(run: SampleRun) -> SelectedConversations:
    if run.access is None:
        return find_in_files(run.files, run.rules)
    try:
        return find(run.access, run.rules)
    except LangfuseError as error:
        raise InfrastructureError(
            f"Production could not be read from {run.access.host}: {error}.", "Run it again; nothing was measured."
        ) from error


def _notes_on_judges(configuration: Configuration, conversations: Sequence[CapturedConversation]) -> tuple[str, ...]:
    """What to know about judges of the family of a model that they judge; a conversation of the judge is an error."""
    judge = sampling_configuration(configuration).judge
    second = judge.cross_check.model if judge.cross_check is not None else None
    own = {base_model(judge.model), *([base_model(second)] if second else [])}
    models = {model for conversation in conversations for model in conversation.models}
    return family_notes([model for model in models if base_model(model) not in own], judge.model, second)


def _redactors(
    run: SampleRun, conversations: Sequence[CapturedConversation]
) -> tuple[Mapping[str, Redactor], EventMask]:
    plain = Redactor(run.settings.secrets)
    by_id = {conversation.scenario.id: plain.knowing(conversation.names) for conversation in conversations}
    return by_id, EventMask(by_id, plain)


def _started(run: SampleRun, count: int) -> RunStarted:
    return RunStarted(
        gate=run.settings.name, mode=MODE, judge=run.configuration.judge.model, llm="live", scenarios=count
    )


def _inputs(run: SampleRun, conversations: Sequence[CapturedConversation], *, judged: bool) -> RunInputs:
    """Inputs without a change and without a base."""
    suite = Suite(tuple(conversation.scenario for conversation in conversations), "")
    decision = ModeDecision(Mode.ADVISORY, ())
    inputs = RunInputs(
        settings=replace(run.settings, llm=Llm.LIVE if judged else Llm.REPLAY, shell_keys={}),
        decided=Decided(decision, Change(ChangedFiles(()), Subject())),
        repository=run.repository,
        environment=run.environment,
        seconds=run.seconds,
        configuration=sampling_configuration(run.configuration),
        suite=suite,
        selection=Selection(decision, suite.scenarios),
    )
    return replace(inputs, history=history_of(inputs, run.configuration))


def _sample(
    run: SampleRun,
    found: SelectedConversations,
    unmeasured: tuple[str, ...],
    results: Sequence[ScenarioResult],
    spending: Spending,
) -> Sample:
    reasons = [conversation.why.value for conversation in found.chosen]
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
        flagged=found.flagged,
        unread=dict.fromkeys(found.unread, f"Langfuse: {found.problem}"),
        begun={
            **found.unread,
            **{conversation.scenario.id: conversation.scenario.now for conversation in found.conversations},
        },
        feedback=count_feedback(found.feedback),
        spent=spending.spent,
        budget=spending.cap,
    )


def _write_back(run: SampleRun, sampled: Sample, mask: EventMask) -> str:
    """Send the scores; returns the errors, empty if there were none."""
    if run.access is None:
        return ""
    scores = [
        score
        for result in sampled.results
        for score in sample_scores(result, sampled.begun[result.trial.scenario.id], mask, run.configuration.judge.model)
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
            note(f"Langfuse refused {refused} scores" + (f": {why}" if why else ""))


def _conclusion(sampled: Sample) -> str:
    failed = sum(not result.passed for result in sampled.scored)
    return f"{len(sampled.scored)} measured, {failed} of them below a threshold, {len(sampled.left)} not measured"


@contextlib.contextmanager
def _event_log(run: SampleRun, mask: EventMask) -> Iterator[EventLog]:
    """The event log in the report directory; if it cannot be written, a warning is added."""
    folder = Path(run.settings.report_dir).absolute()
    try:
        refuse_links(folder)
        make_report_folder(folder)
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
