"""One exchange over HTTP: within a deadline, to an answer of bounded size, and again where that may help.

Nothing is imported at the top that a step which only decides would have to wait for.
"""

import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC
from typing import TYPE_CHECKING, Any, TypeVar

from ratiba_action.errors import ConfigurationError, ExchangeError
from ratiba_action.util.proxy import proxy_for, trusted_certificates

if TYPE_CHECKING:
    import http.client
    import ssl
    import urllib.error
    import urllib.request


Result = TypeVar("Result")

TRANSIENT = frozenset({500, 502, 503, 504})
"""Statuses of a server that may answer the next time."""

TOO_MANY = 429
RATE_LIMITED = frozenset({403, TOO_MANY})
_SECONDARY = re.compile(r"secondary rate limit|abuse detection", re.IGNORECASE)
_UNTOLD = 60.0  # what GitHub's documentation asks to wait where no header says it
_SECONDS = re.compile(r"[0-9]{1,10}")
_ORIGIN = re.compile(r"https?://[^/?#]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential backoff with jitter, within a deadline.

    Args:
        first_seconds: wait before the second try; each further wait is twice as long, give or take a half.
        max_tries: with the first one; five wait for about eight seconds.
        try_seconds: that one try may take. GitHub itself ends a request after ten.
    """

    first_seconds: float = 0.5
    max_tries: int = 5
    try_seconds: float = 25.0

    def wait(self, tries: int, error: ExchangeError, left: float) -> float | None:
        """Seconds until the next try; None for no further one.

        Args:
            left: seconds until the deadline.
        """
        import random  # slow to import, and seldom needed

        if not error.transient or tries >= self.max_tries:
            return None
        wait = self.first_seconds * 2 ** (tries - 1) * random.uniform(0.5, 1.5)  # noqa: S311 - no secret
        if error.wait_seconds is not None:
            wait = error.wait_seconds + random.uniform(0, self.first_seconds)  # noqa: S311 - no secret
        return wait if wait < left else None


USUAL = RetryPolicy()

_TRIES_IN_AN_OUTAGE, _SECONDS_IN_AN_OUTAGE = 4, 5.0
"""About four seconds of waits, which outlast a bad second."""


@dataclass(slots=True)
class Outage:
    """Whether a server has failed a run for as long as it was waited for; the next request waits less then.

    Without it each request of a run waits by itself until a dead server answers.
    """

    lasts: bool = False

    def policy(self, usual: RetryPolicy) -> RetryPolicy:
        """How often a request is made now, and for how long one try is waited for."""
        if not self.lasts:
            return usual
        tries, seconds = min(usual.max_tries, _TRIES_IN_AN_OUTAGE), min(usual.try_seconds, _SECONDS_IN_AN_OUTAGE)
        return replace(usual, max_tries=tries, try_seconds=seconds)


def repeat(
    work: Callable[[], Result],
    policy: RetryPolicy,
    ends: float,
    is_repeatable: Callable[[Any], bool],
    outage: Outage | None = None,
) -> Result:
    """Do something until it succeeds, or may not be done again.

    Args:
        work: makes one or more requests.
        ends: reading of the monotonic clock at which the result must be there.
        is_repeatable: whether the work may be done again after an error of the kind that it raises.
        outage: of the server; None where nobody else asks it.

    Raises:
        ExchangeError: of the last try.
    """
    outage = Outage() if outage is None else outage
    policy = outage.policy(policy)
    tries = 0
    while True:
        try:
            result = work()
        except ExchangeError as error:
            tries += 1
            if not is_repeatable(error):
                raise
            wait = policy.wait(tries, error, ends - time.monotonic())
            if wait is None:
                outage.lasts = outage.lasts or (error.transient and error.wait_seconds is None)
                raise
        else:
            outage.lasts = False
            return result
        time.sleep(wait)


def asked_wait(status: int, headers: Mapping[str, str], message: str) -> float | None:
    """Seconds that an answer asks to wait before the next request; None where it asks for none.

    Args:
        headers: their names are in small letters.
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


def retry_after(answer: "HttpAnswer") -> float | None:
    """Seconds that an answer asks to wait in so many words; None where it does not."""
    return asked_wait(answer.status, answer.headers, "") if "retry-after" in answer.headers else None


def _until(moment: str) -> float | None:
    """Seconds until a date of HTTP; None where it is none."""
    from email.utils import parsedate_to_datetime  # slow to import, and seldom needed

    try:
        found = parsedate_to_datetime(moment)
        # ``-0000`` gives a time without a zone, which Python would read in this machine's.
        return max((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return None


MAX_BYTES = 32 << 20
"""Size of an answer that is still read; a page of 100 comments of the greatest length is smaller."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What came back, whatever its status; the names of headers are in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Peer:
    """Whose server is asked, for messages.

    Args:
        name: as it stands at the beginning of a sentence.
        address: the setting that holds its address.
        error: what is raised; a subclass distinguishes one server's errors from another's.
    """

    name: str
    address: str
    error: type[ExchangeError] = ExchangeError


@dataclass(frozen=True, slots=True)
class HttpQuestion:
    """What is asked.

    Args:
        url: whose path and query are in no message: a webhook's path is its key.
        headers: the token among them; the caller has seen to it that the address may get it.
        content: body, None for none.
    """

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    peer: Peer
    content: bytes | None = field(default=None, repr=False)


def exchange(question: HttpQuestion, environment: Mapping[str, str], ends: float) -> HttpAnswer:
    """Ask once; no redirect is followed.

    Args:
        environment: its ``HTTPS_PROXY``, ``NO_PROXY``, ``SSL_CERT_FILE`` and ``REQUESTS_CA_BUNDLE`` are heeded.
        ends: reading of the monotonic clock at which the answer must be there.

    Raises:
        ExchangeError: nothing was reached, the time is over, or the answer is too large or was cut off; of the
            peer's own class. Says whether another try may help, and whether a request that writes may have arrived.
    """
    return _within(ends, lambda: _open(question, environment, ends), question)


def _open(question: HttpQuestion, environment: Mapping[str, str], ends: float) -> HttpAnswer:
    import urllib.error  # slow to import, and seldom needed by a run that only decides
    import urllib.request

    request = urllib.request.Request(  # noqa: S310 - the caller has checked the scheme
        question.url, question.content, dict(question.headers), method=question.method
    )
    seconds = max(ends - time.monotonic(), 0.001)
    try:
        try:
            with _opener(request, environment, question.peer).open(request, timeout=seconds) as response:
                return _read(response.status, response, question.peer)
        except urllib.error.HTTPError as error:
            with error:
                return _read(error.code, error, question.peer)
    except (OSError, ValueError, _http_error()) as error:
        raise _unreachable(question, getattr(error, "reason", None) or error) from None


def _unreachable(question: HttpQuestion, reason: object) -> ExchangeError:
    writes = question.method != "GET"
    if isinstance(reason, TimeoutError):
        return _too_slow(question.peer, writes=writes)
    message = f"{type(reason).__name__}: {reason}"[:200]
    remedy = f"Check {question.peer.address}, the proxy and the network."
    if "CERTIFICATE_VERIFY_FAILED" in message:
        remedy = "Name the certificates of your own authority by SSL_CERT_FILE."
    never_sent = _was_never_sent(reason)
    return question.peer.error(
        f"{origin(question.url)!r} could not be reached ({message}).",
        remedy,
        transient=never_sent or _is_broken(reason),
        unclear=writes and not never_sent,
    )


def _was_never_sent(reason: object) -> bool:
    """Whether there was no connection, and may be one the next time."""
    import errno
    import socket

    if isinstance(reason, socket.gaierror):
        return reason.errno == socket.EAI_AGAIN
    no_route = isinstance(reason, OSError) and reason.errno in {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN}
    return no_route or isinstance(reason, ConnectionRefusedError)


def _is_broken(reason: object) -> bool:
    """Whether a connection ended before the answer did, or a proxy could not make it just now."""
    import http.client
    import ssl

    broken = (ConnectionError, http.client.IncompleteRead, ssl.SSLEOFError, ssl.SSLZeroReturnError)
    return isinstance(reason, broken) or re.search(r"Tunnel connection failed: 50[0234]\b", str(reason)) is not None


def origin(address: str) -> str:
    """Scheme, host and port of an address; empty where it is none."""
    found = _ORIGIN.match(address)
    return found[0].lower() if found else ""


def _opener(
    request: "urllib.request.Request", environment: Mapping[str, str], peer: Peer
) -> "urllib.request.OpenerDirector":
    import urllib.request

    encrypted = request.full_url.startswith("https")
    proxy = proxy_for(request.full_url, environment)
    if proxy is not None:
        request.set_proxy(proxy.address, "http")
        if proxy.credentials:
            request.add_header("Proxy-Authorization", proxy.credentials)
    handlers: list[Any] = [urllib.request.ProxyHandler({}), _no_redirect()]
    if encrypted:
        handlers.append(urllib.request.HTTPSHandler(context=_certificates(environment, peer)))
    return urllib.request.build_opener(*handlers)


def _no_redirect() -> "urllib.request.HTTPRedirectHandler":
    import urllib.request

    class NoRedirect(urllib.request.HTTPRedirectHandler):
        """Follows nothing: a redirect would carry the token to another host."""

        def redirect_request(self, *_arguments: Any) -> None:
            return None

    return NoRedirect()


def _certificates(environment: Mapping[str, str], peer: Peer) -> "ssl.SSLContext":
    """The certificates of the connection; what is wrong with them must not end a run that measured something."""
    try:
        return trusted_certificates(environment)
    except ConfigurationError as error:
        raise peer.error(error.problem, error.remedy) from error


def _http_error() -> type[Exception]:
    import http.client

    return http.client.HTTPException


def _read(status: int, response: "http.client.HTTPResponse | urllib.error.HTTPError", peer: Peer) -> HttpAnswer:
    content = response.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise peer.error(f"{peer.name}'s answer has more than {MAX_BYTES:,} bytes and was not read.", status=status)
    expected = response.headers.get("Content-Length", "")
    if expected.isascii() and expected.isdigit() and len(content) < int(expected):
        import http.client

        raise http.client.IncompleteRead(content, int(expected) - len(content))
    return HttpAnswer(status, {str(name).lower(): str(value) for name, value in response.headers.items()}, content)


def _within(ends: float, work: Callable[[], HttpAnswer], question: HttpQuestion) -> HttpAnswer:
    """Do the work in a thread and leave it behind when its time is over; a slow server feeds a byte at a time."""
    results: list[HttpAnswer] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            results.append(work())
        except Exception as error:  # noqa: BLE001 - carried over to the caller's thread below
            errors.append(error)

    thread = threading.Thread(target=run, name="exchange", daemon=True)
    remaining = ends - time.monotonic()
    if remaining > 0:
        thread.start()
        thread.join(remaining)
    if errors:
        raise errors[0]
    if not results:
        raise _too_slow(question.peer, writes=question.method != "GET" and remaining > 0)
    return results[0]


def _too_slow(peer: Peer, *, writes: bool) -> ExchangeError:
    return peer.error(
        f"{peer.name} took too long.", "Run the job again.", timed_out=True, transient=True, unclear=writes
    )
