"""When a request to GitHub is made again, and after how long; how requests travel is no concern of this module."""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from ratiba_action.errors import GithubError

Result = TypeVar("Result")

TRANSIENT = frozenset({500, 502, 503, 504})
"""Statuses of a server that may answer the next time."""

TOO_MANY = 429
RATE_LIMITED = frozenset({403, TOO_MANY})
_SECONDARY = re.compile(r"secondary rate limit|abuse detection", re.IGNORECASE)
_UNTOLD = 60.0  # what GitHub's documentation asks to wait where no header says it
_SECONDS = re.compile(r"[0-9]{1,10}")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential backoff with jitter, within a deadline.

    Args:
        first_seconds: wait before the second try; each further wait is twice as long, give or take a half.
        most_tries: with the first one.
        try_seconds: that one try may take. GitHub itself ends a request after ten.
    """

    first_seconds: float = 0.5
    most_tries: int = 6
    try_seconds: float = 25.0

    def wait(self, tries: int, error: GithubError, left: float) -> float | None:
        """Seconds until the next try; None for no further one.

        Args:
            tries: made so far.
            error: of the last one.
            left: seconds until the deadline.
        """
        import random  # noqa: PLC0415 - slow to import, and seldom needed

        if not error.transient or tries >= self.most_tries:
            return None
        wait = self.first_seconds * 2 ** (tries - 1) * random.uniform(0.5, 1.5)  # noqa: S311 - no secret
        if error.wait_seconds is not None:
            wait = error.wait_seconds + random.uniform(0, self.first_seconds)  # noqa: S311 - no secret
        return wait if wait < left else None


USUAL = RetryPolicy()


def repeat(
    work: Callable[[], Result], policy: RetryPolicy, ends: float, may_repeat: Callable[[GithubError], bool]
) -> Result:
    """Do something until it succeeds, or may not be done again.

    Args:
        work: makes one or more requests.
        policy: says how often, and how long to wait.
        ends: reading of the monotonic clock at which the result must be there.
        may_repeat: whether the work may be done again after an error.

    Raises:
        GithubError: of the last try.
    """
    tries = 0
    while True:
        try:
            return work()
        except GithubError as error:
            tries += 1
            wait = policy.wait(tries, error, ends - time.monotonic()) if may_repeat(error) else None
            if wait is None:
                raise
        time.sleep(wait)


def asked_wait(status: int, headers: Mapping[str, str], message: str) -> float | None:
    """Seconds that an answer asks to wait before the next request; None where it asks for none.

    Args:
        status: of the answer.
        headers: their names are in small letters.
        message: what a refusal says.
    """
    if status not in TRANSIENT | RATE_LIMITED:
        return None
    after = headers.get("retry-after", "").strip()
    if after:
        return float(after) if _SECONDS.fullmatch(after) else _until(after)
    if status in TRANSIENT:
        return None
    if headers.get("x-ratelimit-remaining") == "0":
        reset = headers.get("x-ratelimit-reset", "")
        return max(float(reset) - time.time(), 0.0) if _SECONDS.fullmatch(reset) else None
    return _UNTOLD if status == TOO_MANY or _SECONDARY.search(message) else None


def _until(moment: str) -> float | None:
    """Seconds until a date of HTTP; None where it is none."""
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - slow to import, and seldom needed

    try:
        return max(parsedate_to_datetime(moment).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return None
