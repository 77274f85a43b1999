"""Reads and writes one dataset of a Langfuse server, page by page, and no more than a suite can hold."""

from collections.abc import Mapping
from typing import Any

from ratiba_action.model.canonical import canonical_json
from ratiba_action.model.langfuse_dataset import DatasetItem, StoredDataset
from ratiba_action.observability.langfuse_asking import LangfuseError, ask
from ratiba_action.observability.langfuse_server import LangfuseServer

MAX_ITEMS = 10_000
MAX_BYTES = 64 << 20
_PAGE = 100
_DEEPEST = 60
"""Levels of an item; a scenario file has at most 40."""


def read_dataset(server: LangfuseServer, name: str) -> StoredDataset | None:
    """A dataset with all its items; None when there is none of that name.

    Raises:
        LangfuseError: no answer, or more than a suite can hold.
    """
    from urllib.parse import quote  # beside the client

    from langfuse.api import NotFoundError

    if not server.dataset(name):
        return None
    try:
        found = ask(
            lambda: server.api.datasets.get(quote(name, safe=""), request_options=server.options), server.deadline
        )
    except NotFoundError:
        return None
    try:
        items = _items(server, name)
        canonical_json(found.metadata)
    except (ValueError, RecursionError) as error:
        problem = f"its dataset holds what is no JSON, or too deeply nested ({type(error).__name__})"
        raise LangfuseError(problem) from error
    return StoredDataset(found.metadata if isinstance(found.metadata, dict) else {}, items)


def _items(server: LangfuseServer, name: str) -> tuple[DatasetItem, ...]:
    items: dict[str, DatasetItem] = {}
    size, number = 0, 1
    while True:
        page = _page(server, name, number)
        for row in page.data:
            item = _item(row)
            items[item.id] = item
            size += len(canonical_json([item.input, item.expected_output, item.metadata]))
            _refuse_depth([item.input, item.expected_output, item.metadata])
        if len(items) > MAX_ITEMS or size > MAX_BYTES:
            raise LangfuseError(f"its dataset has more than {MAX_ITEMS:,} items or {MAX_BYTES:,} bytes")
        if not page.data or number >= page.meta.total_pages:
            return tuple(sorted(items.values(), key=lambda item: item.id))
        number += 1


def _refuse_depth(value: Any) -> None:
    level = [value]
    for _ in range(_DEEPEST):
        level = [item for part in level for item in _inside(part)]
    if level:
        raise RecursionError


def _inside(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def _page(server: LangfuseServer, name: str, number: int) -> Any:
    return ask(
        lambda: server.api.dataset_items.list(
            dataset_name=name, page=number, limit=_PAGE, request_options=server.options
        ),
        server.deadline,
    )


def _item(item: Any) -> DatasetItem:
    return DatasetItem(
        id=str(item.id),
        input=item.input,
        expected_output=item.expected_output,
        metadata=item.metadata if isinstance(item.metadata, dict) else {},
        active=str(getattr(item.status, "value", item.status)) == "ACTIVE",
        source_trace_id=item.source_trace_id or "",
    )


def write_dataset(server: LangfuseServer, name: str, metadata: Mapping[str, Any]) -> None:
    """Make a dataset, or replace its metadata.

    Raises:
        LangfuseError: it was not taken.
    """
    ask(
        lambda: server.api.datasets.create(name=name, metadata=dict(metadata), request_options=server.options),
        server.deadline,
    )


def write_item(server: LangfuseServer, dataset: str, item: DatasetItem) -> None:
    """Make an item, or replace it.

    Raises:
        LangfuseError: it was not taken.
    """
    from langfuse.api import DatasetStatus

    status = DatasetStatus.ACTIVE if item.active else DatasetStatus.ARCHIVED
    ask(
        lambda: server.api.dataset_items.create(
            dataset_name=dataset,
            id=item.id,
            input=item.input,
            expected_output=item.expected_output,
            metadata=dict(item.metadata),
            source_trace_id=item.source_trace_id or None,
            status=status,
            request_options=server.options,
        ),
        server.deadline,
    )
