"""Which production conversations are looked at: a share of all, every error, every negative feedback.

The share is chosen by a hash of the trace's id, not by chance: two runs or two machines choose the same, and a larger
share contains a smaller one.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any

from ratiba_action.metrics.judging.sampling import in_sample
from ratiba_action.model.measurement import Errored, NotRun, ScenarioResult, Scored
from ratiba_action.model.values import Usd
from ratiba_action.observability.langfuse_asking import Deadline, LangfuseAccess, LangfuseError, ask
from ratiba_action.observability.langfuse_server import LangfuseServer, connected
from ratiba_action.observability.traces.conversations import ENVIRONMENT
from ratiba_action.observability.traces.scores import PASSED
from ratiba_action.production.conversation import (
    CapturedConversation,
    Observation,
    ProductionConversation,
    captured_conversation,
    read_conversation,
)
from ratiba_action.production.feedback import Feedback, FeedbackCounts, feedback_since, observation, observations_of
from ratiba_action.production.tenants import TenantFacts, known_names, why_blocked

_LONGEST = timedelta(days=7)
"""What a judge has refused so long is not asked about any more."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What was looked at in a time, and what was not.

    Args:
        since: aware; ``until`` is not part of the time.
        traces: how many conversations began in it.
        chosen: how many were chosen, by the reason.
        known: how many of those had been measured before.
        results: of the others that hold a conversation and a metric that can measure it.
        empty: ids of traces in which nobody says anything that can be read.
        unread: why a chosen conversation could not be read, by its trace.
        blocked: why a conversation must not be shown to a judge, by its trace.
        unmeasured: ids of conversations that no configured metric can measure.
        begun: when each conversation that was to be measured began, by its trace; the unread ones too.
        feedback: what customers said in the time.
        unsent: why scores could not be written back; empty when all were.
        notes: what else is to be known.
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
    begun: Mapping[str, datetime] = field(default_factory=dict)
    feedback: FeedbackCounts = field(default_factory=FeedbackCounts)
    spent: Usd = Decimal(0)
    budget: Usd = Decimal(0)
    unsent: str = ""
    notes: tuple[str, ...] = ()

    @property
    def scored(self) -> tuple[Scored, ...]:
        """Conversations that were measured."""
        return tuple(one for one in self.results if isinstance(one, Scored))

    @property
    def left(self) -> tuple[tuple[str, str], ...]:
        """Conversations that were not looked at or not to the end, by their traces, each with the reason."""
        broken = ((one.trial.scenario.id, _sample_why(one)) for one in self.results if not isinstance(one, Scored))
        return (*broken, *self.unread.items())

    @property
    def complete(self) -> bool:
        """Whether everything that was chosen was looked at, and is known where it belongs."""
        return not self.left and not self.unsent and not (self.unmeasured and not self.scored and not self.known)

    @property
    def next_since(self) -> datetime:
        """From when the next run has to look: nothing that was left out is forgotten within a week."""
        left = self.begun.keys() if self.unsent else {name for name, _ in self.left}
        earliest = min((self.until, *(moment for name, moment in self.begun.items() if name in left)))
        return max(earliest, self.until - _LONGEST)


def _sample_why(result: ScenarioResult) -> str:
    if isinstance(result, NotRun):
        return result.reason
    return f"{result.phase.value}: {result.told}" if isinstance(result, Errored) else ""


_OBSERVATIONS = 1000
_SCORES = 100


def roots_between(server: LangfuseServer, since: datetime, until: datetime) -> tuple[Observation, ...]:
    """The root of every trace that began in a time, without inputs and outputs; ``until`` is not part of it.

    Raises:
        LangfuseError: it did not answer.
    """
    return _listed(server, since, until, {"is_root_observation": True})


def failed_between(server: LangfuseServer, since: datetime, until: datetime) -> tuple[Observation, ...]:
    """Every step of level ``ERROR`` that began in a time.

    Raises:
        LangfuseError: it did not answer.
    """
    return _listed(server, since, until, {"level": "ERROR"})


def scored(server: LangfuseServer, name: str, traces: Sequence[str]) -> frozenset[str]:
    """Which of some traces have a score of a name.

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
        found |= {str(one.subject.id) for one in rows if getattr(one.subject, "kind", "") == "trace"}
    return frozenset(found)


def _listed(server: LangfuseServer, since: datetime, until: datetime, query: dict[str, Any]) -> tuple[Observation, ...]:
    rows = _pages(
        server,
        lambda more: server.api.observations.get_many(
            fields="core,basic", limit=_OBSERVATIONS, from_start_time=since, to_start_time=until, **query, **more
        ),
    )
    return tuple(observation(one) for one in rows)


def _pages(server: LangfuseServer, get: Callable[[dict[str, Any]], Any]) -> list[Any]:
    """Every row; each page is asked for again where the server is busy, within its one deadline."""
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
    """Why a conversation was chosen; the first that applies."""

    NEGATIVE_FEEDBACK = "negative feedback"
    ERROR = "error"
    SHARE = "share"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A conversation to look at."""

    trace_id: str
    why: Why


def chosen(
    roots: Iterable[Observation], share: float, failed: Collection[str], disliked: Collection[str]
) -> tuple[Chosen, ...]:
    """What to look at, in this order: negative feedback, errors, the share; each from the earliest.

    Args:
        roots: of the traces that began in the time.
        share: of those with neither, 0 to 1.
        failed: ids of the traces with a step that failed; they may have begun earlier.
        disliked: ids of the traces with negative feedback; the same.
    """
    begun = {one.trace_id: one for one in sorted(roots, key=lambda one: (one.start, one.trace_id), reverse=True)}
    order = [*sorted({*disliked, *failed} - begun.keys()), *reversed(begun)]
    found = ((trace_id, _why(trace_id, share, failed, disliked)) for trace_id in order)
    picked = [Chosen(trace_id, why) for trace_id, why in found if why is not None]
    return tuple(sorted(picked, key=lambda one: list(Why).index(one.why)))


def _why(trace_id: str, share: float, failed: Collection[str], disliked: Collection[str]) -> Why | None:
    if trace_id in disliked:
        return Why.NEGATIVE_FEEDBACK
    if trace_id in failed:
        return Why.ERROR
    return Why.SHARE if in_sample(share, _SALT, trace_id) else None


@dataclass(frozen=True, slots=True)
class SampleRules:
    """What is sampled.

    Args:
        since: aware; ``until`` is not part of the time.
        share: of the conversations with neither an error nor negative feedback, 0 to 1.
        feedback: name of the scores that customers give.
        environment: that production is traced in; empty for every one but the gate's own.
        language: of a conversation that does not tell it, nor its tenant.
        system_type: of a conversation that does not tell it.
        tenants: by id: what of their conversations has to be masked.
    """

    since: datetime
    until: datetime
    share: float = 0.05
    feedback: str = "user_feedback"
    environment: str = ""
    language: str = "und"
    system_type: str = "chatbot"
    tenants: Mapping[str, TenantFacts] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """What there is to look at.

    Args:
        traces: how many conversations began in the time.
        chosen: of those and of the disliked ones.
        known: ids of the chosen ones that were measured before.
        conversations: the others.
        empty: ids of the others that hold nothing that can be read.
        blocked: why the others must not be shown to a judge, by their ids.
        unread: when those began that the server did not give in time, by their ids.
        problem: why it did not.
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


def find(access: LangfuseAccess, rules: SampleRules) -> Found:
    """Read within the seconds of the access; conversations that were read stay, whatever becomes of the others.

    Raises:
        LangfuseError: it is not even known which conversations there are.
    """
    with connected(access, Deadline.after(access.seconds)) as server:
        roots = _of_production(roots_between(server, rules.since, rules.until), rules)
        feedback = tuple(feedback_since(server, rules.since, rules.until, rules.feedback))
        disliked = frozenset(trace for one in feedback if one.negative for trace in _traces_of(server, one))
        failed = {one.trace_id for one in _of_production(failed_between(server, rules.since, rules.until), rules)}
        picked = chosen(roots, rules.share, failed, disliked)
        known = scored(server, PASSED, [one.trace_id for one in picked])
        reading = _Reading(server, rules)
        waiting = [one.trace_id for one in picked if one.trace_id not in known]
        problem = reading.read_all(waiting)
    begun = {one.trace_id: one.start for one in roots}
    return Found(
        traces=len(begun),
        chosen=picked,
        known=known,
        conversations=tuple(reading.conversations),
        empty=tuple(reading.empty),
        blocked=reading.blocked,
        feedback=feedback,
        unread={name: begun.get(name, rules.since) for name in waiting[reading.done :]},
        problem=problem,
    )


@dataclass(slots=True)
class _Reading:
    """What is known of the chosen conversations while they are read.

    Args:
        done: how many were read.
    """

    server: LangfuseServer
    rules: SampleRules
    conversations: list[CapturedConversation] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    blocked: dict[str, str] = field(default_factory=dict)
    done: int = 0

    def read_all(self, traces: Sequence[str]) -> str:
        """Read conversations in their order; says what the server did wrong, empty when nothing."""
        try:
            for trace_id in traces:
                self._read(trace_id)
                self.done += 1
        except LangfuseError as error:
            return str(error)
        return ""

    def _read(self, trace_id: str) -> None:
        about = Feedback("", "trace", trace_id, 0, self.rules.until)
        observations = tuple(observations_of(self.server, about))
        conversation = read_conversation(observations)
        if conversation is None or not conversation.turns:
            self.empty.append(trace_id)
        elif reason := why_blocked(conversation, self.rules.tenants):
            self.blocked[trace_id] = reason
        else:
            self.conversations.append(self._captured(conversation, observations))

    def _captured(
        self, conversation: ProductionConversation, observations: Sequence[Observation]
    ) -> CapturedConversation:
        rules = self.rules
        return captured_conversation(
            conversation,
            observations,
            language=rules.tenants.get(conversation.tenant, TenantFacts()).language or rules.language,
            system_type=rules.system_type,
            names=known_names(conversation, rules.tenants),
        )


def _of_production(observations: Sequence[Observation], rules: SampleRules) -> tuple[Observation, ...]:
    wanted = rules.environment
    return tuple(
        one for one in observations if (one.environment == wanted if wanted else one.environment != ENVIRONMENT)
    )


def _traces_of(server: LangfuseServer, feedback: Feedback) -> Iterator[str]:
    if feedback.subject == "trace":
        yield feedback.subject_id
    else:
        yield from {one.trace_id for one in observations_of(server, feedback)}
