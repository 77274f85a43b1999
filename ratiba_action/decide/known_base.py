"""What is known of a change's base: named by the forge, merged by its own words, or only claimed.

An event that names no merged base is compared with the commit at which it left the default branch. Standard library
only.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ratiba_action.decide.default_branch import default_branch, fork_point
from ratiba_action.decide.event import PullRequest
from ratiba_action.decide.trusted_configuration import EVENTS, Base, Known, runs_in_ci, runs_on_github
from ratiba_action.errors import GitError, InfrastructureError
from ratiba_action.model.change import ChangedFiles
from ratiba_action.settings.gitlab import gitlab_job
from ratiba_action.util.git import Git

if TYPE_CHECKING:
    from ratiba_action.ports import GithubRepository  # half of what the start would load

_OF_MERGE_REF = ("pull_request", "pull_request_review")
"""Events for which the runner names the merge that the forge has made of base and head; no step can change that."""


@dataclass(frozen=True, slots=True)
class JudgedBase:
    """The files of a change, against a base of which is known what it is.

    Args:
        files: as they were read, or against another base.
        known: what decides whose configuration may spend and send.
        unmerged: why the base is not known to be merged; empty where it is.
        default_branch: its name in the forge's words; empty where it was not asked.
    """

    files: ChangedFiles
    known: Known
    unmerged: str = ""
    default_branch: str = ""


def judge_base(
    event_name: str,
    files: ChangedFiles,
    *,
    git: Git | None,
    request: PullRequest | None,
    environment: Mapping[str, str],
    github: Callable[[], "GithubRepository"],
) -> JudgedBase:
    """Find out what is known of a base; whatever goes wrong makes less known, and is no exception.

    Args:
        event_name: of the run; empty for a work tree.
        files: of the change, as the event says them.
        git: the repository; None where there is none.
        request: the pull request that the event is about; None for none.
        github: makes the client that asks GitHub; raises where it cannot.
    """
    event = event_name or environment.get("GITHUB_EVENT_NAME", "")
    known = Known(runs_in_ci(environment), event, Base.CLAIMED if files.base else Base.UNKNOWN)
    tip, problem = _tip_of(git) if known.in_ci else (None, "")
    if git is None or tip is None or event not in EVENTS:
        return JudgedBase(files, known, problem)
    checkout = _Checkout(event_name, git, tip, environment, github)
    try:
        if request is not None or (event_name == "merge_group" and files.base):
            checkout.require_named(files, request)
            return JudgedBase(files, replace(known, base=Base.NAMED))
        if runs_on_github(environment) or gitlab_job(environment):
            branch = default_branch(tip, environment, github)
            return replace(checkout.forked(files, known, branch.fork), default_branch=branch.name)
    except InfrastructureError as error:
        return JudgedBase(files, known, str(error))
    if event_name or not files.base:
        return JudgedBase(
            files, known, "Which commits are merged is not known: only jobs of GitHub and GitLab can ask."
        )
    # Nobody but the clone can be asked, and the base of a work tree is on its default branch.
    return JudgedBase(files, replace(known, base=Base.MERGED))


def _tip_of(git: Git | None) -> tuple[str | None, str]:
    """The commit that is checked out, and why it is not known."""
    try:
        return (git.commit("HEAD") if git is not None else None), ""
    except GitError as error:
        return None, str(error)


@dataclass(frozen=True, slots=True)
class _Checkout:
    """What is checked out, and who can be asked about it.

    Args:
        tip: the commit that is checked out.
    """

    event_name: str
    git: Git
    tip: str
    environment: Mapping[str, str]
    github: Callable[[], "GithubRepository"]

    def require_named(self, files: ChangedFiles, request: PullRequest | None) -> None:
        """Check that the forge itself names the base: whoever can push can make a merge of the change with anything.

        Args:
            request: None for a merge group, whose base the event names itself.
        """
        base, tried = files.base, self._merge_of_runner(request)
        if base is None or base == (files.head or self.tip) or (tried and base != tried):
            raise InfrastructureError("The event names no base that is in this clone.", self.git.remedy())
        if tried or request is None or base == request.base or self.tip == request.merge:
            return
        if self.git.commit(request.base) and self.git.merge_base(base, request.base) == base:
            return
        if fork_point(self.github(), request.branch, base) != base:
            raise InfrastructureError(f"The commit {base} is not on the branch {request.branch!r}.")

    def _merge_of_runner(self, request: PullRequest | None) -> str:
        """First parent of the merge that the runner says the forge has made for the event; empty for no such merge."""
        gitlab = gitlab_job(self.environment)
        if gitlab is not None and (request is None or self.tip == request.head):
            return ""  # a pipeline of merged results alone is about a merge
        named = self.environment.get("CI_COMMIT_SHA" if gitlab is not None else "GITHUB_SHA")
        if self.event_name not in _OF_MERGE_REF or self.tip != named:
            return ""
        parents = self.git.parents(self.tip)
        return parents[0] if len(parents) == 2 else ""  # noqa: PLR2004 - base and head

    def forked(self, files: ChangedFiles, known: Known, fork: str) -> JudgedBase:
        """The change against the commit at which it left the default branch.

        Args:
            files: of the change, as the event says them.
            known: so far.
        """
        git, tip = self.git, self.tip
        if fork == tip:
            merged = replace(known, merged=True)
            if files.base is None:
                return JudgedBase(files, merged)
            if git.merge_base(files.base, tip) == files.base:
                return JudgedBase(files, replace(merged, base=Base.MERGED))
            left = "the commit before is no longer on this branch, so everything counts as changed"
            return JudgedBase(replace(files, paths=(), base=None, doubt=left), replace(merged, base=Base.UNKNOWN))
        if git.commit(fork) is None:
            raise InfrastructureError(
                f"The commit {fork} of the default branch is not in this clone.", "Check out with fetch-depth: 0."
            )
        if files.base != fork:
            from ratiba_action.util.work_tree import changed_since  # a commit's files need no hashes

            paths = git.changed(fork, tip) if self.event_name else changed_since(git, fork)
            files = ChangedFiles(paths, fork, files.head, files.doubt)
        return JudgedBase(files, replace(known, base=Base.MERGED))
