"""An event loop on a thread of its own, for stand-ins that serve while a case waits for a process."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, Self, TypeVar

Result = TypeVar("Result")


class BackgroundLoop:
    """A context manager."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run to its end, while the caller waits."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    @contextmanager
    def entered(self, manager: AbstractAsyncContextManager[Result]) -> Iterator[Result]:
        """An asynchronous context manager, entered and left on this loop."""
        value = self.run(_enter(manager))
        try:
            yield value
        finally:
            self.run(_leave(manager))


async def _enter(manager: AbstractAsyncContextManager[Result]) -> Result:
    return await manager.__aenter__()


async def _leave(manager: AbstractAsyncContextManager[Any]) -> None:
    await manager.__aexit__(None, None, None)
