"""GitHub's REST API by the standard library alone: the one client of every part that asks it.

Nothing is imported at the top that a step which only decides would have to wait for.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ratiba_action.core.proxy import proxy_for
from ratiba_action.errors import GithubError

if TYPE_CHECKING:
    import http.client
    import ssl
    import urllib.error
    import urllib.request

GITHUB_API = "https://api.github.com"
API_VERSION = "2022-11-28"
"""The oldest version that GitHub serves, so that enterprise servers know it."""

MOST_BYTES = 32 << 20
"""Size of an answer that is still read; a page of 100 comments of the greatest length is smaller."""

PAGE = 100
_REPOSITORY = re.compile(r"(?!\.{1,2}/)[A-Za-z0-9_.-]{1,100}/(?!\.{1,2}\Z)[A-Za-z0-9_.-]{1,100}")
_ADDRESS = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::[0-9]{1,5})?(?:/[A-Za-z0-9._/-]*)?"
)
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
_NEXT = re.compile(r'<([^<>\s]+)>\s*;[^,<]*\brel="?next\b')
_ORIGIN = re.compile(r"https?://[^/?#]+", re.IGNORECASE)
_RATE_LIMITED = frozenset({403, 429})


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class GithubApi:
    """Asks about one repository; every request counts towards one deadline, which begins when the client is made.

    Args:
        repository: ``owner/name``.
        token: sent over https only, or to this machine; to no address that an answer redirects to.
        address: base of the API, ``GITHUB_API_URL`` on an enterprise server.
        environment: its ``HTTPS_PROXY``, ``NO_PROXY``, ``SSL_CERT_FILE`` and ``REQUESTS_CA_BUNDLE`` are heeded; a
            proxy's address may hold a password.
        deadline_seconds: for all requests together.

    Raises:
        GithubError: token, address or repository cannot be used.
    """

    repository: str
    token: str = field(repr=False)
    address: str = GITHUB_API
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    deadline_seconds: float = 10.0
    _ends: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.token:
            raise GithubError("GitHub cannot be asked: github-token is empty.", "Give the step the workflow's token.")
        if not (self.token.isascii() and self.token.isprintable()) or " " in self.token:
            raise GithubError("GitHub cannot be asked: github-token is no token.", "Give the step a valid token.")
        if not _REPOSITORY.fullmatch(self.repository):
            raise GithubError(
                f"GitHub cannot be asked about the repository {self.repository[:200]!r}.", "Give owner/name."
            )
        address = _ADDRESS.fullmatch(self.address)
        if address is None:
            raise GithubError(f"GITHUB_API_URL is {self.address[:200]!r}, not an address of an API.")
        if address["scheme"] != "https" and address["host"] not in _LOOPBACK:
            raise GithubError(f"GITHUB_API_URL is {self.address[:200]!r}; a token is sent only over https.")
        object.__setattr__(self, "_ends", time.monotonic() + self.deadline_seconds)

    def get(self, path: str, query: Mapping[str, str] | None = None) -> Any:
        """The decoded answer to a GET.

        Args:
            path: below the repository, such as ``pulls/7``.
            query: parameters, not yet escaped.

        Raises:
            GithubError: GitHub refused, or did not answer in time, or not in JSON.
        """
        return _decoded(self._ask("GET", self._url(path, query)))

    def pages(self, path: str, query: Mapping[str, str] | None = None) -> Iterator[list[Any]]:
        """Every page of a list, as its Link headers give them.

        Raises:
            GithubError: as for ``get``; an answer is not a list, or the next page is on another host.
        """
        address: str | None = self._url(path, {**(query or {}), "per_page": str(PAGE)})
        while address:
            answer = self._ask("GET", address)
            rows = _decoded(answer)
            if not isinstance(rows, list):
                raise GithubError("GitHub's answer was not understood: a list was expected.", status=answer.status)
            yield rows
            address = self._next(answer.headers.get("link", ""))

    def send(self, method: str, path: str, body: Mapping[str, Any]) -> Any:
        """The decoded answer to a request that writes.

        Raises:
            GithubError: as for ``get``.
        """
        return _decoded(self._ask(method, self._url(path, None), json.dumps(body).encode()))

    def _url(self, path: str, query: Mapping[str, str] | None) -> str:
        from urllib.parse import quote, urlencode  # noqa: PLC0415 - a run that asks nothing need not load it

        parameters = f"?{urlencode(query)}" if query else ""
        return f"{self.address.rstrip('/')}/repos/{self.repository}/{quote(path)}{parameters}"

    def _next(self, links: str) -> str | None:
        found = _NEXT.search(links)
        if found is None:
            return None
        if _origin(found[1]) != _origin(self.address):
            raise GithubError(f"The next page is said to be at {found[1][:200]!r}, which is not GITHUB_API_URL's host.")
        return found[1]

    def _ask(self, method: str, url: str, content: bytes | None = None) -> _Answer:
        return _within(self._ends, lambda: self._exchange(method, url, content))

    def _exchange(self, method: str, url: str, content: bytes | None) -> _Answer:
        import urllib.error  # noqa: PLC0415 - slow to import, and seldom needed by a run that only decides
        import urllib.request  # noqa: PLC0415 - the same

        request = urllib.request.Request(url, content, _headers(self.token, content), method=method)  # noqa: S310 - the scheme was checked
        seconds = max(self._ends - time.monotonic(), 0.001)
        try:
            with self._opener(request).open(request, timeout=seconds) as response:
                return _Answer(response.status, _lower(response.headers), _bounded(response))
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(error.code, _lower(error.headers), _message_of(error)) from None
        except (OSError, ValueError, _http_error()) as error:
            reason = getattr(error, "reason", None) or error
            if isinstance(reason, TimeoutError):
                raise _too_slow() from None
            told = f"{type(reason).__name__}: {reason}"[:200]
            raise GithubError(
                f"{self.address!r} could not be reached ({told}).", "Check GITHUB_API_URL, the proxy and the network."
            ) from None

    def _opener(self, request: "urllib.request.Request") -> "urllib.request.OpenerDirector":
        import urllib.request  # noqa: PLC0415 - slow to import

        proxy = proxy_for(self.address, self.environment)
        if proxy is not None:
            request.set_proxy(proxy.address, "http")
            if proxy.credentials:
                request.add_header("Proxy-Authorization", proxy.credentials)
        handlers: list[Any] = [urllib.request.ProxyHandler({}), _no_redirect()]
        if self.address.startswith("https"):
            handlers.append(urllib.request.HTTPSHandler(context=_trust(self.environment)))
        return urllib.request.build_opener(*handlers)


def _headers(token: str, content: bytes | None) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {token}",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": API_VERSION,
        "User-Agent": "ratiba-eval-gate",
        **({} if content is None else {"Content-Type": "application/json"}),
    }


def _no_redirect() -> "urllib.request.HTTPRedirectHandler":
    import urllib.request  # noqa: PLC0415 - slow to import

    class NoRedirect(urllib.request.HTTPRedirectHandler):
        """Follows nothing: a redirect would carry the token to another host."""

        def redirect_request(self, *_arguments: Any) -> None:
            return None

    return NoRedirect()


def _trust(environment: Mapping[str, str]) -> "ssl.SSLContext":
    """The certificates that the connection is checked against.

    Raises:
        GithubError: the bundle that is named cannot be read.
    """
    import ssl  # noqa: PLC0415 - slow to import

    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
        bundle = environment.get(name)
        if bundle:
            try:
                return ssl.create_default_context(cafile=bundle)
            except OSError as error:
                raise GithubError(
                    f"The certificates of {name}, {bundle!r}, cannot be read ({type(error).__name__}).",
                    "Name a file of certificates in PEM form, or none.",
                ) from error
    return ssl.create_default_context()


def _http_error() -> type[Exception]:
    import http.client  # noqa: PLC0415 - slow to import

    return http.client.HTTPException


def _lower(headers: Any) -> dict[str, str]:
    return {str(name).lower(): str(value) for name, value in headers.items()}


def _bounded(response: "http.client.HTTPResponse | urllib.error.HTTPError") -> bytes:
    content = response.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise GithubError(f"GitHub's answer has more than {MOST_BYTES:,} bytes and was not read.")
    return content


def _message_of(error: "urllib.error.HTTPError") -> str:
    """What a refusal says; empty when it says nothing that can be read."""
    try:
        told = json.loads(_bounded(error))
    except (OSError, ValueError, RecursionError, GithubError, _http_error()):
        return ""
    message = told.get("message") if isinstance(told, dict) else None
    return message if isinstance(message, str) else ""


def _refusal(status: int, headers: Mapping[str, str], message: str) -> GithubError:
    answered = f"GitHub answered {status} ({message[:200] or 'no message'!r})"
    wait = headers.get("retry-after", "")
    if status in _RATE_LIMITED and (wait or headers.get("x-ratelimit-remaining") == "0"):
        when = f"in {wait} seconds" if wait.isascii() and wait.isdigit() else "later"
        return GithubError(f"{answered}: too many requests.", f"Run the job again {when}.", status=status)
    if 300 <= status < 400:  # noqa: PLR2004 - the redirects of HTTP
        return GithubError(
            f"{answered}: a redirect, which a token does not follow.",
            "Check GITHUB_API_URL, and whether the repository has a new name.",
            status=status,
        )
    return GithubError(f"{answered}.", status=status)


def _decoded(answer: _Answer) -> Any:
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError) as error:
        raise GithubError(
            "GitHub's answer was not understood: it is not JSON.", "Check GITHUB_API_URL.", status=answer.status
        ) from error


def _origin(address: str) -> str:
    found = _ORIGIN.match(address)
    return found[0].lower() if found else ""


def _within(ends: float, work: Callable[[], _Answer]) -> _Answer:
    """Do the work in a thread and leave it behind when its time is over; a slow server feeds a byte at a time."""
    results: list[_Answer] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            results.append(work())
        except Exception as error:  # noqa: BLE001 - carried over to the caller's thread below
            errors.append(error)

    thread = threading.Thread(target=run, name="github", daemon=True)
    remaining = ends - time.monotonic()
    if remaining > 0:
        thread.start()
        thread.join(remaining)
    if errors:
        raise errors[0]
    if not results:
        raise _too_slow()
    return results[0]


def _too_slow() -> GithubError:
    return GithubError("GitHub took too long.", "Run the job again.", timed_out=True)
