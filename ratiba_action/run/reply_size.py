"""How large the replies and rows of a trial may be."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ratiba_action.errors import WorkerError
from ratiba_action.model.conversation import Reply

MAX_BYTES_OF_A_PART = 256 * 1024
"""Of a reply's text, and of each tool call, document, event and structured output, as UTF-8."""
MAX_BYTES = 2 * 1024 * 1024
"""Of all replies of a scenario, and of its rows."""


class ReplySize:
    """The bytes of one trial so far."""

    def __init__(self, scenario_id: str) -> None:
        self._scenario_id = scenario_id
        self._bytes = 0

    def require(self, parts: Iterable[tuple[str, Any]], maximum: int, turn: int) -> None:
        """Refuse what is too large to be checked, masked and shown in time; cut, it could pass ``must_not_contain``.

        Args:
            parts: each with what it is called in a message.
            maximum: bytes of one of them.
            turn: that is going on, from 1.

        Raises:
            WorkerError: a part is larger, or all so far are.
        """
        for what, value in parts:
            size = _size(value)
            self._bytes += size
            problem = f"scenario {self._scenario_id!r}, turn {turn}: the {what} has {size} bytes"
            remedy = "Return less, such as a page of the result, or what the model needs of it."
            if size > maximum:
                raise WorkerError(f"{problem}; at most {maximum} bytes are measured, and none of it was cut.", remedy)
            if self._bytes > MAX_BYTES:
                raise WorkerError(
                    f"{problem}, and all replies and rows so far {self._bytes} bytes; at most {MAX_BYTES} bytes are "
                    "measured.",
                    remedy,
                )


def parts_of(reply: Reply) -> Iterator[tuple[str, Any]]:
    """What a reply holds, by what it is called in a message."""
    yield "text", reply.text
    yield "state", [reply.state, reply.payment]
    for call in reply.tool_calls:
        yield f"call of the tool {call.name[:80]!r}", [call.args, call.output]
    for event in reply.events:
        yield f"event {event.type[:80]!r}", event.data
    for document in reply.documents:
        yield f"document {document.id[:80]!r}", document.text
    yield "output", reply.output


def _size(value: Any) -> int:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return len(text.encode("utf-8", "replace"))
