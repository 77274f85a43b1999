"""What is known of a whole conversation, carried to every span of its trace."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from ratiba_action.model.event import (
    ConversationStarted,
    JudgeCalled,
    LoggedEvent,
    ModelCalled,
    Place,
    RunStarted,
)
from ratiba_action.observability.traces.attributes import shortened


def carried_metadata(
    trace_id: str, run: str, place: Place, events: Sequence[LoggedEvent], facts: RunStarted | None
) -> dict[str, str]:
    """By name; what is not known is empty."""
    begun = _begun(events)
    calls = [one.event.data for one in events if isinstance(one.event.data, ModelCalled | JudgeCalled)]
    paid = [call.cost_usd for call in calls if call.cost_usd is not None]
    models = sorted({call.model for call in calls if isinstance(call, ModelCalled)})
    own = {
        "run": run,
        "scenario": place.scenario or "",
        "arm": place.arm or "",
        "trial": str(place.trial or 0),
        "variant": place.variant or "",
        "conversation_id": begun.conversation_id if begun else trace_id,
        "tenant_id": begun.tenant_id if begun else "",
        "prompt_version": ", ".join(begun.prompt_versions) if begun else "",
        "layer": begun.layer if begun else "",
        "system_type": begun.system_type if begun else "",
        "language": begun.language if begun else "",
        "vertical": begun.vertical if begun else "",
        "model": ", ".join(models),
        "cost_usd": str(sum(paid, Decimal(0))) if paid else "",
    }
    return own | (_of_run(facts) if facts is not None else {})


def _of_run(facts: RunStarted) -> dict[str, str]:
    return {
        "gate": facts.gate,
        "mode": facts.mode,
        "commit": facts.commit,
        "base": facts.base,
        "repository": facts.repository,
        "pull_request": "" if facts.pull_request is None else str(facts.pull_request),
        "workflow_run": facts.workflow_run,
        "llm": facts.llm,
        "suite": facts.suite,
        "judge": facts.judge,
    }


def tags_of(events: Sequence[LoggedEvent], facts: RunStarted | None) -> tuple[str, ...]:
    """Tags that traces are found by."""
    return tuple(dict.fromkeys(shortened(tag) for tag in _tags(_begun(events), facts) if tag))


def _tags(begun: ConversationStarted | None, facts: RunStarted | None) -> Iterator[str]:
    if facts is not None:
        yield facts.mode
    if begun is not None:
        yield from (begun.layer, begun.system_type, *begun.tags)


def _begun(events: Sequence[LoggedEvent]) -> ConversationStarted | None:
    """How the last attempt began."""
    begun = [one.event.data for one in events if isinstance(one.event.data, ConversationStarted)]
    return begun[-1] if begun else None
