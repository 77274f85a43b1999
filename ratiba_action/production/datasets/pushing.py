"""Writes a suite to a dataset, item by item; what was written stays when the server fails on the way."""

from dataclasses import dataclass, field, replace

from ratiba_action.model.dataset_item import DatasetItem
from ratiba_action.observability.langfuse_access import LangfuseAccess
from ratiba_action.observability.langfuse_asking import Deadline, LangfuseError
from ratiba_action.observability.langfuse_datasets import read_dataset, write_dataset, write_item
from ratiba_action.observability.langfuse_server import connected
from ratiba_action.production.datasets.fingerprint import OURS, ours, same_json
from ratiba_action.production.datasets.local_suite import LocalSuite, adopted_item, dataset_metadata, suite_items
from ratiba_action.production.datasets.push_plan import PushPlan, plan_push


@dataclass(slots=True)
class Pushed:
    """What came of a push.

    Args:
        written: number of items that the server took.
        archived: ids of those among them that were archived.
        failure: what ended it early; None for nothing.
    """

    plan: PushPlan = field(default_factory=PushPlan)
    written: int = 0
    archived: list[str] = field(default_factory=list)
    failure: LangfuseError | None = None


def push(
    access: LangfuseAccess, dataset: str, suite: LocalSuite, *, overwrite: bool, archive: bool, dry_run: bool
) -> Pushed:
    """Write a suite to a dataset.

    Args:
        access: with the seconds that everything may take.
        dataset: its name; is made where there is none.
        suite: of a checkout.
        overwrite: replace items that were edited on the server.
        archive: archive items that are no longer in the suite.
        dry_run: write nothing.
    """
    pushed = Pushed()
    try:
        with connected(access, Deadline.after(access.seconds)) as server:
            stored = read_dataset(server, dataset)
            kept = stored.items if stored is not None else ()
            plan = plan_push(suite_items(suite, dataset), kept, lambda item: adopted_item(suite, dataset, item))
            if overwrite:
                plan = replace(plan, updated=(*plan.updated, *plan.conflicting), conflicting=())
            pushed.plan = plan
            if dry_run:
                return pushed
            metadata = dict(stored.metadata) if stored is not None else {}
            said = dataset_metadata(suite)
            if stored is None or not same_json(ours(metadata), said):
                write_dataset(server, dataset, {**metadata, OURS: said})
            for item in (*plan.created, *plan.updated):
                write_item(server, dataset, item)
                pushed.written += 1
            for item in _archived(plan) if archive else ():
                write_item(server, dataset, item)
                pushed.written += 1
                pushed.archived.append(item.id)
    except LangfuseError as error:
        pushed.failure = error
    return pushed


def _archived(plan: PushPlan) -> tuple[DatasetItem, ...]:
    return tuple(replace(item, active=False) for item in (*plan.gone, *plan.adopted))
