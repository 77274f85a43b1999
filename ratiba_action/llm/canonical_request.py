"""One spelling for one request: what identifies a model call in a recording.

Everything in a request's body counts, unless it is known not to change the answer. So a parameter that a provider adds
later is part of the identity, and two different requests never share a recording.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from ratiba_action.llm.wire_format import Endpoint
from ratiba_action.model.canonical import digest
from ratiba_action.model.values import JsonObject

VOLATILE = frozenset(
    {
        "background",
        "inference_geo",
        "metadata",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "safety_identifier",
        "service_tier",
        "store",
        "stream",
        "stream_options",
        "user",
    }
)
"""Fields of a request that change how an answer is carried, billed or stored, never what it says."""

_PROMPT_DIGITS = 12


def request_key(endpoint: Endpoint, body: JsonObject) -> str:
    """SHA-256 of the canonical request with its provider and endpoint, as 64 hexadecimal digits.

    Raises:
        ValueError: the body holds NaN or an infinity.
    """
    identity = {"provider": endpoint.provider, "endpoint": endpoint.name, "request": endpoint.canonical(body)}
    return digest(plain_number(identity))


def prompt_digest(text: str) -> str:
    """First 12 hexadecimal digits of the SHA-256 of a system prompt."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_PROMPT_DIGITS]


def lasting_fields(body: JsonObject, left_out: Iterable[str] = ()) -> dict[str, Any]:
    """The fields that count: not volatile, not null, not an empty list."""
    dropped = VOLATILE | set(left_out)
    return {name: value for name, value in body.items() if name not in dropped and value is not None and value != []}


def without_nulls(block: Any, left_out: Iterable[str] = ()) -> Any:
    """A message or content block without the null fields that SDKs add when an answer is sent back."""
    if not isinstance(block, Mapping):
        return block
    dropped = set(left_out)
    return {name: value for name, value in block.items() if value is not None and name not in dropped}


def plain_number(value: Any) -> Any:
    """The same value with every whole float spelled as an integer: ``1.0`` and ``1`` are one number."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: plain_number(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_number(item) for item in value]
    return value
