"""The second workflow of a fork's pull request: it posts what the fork's run, which may not write, has left.

Everything in the results is the fork's word. Which pull request they are for, which commit, which run and how it ended
are GitHub's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from ratiba_action.decide.event import PullRequest
from ratiba_action.decide.workflow_run import WorkflowRun, pull_requests_of
from ratiba_action.errors import PublishError, RatibaError
from ratiba_action.github.github_api import GITHUB_API, GithubApi
from ratiba_action.github.urllib_repository import UrllibRepository
from ratiba_action.model.change import Mode, ModeDecision, Reason, Subject
from ratiba_action.model.verdict import Conclusion, Limits, Report, Verdict
from ratiba_action.money.budget import Ledger
from ratiba_action.publish.publishing import Publication
from ratiba_action.reporting.comment import render_comment
from ratiba_action.reporting.results_json import read_results
from ratiba_action.reporting.summary import summarise
from ratiba_action.settings.settings import Settings

DEPENDABOT = "dependabot/"
"""Its runs may not write either; whoever imitates the branch's name has a right to write, and gains nothing."""

NOT_RUN = frozenset({"action_required", "skipped"})
_QUOTED = 300


@dataclass(frozen=True, slots=True)
class SecondWorkflow:
    """Posts the report of one run of another workflow.

    Args:
        results: its ``results.json``.
    """

    settings: Settings
    run: WorkflowRun
    results: Path
    environment: Mapping[str, str]
    publication: Publication

    def publish(self) -> str | None:
        """Post the report, or say why nothing is posted.

        Returns:
            The comment's address, None when nothing was posted.

        Raises:
            InfrastructureError: GitHub could not be asked for the pull request.
        """
        refusal = _nothing_to_do(self.run) or self._nothing_left()
        if refusal:
            self.publication.print_line(refusal)
            return None
        try:
            return self.publication.publish_comment(self._report(self._find()), only_missing=_is_own(self.run))
        except PublishError as refusal:
            self.publication.warn(str(refusal))
            return None

    def _nothing_left(self) -> str:
        if self.run.ended != "success" or self.results.exists():
            return ""
        return "Nothing to do: the run ended with 'success' and left no report, as one for an edited title does."

    def _find(self) -> PullRequest:
        """The one open pull request that the run was for."""
        run = self.run
        owner = run.head_repository.partition("/")[0]
        address = self.environment.get("GITHUB_API_URL") or GITHUB_API
        api = GithubApi(run.repository, self.settings.github_token, address, self.environment)
        found = pull_requests_of(run, list(UrllibRepository(api).open_pull_requests(f"{owner}:{run.branch}")))
        current = [candidate for candidate in found if candidate.head == run.head]
        if not found:
            raise _refused(f"{run.head_repository!r} has no open pull request from its branch {run.branch!r}")
        if not current:
            raise _refused(f"the pull request has gone on from {run.head[:12]} to {found[0].head[:12]}")
        if len(current) > 1:
            numbers = ", ".join(str(candidate.number) for candidate in current)
            raise _refused(f"the pull requests {numbers} have the same head, and the run does not say which it was for")
        return current[0]

    def _report(self, pull_request: PullRequest) -> Report:
        """The report as it may be posted."""
        try:
            theirs = read_results(self.results, exact=True)
            ours = self.publication.redactor.report(self._own(theirs, pull_request))
            render_comment(summarise(ours))
        except Exception as error:  # noqa: BLE001 - whatever a fork writes, what is posted is a report
            problem = error.problem if isinstance(error, RatibaError) else type(error).__name__
            return self._own(_invalid(problem), pull_request)
        if theirs.subject.head != self.run.head:
            raise _refused(f"the report is about {theirs.subject.head!r:.80}, and the run about {self.run.head!r}")
        return ours

    def _own(self, report: Report, pull_request: PullRequest) -> Report:
        """The report with the facts that are GitHub's instead of the fork's, and without links of its own."""
        run = self.run
        server = self.environment.get("GITHUB_SERVER_URL", "")
        subject = Subject(
            repository=run.repository,
            pull_request=pull_request.number,
            head=run.head,
            base=pull_request.base,
            title=pull_request.title,
            author=pull_request.author,
            run_id=run.run_id,
            run_attempt=run.run_attempt,
            run_url=f"{server}/{run.repository}/actions/runs/{run.run_id}" if server else "",
            event=run.event,
        )
        note = (
            "These figures are those that the pull request's own run left, and nobody has checked them. What counts "
            f"is the check of that run, which ended with '{run.ended}', not this comment."
        )
        # As a warning it is never folded, and no pass of such a report is green.
        verdict = replace(report.verdict, warnings=(note, *report.verdict.warnings))
        return replace(report, name=self.settings.name, subject=subject, verdict=verdict, traces=None, site="")


def _refused(why: str) -> PublishError:
    return PublishError(f"Nothing was posted: {why}.")


def _nothing_to_do(run: WorkflowRun) -> str:
    if run.event != "pull_request":
        return f"Nothing to do: the run was started by {run.event!r}, and only a fork's pull request needs this."
    if run.ended in NOT_RUN:
        return f"Nothing to do: the run ended with {run.ended!r}, so no job of it was run."
    if not run.head_repository:
        return "Nothing to do: the repository that the pull request came from is gone."
    return ""


def _is_own(run: WorkflowRun) -> bool:
    """Whether the run was of a branch of this repository, and so has commented by itself unless GitHub failed."""
    return run.head_repository == run.repository and not run.branch.startswith(DEPENDABOT)


def _invalid(why: str) -> Report:
    """What is posted instead of a report that cannot be read."""
    return Report(
        name="",
        subject=Subject(),
        decision=ModeDecision(Mode.BLOCKING, (Reason("", "doubt", Mode.BLOCKING, "there is no valid report"),)),
        verdict=Verdict(
            Conclusion.INCOMPLETE,
            f"The pull request's run left no valid report: {why[:_QUOTED]}",
            "Read the log of that run. A maintainer can start the workflow by hand with this pull request's number.",
        ),
        results=(),
        spending=Ledger(Decimal(0)).snapshot(),
        limits=Limits(),
        started_at=datetime.now(UTC),
        seconds=0.0,
    )
