"""The state of a commit: what a run that was started by hand leaves on the pull request's head.

A run of a pull request has a check of its own; one of ``workflow_dispatch`` shows on the branch that it was started on.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ratiba_action.errors import GithubError, PublishError
from ratiba_action.github.github_api import GITHUB_API, GithubApi
from ratiba_action.github.urllib_repository import UrllibRepository
from ratiba_action.model.change import Subject
from ratiba_action.model.verdict import Report
from ratiba_action.ports import GithubRepository
from ratiba_action.util.http_exchange import USUAL, Outage, RetryPolicy
from ratiba_action.util.text import printable

LONGEST_DESCRIPTION = 140

_LONGEST_NAME = 100
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_STATES = {0: "success", 1: "failure"}
_REMEDIES = {
    401: "Give a github-token that is valid.",
    403: "Give the job `permissions: statuses: write`.",
    404: "Give the job `permissions: statuses: write`, and check the repository.",
    422: "Check that the commit is still in the repository.",
}


def needs_status(subject: Subject) -> bool:
    """Whether a run has no check on the pull request that it is about."""
    return subject.event == "workflow_dispatch" and subject.pull_request is not None


@dataclass(frozen=True, slots=True)
class CommitStatus:
    """Publishes a report as the status ``ratiba / <name of the gate>`` of the pull request's head.

    Args:
        token: of GitHub; empty when there is none.
        api_url: base of the API, ``GITHUB_API_URL`` on an enterprise server.
        deadline_seconds: for all requests together, with the waits between them.
        outage: see ``GithubApi``.
    """

    token: str = field(repr=False)
    api_url: str = GITHUB_API
    deadline_seconds: float = 60.0
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    retry: RetryPolicy = USUAL
    outage: Outage = field(default_factory=Outage, repr=False, compare=False)
    connect: Callable[[GithubApi], GithubRepository] = UrllibRepository

    def publish(self, report: Report, *, code: int, description: str) -> str | None:
        """Set the status.

        Args:
            code: the process's exit code, which the state follows.
            description: in words and numbers of ours alone.

        Returns:
            Its context; None for a run that needs none.

        Raises:
            PublishError: no token, no commit, or GitHub refused or did not answer in time.
        """
        subject = report.subject
        if not needs_status(subject):
            return None
        return self.set_status(subject, report.name, _STATES.get(code, "error"), description)

    def set_status(self, subject: Subject, name: str, state: str, description: str) -> str:
        """Set the status ``ratiba / <name>`` of a subject's head; arguments and errors are those of ``publish``.

        Args:
            subject: with repository, head and link.
            state: ``success``, ``failure``, ``error`` or ``pending``.
            description: masked.
        """
        if not self.token:
            raise PublishError(
                "No commit status was set: github-token is empty.", "Set github-token: ${{ github.token }} in the step."
            )
        if not _COMMIT.fullmatch(subject.head):
            raise PublishError(f"No commit status was set: the head is {subject.head[:80]!r}, not a commit id.")
        context = f"ratiba / {printable(name)[:_LONGEST_NAME]}"
        try:
            api = GithubApi(
                subject.repository,
                self.token,
                self.api_url,
                self.environment,
                self.deadline_seconds,
                self.retry,
                self.outage,
            )
            self.connect(api).set_status(
                subject.head,
                state=state,
                context=context,
                description=description[:LONGEST_DESCRIPTION],
                url=subject.run_url,
            )
        except GithubError as error:
            remedy = error.remedy or _REMEDIES.get(error.status or 0, "Run the job again.")
            raise PublishError(f"The commit status could not be set: {error.problem}", remedy) from error
        return context
