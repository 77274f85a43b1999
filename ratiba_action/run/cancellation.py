"""Signals while conversations run: the first one cancels them, and what was measured is still reported."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator

from ratiba_action.util.interruption import current

_PATIENCE = 1.5
"""Seconds that a cancelled run has to close what it has opened; a runner kills it 10 s after the first signal."""

_AGAIN = 0.5


@contextlib.contextmanager
def cancelled_by_signals(note: Callable[[str], None]) -> Iterator[None]:
    """Within, the first SIGINT or SIGTERM cancels the running task; what it then waits for is cut short after 1.5 s.

    Args:
        note: told which signal it was; a signal from before is one too.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    inside = [True]

    def cancel() -> None:
        if inside and task is not None:
            task.cancel()

    def hurry() -> None:
        cancel()
        if inside:
            loop.call_later(_AGAIN, hurry)

    def begin() -> None:
        cancel()
        loop.call_later(_PATIENCE, hurry)

    noted: list[str] = []

    def tell(name: str) -> None:
        # In a handler between two steps of the loop, which may be asleep.
        if not noted:
            note(f"the run was cancelled by {name}")
        loop.call_soon_threadsafe(cancel if noted else begin)
        noted.append(name)

    with current().noting(tell):
        try:
            yield
        finally:
            inside.clear()
