"""Signals as ordinary errors: a cancelled run still leaves its report."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

from ratiba_action.errors import InfrastructureError

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def cancelled_by(number: int) -> InfrastructureError:
    """The error that a signal becomes."""
    name = signal.Signals(number).name
    return InfrastructureError(f"The run was cancelled by {name}.", "Run the gate again.")


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Within, SIGINT and SIGTERM raise ``InfrastructureError`` wherever the program is."""

    def interrupt(number: int, _frame: FrameType | None) -> NoReturn:
        raise cancelled_by(number)

    with _handlers(interrupt):
        yield


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Within, both signals are ignored: what has been measured is being written down."""
    with _handlers(signal.SIG_IGN):
        yield


@contextlib.contextmanager
def _handlers(handler: "signal._HANDLER") -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
