"""What can become of one HTTP request to a provider, by what it means for the money."""

from dataclasses import dataclass, field
from typing import Protocol

from ratiba_action.model.values import JsonObject


@dataclass(frozen=True, slots=True)
class Answered:
    """A whole JSON object with status 200."""

    body: JsonObject = field(repr=False)


@dataclass(frozen=True, slots=True)
class Refused:
    """The provider refused, and charges nothing.

    Args:
        message: the provider's own words, on one line, without keys.
        retry_after: seconds that it asks to wait, None when it does not say.
        permanent: asking again cannot help.
    """

    status: int
    message: str
    retry_after: float | None = None
    permanent: bool = False


@dataclass(frozen=True, slots=True)
class NotSent:
    """No connection was made, so that nothing was asked and nothing is charged."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """The request may have been answered and charged for."""

    reason: str


Outcome = Answered | Refused | NotSent | Unknown


class ProviderApi(Protocol):
    """The providers' APIs, one attempt at a time."""

    def require(self, provider: str) -> None:
        """Check that the provider can be asked at all.

        Raises:
            ConfigurationError: there is no key for it.
        """
        ...

    async def post(self, provider: str, endpoint: str, body: JsonObject) -> Outcome:
        """Send one request, and wait for the whole answer."""
        ...
