"""One comment on a pull request, kept up to date: found again by its marker and its author."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ratiba_action.core.marker import Marker, is_stale, marker_of, read_marker
from ratiba_action.core.model.verdict import Report
from ratiba_action.errors import PublishError

if TYPE_CHECKING:
    from github.IssueComment import IssueComment
    from github.PullRequest import PullRequest

GITHUB_API = "https://api.github.com"
ACTIONS_BOT = "github-actions[bot]"
"""Author of what a workflow's own ``GITHUB_TOKEN`` writes; ``GET /user`` is forbidden to that token."""

_ELSEWHERE = "The report is in the step summary and in the report directory."


@dataclass(frozen=True, slots=True)
class PullRequestComment:
    """Publishes a report as the sticky comment of its gate, from a thread that it leaves behind at the deadline.

    Args:
        token: of GitHub; empty when there is none.
        render: turns a report into the comment's Markdown, whose first line is ``marker_of(report)``.
        api_url: base of the API, ``GITHUB_API_URL`` on an enterprise server.
        author: login whose comments may be overwritten; a marker in another's comment counts for nothing.
        create: False only updates a comment that exists, as a skipped run does.
        deadline_seconds: for all requests together.
    """

    token: str = field(repr=False)
    render: Callable[[Report], str]
    api_url: str = GITHUB_API
    author: str = ACTIONS_BOT
    create: bool = True
    deadline_seconds: float = 10.0

    def publish(self, report: Report) -> str | None:
        """Update the gate's comment, or create it.

        Returns:
            The comment's address; None when there was none to update and ``create`` is False.

        Raises:
            PublishError: no token or pull request, GitHub refused or did not answer in time, or a newer run has
                written the comment already.
        """
        subject = report.subject
        if not self.token:
            raise PublishError("No comment was posted: github-token is empty.", _ELSEWHERE)
        if not subject.repository or subject.pull_request is None:
            raise PublishError("No comment was posted: the run belongs to no pull request.", _ELSEWHERE)
        body, number = self.render(report), subject.pull_request
        return _within(self.deadline_seconds, lambda: self._publish(report, number, body))

    def _publish(self, report: Report, number: int, body: str) -> str | None:
        # Imported here: a run without a pull request needs none of it.
        from github import GithubException  # noqa: PLC0415 - heavy
        from requests import RequestException  # noqa: PLC0415 - comes with the above

        try:
            pull = self._pull(report.subject.repository, number)
            return self._write(pull, marker_of(report), body)
        except GithubException as error:
            raise _refused(error.status, error.data) from error
        except (RequestException, OSError) as error:
            problem = (
                f"The comment could not be posted: {self.api_url!r} could not be reached ({type(error).__name__})."
            )
            raise PublishError(problem, f"Check GITHUB_API_URL and the network. {_ELSEWHERE}") from error

    def _pull(self, repository: str, number: int) -> "PullRequest":
        from github import Auth, Github  # noqa: PLC0415 - heavy

        client = Github(
            auth=Auth.Token(self.token),
            base_url=self.api_url.rstrip("/"),
            timeout=max(int(self.deadline_seconds), 1),
            per_page=100,
            lazy=True,
            retry=None,
            seconds_between_requests=None,
            seconds_between_writes=None,
        )
        return client.get_repo(repository).get_pull(number)

    def _write(self, pull: "PullRequest", ours: Marker, body: str) -> str | None:
        existing = self._find(pull, ours.name)
        if existing is None:
            return str(pull.create_issue_comment(body).html_url) if self.create else None
        comment, theirs = existing
        if is_stale(ours, theirs, pull.head.sha):
            raise PublishError(
                f"The comment was left as it is: run {theirs.run_id} for {theirs.head[:12]} wrote it, which is newer "
                f"than run {ours.run_id} for {ours.head[:12]}.",
                _ELSEWHERE,
            )
        if comment.body != body:
            comment.edit(body)
        return str(comment.html_url)

    def _find(self, pull: "PullRequest", name: str) -> "tuple[IssueComment, Marker] | None":
        for comment in pull.get_issue_comments():
            marker = read_marker(comment.body or "")
            if marker is not None and marker.name == name and comment.user and comment.user.login == self.author:
                return comment, marker
        return None


def _refused(status: int, data: object) -> PublishError:
    told = data.get("message") if isinstance(data, dict) else None
    problem = f"The comment could not be posted: GitHub answered {status} ({str(told or 'no message')[:200]!r})."
    remedies = {
        401: "Give a github-token that is valid.",
        403: "Give the job `permissions: pull-requests: write`; a fork's run has a read-only token and needs the "
        "second workflow of the documentation.",
        404: "Check the repository and the pull request's number, and that the token may read them.",
        422: "Report this: GitHub refuses the comment's text.",
    }
    return PublishError(problem, f"{remedies.get(status, 'Run the job again.')} {_ELSEWHERE}")


def _within(seconds: float, work: Callable[[], str | None]) -> str | None:
    """Do the work in a thread and leave it behind when its time is over; a slow server feeds a byte at a time."""
    result: list[str | None] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            result.append(work())
        except Exception as error:  # noqa: BLE001 - carried over to the caller's thread below
            errors.append(error)

    thread = threading.Thread(target=run, name="comment", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors and not isinstance(errors[0], PublishError):
        # The client's library asserts and indexes its way through an answer that it does not expect.
        problem = f"The comment could not be posted: GitHub's answer was not understood ({type(errors[0]).__name__})."
        raise PublishError(problem, f"Check GITHUB_API_URL. {_ELSEWHERE}") from errors[0]
    if errors:
        raise errors[0]
    if not result:
        raise PublishError(f"The comment could not be posted: GitHub took longer than {seconds:g} s.", _ELSEWHERE)
    return result[0]
