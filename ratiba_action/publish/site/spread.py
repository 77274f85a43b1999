"""Work on many parts in as many processes as there are processors."""

import gc
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import TypeVar

_MAX_PROCESSES = 4
"""Processes; each takes about 100 MB."""
_RECORDS_BETWEEN = 100_000
"""Objects that are made between two searches for garbage: what is read here has no cycles."""

Part = TypeVar("Part")
Made = TypeVar("Made")


def processors() -> int:
    """How many processes are worth it."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, _MAX_PROCESSES)


def spread(work: Callable[[Part], Made], parts: Iterable[Part], processes: int) -> Iterator[Made]:
    """What the work makes of each part, in order; a few parts are in memory at a time.

    Args:
        work: a function of a module; it, its argument and what it makes can be pickled. It raises nothing.
        processes: 1 to work in this one alone, which is also done where others cannot be started or are killed.
    """
    given = iter(parts)
    if processes > 1:
        yield from _in_processes(work, given, processes)
    yield from map(work, given)


def _in_processes(work: Callable[[Part], Made], given: Iterator[Part], processes: int) -> Iterator[Made]:
    """As far as processes live; takes no part that it does not return the result of."""
    try:
        # Not forked: a fork has the memory of this process, and none of its threads.
        pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_search_less)
    except (OSError, ImportError):  # no semaphores here
        return
    waiting: deque[tuple[Part, Future[Made]]] = deque()
    with pool:
        for part in given:
            try:
                waiting.append((part, pool.submit(work, part)))
            except (BrokenProcessPool, OSError):
                yield from map(_answer_of(work), waiting)
                yield work(part)
                return
            if len(waiting) > 2 * processes:
                yield _answer(work, *waiting.popleft())
        yield from map(_answer_of(work), waiting)


def _answer_of(work: Callable[[Part], Made]) -> Callable[[tuple[Part, "Future[Made]"]], Made]:
    return lambda entry: _answer(work, *entry)


def _answer(work: Callable[[Part], Made], part: Part, asked: "Future[Made]") -> Made:
    try:
        return asked.result()
    except BrokenProcessPool:
        return work(part)


def _search_less() -> None:
    gc.freeze()
    gc.set_threshold(_RECORDS_BETWEEN)
