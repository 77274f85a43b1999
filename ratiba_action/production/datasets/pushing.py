"""Writes a suite to a dataset, item by item; what was written stays when the server fails on the way."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ratiba_action.model.data_set import DatasetItem
from ratiba_action.observability.langfuse_asking import Deadline, LangfuseAccess, LangfuseError
from ratiba_action.observability.langfuse_datasets import read_dataset, write_dataset, write_item
from ratiba_action.observability.langfuse_server import connected
from ratiba_action.production.datasets.local_suite import LocalSuite, adopted_item, dataset_metadata, suite_items
from ratiba_action.production.datasets.scenario_items import DIGEST, OURS, fingerprint, ours, same_json, stamped


@dataclass(frozen=True, slots=True)
class PushPlan:
    """What is to be written, and what is only told.

    Args:
        created: items that are not there.
        updated: items that say something else there, or that are archived.
        unchanged: ids.
        conflicting: items that were edited on the server since the last push, and would be overwritten.
        gone: active items whose scenario or case is no longer in the suite.
        adopted: active items that were made on the server and that the suite has taken over since.
        foreign: ids of active items that hold nothing of the gate's.
    """

    created: tuple[DatasetItem, ...] = ()
    updated: tuple[DatasetItem, ...] = ()
    unchanged: tuple[str, ...] = ()
    conflicting: tuple[DatasetItem, ...] = ()
    gone: tuple[DatasetItem, ...] = ()
    adopted: tuple[DatasetItem, ...] = ()
    foreign: tuple[str, ...] = ()


def plan_push(
    wanted: Sequence[DatasetItem], stored: Iterable[DatasetItem], adopted_as: Callable[[DatasetItem], str]
) -> PushPlan:
    """Compare a suite with a server.

    Args:
        wanted: the suite's items.
        stored: the server's, archived ones too.
        adopted_as: id of the wanted item that an item of the server, not made by the gate, has become; empty for none.
    """
    there = {item.id: item for item in stored}
    ids = {item.id for item in wanted}
    created, updated, conflicting = list[DatasetItem](), list[DatasetItem](), list[DatasetItem]()
    unchanged = list[str]()
    for item in wanted:
        kept = there.get(item.id)
        if kept is None:
            created.append(stamped(item, {}))
        elif _stamp(kept) == fingerprint(kept) == fingerprint(item) and kept.active:
            unchanged.append(item.id)
        elif fingerprint(kept) not in {_stamp(kept), fingerprint(item)}:
            conflicting.append(stamped(item, kept.metadata))
        else:
            updated.append(stamped(item, kept.metadata))
    others = [item for item in there.values() if item.id not in ids and item.active]
    gone = tuple(item for item in others if ours(item.metadata) is not None and not adopted_as(item))
    adopted = tuple(item for item in others if adopted_as(item) in ids)
    settled = {item.id for item in (*gone, *adopted)}
    return PushPlan(
        created=tuple(created),
        updated=tuple(updated),
        unchanged=tuple(unchanged),
        conflicting=tuple(conflicting),
        gone=gone,
        adopted=adopted,
        foreign=tuple(item.id for item in others if item.id not in settled),
    )


def _stamp(item: DatasetItem) -> Any:
    return (ours(item.metadata) or {}).get(DIGEST)


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
