"""Selects production conversations to measure: a share of all, every error, every negative feedback.

The share is selected by a hash of the trace's id: every run and machine selects the same conversations, and a larger
share contains a smaller one.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any

from ratiba_action.model.canonical import in_sample
from ratiba_action.model.measurement import Errored, NotRun, ScenarioResult, Scored
from ratiba_action.model.scenario import SystemType
from ratiba_action.model.values import Usd
from ratiba_action.observability.langfuse_asking import Deadline, LangfuseAccess, LangfuseError, ask
from ratiba_action.observability.langfuse_server import LangfuseServer, connected
from ratiba_action.observability.traces.conversations import ENVIRONMENT
from ratiba_action.observability.traces.scores import PASSED
from ratiba_action.production.conversation import (
    DISLIKED,
    LIKED,
    METADATA,
    CapturedConversation,
    Observation,
    ProductionConversation,
    captured_conversation,
    read_conversation,
)
from ratiba_action.production.feedback import Feedback, FeedbackCounts, feedback_since, observation, observations_of
from ratiba_action.production.tenants import TenantFacts, known_names, why_blocked

_LONGEST = timedelta(days=7)
"""After this time, conversations that could not be measured are not tried again."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The result of a sample of a period.

    Args:
        since: with time zone; ``until`` is exclusive.
        chosen: how many were selected, by reason.
        known: how many of those had been measured before.
        empty: ids of traces without readable turns.
        unread: why a selected conversation could not be read, by its trace.
        blocked: why a conversation must not be sent to a judge, by its trace.
        unmeasured: ids of conversations without an applicable metric.
        flagged: conversations with a slow reply or one of low confidence, by their trace, each with what it was.
        begun: start of each conversation to measure, by its trace, including unread ones.
        unsent: why scores could not be written back; empty if all were.
    """

    since: datetime
    until: datetime
    traces: int = 0
    chosen: Mapping[str, int] = field(default_factory=dict)
    known: int = 0
    results: tuple[ScenarioResult, ...] = ()
    empty: tuple[str, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    blocked: Mapping[str, str] = field(default_factory=dict)
    unmeasured: tuple[str, ...] = ()
    flagged: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    begun: Mapping[str, datetime] = field(default_factory=dict)
    feedback: FeedbackCounts = field(default_factory=FeedbackCounts)
    spent: Usd = Decimal(0)
    budget: Usd = Decimal(0)
    unsent: str = ""
    notes: tuple[str, ...] = ()

    @property
    def scored(self) -> tuple[Scored, ...]:
        """Conversations that were measured."""
        return tuple(result for result in self.results if isinstance(result, Scored))

    @property
    def left(self) -> tuple[tuple[str, str], ...]:
        """Conversations that were not measured completely, by trace, each with the reason."""
        unmeasured = (
            (result.trial.scenario.id, _sample_why(result)) for result in self.results if not isinstance(result, Scored)
        )
        return (*unmeasured, *self.unread.items())

    @property
    def complete(self) -> bool:
        """Whether everything selected was measured and its scores were written back."""
        return not self.left and not self.unsent and not (self.unmeasured and not self.scored and not self.known)

    @property
    def next_since(self) -> datetime:
        """Start of the next run's period: conversations that were left out are tried again for a week."""
        left = self.begun.keys() if self.unsent else {name for name, _ in self.left}
        earliest = min((self.until, *(moment for name, moment in self.begun.items() if name in left)))
        return max(earliest, self.until - _LONGEST)


def _sample_why(result: ScenarioResult) -> str:
    if isinstance(result, NotRun):
        return result.reason
    return f"{result.phase.value}: {result.explanation}" if isinstance(result, Errored) else ""


_OBSERVATIONS = 1000
_SCORES = 100


def roots_between(server: LangfuseServer, since: datetime, until: datetime) -> tuple[Observation, ...]:
    """The root of every trace that began in a period, without inputs and outputs; ``until`` is exclusive.

    Raises:
        LangfuseError: it did not answer.
    """
    return _listed(server, since, until, {"is_root_observation": True})


def failed_between(server: LangfuseServer, since: datetime, until: datetime) -> tuple[Observation, ...]:
    """Every step of level ``ERROR`` that began in a period.

    Raises:
        LangfuseError: it did not answer.
    """
    return _listed(server, since, until, {"level": "ERROR"})


def scored(server: LangfuseServer, name: str, traces: Sequence[str]) -> frozenset[str]:
    """The traces among the given ones that have a score of this name.

    Raises:
        LangfuseError: it did not answer.
    """
    found: set[str] = set()
    for start in range(0, len(traces), _SCORES):
        some = ",".join(traces[start : start + _SCORES])
        rows = _pages(
            server,
            lambda more, some=some: server.api.scores.get_many(  # type: ignore[misc]
                name=name, trace_id=some, fields="subject", limit=_SCORES, **more
            ),
        )
        found |= {str(result.subject.id) for result in rows if getattr(result.subject, "kind", "") == "trace"}
    return frozenset(found)


def marked_between(
    server: LangfuseServer, since: datetime, until: datetime, *, models: bool
) -> tuple[Observation, ...]:
    """The root of every trace that began in a period, with its tags and metadata; or every model call in it.

    Raises:
        LangfuseError: it did not answer.
    """
    if models:
        return _listed(server, since, until, {"type": "GENERATION", "fields": "core,basic,model"})
    fields = "core,basic,metadata,trace_context"
    wanted = {"is_root_observation": True, "fields": fields, "expand_metadata": ",".join(METADATA)}
    return _listed(server, since, until, wanted)


def _listed(server: LangfuseServer, since: datetime, until: datetime, query: dict[str, Any]) -> tuple[Observation, ...]:
    wanted = {"fields": "core,basic", "limit": _OBSERVATIONS, **query}
    rows = _pages(
        server,
        lambda more: server.api.observations.get_many(from_start_time=since, to_start_time=until, **wanted, **more),
    )
    return tuple(observation(row) for row in rows)


def _pages(server: LangfuseServer, get: Callable[[dict[str, Any]], Any]) -> list[Any]:
    """Every row; pages are retried while the server is busy, within one deadline."""
    rows: list[Any] = []
    cursor: str | None = None
    while True:
        more: dict[str, Any] = {"cursor": cursor}
        page = ask(lambda more=more: get({**more, "request_options": server.options}), server.deadline)  # type: ignore[misc]
        rows += page.data
        cursor = page.meta.cursor
        if not cursor:
            return rows


_SALT = "production sample"


class Why(StrEnum):
    """Why a conversation was selected; the first that applies."""

    NEGATIVE_FEEDBACK = "negative feedback"
    ERROR = "error"
    FLAG = "slow or of low confidence"
    SHARE = "share"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A selected conversation."""

    trace_id: str
    why: Why


def chosen(
    roots: Iterable[Observation],
    share: float,
    failed: Collection[str],
    disliked: Collection[str],
    flagged: Collection[str] = (),
    *,
    shares: Mapping[str, float] | None = None,
) -> tuple[Chosen, ...]:
    """Select conversations: negative feedback first, then errors, flags and the share; each from the earliest.

    Args:
        roots: of the traces that began in the period.
        share: of those with neither, 0 to 1.
        failed: ids of traces with a failed step; they may have begun earlier.
        disliked: ids of traces with negative feedback; they may have begun earlier.
        flagged: ids of traces with a slow reply or one of low confidence.
        shares: of traces whose kind of system has a share of its own, by id.
    """
    own = shares or {}
    begun = {root.trace_id: root for root in sorted(roots, key=lambda root: (root.start, root.trace_id), reverse=True)}
    order = [*sorted({*disliked, *failed} - begun.keys()), *reversed(begun)]
    marked = {Why.NEGATIVE_FEEDBACK: disliked, Why.ERROR: failed, Why.FLAG: flagged}
    found = ((trace_id, _why(trace_id, own.get(trace_id, share), marked)) for trace_id in order)
    picked = [Chosen(trace_id, why) for trace_id, why in found if why is not None]
    return tuple(sorted(picked, key=lambda root: list(Why).index(root.why)))


def _why(trace_id: str, share: float, marked: Mapping[Why, Collection[str]]) -> Why | None:
    why = next((why for why, traces in marked.items() if trace_id in traces), None)
    return why or (Why.SHARE if in_share(share, trace_id) else None)


def in_share(share: float, trace_id: str) -> bool:
    """Whether a conversation belongs to a share of all, whatever happened in it.

    Args:
        share: 0 to 1.
    """
    return in_sample(share, _SALT, trace_id)


@dataclass(frozen=True, slots=True)
class SampleRules:
    """What to sample.

    Args:
        since: with time zone; ``until`` is exclusive.
        share: of the conversations with neither an error nor negative feedback, 0 to 1.
        environment: Langfuse environment of production; empty for all except the gate's own.
        language: used if neither the conversation nor its tenant names one.
        system_type: used if the conversation names none.
        tenants: by id, with the names to mask.
        slow: seconds; a reply that took longer is flagged. None flags none.
        low_confidence: a reply with less is flagged. None flags none.
    """

    since: datetime
    until: datetime
    share: float = 0.05
    shares: Mapping[SystemType, float] = field(default_factory=dict)
    feedback: str = "user_feedback"
    environment: str = ""
    language: str = "und"
    system_type: SystemType = SystemType.CHATBOT
    tenants: Mapping[str, TenantFacts] = field(default_factory=dict)
    slow: float | None = 10.0
    low_confidence: float | None = 0.5


def flags(conversation: ProductionConversation, rules: SampleRules) -> tuple[str, ...]:
    """Which replies of a conversation were slow, or of low confidence."""
    found = []
    for number, turn in enumerate(conversation.turns, 1):
        if turn.seconds is not None and rules.slow is not None and turn.seconds > rules.slow:
            found.append(f"reply {number} took {turn.seconds:.1f} s")
        if turn.confidence is not None and rules.low_confidence is not None and turn.confidence < rules.low_confidence:
            found.append(f"reply {number} has a confidence of {turn.confidence:.2f}")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class SelectedConversations:
    """Selected conversations.

    Args:
        traces: how many conversations began in the period.
        known: ids of selected ones that were measured before.
        empty: ids without readable turns.
        blocked: why a conversation must not be sent to a judge, by id.
        unread: start of the conversations that the server did not return in time, by id.
        problem: why it did not; empty if it returned all.
        flagged: what was slow or of low confidence, by id.
    """

    traces: int
    chosen: tuple[Chosen, ...]
    known: frozenset[str]
    conversations: tuple[CapturedConversation, ...]
    empty: tuple[str, ...]
    blocked: Mapping[str, str]
    feedback: tuple[Feedback, ...]
    unread: Mapping[str, datetime] = field(default_factory=dict)
    problem: str = ""
    flagged: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def find(access: LangfuseAccess, rules: SampleRules) -> SelectedConversations:
    """Select and read conversations within the time limit; those that were read are kept if the server fails later.

    Raises:
        LangfuseError: the list of conversations could not be read.
    """
    with connected(access, Deadline.after(access.seconds)) as server:
        listed = (
            marked_between(server, rules.since, rules.until, models=False)
            if rules.shares
            else roots_between(server, rules.since, rules.until)
        )
        roots = of_production(listed, rules.environment)
        feedback = tuple(feedback_since(server, rules.since, rules.until, rules.feedback))
        about = feedback_on_traces(server, feedback)
        disliked = frozenset(trace for item, trace in about if item.negative)
        failures = failed_between(server, rules.since, rules.until)
        failed = {item.trace_id for item in of_production(failures, rules.environment)}
        shares = shares_of({root.trace_id: read_conversation([root]) for root in roots}, rules)
        picked = chosen(roots, rules.share, failed, disliked, shares=shares)
        known = scored(server, PASSED, [item.trace_id for item in picked])
        reading = ConversationReading(rules, opinions(about))
        waiting = [item.trace_id for item in picked if item.trace_id not in known]
        problem, done = _read_all(server, waiting, reading)
    begun = {item.trace_id: item.start for item in roots}
    return SelectedConversations(
        traces=len(begun),
        chosen=picked,
        known=known,
        conversations=tuple(reading.conversations),
        empty=tuple(reading.empty),
        blocked=reading.blocked,
        feedback=feedback,
        unread={name: begun.get(name, rules.since) for name in waiting[done:]},
        problem=problem,
        flagged=reading.flagged,
    )


def shares_of(conversations: Mapping[str, ProductionConversation | None], rules: SampleRules) -> dict[str, float]:
    """The share of each conversation whose kind of system has one of its own, by its name."""
    kinds = {
        name: SystemType(each.system_type) if each and each.system_type in set(SystemType) else rules.system_type
        for name, each in conversations.items()
    }
    return {name: rules.shares[kind] for name, kind in kinds.items() if kind in rules.shares}


def _read_all(server: LangfuseServer, traces: Sequence[str], reading: "ConversationReading") -> tuple[str, int]:
    """Read conversations in order; returns the server's error, empty if there was none, and how many were read."""
    for done, trace_id in enumerate(traces):
        about = Feedback("", "trace", trace_id, 0, reading.rules.until)
        try:
            observations = tuple(observations_of(server, about))
        except LangfuseError as error:
            return str(error), done
        reading.add(trace_id, observations)
    return "", len(traces)


@dataclass(slots=True)
class ConversationReading:
    """Sorts selected conversations into those to measure and others."""

    rules: SampleRules
    liked: Mapping[str, bool] = field(default_factory=dict)
    conversations: list[CapturedConversation] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    blocked: dict[str, str] = field(default_factory=dict)
    flagged: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def add(self, name: str, observations: Sequence[Observation]) -> None:
        """Add the conversation of these observations, under its name: its trace, or what a file calls it."""
        conversation = read_conversation(observations)
        if conversation is None or not conversation.turns:
            self.empty.append(name)
            return
        if found := flags(conversation, self.rules):
            self.flagged[name] = found
        if reason := why_blocked(conversation, self.rules.tenants):
            self.blocked[name] = reason
        else:
            captured = self._captured(name, conversation, observations)
            self.conversations.append(replace(captured, scenario=replace(captured.scenario, id=name)))

    def _captured(
        self, name: str, conversation: ProductionConversation, observations: Sequence[Observation]
    ) -> CapturedConversation:
        rules = self.rules
        return captured_conversation(
            conversation,
            observations,
            language=rules.tenants.get(conversation.tenant, TenantFacts()).language or rules.language,
            system_type=rules.system_type,
            names=known_names(conversation, rules.tenants),
            feedback={True: LIKED, False: DISLIKED, None: ""}[self.liked.get(name)],
        )


def of_production(observations: Iterable[Observation], wanted: str) -> tuple[Observation, ...]:
    """Observations of one Langfuse environment; with an empty name of all except the gate's own."""
    return tuple(
        observation
        for observation in observations
        if (observation.environment == wanted if wanted else observation.environment != ENVIRONMENT)
    )


def feedback_on_traces(server: LangfuseServer, feedback: Iterable[Feedback]) -> list[tuple[Feedback, str]]:
    """Each positive or negative feedback with each trace that it is about: one, or those of a session.

    Raises:
        LangfuseError: the traces of a session could not be read.
    """
    decided = [item for item in feedback if item.positive or item.negative]
    return [(item, trace) for item in decided for trace in _traces_of(server, item)]


def opinions(about: Iterable[tuple[Feedback, str]]) -> dict[str, bool]:
    """Whether a conversation was liked, by its trace: the last feedback counts."""
    return {trace: item.positive for item, trace in sorted(about, key=lambda pair: (pair[0].at, pair[0].score_id))}


def _traces_of(server: LangfuseServer, feedback: Feedback) -> Iterator[str]:
    if feedback.subject == "trace":
        yield feedback.subject_id
    else:
        yield from {observation.trace_id for observation in observations_of(server, feedback)}
