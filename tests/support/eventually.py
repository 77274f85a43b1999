"""Wait for something that another process or task does, no longer than a given time."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

Seen = TypeVar("Seen")

_PAUSE_SECONDS = 0.01


def eventually(look: Callable[[], Seen], seconds: float = 120, until: Callable[[Seen], object] = bool) -> Seen:
    """Look again and again until what is seen will do.

    Args:
        look: gives what is to be seen now.
        seconds: how long to go on; the last look is taken after that time.
        until: whether what was seen will do; by default, that it is truthy.

    Returns:
        What was seen last.

    Raises:
        AssertionError: it would not do in time; names what was seen last.
    """
    deadline = time.monotonic() + seconds
    while True:
        is_last = time.monotonic() >= deadline
        seen = look()
        if until(seen):
            return seen
        if is_last:
            raise AssertionError(_problem(seen, seconds))
        time.sleep(_PAUSE_SECONDS)


async def eventually_async(
    look: Callable[[], Awaitable[Seen]], seconds: float = 120, until: Callable[[Seen], object] = bool
) -> Seen:
    """``eventually`` for a look that is awaited; other tasks go on meanwhile."""
    deadline = time.monotonic() + seconds
    while True:
        is_last = time.monotonic() >= deadline
        seen = await look()
        if until(seen):
            return seen
        if is_last:
            raise AssertionError(_problem(seen, seconds))
        await asyncio.sleep(_PAUSE_SECONDS)


def _problem(seen: object, seconds: float) -> str:
    return f"what was waited for did not come within {seconds} s; last seen: {seen!r}"
