"""How often and after how long a failed attempt is made again."""

from dataclasses import dataclass

from ratiba_action.llm.providers.outcome import NotSent, Outcome, Refused, Unknown

_SERVER_ERROR = 500
_TEMPORARY = frozenset({408, 409, 429})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Bounds of the attempts of one call.

    Args:
        attempts: the most that are made, the first one included.
        unknown: how many attempts whose outcome is unknown are followed by another: each of them is paid for.
        first_wait: seconds before the second attempt; doubled before each one after it.
        longest_wait: seconds; a provider that asks for more is not waited for.
    """

    attempts: int = 4
    unknown: int = 1
    first_wait: float = 1.0
    longest_wait: float = 60.0

    def wait(self, failures: list[Outcome]) -> float | None:
        """Seconds before the next attempt, None when there is none.

        Args:
            failures: what became of the attempts so far, at least one; the last is the latest.
        """
        if len(failures) >= self.attempts or not self._may_help(failures):
            return None
        pause = min(self.first_wait * 2 ** (len(failures) - 1), self.longest_wait)
        last = failures[-1]
        if isinstance(last, Refused) and last.retry_after is not None:
            pause = max(last.retry_after, 0.0)
        return pause if pause <= self.longest_wait else None

    def _may_help(self, failures: list[Outcome]) -> bool:
        match failures[-1]:
            case Refused(status=status, permanent=permanent):
                return not permanent and (status in _TEMPORARY or status >= _SERVER_ERROR)
            case NotSent():
                return True
            case _:
                return sum(isinstance(each, Unknown) for each in failures) <= self.unknown
