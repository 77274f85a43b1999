"""Adds a Langfuse trace to a dataset on the same server."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from ratiba_action.errors import ConfigurationError, UsageError
from ratiba_action.model.langfuse_dataset import DatasetItem, StoredDataset
from ratiba_action.observability.langfuse_asking import Deadline, LangfuseAccess
from ratiba_action.observability.langfuse_datasets import read_dataset, write_item
from ratiba_action.observability.langfuse_server import connected
from ratiba_action.observability.traces.datasets import OURS, dataset_item_id
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.candidate import Candidate, Review, make_candidate
from ratiba_action.production.conversation import (
    READABLE_TURN,
    ProductionConversation,
    credentials_in,
    read_conversation,
)
from ratiba_action.production.datasets.local_suite import SCHEMA
from ratiba_action.production.datasets.scenario_items import split_scenario, stamped
from ratiba_action.production.feedback import Feedback, observations_of
from ratiba_action.production.tenants import TenantFacts, known_names, why_blocked

SCENARIO_FOLDER = "from_production"


def scenario_item_of(candidate: Candidate, dataset: str, trace: str, schema: int) -> DatasetItem:
    """The item of a whole conversation, which a pull turns into a scenario file.

    Args:
        candidate: masked and in quarantine, for a person to complete.
        trace: its id on the server.
        schema: version of the metadata.
    """
    data = dict(candidate.data)
    # It was chosen by a person, not by negative feedback.
    data["provenance"] = {name: value for name, value in data["provenance"].items() if name != "feedback_at"}
    parts = split_scenario(data)
    path = f"{SCENARIO_FOLDER}/{candidate.id}.yaml"
    metadata = {"schema": schema, "kind": "scenario", "path": path, "scenario": dict(parts.rest)}
    item = DatasetItem(
        dataset_item_id(dataset, candidate.id),
        dict(parts.input),
        dict(parts.expected_output),
        {OURS: metadata},
        source_trace_id=trace,
    )
    return stamped(item, {})


def case_item_of(
    conversation: ProductionConversation, redactor: Redactor, dataset: str, trace: str, expected: Any = None
) -> DatasetItem:
    """The item of a conversation's last message, with the history before it.

    Args:
        conversation: with at least one user message.
        trace: its id on the server.
        expected: the human label; None if there is none yet.
    """
    turns = [turn for turn in conversation.turns if turn.user is not None]
    *before, last = turns
    history = [
        {"role": role, "content": redactor.text(text)}
        for turn in before
        for role, text in (("user", turn.user or ""), ("assistant", turn.reply))
        if text
    ]
    provenance = {
        "trace": redactor.text(trace),
        "started_at": conversation.started.isoformat(timespec="seconds"),
        "prompt_version": redactor.text(conversation.prompt_version),
        "reply": redactor.text(last.reply),
    }
    return DatasetItem(
        id=dataset_item_id(dataset, f"trace-{trace.lower()}"),
        input={"message": redactor.text(last.user or ""), **({"history": history} if history else {})},
        expected_output=expected,
        metadata={"source": "production", "provenance": {name: value for name, value in provenance.items() if value}},
        source_trace_id=trace,
    )


_REVIEW = timedelta(days=30)
_OWNER = "the reviewers"


@dataclass(frozen=True, slots=True)
class AddRequest:
    """A trace to add.

    Args:
        tenants: facts about tenants that traces lack.
        case: make it a case instead of a scenario.
        expected: human label of a case; None if there is none yet.
    """

    trace: str
    dataset: str
    tenants: Mapping[str, TenantFacts]
    redactor: Redactor
    case: bool = False
    expected: Any = None


@dataclass(frozen=True, slots=True)
class Added:
    """The result of adding a trace.

    Args:
        outcome: ``created``, ``updated``, or ``there already``.
        item: None if the dataset does not exist.
    """

    outcome: str
    item: DatasetItem | None


def add_trace(access: LangfuseAccess, request: AddRequest) -> Added:
    """Add a trace to a dataset; an existing item only gets a new expected output.

    Args:
        access: with the time limit in seconds.

    Raises:
        ConfigurationError: its tenant's conversations must not leave production, or it contains a credential.
        UsageError: there is no such trace, or it has no readable turn.
        LangfuseError: the server failed.
    """
    with connected(access, Deadline.after(access.seconds)) as server:
        stored = read_dataset(server, request.dataset)
        if stored is None:
            return Added("", None)
        subject = Feedback("", "trace", request.trace, "", datetime.now(UTC))
        item = _item(request, read_conversation(observations_of(server, subject)))
        outcome, item = _merged(stored, item)
        if outcome != "there already":
            write_item(server, request.dataset, item)
        return Added(outcome, item)


def _merged(stored: StoredDataset, item: DatasetItem) -> tuple[str, DatasetItem]:
    existing = next((other for other in stored.items if other.id == item.id), None)
    if existing is None:
        return "created", item
    if (
        item.expected_output in (None, {})
        or "source" not in item.metadata
        or existing.expected_output == item.expected_output
    ):
        return "there already", existing
    return "updated", replace(existing, expected_output=item.expected_output)


def _item(request: AddRequest, conversation: ProductionConversation | None) -> DatasetItem:
    if conversation is None:
        raise UsageError(f"Langfuse has no observation of the trace {request.trace!r}.", "Copy its id from Langfuse.")
    if reason := why_blocked(conversation, request.tenants):
        raise ConfigurationError(
            f"The trace {request.trace!r} was not added. {reason}", "Fix it in the trace or with --tenants."
        )
    spoken = any(turn.user is not None for turn in conversation.turns)
    if not conversation.turns or (request.case and not spoken):
        raise UsageError(f"The trace {request.trace!r} has no readable turn.", READABLE_TURN)
    expected = json.dumps(request.expected, ensure_ascii=False)
    if kinds := credentials_in(conversation, expected):
        raise ConfigurationError(
            f"The trace {request.trace!r} was not added: it contains {', '.join(kinds)}.", "Remove it in Langfuse."
        )
    redactor = request.redactor.knowing(known_names(conversation, request.tenants))
    if request.case:
        return case_item_of(conversation, redactor, request.dataset, request.trace, request.expected)
    return _scenario(request, conversation, redactor)


def _scenario(request: AddRequest, conversation: ProductionConversation, redactor: Redactor) -> DatasetItem:
    facts = request.tenants.get(conversation.tenant, TenantFacts())
    chosen = Feedback("", "trace", request.trace, "", conversation.started)
    review = Review(_OWNER, (datetime.now(UTC) + _REVIEW).date())
    candidate = make_candidate(conversation, chosen, facts, redactor, review)
    return scenario_item_of(candidate, request.dataset, request.trace, SCHEMA)
