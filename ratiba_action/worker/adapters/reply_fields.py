"""The fields of a reply that the configuration says where to find."""

from __future__ import annotations

from typing import Any

from .lang_documents import documents_of
from .plain_data import pick, plain


def fields_of(values: Any, places: dict[str, str]) -> dict[str, Any]:
    """The configured fields of a reply.

    Args:
        values: a framework's state or answer.
        places: for each field of a reply the path of its value.

    Raises:
        AdapterError: what stands where the documents are said to be are none.
    """
    found = {field: pick(values, path) for field, path in places.items()}
    return {
        field: documents_of(value, repr(places[field])) if field == "documents" else plain(value)
        for field, value in found.items()
        if value is not None
    }
