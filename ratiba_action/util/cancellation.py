"""Work that goes to its end, however often whoever waits for it is cancelled."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


async def uninterrupted(work: Coroutine[Any, Any, Result]) -> tuple[Result, bool]:
    """Run ``work`` to its end, whatever happens to the caller.

    Returns:
        Its result, and whether the caller was cancelled meanwhile; it must then raise ``CancelledError`` itself when
        everything is in order.

    Raises:
        asyncio.CancelledError: the work failed and the caller was cancelled meanwhile.
    """
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
            cancelled = True
        except Exception:  # noqa: BLE001 - raised below
            break
    if cancelled and (error := task.exception()) is not None:
        raise asyncio.CancelledError from error
    return task.result(), cancelled


async def finish(work: Coroutine[Any, Any, Result]) -> Result:
    """Run ``work`` to its end, then let a cancellation go on; gives its result.

    Raises:
        asyncio.CancelledError: the caller was cancelled meanwhile.
    """
    result, cancelled = await uninterrupted(work)
    if cancelled:
        raise asyncio.CancelledError
    return result
