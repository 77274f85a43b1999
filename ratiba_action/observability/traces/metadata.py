"""Metadata of a whole conversation, carried to every span of its trace: tags, experiment, what is missing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from ratiba_action.model.event import (
    ConversationStarted,
    JudgeCalled,
    LoggedEvent,
    ModelCalled,
    Place,
    RunStarted,
)
from ratiba_action.model.note import Note
from ratiba_action.model.verdict import TraceDelivery
from ratiba_action.observability.traces import attributes
from ratiba_action.observability.traces.attributes import shortened
from ratiba_action.observability.traces.datasets import (
    case_dataset,
    dataset_item_id,
    experiment_id,
    experiment_name,
)
from ratiba_action.observability.traces.model import AttributeValue, Trace, TracedRun


def missing_note(delivery: TraceDelivery, events: str) -> str:
    """What a server does not have or cannot say it has, and what to do; empty when it has everything.

    Args:
        events: path of the log, as people know it.
    """
    if delivery.complete and not delivery.unverified:
        return ""
    if delivery.complete:
        return Note(
            f"This run was sent to Langfuse and not verified: {delivery.unverified}, so nobody can see what was kept. "
            "The verdict does not depend on it.",
            f"Look for the run in Langfuse before you send it again: 'ratiba report --resend-langfuse {events}' may "
            "store it twice. 'ratiba dataset verify' lists what the server lacks.",
        )
    pairs = (("span", delivery.spans_there, delivery.spans), ("score", delivery.scores_there, delivery.scores))
    counts = " and ".join(f"{max(all_ - there, 0)} of {all_} {name}s" for name, there, all_ in pairs)
    return Note(
        f"Langfuse lacks {counts} of this run: {delivery.problem or 'it did not take them'}. The verdict does not "
        "depend on it.",
        f"'ratiba report --resend-langfuse {events}' sends "
        + ("everything again." if delivery.unverified else "what is missing, and nothing twice."),
    )


_HEAD = "head"
_CASE_MARK = "__"
"""Between the id of a scenario with a file of cases and that of a case."""


def as_experiment(run: TracedRun, project: str, datasets: Mapping[str, str]) -> TracedRun:
    """The run with each span marked with which experiment and which item of it it belongs to.

    Each side of a comparison, and each variant, is an experiment of its own, and so is each of them on the dataset of a
    file of cases that has its own. A suite whose dataset is not on the server is one without a dataset, which Langfuse
    allows.

    Args:
        run: with the name of its suite's dataset.
        project: id of the project on the server.
        datasets: ids of the suite's dataset there, below an empty name, and of those of its files of cases, by the
            file's id; empty where there are none.
    """
    dataset = datasets.get("", "")
    head = experiment_id(project, dataset, experiment_name(run.run, _HEAD, _variant(run)))
    return replace(
        run,
        traces=tuple(_as_item(trace, run, project, datasets) for trace in run.traces),
        experiment_scores=tuple(replace(score, experiment_id=head) for score in run.experiment_scores),
    )


def _variant(run: TracedRun) -> str:
    return next((trace.variant for trace in run.traces if trace.arm == _HEAD), "")


def _as_item(trace: Trace, run: TracedRun, project: str, datasets: Mapping[str, str]) -> Trace:
    possible = [cases for cases in datasets if cases and trace.scenario.startswith(f"{cases}{_CASE_MARK}")]
    apart = max(possible, key=len, default="")
    dataset, named = datasets.get(apart, ""), case_dataset(run.dataset, apart) if apart else run.dataset
    name = experiment_name(run.run, trace.arm, trace.variant)
    values: dict[str, AttributeValue] = {
        attributes.EXPERIMENT_ID: experiment_id(project, dataset, name),
        attributes.EXPERIMENT_NAME: attributes.shortened(name),
        attributes.EXPERIMENT_ITEM: run.items.get(trace.scenario) or dataset_item_id(named, trace.scenario),
        attributes.EXPERIMENT_ROOT: trace.spans[0].span_id,
    }
    if dataset:
        values[attributes.EXPERIMENT_DATASET] = dataset
    spans = tuple(replace(span, attributes={**span.attributes, **values}) for span in trace.spans)
    return replace(trace, spans=spans)


def carried_metadata(
    trace_id: str, run: str, place: Place, events: Sequence[LoggedEvent], facts: RunStarted | None
) -> dict[str, str]:
    """By name; what is not known is empty."""
    begun = _begun(events)
    calls = [logged.event.data for logged in events if isinstance(logged.event.data, ModelCalled | JudgeCalled)]
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
        "prompt_blob": ", ".join(begun.prompt_blobs) if begun else "",
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
    begun = [logged.event.data for logged in events if isinstance(logged.event.data, ConversationStarted)]
    return begun[-1] if begun else None
