"""One spelling for one value: canonical JSON and its digest."""

import hashlib
import json
from typing import Any

from ratiba_action.model.conversation import Transcript


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no white space: equal values have equal texts.

    Raises:
        ValueError: the value holds NaN or an infinity.
        TypeError: the value is not JSON.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(value).encode("ascii")).hexdigest()


def arguments_digest(arguments: Any) -> str:
    """SHA-256 of a tool call's arguments: of their canonical JSON, or of what Python shows where they have none."""
    try:
        return digest(arguments)
    except (TypeError, ValueError, RecursionError):
        return hashlib.sha256(repr(arguments).encode("utf-8", "replace")).hexdigest()


def transcript_digest(transcript: Transcript) -> str:
    """SHA-256 of what was said: each message or event with the text of its reply.

    States, tool calls and rows are left out: a judge of language never sees them.
    """
    content = [
        {
            "user": exchange.turn.user,
            "event": dict(exchange.turn.event) if exchange.turn.event is not None else None,
            "reply": exchange.reply.text,
        }
        for exchange in transcript.exchanges
    ]
    return digest(content)


_DIGITS = 16
_ALL = float(16**_DIGITS)


def in_sample(share: float, *identity: str) -> bool:
    """Whether something belongs to a share of all, by the hash of what it is.

    A larger share holds all that a smaller one holds.

    Args:
        share: 0 for nothing, 1 for everything.
        identity: what distinguishes it from everything else.
    """
    seen = hashlib.sha256(canonical_json(list(identity)).encode("ascii")).hexdigest()
    return int(seen[:_DIGITS], 16) < share * _ALL
