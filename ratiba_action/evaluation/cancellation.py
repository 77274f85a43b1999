"""Signals while conversations run: the first one cancels them, and what was measured is still reported."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator

from ratiba_action.interruption import SIGNALS


@contextlib.contextmanager
def cancelled_by_signals(note: Callable[[str], None]) -> Iterator[None]:
    """Within, the first SIGINT or SIGTERM cancels the running task.

    Args:
        note: told which signal it was.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def cancel(name: str) -> None:
        note(f"the run was cancelled by {name}")
        if task is not None:
            task.cancel()

    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        loop.add_signal_handler(number, cancel, number.name)
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
