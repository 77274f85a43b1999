"""Between a chat and its page: lines that were posted on the one side, what happened on the other."""

import asyncio
import json
from collections import deque
from typing import TYPE_CHECKING, Any

from ratiba_action.reporting.markdown import clean

if TYPE_CHECKING:
    from collections.abc import Callable

WAITING = 8
"""Lines that may wait while one is done."""
_KEPT = 5_000
_READY = '{"kind":"ready"}'


class ChatChannel:
    """Implements ``LineReader``, ``TextOutput`` and ``Conversing``; used within one event loop."""

    def __init__(self) -> None:
        self.tell: Callable[[], None] = lambda: None
        self._lines: asyncio.Queue[str] = asyncio.Queue(WAITING)
        self._things: deque[tuple[int, str]] = deque(maxlen=_KEPT)
        self._count = 0

    async def next(self) -> str | None:
        """See ``LineReader``; whoever reads the page learns that the line before is done."""
        if self._lines.empty():
            self._add(_READY)
        return await self._lines.get()

    def write(self, text: str, /) -> int:
        """Take what happened: a JSON object on each line."""
        for line in text.splitlines():
            self._add(json.dumps(_cleaned(json.loads(line)), ensure_ascii=True))
        return len(text)

    def flush(self) -> None:
        """Nothing is kept back."""

    def put(self, line: str) -> bool:
        """See ``Conversing``."""
        if self._lines.full():
            return False
        self._lines.put_nowait(line)
        return True

    def since(self, number: int) -> list[tuple[int, str]]:
        """See ``Conversing``."""
        return [thing for thing in self._things if thing[0] > number]

    def _add(self, data: str) -> None:
        self._count += 1
        self._things.append((self._count, data))
        self.tell()


def _cleaned(value: Any) -> Any:
    """The same without characters that hide or turn a text."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(name): _cleaned(part) for name, part in value.items()}
    return [_cleaned(part) for part in value] if isinstance(value, list) else value
