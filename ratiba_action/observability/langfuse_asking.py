"""How often a Langfuse server is asked again, and what a failure of it is called."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from ratiba_action.util.proxy import Proxy


@dataclass(frozen=True, slots=True)
class LangfuseAccess:
    """Host and keys of a project.

    Args:
        host: with its scheme, without a slash at its end.
        seconds: that everything sent at once may take together.
        proxy: on the way to the host; None where the process's own variables say it, or there is none.
    """

    host: str
    public_key: str = field(repr=False)
    secret_key: str = field(repr=False)
    seconds: float = 10.0
    proxy: Proxy | None = None


Result = TypeVar("Result")

_TRIES = 3
_FIRST_WAIT = 0.25
_SHORTEST = 0.05
_REFUSED_FOR_NOW = frozenset({429, 503})
_KEYS_REFUSED = frozenset({401, 403})
_SERVER_FAULT = 500


class LangfuseError(Exception):
    """The server did not do what it was asked.

    Args:
        final: nothing else is to be expected of it now.
        status: of its answer; 0 without one.
    """

    def __init__(self, problem: str, *, final: bool = True, status: int = 0) -> None:
        super().__init__(problem)
        self.final = final
        self.status = status


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment of the monotonic clock, by which everything must be done."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        """So many seconds from now."""
        return cls(time.monotonic() + seconds)

    @property
    def seconds_left(self) -> float:
        """Until then; not below zero."""
        return max(self.at - time.monotonic(), 0.0)

    def timeout(self) -> float:
        """Seconds that a request may take.

        Raises:
            LangfuseError: there are none left.
        """
        left = self.seconds_left
        if left < _SHORTEST:
            raise LangfuseError("the time for sending was over")
        return left


@dataclass(frozen=True, slots=True)
class _Failure:
    """What went wrong with a request.

    Args:
        untouched: the server has surely not done what it was asked.
        passing: it may do so when it is asked again.
        wait: seconds that it asks for.
    """

    problem: str
    untouched: bool
    passing: bool
    final: bool = True
    wait: float = 0.0
    status: int = 0


def ask(call: Callable[[], Result], deadline: Deadline, *, once: bool = False) -> Result:
    """Call a server, and again while that may help and there is time.

    Args:
        call: raises the client's or the transport's own errors.
        deadline: by which there is no further try.
        once: what it does must not be done twice, so that it is repeated only when it was surely not done.

    Raises:
        LangfuseError: it was in vain.
    """
    import httpx
    from langfuse.api.core import ApiError
    from pydantic import ValidationError

    tries = 0
    while True:
        tries += 1
        try:
            return call()
        except ApiError as error:
            failure = _answered(error.status_code or 0, error.headers or {})
        except httpx.TransportError as error:
            failure = _unanswered(error)
        except (ValidationError, RecursionError) as error:
            raise LangfuseError("its answer is not one of Langfuse's") from error
        wait = max(failure.wait, _FIRST_WAIT * 2 ** (tries - 1))
        again = failure.passing and (failure.untouched or not once)
        if not again or tries == _TRIES or wait > deadline.seconds_left - _SHORTEST:
            raise LangfuseError(failure.problem, final=failure.final, status=failure.status)
        time.sleep(wait)


def _answered(status: int, headers: dict[str, str]) -> _Failure:
    if status in _KEYS_REFUSED:
        return _Failure(f"it refuses the keys (status {status})", untouched=True, passing=False)
    problem = f"it answered with status {status}" if status else "its answer cannot be read"
    if status in _REFUSED_FOR_NOW:
        return _Failure(problem, untouched=True, passing=True, wait=_asked_wait(headers))
    fault = status >= _SERVER_FAULT
    return _Failure(problem, untouched=False, passing=fault, final=fault, status=status)


def _asked_wait(headers: dict[str, str]) -> float:
    text = headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() else 0.0


def _unanswered(error: Exception) -> _Failure:
    import httpx

    unreached = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
    if unreached:
        problem = "it cannot be reached"
    elif isinstance(error, httpx.TimeoutException):
        problem = "it did not answer in time"
    else:
        problem = "the connection ended without an answer"
    return _Failure(problem, untouched=unreached, passing=True)
