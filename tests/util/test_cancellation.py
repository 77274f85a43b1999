"""What was begun is finished, and a cancelled caller still learns that it was cancelled."""

import asyncio

import pytest

from ratiba_action.util.cancellation import finish, uninterrupted


async def test_the_result_comes_with_whether_the_caller_was_cancelled() -> None:
    async def work() -> str:
        await asyncio.sleep(0)
        return "done"

    assert await uninterrupted(work()) == ("done", False)


async def test_a_caller_that_is_cancelled_again_and_again_waits_for_the_end() -> None:
    opened, finished = asyncio.Event(), []

    async def work() -> str:
        await opened.wait()
        finished.append(True)
        return "done"

    task = asyncio.ensure_future(uninterrupted(work()))
    for _ in range(3):
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    opened.set()
    assert await task == ("done", True)
    assert finished == [True]


async def test_a_failure_is_raised() -> None:
    async def work() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await uninterrupted(work())


async def test_a_failure_does_not_hide_that_the_caller_was_cancelled() -> None:
    opened = asyncio.Event()

    async def work() -> None:
        await opened.wait()
        raise ValueError("broken")

    task = asyncio.ensure_future(uninterrupted(work()))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    opened.set()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_cancellation_goes_on_once_the_work_is_done() -> None:
    opened, finished = asyncio.Event(), []

    async def work() -> str:
        await opened.wait()
        finished.append(True)
        return "done"

    task = asyncio.ensure_future(finish(work()))
    await asyncio.sleep(0)
    task.cancel()
    opened.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert finished == [True]
    assert await finish(work()) == "done"
