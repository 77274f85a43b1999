"""One HTTP request of the worker: no proxy, no redirect, an answer of bounded size."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.parse
import urllib.request
from typing import IO, TYPE_CHECKING, Any

from .strict_json import DuplicateKeyError, read_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_BYTES = 1024 * 1024
_SHOWN = 300


class AnswerError(Exception):
    """A system refused a request, or answered what the gate does not understand."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Leaves a redirect unanswered, so that it is reported like any other status."""

    def redirect_request(self, *_: Any) -> None:
        """Follow nothing."""


def call(
    method: str,
    address: str,
    headers: Mapping[str, str],
    content: bytes | None,
    *,
    seconds: float | None = None,
    check: Callable[[Mapping[str, str]], None] | None = None,
) -> bytes:
    """Ask once; returns the bytes of the answer.

    Args:
        seconds: that each wait may take; None for no limit.
        check: is given the headers of a good answer.

    Raises:
        AnswerError: nobody answered, or with an error, a redirect or too much.
    """
    request = urllib.request.Request(  # noqa: S310 - the configuration allows http and https only
        address, content, dict(headers), method=method
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect())
    place = f"{method} {address}"
    try:
        with opener.open(request, timeout=seconds) as response:
            if check is not None:
                check(response.headers)
            return _read(response, place)
    except urllib.error.HTTPError as error:
        with error:
            body_of_error = error.read(_SHOWN).decode("utf-8", "replace")
        why = " (redirects are not followed)" if 300 <= error.code < 400 else ""  # noqa: PLR2004 - redirects
        raise AnswerError(f"{place} was answered with status {error.code}{why}: {body_of_error}") from None
    except OSError as error:
        raise AnswerError(f"{place} failed: {getattr(error, 'reason', error)}") from None
    except http.client.HTTPException as error:
        raise AnswerError(f"{place} was not answered with HTTP to its end: {error!r}"[:_SHOWN]) from None


def _read(response: IO[bytes], place: str) -> bytes:
    content = response.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise AnswerError(f"{place} was answered with more than {MAX_BYTES} bytes")
    return content


def decode(content: bytes, place: str) -> Any:
    """The JSON of an answer.

    Raises:
        AnswerError: it is none, or has a key twice.
    """
    shown = content[:_SHOWN].decode("utf-8", "replace")
    try:
        return read_json(content)
    except DuplicateKeyError as problem:
        why = f"{place} was answered with JSON that has {problem}: {shown}"
    except (ValueError, RecursionError):
        why = f"{place} was not answered with JSON: {shown}"
    raise AnswerError(why)
