"""The gate's note on a merge request of GitLab: the same comment, through GitLab's REST API. Standard library only."""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ratiba_action.errors import ExchangeError
from ratiba_action.github.attempts import CommentAttempt
from ratiba_action.github.comment import COMMENT_SECONDS, Forge, PullRequestComment, Result
from ratiba_action.model.verdict import Report
from ratiba_action.settings.gitlab import GitlabJob
from ratiba_action.util.http_exchange import (
    TRANSIENT,
    USUAL,
    HttpAnswer,
    HttpQuestion,
    Peer,
    RetryPolicy,
    exchange,
    repeat,
    retry_after,
)

OURS = ""
"""Stands for the author of a note that the token's own user wrote."""

GITLAB = Forge(
    name="GitLab",
    token="RATIBA_GITLAB_TOKEN",  # noqa: S106 - the name of a variable
    elsewhere="The report is in the job's log and in the report directory.",
    remedies={
        401: "Give a RATIBA_GITLAB_TOKEN that is valid.",
        403: "Give RATIBA_GITLAB_TOKEN the scope 'api' and at least the role Reporter.",
        404: "Check that RATIBA_GITLAB_TOKEN may read the project; its scope is 'api'.",
        422: "Report this: GitLab refuses the note's text.",
    },
)
_PEER = Peer("GitLab", "CI_API_V4_URL")
_ADDRESS = re.compile(r"(?P<scheme>https?)://(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::[0-9]{1,5})?(?:/[\w./-]*)?")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
_SEGMENT = r"(?!\.{1,2}(?:/|\Z))[A-Za-z0-9_.][A-Za-z0-9_.-]*"
_PROJECT = re.compile(rf"{_SEGMENT}(?:/{_SEGMENT})+")
_QUICK_ACTION = re.compile(r"^([ \t>*+-]*)/(?=[a-z_]+(?:[ \t\r]|$))", re.MULTILINE | re.IGNORECASE)
_MAX_PAGES = 100


def without_quick_actions(body: str) -> str:
    """A text in which no line is one of GitLab's commands, such as ``/merge``: an invisible character precedes each."""
    return _QUICK_ACTION.sub("\\1\u2060/", body)


def as_note(comment: PullRequestComment, job: GitlabJob, token: str) -> PullRequestComment:
    """The same comment as a note of the job's merge request.

    Args:
        comment: with text, deadline and retries.
        token: of GitLab; empty when there is none.
    """

    def render(report: Report, earlier: tuple[CommentAttempt, ...]) -> str:
        return without_quick_actions(comment.render(report, earlier))

    def connected() -> tuple["GitlabNotes", "GitlabNotes"]:
        notes = GitlabNotes(
            job.project,
            job.merge_request or 0,
            token,
            job.api,
            job.page,
            environment=comment.environment,
            deadline_seconds=comment.deadline_seconds,
            retry=comment.retry,
        )
        return notes, notes

    return replace(comment, token=token, render=render, author=OURS, forge=GITLAB, open=connected)


@dataclass(frozen=True, slots=True)
class GitlabNotes:
    """The notes of one project's merge requests, in the shape of GitHub's comments.

    Args:
        project: its path, with every group above it.
        token: sent over https only, or to this machine.
        address: base of the API, ``CI_API_V4_URL``.
        page: address of the project, for the notes' own addresses.
        deadline_seconds: for all requests together, with the waits between them.

    Raises:
        ExchangeError: token, address or project cannot be used.
    """

    project: str
    number: int
    token: str = field(repr=False)
    address: str
    page: str
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    deadline_seconds: float = COMMENT_SECONDS
    retry: RetryPolicy = USUAL
    _ends: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        address = _ADDRESS.fullmatch(self.address)
        if not (self.token.isascii() and self.token.isprintable()) or " " in self.token:
            raise ExchangeError("GitLab cannot be asked: RATIBA_GITLAB_TOKEN is no token.", "Give a valid token.")
        if address is None or (address["scheme"] != "https" and address["host"] not in _LOOPBACK):
            shown = self.address[:200]
            raise ExchangeError(f"CI_API_V4_URL is {shown!r}; a token is sent only over https.", "Check the variable.")
        if not _PROJECT.fullmatch(self.project):
            raise ExchangeError(f"The project is {self.project[:200]!r}, not group/project.", "Check CI_PROJECT_PATH.")
        object.__setattr__(self, "_ends", time.monotonic() + self.deadline_seconds)

    def repeat(self, work: Callable[[], Result], is_repeatable: Callable[[Any], bool]) -> Result:
        """Do something again that several requests belong to; see ``http_exchange.repeat``."""
        return repeat(work, self.retry, self._ends, is_repeatable)

    def pull_request(self, _: int) -> Any:
        """The merge request, with its head."""
        found = self._request("GET", self._merge_request)
        return {"head": {"sha": found.get("sha")}} if isinstance(found, dict) else None

    def comments(self, _: int) -> Iterator[Any]:
        """The notes that the token's user wrote, oldest first; of every other one nothing is said."""
        own = self._request("GET", "user")
        ours = own.get("id") if isinstance(own, dict) else None
        for page in range(1, _MAX_PAGES + 1):
            query = f"order_by=created_at&sort=asc&per_page=100&page={page}"
            rows = self._request("GET", f"{self._merge_request}/notes?{query}")
            if not isinstance(rows, list):
                raise ExchangeError("GitLab's answer was not understood: a list was expected.")
            for row in rows:
                author = row.get("author") if isinstance(row, dict) else None
                if isinstance(author, dict) and type(ours) is int and author.get("id") == ours:
                    yield self._as_comment(row)
            if len(rows) < 100:  # noqa: PLR2004 - as many as were asked for
                return

    def create_comment(self, _: int, body: str) -> Any:
        """Write a note."""
        return self._as_comment(self._request("POST", f"{self._merge_request}/notes", {"body": body}))

    def edit_comment(self, comment: int, body: str) -> Any:
        """Replace a note's text."""
        return self._as_comment(self._request("PUT", f"{self._merge_request}/notes/{comment}", {"body": body}))

    def delete_comment(self, comment: int) -> None:
        """Remove a note."""
        self._request("DELETE", f"{self._merge_request}/notes/{comment}")

    @property
    def _merge_request(self) -> str:
        from urllib.parse import quote  # only a job of GitLab needs it

        return f"projects/{quote(self.project, safe='')}/merge_requests/{self.number}"

    def _as_comment(self, note: Any) -> Any:
        note = note if isinstance(note, dict) else {}
        number = note.get("id")
        url = f"{self.page}/-/merge_requests/{self.number}#note_{number}" if type(number) is int else None
        return {"id": number, "body": note.get("body"), "html_url": url, "user": {"login": OURS}}

    def _request(self, method: str, path: str, body: Mapping[str, str] | None = None) -> Any:
        """The decoded answer; the request is made again where that may help and can do no harm."""
        content = None if body is None else json.dumps(body).encode()
        headers = {"PRIVATE-TOKEN": self.token, "Accept": "application/json", "User-Agent": "ratiba-eval-gate"}
        headers |= {} if content is None else {"Content-Type": "application/json"}
        question = HttpQuestion(method, f"{self.address.rstrip('/')}/{path}", headers, _PEER, content)

        def once() -> HttpAnswer:
            answer = exchange(question, self.environment, min(self._ends, time.monotonic() + self.retry.try_seconds))
            if not 200 <= answer.status < 300:  # noqa: PLR2004 - what HTTP calls success
                raise _refusal(answer, writes=method == "POST")
            return answer

        answer = self.repeat(once, lambda error: method != "POST" or not error.unclear)
        if not answer.body:
            return None
        try:
            return json.loads(answer.body)
        except (ValueError, RecursionError) as error:
            raise ExchangeError(
                "GitLab's answer was not understood: it is not JSON.",
                "Check CI_API_V4_URL.",
                status=answer.status,
                transient=method == "POST",
                unclear=method == "POST",
            ) from error


def _refusal(answer: HttpAnswer, *, writes: bool) -> ExchangeError:
    status = answer.status
    try:
        data = json.loads(answer.body)
    except (ValueError, RecursionError):
        data = None
    message = str(data.get("message") or data.get("error") or "") if isinstance(data, dict) else ""
    failed, limited = status in TRANSIENT, status == 429  # noqa: PLR2004 - too many requests
    return ExchangeError(
        f"GitLab answered {status} ({message[:200] or 'no message'!r}).",
        status=status,
        transient=failed or limited,
        unclear=writes and failed,
        wait_seconds=retry_after(answer),
    )
