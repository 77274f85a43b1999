"""What a push does to each item; a second one after it does nothing."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ratiba_action.model.dataset_item import DatasetItem
from ratiba_action.production.datasets.fingerprint import DIGEST, fingerprint, ours, stamped


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
