"""A provider's stand-in beside a test that does not run in an event loop itself."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.model_servers import ModelServer


@contextmanager
def served_models(server: ModelServer) -> Iterator[ModelServer]:
    """Serve it on a loop and a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
