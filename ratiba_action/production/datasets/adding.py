"""Adds a trace of a server to a dataset on it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from ratiba_action.errors import ConfigurationError, UsageError
from ratiba_action.model.dataset_item import DatasetItem, StoredDataset
from ratiba_action.observability.langfuse_access import LangfuseAccess
from ratiba_action.observability.langfuse_asking import Deadline
from ratiba_action.observability.langfuse_datasets import read_dataset, write_item
from ratiba_action.observability.langfuse_server import connected
from ratiba_action.privacy.credentials import find_credentials
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.candidate import Review, make_candidate
from ratiba_action.production.conversation import ProductionConversation, read_conversation
from ratiba_action.production.datasets.local_suite import SCHEMA
from ratiba_action.production.datasets.trace_items import case_item_of, scenario_item_of
from ratiba_action.production.feedback import Feedback
from ratiba_action.production.langfuse_feedback import observations_of
from ratiba_action.production.tenants import TenantFacts, known_names, why_blocked

_REVIEW = timedelta(days=30)
_OWNER = "the reviewers"


@dataclass(frozen=True, slots=True)
class AddRequest:
    """What is to be added.

    Args:
        trace: its id.
        tenants: what is known of tenants besides their traces.
        redactor: the one redactor.
        case: make it a case of a data set, in the place of a scenario.
        expected: of a case: what a person says is right; None while nobody has.
    """

    trace: str
    dataset: str
    tenants: Mapping[str, TenantFacts]
    redactor: Redactor
    case: bool = False
    expected: Any = None


@dataclass(frozen=True, slots=True)
class Added:
    """What came of it.

    Args:
        outcome: ``created``, ``updated``, or ``there already``.
        item: None where the dataset is not there.
    """

    outcome: str
    item: DatasetItem | None


def add_trace(access: LangfuseAccess, request: AddRequest) -> Added:
    """Add a trace to a dataset; one that is there already stays as it is, but for a new truth.

    Args:
        access: with the seconds that everything may take.
        request: what is to be added.

    Raises:
        ConfigurationError: its tenant's conversations must not leave production, or it still holds a secret.
        UsageError: there is no such trace, or nobody says anything in it.
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
    kept = next((one for one in stored.items if one.id == item.id), None)
    if kept is None:
        return "created", item
    if (
        item.expected_output in (None, {})
        or "source" not in item.metadata
        or kept.expected_output == item.expected_output
    ):
        return "there already", kept
    return "updated", replace(kept, expected_output=item.expected_output)


def _item(request: AddRequest, conversation: ProductionConversation | None) -> DatasetItem:
    if conversation is None:
        raise UsageError(f"Langfuse has no observation of the trace {request.trace!r}.", "Copy its id from Langfuse.")
    if reason := why_blocked(conversation, request.tenants):
        raise ConfigurationError(f"The trace {request.trace!r} was not added. {reason}", "docs/feedback.md says more.")
    spoken = any(turn.user is not None for turn in conversation.turns)
    if not conversation.turns or (request.case and not spoken):
        raise UsageError(
            f"No turn of the trace {request.trace!r} can be read.", "docs/feedback.md says what a turn looks like."
        )
    redactor = request.redactor.knowing(known_names(conversation, request.tenants))
    item = (
        case_item_of(conversation, redactor, request.dataset, request.trace, request.expected)
        if request.case
        else _scenario(request, conversation, redactor)
    )
    kinds = find_credentials(json.dumps([item.input, item.expected_output, dict(item.metadata)], ensure_ascii=False))
    if kinds:
        told = ", ".join(sorted(set(kinds)))
        raise ConfigurationError(f"The trace {request.trace!r} was not added: it holds {told}.", "Take it out there.")
    return item


def _scenario(request: AddRequest, conversation: ProductionConversation, redactor: Redactor) -> DatasetItem:
    facts = request.tenants.get(conversation.tenant, TenantFacts())
    chosen = Feedback("", "trace", request.trace, "", conversation.started)
    review = Review(_OWNER, (datetime.now(UTC) + _REVIEW).date())
    candidate = make_candidate(conversation, chosen, facts, redactor, review)
    return scenario_item_of(candidate, request.dataset, request.trace, SCHEMA)
