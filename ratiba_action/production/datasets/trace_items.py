"""A conversation of production → an item of a dataset: masked, with its provenance; its reply is never the truth."""

from typing import Any

from ratiba_action.model.dataset_item import DatasetItem
from ratiba_action.observability.traces.datasets import dataset_item_id
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.candidate import Candidate
from ratiba_action.production.conversation import ProductionConversation
from ratiba_action.production.datasets.fingerprint import OURS, stamped
from ratiba_action.production.datasets.scenario_items import split_scenario

SCENARIO_FOLDER = "from_production"


def scenario_item_of(candidate: Candidate, dataset: str, trace: str, schema: int) -> DatasetItem:
    """The item of a whole conversation, which a pull makes a scenario file of.

    Args:
        candidate: masked, in quarantine, for a person to complete.
        dataset: name of the dataset.
        trace: its id on the server.
        schema: version of what stands in metadata.
    """
    data = dict(candidate.data)
    # Nobody disliked it: somebody chose it.
    data["provenance"] = {name: value for name, value in data["provenance"].items() if name != "feedback_at"}
    parts = split_scenario(data)
    path = f"{SCENARIO_FOLDER}/{candidate.id}.yaml"
    said = {"schema": schema, "kind": "scenario", "path": path, "scenario": dict(parts.rest)}
    item = DatasetItem(
        dataset_item_id(dataset, candidate.id),
        dict(parts.input),
        dict(parts.expected_output),
        {OURS: said},
        source_trace_id=trace,
    )
    return stamped(item, {})


def case_item_of(
    conversation: ProductionConversation, redactor: Redactor, dataset: str, trace: str, expected: Any = None
) -> DatasetItem:
    """The item of a conversation's last message, with what was said before it (``seeds/003``, "Adding Traces").

    Args:
        conversation: with at least one turn in which the customer says something.
        redactor: the one redactor, knowing the conversation's names.
        dataset: name of the dataset.
        trace: its id on the server.
        expected: what a person says is right; None while nobody has.
    """
    turns = [turn for turn in conversation.turns if turn.user is not None]
    *before, last = turns
    history = [
        {"role": role, "content": redactor.text(text)}
        for turn in before
        for role, text in (("user", turn.user or ""), ("assistant", turn.reply))
        if text
    ]
    told = {
        "trace": redactor.text(trace),
        "started_at": conversation.started.isoformat(timespec="seconds"),
        "prompt_version": redactor.text(conversation.prompt_version),
        "reply": redactor.text(last.reply),
    }
    return DatasetItem(
        id=dataset_item_id(dataset, f"trace-{trace.lower()}"),
        input={"message": redactor.text(last.user or ""), **({"history": history} if history else {})},
        expected_output=expected,
        metadata={"source": "production", "provenance": {name: value for name, value in told.items() if value}},
        source_trace_id=trace,
    )
