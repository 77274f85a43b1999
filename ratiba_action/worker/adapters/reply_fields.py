"""The fields of a reply that the configuration says where to find, such as the documents that a retriever found."""

from __future__ import annotations

import dataclasses
import enum
import json
import re
from datetime import date, datetime
from typing import Any

from ..lookup import AdapterError

_IDS = ("id", "source")
_SCORES = ("score", "relevance_score")


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


def documents_of(found: Any, place: str) -> list[dict[str, Any]]:
    """The documents in their order.

    Args:
        found: a list of LangChain's documents, of pairs of a document and its score, of texts that are ids, or of
            mappings with ``id``, ``text`` and ``score``; None for none.
        place: where they were found, for messages.

    Raises:
        AdapterError: it is something else, or a document has nothing that distinguishes it.
    """
    if found is None:
        return []
    if not isinstance(found, (list, tuple)):
        raise AdapterError(f"{place} is of type {type(found).__name__}, not a list of documents")
    return [_document(item, f"{place}[{index}]") for index, item in enumerate(found)]


def _document(item: Any, place: str) -> dict[str, Any]:
    score = None
    if isinstance(item, tuple) and len(item) == 2:  # noqa: PLR2004 - what similarity_search_with_score gives
        item, score = item
    if isinstance(item, str):
        return {"id": item}
    if not hasattr(item, "page_content"):
        return dict(plain(item)) if isinstance(plain(item), dict) else {"id": plain(item)}
    metadata = item.metadata or {}
    identifier = getattr(item, "id", None) or _first(metadata, _IDS)
    if identifier is None:
        raise AdapterError(f"{place} has no id: give the document an `id`, or `id` or `source` in its metadata")
    score = _first(metadata, _SCORES) if score is None else score
    return {"id": str(identifier), "text": item.page_content, "score": None if score is None else float(score)}


def _first(metadata: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((metadata[name] for name in names if metadata.get(name) is not None), None)


def plain(value: Any) -> Any:
    """The value with models, dataclasses, enumerations and dates turned into what JSON has words for.

    What is none of these is returned as it is: the gate refuses it and names its place.
    """
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return _own_words(value)


def _own_words(value: Any) -> Any:
    """What a Pydantic model or a number of NumPy's says of itself."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    scalar = getattr(value, "item", None)
    return scalar() if callable(scalar) and getattr(value, "shape", None) == () else value


def pick(values: Any, path: str) -> Any:
    """What stands at a path of keys, attributes or list indexes, ``orders[0].status``; None where nothing does."""
    found = values
    for step in steps_of(path):
        if isinstance(step, int):
            inside = isinstance(found, (list, tuple)) and -len(found) <= step < len(found)
            found = found[step] if inside else None
        else:
            found = found.get(step) if isinstance(found, dict) else getattr(found, step, None)
    return found


def steps_of(path: str) -> list[str | int]:
    """The names and indexes of a path, which the gate has checked."""
    steps = re.findall(r'\[(-?[0-9]+)\]|("(?:[^"\\]|\\.)*")|([A-Za-z_][A-Za-z0-9_]*)', path)
    return [int(index) if index else json.loads(quoted) if quoted else name for index, quoted, name in steps]
