"""Reads what a sample of production is taken from, and each conversation that was chosen."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ratiba_action.observability.langfuse_access import LangfuseAccess
from ratiba_action.observability.langfuse_asking import Deadline, LangfuseError
from ratiba_action.observability.langfuse_server import LangfuseServer, connected
from ratiba_action.observability.traces.conversations import ENVIRONMENT
from ratiba_action.observability.traces.scores import PASSED
from ratiba_action.production.captured import CapturedConversation, captured_conversation
from ratiba_action.production.choice import Chosen, chosen
from ratiba_action.production.conversation import Observation, ProductionConversation, read_conversation
from ratiba_action.production.feedback import Feedback
from ratiba_action.production.langfuse_feedback import feedback_since, observations_of
from ratiba_action.production.langfuse_production import failed_between, roots_between, scored
from ratiba_action.production.tenants import TenantFacts, known_names, why_blocked


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
