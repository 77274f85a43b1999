"""Runs as experiments on the dataset of their suite: since version 5 of Langfuse's SDK, attributes of the spans."""

from dataclasses import replace

from ratiba_action.observability.traces import attributes
from ratiba_action.observability.traces.datasets import dataset_item_id, experiment_id, experiment_name
from ratiba_action.observability.traces.model import AttributeValue, Trace, TracedRun

_HEAD = "head"


def as_experiment(run: TracedRun, project: str, dataset: str) -> TracedRun:
    """The run with every span told which experiment and which item of it it belongs to.

    Each side of a comparison, and each variant, is an experiment of its own. A suite whose dataset is not on the
    server is one without a dataset, which Langfuse allows.

    Args:
        run: with the name of its suite's dataset.
        project: id of the project on the server.
        dataset: id of the suite's dataset there; empty where there is none.
    """
    head = experiment_id(project, dataset, experiment_name(run.run, _HEAD, _variant(run)))
    return replace(
        run,
        traces=tuple(_as_item(trace, run, project, dataset) for trace in run.traces),
        experiment_scores=tuple(replace(score, experiment_id=head) for score in run.experiment_scores),
    )


def _variant(run: TracedRun) -> str:
    return next((trace.variant for trace in run.traces if trace.arm == _HEAD), "")


def _as_item(trace: Trace, run: TracedRun, project: str, dataset: str) -> Trace:
    name = experiment_name(run.run, trace.arm, trace.variant)
    told: dict[str, AttributeValue] = {
        attributes.EXPERIMENT_ID: experiment_id(project, dataset, name),
        attributes.EXPERIMENT_NAME: attributes.shortened(name),
        attributes.EXPERIMENT_ITEM: run.items.get(trace.scenario) or dataset_item_id(run.dataset, trace.scenario),
        attributes.EXPERIMENT_ROOT: trace.spans[0].span_id,
    }
    if dataset:
        told[attributes.EXPERIMENT_DATASET] = dataset
    spans = tuple(replace(span, attributes={**span.attributes, **told}) for span in trace.spans)
    return replace(trace, spans=spans)
