"""Understand a provider's HTTP answer: what it says, and whether it was charged for."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

from ratiba_action.model.values import JsonObject
from ratiba_action.util.strict_json import refuse_constant, unique_keys
from ratiba_action.util.text import printable


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
        no_credit: the account has no credit left.
    """

    status: int
    message: str
    retry_after: float | None = None
    permanent: bool = False
    no_credit: bool = False


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


READ_HEADERS = ("Content-Type", "Date", "Retry-After", "Retry-After-Ms")
"""The headers of an answer that are looked at."""

_OK, _SUCCESS, _REDIRECT, _PAYMENT_REQUIRED, _SERVER_ERROR = 200, range(100, 300), range(300, 400), 402, 500
_SAYS_TOO_MUCH = frozenset({401, 403})
_LONGEST_MESSAGE = 300
_CODE = re.compile(r"[a-z]+(_[a-z]+){1,9}")
"""Of a reason, such as ``unsupported_country_region_territory``; no key has this form."""
_SECONDS = re.compile(r"\d{1,6}(\.\d{1,6})?")


OwnError = Callable[[Mapping[str, str], Mapping[str, Any]], Mapping[str, Any] | None]


def read_answer(status: int, headers: Mapping[str, str], text: str, own_error: OwnError) -> Outcome:
    """What a whole HTTP answer means.

    Args:
        headers: of the answer, spelled as in ``READ_HEADERS``.
        text: its body, without keys.
        own_error: finds the provider's own error in the headers and the body; see ``WireFormat.own_error``.
    """
    if status in _SUCCESS:
        return _read_success(status, headers, text, own_error)
    body = _json(text)
    error = own_error(headers, body) if isinstance(body, Mapping) else None
    if status >= _SERVER_ERROR and error is None:
        # Something on the way gave up waiting; the provider may have answered it, and charges for that.
        return Unknown(f"status {status} came without the provider's own error")
    if status in _REDIRECT:
        return Refused(status, "it sends us to another address, where no key is taken", permanent=True)
    details = error or {}
    no_credit = status == _PAYMENT_REQUIRED or _says_no_credit(details)
    return Refused(
        status,
        _message(status, details, text),
        retry_after=_retry_after(headers),
        permanent=no_credit,
        no_credit=no_credit,
    )


def _says_no_credit(details: Mapping[str, Any]) -> bool:
    """Whether the account has no credit left.

    OpenAI has a code for it, with 429; Anthropic answers 400 ``invalid_request_error``, so that only the message says.
    """
    if "insufficient_quota" in (details.get("code"), details.get("type")) or details.get("type") == "billing_error":
        return True
    return "credit balance is too low" in str(details.get("message", "")).lower()


def _read_success(status: int, headers: Mapping[str, str], text: str, own_error: OwnError) -> Outcome:
    kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if status != _OK:
        return Unknown(f"the status is {status}, not 200")
    if kind != "application/json":
        return Unknown(f"the answer is {kind[:60]!r}, not JSON")
    body = _json(text)
    if not isinstance(body, dict):
        return Unknown("the answer is not a JSON object")
    stated = _stated_error(own_error(headers, body), body)
    return Answered(body) if stated is None else Unknown(f"it ended early with an error: {stated}")


def _stated_error(whole: Mapping[str, Any] | None, body: Mapping[str, Any]) -> str | None:
    """What a router says of an answer that ended early, after its status was sent: beside it, or in a choice."""
    choices = body.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, Mapping) and (choice.get("error") or choice.get("finish_reason") == "error"):
            error = choice.get("error")
            return _words(error if isinstance(error, Mapping) else {}, str(error or ""))
    return _words(whole, "") if whole else None


def _json(text: str) -> Any:
    """The decoded text; None when it is not JSON."""
    try:
        return json.loads(text, parse_constant=refuse_constant, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError):
        return None


def _message(status: int, details: Mapping[str, Any], text: str) -> str:
    if status in _SAYS_TOO_MUCH:
        # These repeat parts of the key.
        code = details.get("code") or details.get("type")
        named = f" ({code})" if isinstance(code, str) and _CODE.fullmatch(code) else ""
        return f"the key is wrong, or has no right to this model{named}"
    return _words(details, text)


def _words(details: Mapping[str, Any], text: str) -> str:
    """The provider's own, on one line; of the text where it gives none."""
    message = details.get("message")
    return (
        printable((message if isinstance(message, str) and message else text).strip()[:_LONGEST_MESSAGE])
        or "it says no more"
    )


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, whether they are given as such or as a date, which is held against the answer's own."""
    milliseconds = headers.get("Retry-After-Ms", "").strip()
    if _SECONDS.fullmatch(milliseconds):
        return float(milliseconds) / 1000
    value = headers.get("Retry-After", "").strip()
    if _SECONDS.fullmatch(value):
        return float(value)
    try:
        wait = parsedate_to_datetime(value) - parsedate_to_datetime(headers.get("Date", ""))
    except (TypeError, ValueError):
        return None
    return max(wait.total_seconds(), 0.0)
