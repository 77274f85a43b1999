"""GitHub's REST API over HTTP: where the token may go, what is tried again, what a refusal means.

Whoever asks for something by name uses a ``GithubRepository``; there are two, and both send their requests from here.
Nothing is imported at the top that a step which only decides would have to wait for.
"""

import json
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ratiba_action.errors import GithubError
from ratiba_action.util.http_exchange import (
    RATE_LIMITED,
    TRANSIENT,
    USUAL,
    HttpAnswer,
    HttpQuestion,
    Outage,
    Peer,
    RetryPolicy,
    asked_wait,
    exchange,
    origin,
    repeat,
)

Result = TypeVar("Result")

GITHUB_API = "https://api.github.com"
API_VERSION = "2022-11-28"
"""The oldest version that GitHub serves, so that enterprise servers know it."""

PAGE = 100
USER_AGENT = "ratiba-eval-gate"
_REPOSITORY = re.compile(r"(?!\.{1,2}/)[A-Za-z0-9_.-]{1,100}/(?!\.{1,2}\Z)[A-Za-z0-9_.-]{1,100}")
_ADDRESS = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::[0-9]{1,5})?(?:/[A-Za-z0-9._/-]*)?"
)
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
_NEXT = re.compile(r'<([^<>\s]+)>\s*;[^,<]*\brel="?next\b')
_STATUS = re.compile(r"/repos/[^/]+/[^/]+/statuses/[0-9a-f]+\Z")
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_ANONYMOUS: Mapping[str, str] = {"User-Agent": USER_AGENT}
_GITHUB = Peer("GitHub", "GITHUB_API_URL", GithubError)


@dataclass(frozen=True, slots=True)
class GithubApi:
    """Asks about one repository; every request counts towards one deadline, which begins when the client is made.

    Args:
        repository: ``owner/name``.
        token: sent over https only, or to this machine; to no address that an answer redirects to.
        address: base of the API, ``GITHUB_API_URL`` on an enterprise server.
        environment: its ``HTTPS_PROXY``, ``NO_PROXY``, ``SSL_CERT_FILE`` and ``REQUESTS_CA_BUNDLE`` are heeded; a
            proxy's address may hold a password.
        deadline_seconds: for all requests together, with the waits between them.
        retry: how often a request is made, and for how long it is waited for.
        outage: what the run's other clients know of GitHub, so that an outage is waited out once.

    Raises:
        GithubError: token, address or repository cannot be used.
    """

    repository: str
    token: str = field(repr=False)
    address: str = GITHUB_API
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    deadline_seconds: float = 60.0
    retry: RetryPolicy = USUAL
    outage: Outage = field(default_factory=Outage, repr=False, compare=False)
    _ends: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.token:
            raise GithubError(
                "GitHub cannot be asked: github-token is empty.", "Set github-token: ${{ github.token }} in the step."
            )
        if not (self.token.isascii() and self.token.isprintable()) or " " in self.token:
            raise GithubError(
                "GitHub cannot be asked: github-token is no token.",
                "Set github-token: ${{ github.token }} in the step.",
            )
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
        """The decoded answer to a GET, which is asked for again where GitHub fails for a moment.

        Args:
            path: below the repository, such as ``pulls/7``; empty for the repository itself.
            query: parameters, not yet escaped.

        Raises:
            GithubError: GitHub refused, or did not answer in time, or not in JSON.
        """
        return decoded(self.request("GET", self._url(path, query)))

    def pages(self, path: str, query: Mapping[str, str] | None = None, name: str = "") -> Iterator[list[Any]]:
        """Every page of a list, as its Link headers give them.

        Args:
            path: below the repository.
            query: parameters, not yet escaped.
            name: of the list in each answer; empty where the answer is the list.

        Raises:
            GithubError: as for ``get``; an answer is not a list, or the next page is on another host.
        """
        address: str | None = self._url(path, {**(query or {}), "per_page": str(PAGE)})
        while address:
            answer = self.request("GET", address)
            rows = decoded(answer)
            if name:
                rows = rows.get(name) if isinstance(rows, dict) else None
            if not isinstance(rows, list):
                expected = f"it holds no list {name!r}" if name else "a list was expected"
                raise GithubError(f"GitHub's answer was not understood: {expected}.", status=answer.status)
            yield rows
            address = self._next(answer.headers.get("link", ""))

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The decoded answer to a request that writes; None where it has no content.

        Args:
            path: below the repository.

        Raises:
            GithubError: as for ``get``. It says ``unclear`` where GitHub may have done it all the same.
        """
        content = None if body is None else json.dumps(body).encode()
        answer = self.request(method, self._url(path, None), content)
        return decoded(answer, writes=True) if answer.body else None

    def request(self, method: str, url: str, content: bytes | None = None) -> HttpAnswer:
        """The answer to one request that succeeded; it is made again where that may help and can do no harm.

        Args:
            url: below ``address``.
            content: JSON, None for none.

        Raises:
            GithubError: GitHub refused, or did not answer in time.
        """
        question = HttpQuestion(method, url, _headers(self.token, content), _GITHUB, content)

        def once() -> HttpAnswer:
            answer = self._exchange(question)
            if not 200 <= answer.status < 300:  # noqa: PLR2004 - what HTTP calls success
                raise _refusal(answer, writes=method != "GET")
            return answer

        return self.repeat(once, lambda error: _is_idempotent(method, url) or not error.unclear)

    def repeat(self, work: Callable[[], Result], is_repeatable: Callable[[GithubError], bool]) -> Result:
        """Do something again that several requests belong to; see ``http_exchange.repeat``."""
        return repeat(work, self.retry, self._ends, is_repeatable, self.outage)

    def download(self, path: str) -> bytes:
        """A file that GitHub keeps elsewhere and redirects to; the token stays here.

        Args:
            path: below the repository, such as ``actions/artifacts/1/zip``.

        Raises:
            GithubError: GitHub refused, the file is elsewhere than behind https, too large, or took too long.
        """
        return self.repeat(lambda: self._download(path), lambda _: True)

    def _download(self, path: str) -> bytes:
        answer = self._exchange(HttpQuestion("GET", self._url(path, None), _headers(self.token, None), _GITHUB))
        if answer.status in _REDIRECTS:
            elsewhere = self._elsewhere(answer.headers.get("location", ""))
            answer = self._exchange(HttpQuestion("GET", elsewhere, _ANONYMOUS, _GITHUB))
        if answer.status != 200:  # noqa: PLR2004 - what HTTP calls success, with a body
            raise _refusal(answer)
        return answer.body

    def _elsewhere(self, location: str) -> str:
        """Where a file is said to be; its query may hold a signature, so that no message holds it."""
        host = origin(location)
        ours = _ADDRESS.fullmatch(self.address)
        is_here = ours is not None and ours["host"] in _LOOPBACK
        found = _ADDRESS.fullmatch(host)
        secure = host.startswith("https://") or (is_here and found is not None and found["host"] in _LOOPBACK)
        if found is None or not secure or not location.isascii() or not location.isprintable():
            raise GithubError(f"The file is said to be at {host[:200]!r}, which is no address behind https.")
        return location

    def _url(self, path: str, query: Mapping[str, str] | None) -> str:
        from urllib.parse import quote, urlencode  # a run that asks nothing need not load it

        parameters = f"?{urlencode(query)}" if query else ""
        below = f"/{quote(path)}" if path else ""
        return f"{self.address.rstrip('/')}/repos/{self.repository}{below}{parameters}"

    def _next(self, links: str) -> str | None:
        found = _NEXT.search(links)
        if found is None:
            return None
        if origin(found[1]) != origin(self.address):
            raise GithubError(f"The next page is said to be at {found[1][:200]!r}, which is not GITHUB_API_URL's host.")
        return found[1]

    def _exchange(self, question: HttpQuestion) -> HttpAnswer:
        return exchange(
            question, self.environment, min(self._ends, time.monotonic() + self.outage.policy(self.retry).try_seconds)
        )


def _headers(token: str, content: bytes | None) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {token}",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": API_VERSION,
        "User-Agent": USER_AGENT,
        **({} if content is None else {"Content-Type": "application/json"}),
    }


def _is_idempotent(method: str, url: str) -> bool:
    """Whether doing it twice leaves what doing it once leaves: of several statuses with one context the last counts."""
    return method in {"GET", "DELETE"} or (method == "POST" and _STATUS.search(url) is not None)


def _message_of(answer: HttpAnswer) -> str:
    """What a refusal says; empty when it says nothing that can be read."""
    try:
        data = json.loads(answer.body)
    except (ValueError, RecursionError):
        return ""
    message = data.get("message") if isinstance(data, dict) else None
    return message if isinstance(message, str) else ""


def _refusal(answer: HttpAnswer, *, writes: bool = False) -> GithubError:
    status, headers, message = answer.status, answer.headers, _message_of(answer)
    answered = f"GitHub answered {status} ({message[:200] or 'no message'!r})"
    wait = asked_wait(status, headers, message)
    if status in RATE_LIMITED and (wait is not None or headers.get("x-ratelimit-remaining") == "0"):
        when = "later" if wait is None else f"in {math.ceil(wait)} seconds"
        return GithubError(
            f"{answered}: too many requests.",
            f"Run the job again {when}.",
            status=status,
            transient=wait is not None,
            wait_seconds=wait,
            limited=True,
        )
    if 300 <= status < 400:  # noqa: PLR2004 - the redirects of HTTP
        return GithubError(
            f"{answered}: a redirect, which a token does not follow.",
            "Check GITHUB_API_URL, and whether the repository has a new name.",
            status=status,
        )
    failed = status in TRANSIENT
    return GithubError(f"{answered}.", status=status, transient=failed, unclear=writes and failed, wait_seconds=wait)


def decoded(answer: HttpAnswer, *, writes: bool = False) -> Any:
    """The JSON of an answer.

    Args:
        writes: what was asked may have been done although the answer is none.

    Raises:
        GithubError: it is not JSON.
    """
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError) as error:
        raise GithubError(
            "GitHub's answer was not understood: it is not JSON.",
            "Check GITHUB_API_URL.",
            status=answer.status,
            transient=writes,
            unclear=writes,
        ) from error
