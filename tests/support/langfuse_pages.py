"""Pages of a stand-in for Langfuse: numbered ones of older lists, cursors of newer ones."""

import base64
from collections.abc import Mapping, Sequence
from typing import TypeVar

Row = TypeVar("Row")


def page_after(rows: Sequence[Row], cursor: str | None, limit: int) -> tuple[Sequence[Row], dict[str, str]]:
    """The rows behind a cursor, and the meta data with the next cursor while there are more."""
    start = int(base64.urlsafe_b64decode(cursor)) if cursor else 0
    end = start + limit
    more = {"cursor": base64.urlsafe_b64encode(str(end).encode()).decode()} if end < len(rows) else {}
    return rows[start:end], more


def numbered_page(rows: Sequence[Row], query: Mapping[str, str]) -> tuple[Sequence[Row], dict[str, int]]:
    """A page by its number from 1, and its meta data."""
    page, limit = int(query.get("page", "1")), int(query.get("limit", "50"))
    start = (page - 1) * limit
    meta = {"page": page, "limit": limit, "totalItems": len(rows), "totalPages": -(-len(rows) // limit)}
    return rows[start : start + limit], meta
