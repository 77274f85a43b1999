"""A conversation of production that ``ratiba chat`` continues: of a file, or a trace in Langfuse."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from ratiba_action.authoring.captured_session import CapturedSession
from ratiba_action.errors import ConfigurationError, UsageError
from ratiba_action.model.scenario import Turn
from ratiba_action.observability.langfuse_asking import Deadline, LangfuseAccess
from ratiba_action.observability.langfuse_server import connected
from ratiba_action.production.conversation import (
    READABLE_TURN,
    ProductionConversation,
    credentials_in,
    read_conversation,
)
from ratiba_action.production.feedback import Feedback, observations_of
from ratiba_action.production.tenants import TenantFacts, known_names, why_blocked


@dataclass(frozen=True, slots=True)
class TracedConversation:
    """A conversation of production; not masked.

    Args:
        turns: each with production's reply.
        language: ISO 639 code; empty where it is not known.
        started: with its offset; empty where it is not known.
        names: of people, to be masked.
        source: where it comes from.
    """

    turns: tuple[tuple[Turn, str], ...]
    language: str
    started: str
    names: tuple[str, ...]
    source: str


def traced_session(session: CapturedSession) -> TracedConversation:
    """The conversation of a captured session."""
    turns = tuple((Turn(user=turn.user), turn.reply) for turn in session.turns)
    return TracedConversation(
        turns, session.language, session.captured_at, session.names, session.provider or "unknown"
    )


def read_trace(access: LangfuseAccess, trace: str, tenants: Mapping[str, TenantFacts]) -> TracedConversation:
    """The conversation of a trace.

    Args:
        access: with the time limit in seconds.
        trace: its id on the server.
        tenants: facts about tenants that traces lack.

    Raises:
        UsageError: there is no such trace, or it has no readable turn.
        ConfigurationError: its tenant's conversations must not leave production, or it contains a credential.
        LangfuseError: the server failed.
    """
    chosen = Feedback("", "trace", trace, "", datetime.now(UTC))
    with connected(access, Deadline.after(access.seconds)) as server:
        found = read_conversation(observations_of(server, chosen))
    if found is None:
        raise UsageError(f"Langfuse has no observation of the trace {trace!r}.", "Copy its id from Langfuse.")
    return traced_conversation(found, trace, tenants)


def traced_conversation(
    found: ProductionConversation, trace: str, tenants: Mapping[str, TenantFacts]
) -> TracedConversation:
    """The conversation of a trace that was read.

    Raises:
        UsageError: it has no readable turn.
        ConfigurationError: its tenant's conversations must not leave production, or it contains a credential.
    """
    if reason := why_blocked(found, tenants):
        raise ConfigurationError(
            f"The trace {trace!r} is not used. {reason}", "Fix it in the trace, or name the tenants: --tenants FILE"
        )
    if not found.turns:
        raise UsageError(f"The trace {trace!r} has no readable turn.", READABLE_TURN)
    if kinds := credentials_in(found):
        raise ConfigurationError(f"The trace {trace!r} contains {', '.join(kinds)}.", "Remove it in Langfuse.")
    turns = tuple((Turn(user=turn.user, event=turn.event), turn.reply) for turn in found.turns)
    language = found.language.partition("-")[0].lower()
    names = known_names(found, tenants)
    return TracedConversation(turns, language, found.started.isoformat(timespec="seconds"), names, "langfuse")
