"""Writes a suite to a dataset, item by item; written items stay if the server fails midway."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ratiba_action.model.langfuse_dataset import DatasetItem
from ratiba_action.observability.langfuse_asking import Deadline, LangfuseAccess, LangfuseError
from ratiba_action.observability.langfuse_datasets import read_dataset, write_dataset, write_item
from ratiba_action.observability.langfuse_server import connected
from ratiba_action.observability.traces.datasets import OURS
from ratiba_action.production.datasets.local_suite import LocalSuite, adopted_item, dataset_metadata, suite_items
from ratiba_action.production.datasets.scenario_items import DIGEST, fingerprint, ours, same_json, stamped


@dataclass(frozen=True, slots=True)
class PushPlan:
    """Items to write, and ids to report.

    Args:
        updated: items that differ on the server or are archived there.
        conflicting: items that were edited on the server since the last push, and would be overwritten.
        gone: active items whose scenario or case is no longer in the suite.
        adopted: active items that were made on the server and that the suite has taken over since.
        foreign: ids of active items that were not made by the gate.
    """

    created: tuple[DatasetItem, ...] = ()
    updated: tuple[DatasetItem, ...] = ()
    unchanged: tuple[str, ...] = ()
    conflicting: tuple[DatasetItem, ...] = ()
    gone: tuple[DatasetItem, ...] = ()
    adopted: tuple[DatasetItem, ...] = ()
    foreign: tuple[str, ...] = ()


def plan_push(
    wanted: Sequence[DatasetItem], stored: Iterable[DatasetItem], adopted_id: Callable[[DatasetItem], str]
) -> PushPlan:
    """Compare a suite with a server.

    Args:
        adopted_id: gives the id of the wanted item that an item made on the server became; empty for none.
    """
    there = {item.id: item for item in stored}
    ids = {item.id for item in wanted}
    created, updated, conflicting = list[DatasetItem](), list[DatasetItem](), list[DatasetItem]()
    unchanged = list[str]()
    for item in wanted:
        existing = there.get(item.id)
        if existing is None:
            created.append(stamped(item, {}))
        elif _stamp(existing) == fingerprint(existing) == fingerprint(item) and existing.active:
            unchanged.append(item.id)
        elif fingerprint(existing) not in {_stamp(existing), fingerprint(item)}:
            conflicting.append(stamped(item, existing.metadata))
        else:
            updated.append(stamped(item, existing.metadata))
    others = [item for item in there.values() if item.id not in ids and item.active]
    gone = tuple(item for item in others if ours(item.metadata) is not None and not adopted_id(item))
    adopted = tuple(item for item in others if adopted_id(item) in ids)
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
    """The result of a push.

    Args:
        failure: error that ended it early; None if it finished.
    """

    plan: PushPlan = field(default_factory=PushPlan)
    written: int = 0
    archived: list[str] = field(default_factory=list)
    failure: LangfuseError | None = None


def push(
    access: LangfuseAccess,
    dataset: str,
    suite: LocalSuite,
    *,
    overwrite: bool,
    archive: bool,
    dry_run: bool,
    apart: Sequence[str] = (),
) -> Pushed:
    """Write a suite to a dataset.

    Args:
        access: with the time limit in seconds.
        archive: archive items that are no longer in the suite.
        apart: ids of files of cases that have datasets of their own.
    """
    pushed = Pushed()
    try:
        with connected(access, Deadline.after(access.seconds)) as server:
            stored = read_dataset(server, dataset)
            items = stored.items if stored is not None else ()
            plan = plan_push(suite_items(suite, dataset), items, lambda item: adopted_item(suite, dataset, item))
            if overwrite:
                plan = replace(plan, updated=(*plan.updated, *plan.conflicting), conflicting=())
            pushed.plan = plan
            if dry_run:
                return pushed
            metadata = dict(stored.metadata) if stored is not None else {}
            own = dataset_metadata(suite, apart)
            if stored is None or not same_json(ours(metadata), own):
                write_dataset(server, dataset, {**metadata, OURS: own})
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
