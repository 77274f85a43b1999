"""What the forge says about its default branch: which it is, and which of its commits a checkout is made from.

A clone's own branches are no answer: whoever prepares the clone could name any commit so. A commit's id is: what is
read by it is what the forge means by it. Standard library only.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ratiba_action.decide.event import mapping, sha
from ratiba_action.decide.trusted_configuration import runs_on_github
from ratiba_action.errors import InfrastructureError
from ratiba_action.settings.gitlab import gitlab_job

if TYPE_CHECKING:
    from ratiba_action.ports import GithubRepository  # half of what the start would load

_DEFAULT_BRANCHES = (
    "refs/remotes/origin/HEAD",
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
    # In full: a tag of that name would come first.
    "refs/heads/main",
    "refs/heads/master",
)

FirstCommit = Callable[[tuple[str, ...]], tuple[str, str] | None]
"""The first of some names that is a commit's, with its id."""


@dataclass(frozen=True, slots=True)
class DefaultBranch:
    """The default branch, seen from what is checked out.

    Args:
        name: empty where it is not known.
        fork: the newest of its commits that what is checked out descends from; that commit itself where it is merged.
    """

    name: str
    fork: str


def default_branch(
    head: str, environment: Mapping[str, str], connect: Callable[[], "GithubRepository"]
) -> DefaultBranch:
    """What GitHub or GitLab says about the default branch.

    Args:
        head: the commit that is checked out.
        connect: makes the client that asks GitHub; raises where it cannot.

    Raises:
        InfrastructureError: it says nothing that is understood, or there is nobody to ask.
    """
    job = gitlab_job(environment)
    if job is not None:
        # Set by GitLab's runner for the pipeline; nothing of the checkout has a part in them.
        named = environment.get("CI_DEFAULT_BRANCH", "")
        if named and environment.get("CI_COMMIT_BRANCH") == named and environment.get("CI_COMMIT_SHA") == head:
            return DefaultBranch(named, head)
        raise InfrastructureError(
            "This pipeline is neither of a merge request nor of the default branch.",
            "Run the job for merge requests, and on the default branch.",
        )
    if not runs_on_github(environment):
        raise InfrastructureError("Which commits are merged is not known: only jobs of GitHub and GitLab can ask.")
    if environment.get("GITHUB_EVENT_NAME") == "schedule" and environment.get("GITHUB_SHA") == head:
        # GitHub starts schedules on the last commit of the default branch, and lets no step change these variables.
        return DefaultBranch(environment.get("GITHUB_REF_NAME", ""), head)
    github = connect()
    name = mapping(github.repository()).get("default_branch")
    if not isinstance(name, str) or not name:
        raise InfrastructureError("GitHub does not say which branch is the default one.")
    return DefaultBranch(name, fork_point(github, name, head))


def fork_point(github: "GithubRepository", branch: str, commit: str) -> str:
    """The newest commit of a branch that another commit descends from, in GitHub's words.

    Args:
        github: is asked.
        branch: its name; a tag of that name is another thing.
        commit: full id.

    Raises:
        InfrastructureError: GitHub does not know one of them, or they have no commit in common.
    """
    tip = sha(mapping(mapping(github.branch(branch)).get("commit")).get("sha"), f"tip of {branch[:100]!r}")
    found = mapping(mapping(github.comparison(tip, commit)).get("merge_base_commit"))
    return sha(found.get("sha"), f"merge base with {branch[:100]!r}")


def default_of_clone(first_commit: FirstCommit) -> tuple[str, str]:
    """The default branch as the clone names it, and its commit: on a laptop there is nobody else to ask.

    Args:
        first_commit: of the repository, see ``Git.first_commit``.

    Raises:
        InfrastructureError: no default branch is here.
    """
    found = first_commit(_DEFAULT_BRANCHES)
    if found is None:
        raise InfrastructureError("There is no branch origin/HEAD, main or master to compare with.")
    return found
