"""What an untrusted process prints: read always, kept only at its end."""

import asyncio
import os
from typing import cast

KEPT_BYTES = 8192
LAG_SECONDS = 1.0


class OutputTail(asyncio.Protocol):
    """The last bytes that came through a pipe; made by ``open_output``."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._ended = asyncio.Event()
        self._transport: asyncio.ReadTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember the transport."""
        self._transport = cast("asyncio.ReadTransport", transport)

    def data_received(self, data: bytes) -> None:
        """Keep the end of what came so far."""
        self._kept += data
        del self._kept[:-KEPT_BYTES]

    def connection_lost(self, _problem: Exception | None) -> None:
        """Note that nothing more will come."""
        self._ended.set()

    async def text(self) -> str:
        """The last 8 KiB, once every writer is gone or soon after."""
        try:
            async with asyncio.timeout(LAG_SECONDS):
                await self._ended.wait()
        except TimeoutError:
            pass
        return self._kept.decode("utf-8", "replace").strip()

    def close(self) -> None:
        """Stop reading."""
        if self._transport is not None:
            self._transport.close()


async def open_output() -> tuple[OutputTail, int]:
    """A pipe's tail and the descriptor to write to, which the caller closes once it is handed on."""
    reading, writing = os.pipe()
    tail = OutputTail()
    await asyncio.get_running_loop().connect_read_pipe(lambda: tail, os.fdopen(reading, "rb", buffering=0))
    return tail, writing
