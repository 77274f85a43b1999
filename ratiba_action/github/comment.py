"""One comment on a pull request, kept up to date: found again by its marker and its author."""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from ratiba_action.errors import ExchangeError, PublishError, ReportedError
from ratiba_action.github.attempts import CommentAttempt, attempt_of, read_attempts
from ratiba_action.github.github_api import GITHUB_API, GithubApi
from ratiba_action.github.marker import Marker, is_stale, marker_of, read_marker
from ratiba_action.github.urllib_repository import UrllibRepository
from ratiba_action.model.verdict import Conclusion, Report
from ratiba_action.ports import CommentedChanges, GithubRepository
from ratiba_action.util.http_exchange import USUAL, Outage, RetryPolicy

COMMENT_SECONDS = 90.0
"""For the comment; long enough to wait out a secondary rate limit, for which GitHub asks a minute."""

ACTIONS_BOT = "github-actions[bot]"
"""Author of what a workflow's own ``GITHUB_TOKEN`` writes; ``GET /user`` is forbidden to that token."""

_GONE = 404

Result = TypeVar("Result")


class Repeating(Protocol):
    """Makes several requests again that belong together; see ``http_exchange.repeat``."""

    def repeat(self, work: Callable[[], Result], is_repeatable: Callable[[Any], bool]) -> Result:
        """Do the work until it succeeds or may not be done again."""
        ...


@dataclass(frozen=True, slots=True)
class Forge:
    """A service with pull requests, in messages.

    Args:
        token: the setting that holds its token.
        elsewhere: where the report is without a comment.
    """

    name: str
    token: str
    elsewhere: str
    remedies: Mapping[int, str]


_FORBIDDEN = 403
_LOCKED = re.compile(r"\blocked\b", re.IGNORECASE)
_UNLOCK = "Unlock the pull request's conversation, then run the job again."

GITHUB = Forge(
    name="GitHub",
    token="github-token",  # noqa: S106 - the name of an input
    elsewhere="The report is in the step summary and in the report directory.",
    remedies={
        401: "Give a github-token that is valid.",
        403: "Give the job `permissions: pull-requests: write`; a fork's run has a read-only token and needs the "
        "second workflow of the documentation.",
        404: "Check the repository and the pull request's number, and that the token may read them.",
        422: "Report this: GitHub refuses the comment's text.",
    },
)


@dataclass(frozen=True, slots=True)
class _Found:
    """A comment of the gate that is there already."""

    id: int
    url: str
    body: str
    marker: Marker


@dataclass(frozen=True, slots=True)
class PullRequestComment:
    """Publishes a report as the sticky comment of its gate.

    Args:
        token: of GitHub; empty when there is none.
        render: turns a report and the attempts that an earlier comment lists into the comment's Markdown, whose first
            line is ``marker_of(report)``.
        api_url: base of the API, ``GITHUB_API_URL`` on an enterprise server.
        author: login whose comments may be overwritten; a marker in another's comment counts for nothing.
        create: False only updates a comment that exists, as a skipped run does.
        deadline_seconds: for all requests together, with the waits between them.
        outage: see ``GithubApi``.
        only_missing: leave the comment as it is where this very run has written it.
        keeps_incomplete: leave it as it is where it calls this very attempt incomplete, and this report does not.
        open: what repeats requests, and what makes them, instead of ``api_url`` and ``connect``; another service.
    """

    token: str = field(repr=False)
    render: Callable[[Report, tuple[CommentAttempt, ...]], str]
    api_url: str = GITHUB_API
    author: str = ACTIONS_BOT
    create: bool = True
    deadline_seconds: float = COMMENT_SECONDS
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    retry: RetryPolicy = USUAL
    outage: Outage = field(default_factory=Outage, repr=False, compare=False)
    only_missing: bool = False
    keeps_incomplete: bool = False
    connect: Callable[[GithubApi], GithubRepository] = UrllibRepository
    forge: Forge = GITHUB
    open: Callable[[], tuple[Repeating, CommentedChanges]] | None = None

    def publish(self, report: Report) -> str | None:
        """Update the gate's comment, or create it.

        Returns:
            The comment's address; None when there was none to update and ``create`` is False.

        Raises:
            PublishError: no token or pull request, the service refused or did not answer in time, or a newer run has
                written the comment already.
            ReportedError: see ``keeps_incomplete``.
        """
        subject = report.subject
        if not self.token:
            raise PublishError(f"No comment was posted: {self.forge.token} is empty.", self.forge.elsewhere)
        if not subject.repository or subject.pull_request is None:
            raise PublishError("No comment was posted: the run belongs to no pull request.", self.forge.elsewhere)
        try:
            repeating, changes = self._connected(subject.repository) if self.open is None else self.open()
            return self._write(repeating, changes, report, subject.pull_request)
        except ExchangeError as error:
            raise self._refused(error) from error

    def _connected(self, repository: str) -> tuple[Repeating, CommentedChanges]:
        seconds, retry = self.deadline_seconds, self.retry
        api = GithubApi(repository, self.token, self.api_url, self.environment, seconds, retry, self.outage)
        return api, self.connect(api)

    def _write(self, api: Repeating, github: CommentedChanges, report: Report, number: int) -> str | None:
        """Write the comment; where it is not known what came of it, look for it before it is written again."""
        unclear: list[ExchangeError] = []

        def is_unclear(error: ExchangeError) -> bool:
            unclear.extend([error] if error.unclear else [])
            return error.unclear

        url = api.repeat(lambda: self._write_once(github, report, number), is_unclear)
        if unclear and url:
            self._remove_copies(github, report, number, url)
        return url

    def _write_once(self, github: CommentedChanges, report: Report, number: int) -> str | None:
        ours = marker_of(report)
        found = next(self._found(github, number, ours.name), None)
        if found is None:
            if not self.create:
                return None
            return _address(github.create_comment(number, self.render(report, ())))
        if self.only_missing and found.marker == ours:
            return found.url
        if self.keeps_incomplete and _was_incomplete(found.body, report):
            raise ReportedError(
                "The comment was left as it is: the step after the gate's has called this attempt incomplete.",
                self.forge.elsewhere,
            )
        if is_stale(ours, found.marker, _head(github.pull_request(number))):
            raise PublishError(
                f"The comment was left as it is: run {found.marker.run_id} for {found.marker.head[:12]} wrote it, "
                f"which is newer than run {ours.run_id} for {ours.head[:12]}.",
                self.forge.elsewhere,
            )
        body = self.render(report, read_attempts(found.body))
        if body == found.body:
            return found.url
        try:
            return _address(github.edit_comment(found.id, body))
        except ExchangeError as error:
            if error.status != _GONE:
                raise
        # Somebody has deleted it since it was listed.
        return _address(github.create_comment(number, body)) if self.create else None

    def _remove_copies(self, github: CommentedChanges, report: Report, number: int, url: str) -> None:
        """Leave one comment of this run, where GitHub has done late what it did not answer."""
        ours = marker_of(report)
        with contextlib.suppress(ExchangeError):
            for comment in list(self._found(github, number, ours.name)):
                if comment.marker == ours and comment.url != url:
                    github.delete_comment(comment.id)

    def _found(self, github: CommentedChanges, number: int, name: str) -> Iterator[_Found]:
        for row in github.comments(number):
            found = _read(row, self.author)
            if found is not None and found.marker.name == name:
                yield found

    def _refused(self, error: ExchangeError) -> PublishError:
        forge = self.forge
        if error.timed_out:
            message = f"The comment could not be posted: {forge.name} took longer than {self.deadline_seconds:g} s."
            return PublishError(message, forge.elsewhere)
        locked = error.status == _FORBIDDEN and _LOCKED.search(error.problem)
        remedy = _UNLOCK if locked else error.remedy or forge.remedies.get(error.status or 0, "Run the job again.")
        return PublishError(f"The comment could not be posted: {error.problem}", f"{remedy} {forge.elsewhere}")


def _read(row: Any, author: str) -> _Found | None:
    """A comment of a list, None unless the author wrote it and it begins with a marker."""
    comment = row if isinstance(row, dict) else {}
    user, body = comment.get("user"), comment.get("body")
    if not isinstance(user, dict) or user.get("login") != author or not isinstance(body, str):
        return None
    marker = read_marker(body)
    number = comment.get("id")
    if marker is None or type(number) is not int:
        return None
    return _Found(number, _address(comment), body, marker)


def _was_incomplete(body: str, report: Report) -> bool:
    """Whether a comment calls the attempt of a report incomplete, which the report does not."""
    present = attempt_of(report)
    if present is None or present.conclusion is Conclusion.INCOMPLETE:
        return False
    ended = {(attempt.run_id, attempt.number): attempt.conclusion for attempt in read_attempts(body)}
    return ended.get((present.run_id, present.number)) is Conclusion.INCOMPLETE


def _address(comment: Any) -> str:
    url = comment.get("html_url") if isinstance(comment, dict) else None
    if not isinstance(url, str):
        raise ExchangeError("The answer was not understood: a comment without an address.")
    return url


def _head(pull: Any) -> str:
    head = pull.get("head") if isinstance(pull, dict) else None
    commit = head.get("sha") if isinstance(head, dict) else None
    if not isinstance(commit, str):
        raise ExchangeError("The answer was not understood: a pull request without a head.")
    return commit
