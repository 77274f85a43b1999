"""The first SIGINT or SIGTERM that ends a run: noted at once, kept, and reported whatever the program is doing.

Imports next to nothing, since it is installed before every other import. Why a signal is a fact that is noted, and
seldom an exception, is in ``docs/decisions/0029-runner-log-and-signals.md``.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)

_INCOMPLETE = 3
"""The exit code of a run that did not come to its end."""


class CancelledBySignal(KeyboardInterrupt):
    """A signal that ends a command which has nothing to report; no ``except Exception`` can swallow it."""


class Interruption:
    """What is known of the signals of this process, which has one of these.

    ``current`` finds it: the process's own table of signal handlers keeps it.
    """

    def __init__(self) -> None:
        self._number: int | None = None
        self._raises = False
        self._swallowed = False
        self._tell: Callable[[str], None] | None = None
        self._concluding = threading.Lock()
        self._stand_in: Callable[[], None] | None = None
        self._woken = -1

    @property
    def name(self) -> str | None:
        """The first signal's name; None while there was none."""
        return None if self._number is None else signal.Signals(self._number).name

    @property
    def reason(self) -> str | None:
        """The same for a report."""
        return None if self._number is None else f"the run was cancelled by {self.name}"

    def install(self) -> None:
        """Have both signals noted from now on; call it in the main thread, first thing."""
        self._woken, waker = os.pipe()
        os.set_blocking(waker, False)
        # Python runs handlers between two steps of the main thread; what is written here arrives at once.
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        for number in SIGNALS:
            signal.signal(number, self._note)
        sys.unraisablehook = self._unraisable

    def _unraisable(self, unraisable: "sys.UnraisableHookArgs") -> None:
        """A finalizer swallows what a signal raises: nothing is printed, and the next signal raises again."""
        if isinstance(unraisable.exc_value, CancelledBySignal):
            self._swallowed = True
        else:
            sys.__unraisablehook__(unraisable)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        # The action sends SIGTERM until the container has ended: one wish, however often it arrives.
        repeated = number == self._number == signal.SIGTERM and not self._swallowed
        self._swallowed = False
        if self._number is None:
            self._number = number
        if self._tell is not None and not repeated:
            self._tell(signal.Signals(number).name)
        if self._raises and not repeated:
            raise CancelledBySignal

    @contextlib.contextmanager
    def raising(self) -> Iterator[None]:
        """Within, a signal ends what is being done wherever the program is, one from before too.

        Raises:
            CancelledBySignal: there was one.
        """
        before, self._raises = self._raises, True
        try:
            if self._number is not None:
                raise CancelledBySignal
            yield
        finally:
            self._raises = before

    @contextlib.contextmanager
    def noting(self, notify: Callable[[str], None] | None = None) -> Iterator[None]:
        """Within, signals are only noted: what is measured or written down goes on.

        Args:
            notify: called with the name of each signal, of one from before too; None for nothing.
        """
        before = self._raises, self._tell
        self._raises, self._tell = False, notify
        try:
            if self._number is not None and notify is not None:
                notify(signal.Signals(self._number).name)
            yield
        finally:
            self._raises, self._tell = before

    def watch(self, seconds: float, stand_in: Callable[[], None]) -> None:
        """Have a thread conclude instead of a main thread that has not begun to within seconds of the first signal.

        That one may hang where no signal interrupts it: in the look-up of a name, a library, or waiting for a thread.

        Args:
            seconds: from the first signal.
            stand_in: concludes, and ends the process.
        """
        self._stand_in = stand_in
        if self._woken >= 0:
            threading.Thread(target=self._watch, args=(seconds,), name="ratiba-signals", daemon=True).start()

    def _watch(self, seconds: float) -> None:
        while os.read(self._woken, 1)[0] not in SIGNALS:
            pass
        time.sleep(seconds)
        if self._concluding.acquire(blocking=False) and self._stand_in is not None:
            try:
                self._stand_in()
            finally:
                os._exit(_INCOMPLETE)

    def replace_stand_in(self, stand_in: Callable[[], None]) -> None:
        """Have the watching thread conclude in another way, now that more is known."""
        self._stand_in = stand_in

    def conclude(self) -> None:
        """Take the right to conclude; whoever comes second waits, and does not come back."""
        self._concluding.acquire()


def current() -> Interruption:
    """That of this process; where none is installed, one that no signal reaches."""
    owner = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    return owner if isinstance(owner, Interruption) else Interruption()
