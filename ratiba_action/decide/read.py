"""From an event and a repository to the list of changed files."""

import contextlib
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiba_action.decide.default_branch import default_of_clone
from ratiba_action.decide.event import PullRequest, mapping, read_pull_request, sha, subject_of
from ratiba_action.decide.known_base import judge_base
from ratiba_action.decide.refusals import UNKNOWN_REFUSED, UNREAD_REFUSED, RefusedEvent, refused_event
from ratiba_action.decide.trusted_configuration import Known
from ratiba_action.errors import GitError, InfrastructureError
from ratiba_action.model.change import ChangedFiles, Subject
from ratiba_action.util.git import Git

if TYPE_CHECKING:
    from ratiba_action.github.github_api import GithubApi
    from ratiba_action.ports import GithubRepository  # half of what the start would load

Connect = Callable[["GithubApi"], "GithubRepository"]
"""Makes the client that asks for pull requests."""

_SECONDS = 60.0
_TRIES = 4  # a few seconds: without an answer the mode is blocking
_CAP = 3000  # rows that the API gives at most


class PullRequestApi:
    """Reads one repository's pull requests.

    Args:
        environment: its ``GITHUB_API_URL``, ``GITHUB_REPOSITORY`` and ``RATIBA_GITHUB_TOKEN`` or ``GITHUB_TOKEN``, and
            what names proxies and certificates.
        repository: ``owner/name`` where the environment has none.
    """

    def __init__(self, environment: Mapping[str, str], repository: str = "", connect: Connect | None = None) -> None:
        self._environment = environment
        self._connect = connect
        self._repository = environment.get("GITHUB_REPOSITORY") or repository

    def pull_request(self, number: int) -> PullRequest:
        """One pull request.

        Raises:
            InfrastructureError: the API cannot be used or answers anything else.
        """
        return read_pull_request(self.github().pull_request(number))

    def files(self, pull_request: PullRequest) -> tuple[str, ...]:
        """All paths of a pull request, with both names of renamed files.

        Raises:
            InfrastructureError: the API cannot be used, or its list is not complete.
        """
        paths: dict[str, None] = {}
        rows = 0
        for row in itertools.islice(self.github().changed_files(pull_request.number), _CAP):
            paths.update(dict.fromkeys(_names(row)))
            rows += 1
        if pull_request.changed_files != rows or rows >= _CAP:
            raise InfrastructureError(
                f"The API lists {rows} files of the pull request's {pull_request.changed_files}, so some are not known."
            )
        return tuple(paths)

    def github(self) -> "GithubRepository":
        """The client that asks.

        Raises:
            InfrastructureError: address, token or repository are missing.
        """
        environment = self._environment
        token = environment.get("RATIBA_GITHUB_TOKEN") or environment.get("GITHUB_TOKEN") or ""
        address = environment.get("GITHUB_API_URL", "")
        if environment.get("GITLAB_CI") == "true":
            raise InfrastructureError(
                "The merge base of the merge request is not in this clone.", 'Set the job\'s variable GIT_DEPTH: "0".'
            )
        if not token or not address or not self._repository:
            raise InfrastructureError(
                "The API cannot be asked without GITHUB_TOKEN, GITHUB_API_URL and GITHUB_REPOSITORY.",
                "Give the step the workflow's token; a pull request needs none with fetch-depth: 2.",
            )
        from ratiba_action.github.github_api import GithubApi  # most changes are all in the clone
        from ratiba_action.github.urllib_repository import UrllibRepository
        from ratiba_action.util.http_exchange import RetryPolicy

        api = GithubApi(self._repository, token, address, environment, _SECONDS, RetryPolicy(max_tries=_TRIES))
        return (self._connect or UrllibRepository)(api)


def _names(row: Any) -> list[str]:
    names = [row.get("filename"), row.get("previous_filename")] if isinstance(row, dict) else [None]
    if not isinstance(names[0], str):
        raise InfrastructureError("The pull request's files came in an unknown shape.")
    return [name for name in names if isinstance(name, str)]


@dataclass(frozen=True, slots=True)
class Change:
    """What an event is about.

    Args:
        files: the changed paths, with a doubt where the list may be incomplete.
        subject: facts for people.
        fork: the pull request comes from another repository.
        git: the repository, None when there is none.
        refused: why the gate must not run on the event; None when it may.
        confirmed: a manual run that names the commit which it evaluates, so that a person has read it.
        merged: what the event is about has been merged, or was let into a merge queue.
        default_branch: of the repository; empty when nobody names it.
        known: what decides whose configuration may spend and send.
        unmerged: why the base is not known to be merged; empty where it is.
        unread: git could not be run, so that nobody knows whether there is a base.
    """

    files: ChangedFiles
    subject: Subject
    fork: bool = False
    git: Git | None = None
    refused: RefusedEvent | None = None
    confirmed: bool = False
    merged: bool = False
    default_branch: str = ""
    known: Known = field(default_factory=Known)
    unmerged: str = ""
    unread: bool = False

    @property
    def without_base(self) -> "Change":
        """The same files with nothing to compare them with; the repository stays, for what it keeps of credentials."""
        return replace(self, files=replace(self.files, base=None, head=None))

    @property
    def on_default_branch(self) -> bool:
        """Whether the default branch itself was evaluated, after a push, by a schedule or by hand."""
        return bool(self.default_branch) and self.subject.branch == self.default_branch

    @property
    def needs_confirmation(self) -> bool:
        """Whether a person has to start the run by hand before another system may pass it; none has on a laptop."""
        return bool(self.subject.event) and not self.confirmed and not self.merged


def read_change(
    event_name: str,
    event: Mapping[str, Any] | None,
    repository: Path,
    environment: Mapping[str, str],
    *,
    pull_request: str = "",
    connect: Connect | None = None,
) -> Change:
    """Find out what changed; whatever goes wrong becomes a doubt, never an exception.

    Args:
        event_name: as in ``GITHUB_EVENT_NAME``; empty for the work tree against its merge base.
        event: the payload, None when there is none.
        pull_request: number of the pull request to evaluate, for a manual run; empty for none.
    """
    reader = _ChangeReader(event or {}, environment, pull_request, connect)
    unread = False
    if event_name in {"pull_request", "pull_request_review"}:
        # Also where git is missing: the comment that says so needs it.
        with contextlib.suppress(InfrastructureError):
            reader.pull_request = read_pull_request(reader.event.get("pull_request"))
    try:
        reader.git = Git(repository, environment)
        reader.git.remember()
        files = reader.read(event_name, missing=event is None)
    except InfrastructureError as error:
        files, unread = ChangedFiles((), doubt=str(error)), isinstance(error, GitError)
    found = reader.pull_request
    judged = judge_base(
        event_name, files, git=reader.git, request=found, environment=environment, github=lambda: reader.api().github()
    )
    files = judged.files
    subject = subject_of(reader.event, found, environment)
    subject = replace(subject, event=event_name)
    if found is None:
        subject = replace(subject, base=files.base or "", head=files.head or "")
    elif reader.evaluated:
        # A head that has moved on was not evaluated: no status may stand on it, no comment may speak of it.
        subject = replace(subject, head=reader.evaluated)
    refused = refused_event(event_name) or reader.refused
    if event_name == "workflow_dispatch" and found is None and (event is None or reader.number):
        refused = UNKNOWN_REFUSED
    confirmed = reader.confirmed and files.doubt is None
    fork = found.fork if found else False
    default = judged.default_branch or mapping((event or {}).get("repository")).get("default_branch")
    return Change(
        files,
        subject,
        fork,
        reader.git,
        refused,
        confirmed,
        _is_merged(event_name, event or {}),
        default if isinstance(default, str) else "",
        judged.known,
        judged.unmerged,
        unread=unread,
    )


def _is_merged(event_name: str, event: Mapping[str, Any]) -> bool:
    """Whether people have let the change in already: a merge queue takes what has passed, a push is on the branch."""
    default = mapping(event.get("repository")).get("default_branch")
    pushed = event_name == "push" and isinstance(default, str) and event.get("ref") == f"refs/heads/{default}"
    return pushed or event_name == "merge_group"


class _ChangeReader:
    """Reads one event; which commits count for which is in ``docs/decisions/0001-mode-from-paths.md``."""

    def __init__(
        self, event: Mapping[str, Any], environment: Mapping[str, str], number: str, connect: Connect | None
    ) -> None:
        self.event = event
        self.pull_request: PullRequest | None = None
        self.git: Git | None = None
        self.refused: RefusedEvent | None = None
        self.confirmed = False
        self.evaluated: str | None = None  # the pull request's head, or what is checked out instead
        self._environment = environment
        self._number = number
        self._connect = connect

    @property
    def number(self) -> str:
        """Of the pull request that a manual run is about, as it was given; empty for none."""
        inputs = mapping(self.event.get("inputs"))
        return self._number or str(inputs.get("pull-request") or inputs.get("pull_request") or "")

    def read(self, event_name: str, *, missing: bool) -> ChangedFiles:
        """The changed files of the event."""
        if self.git is None:
            raise InfrastructureError("There is no repository.")
        readers = {
            "": _work_tree,
            "pull_request": self._pull_request,
            "pull_request_review": self._pull_request,
            "merge_group": self._merge_group,
            "push": self._push,
            "workflow_dispatch": self._dispatch,
        }
        if event_name not in readers:
            refused = refused_event(event_name)
            nothing = f"nothing is known about what the event {event_name!r} changes"
            return ChangedFiles((), doubt=refused.problem if refused is not None else nothing)
        if missing and event_name:
            return ChangedFiles((), doubt=f"the event {event_name!r} has no payload")
        return readers[event_name](self.git)

    def _pull_request(self, git: Git) -> ChangedFiles:
        self.pull_request = read_pull_request(self.event.get("pull_request"))
        return self._files_of(git, self.pull_request)

    def _files_of(self, git: Git, pull_request: PullRequest) -> ChangedFiles:
        tip = git.commit("HEAD")
        parents = git.parents(tip) if tip else ()
        merged = parents[1:] == (pull_request.head,) and parents[0] != self._left_base()
        doubt = None if merged or tip == pull_request.head else _not_checked_out(tip, pull_request)
        self.evaluated = tip if doubt else pull_request.head
        if merged and tip and git.commit(parents[0]):
            files = ChangedFiles(git.changed(parents[0], tip), parents[0], tip)
        else:
            base = git.merge_base(pull_request.base, pull_request.head) if self._both_here(git, pull_request) else None
            head = pull_request.head
            files = ChangedFiles(git.changed(base, head), base, head) if base else self._from_api(pull_request, tip)
        if not files.paths and pull_request.changed_files:
            doubt = f"git finds no difference where the event counts {pull_request.changed_files} files"
        return replace(files, doubt=doubt)

    def _left_base(self) -> str | None:
        """Tip of the branch that the pull request has just been taken off; a merge into it is an old one."""
        left = mapping(mapping(mapping(self.event.get("changes")).get("base")).get("sha")).get("from")
        base = self.pull_request.base if self.pull_request else None
        return left if isinstance(left, str) and left != base else None

    def _both_here(self, git: Git, pull_request: PullRequest) -> bool:
        return all(git.commit(commit) is not None for commit in (pull_request.base, pull_request.head))

    def _from_api(self, pull_request: PullRequest, tip: str | None) -> ChangedFiles:
        return ChangedFiles(self.api().files(pull_request), None, tip)

    def api(self) -> PullRequestApi:
        """Asks GitHub about the event's repository."""
        named = str(mapping(self.event.get("repository")).get("full_name") or "")
        return PullRequestApi(self._environment, named, self._connect)

    def _merge_group(self, git: Git) -> ChangedFiles:
        group = mapping(self.event.get("merge_group"))
        base, head = sha(group.get("base_sha"), "merge group base"), sha(group.get("head_sha"), "merge group head")
        return _between(git, base, head)

    def _push(self, git: Git) -> ChangedFiles:
        before, after = sha(self.event.get("before"), "'before'"), sha(self.event.get("after"), "'after'")
        if not before.strip("0"):
            return ChangedFiles((), None, after, "the push has no base, so everything counts as changed")
        return _between(git, before, after)

    def _dispatch(self, git: Git) -> ChangedFiles:
        inputs = mapping(self.event.get("inputs"))
        if number := self.number:
            if not (number.isascii() and number.isdigit() and len(number) < 12):  # noqa: PLR2004 - no number is longer
                return ChangedFiles((), doubt=f"the pull request number is {number[:80]!r}, not a number")
            self.pull_request = self.api().pull_request(int(number))
            if self.pull_request.fork and str(inputs.get("commit") or "") != self.pull_request.head:
                # A stranger may push after the maintainer has read the change and before the run checks it out.
                self.refused = UNREAD_REFUSED
            self.confirmed = str(inputs.get("commit") or "") == self.pull_request.head
            return self._files_of(git, self.pull_request)
        ref = str(inputs.get("ref") or "")
        if not ref:
            return ChangedFiles((), None, git.commit("HEAD"), "a manual run without a pull request runs everything")
        head = git.commit(ref) or git.commit(f"refs/remotes/origin/{ref}")
        if head is None:
            return ChangedFiles((), doubt=f"the ref {ref[:200]!r} is not in this clone")
        if head != git.commit("HEAD"):
            return ChangedFiles((), None, head, f"the ref {ref[:200]!r} is not what is checked out")
        base = _default_base(git)
        self.confirmed = str(inputs.get("commit") or "") == head
        return ChangedFiles(git.changed(base, head), base, head)


def _not_checked_out(tip: str | None, pull_request: PullRequest) -> str:
    return (
        f"the checked-out commit {tip} is neither the pull request's head {pull_request.head} nor a merge of it "
        "into its base"
    )


def _between(git: Git, base: str, head: str) -> ChangedFiles:
    absent = [commit for commit in (base, head) if git.commit(commit) is None]
    if absent:
        return ChangedFiles((), None, head, f"the commit {absent[0]} is not in this clone, so everything changed")
    doubt = None if git.commit("HEAD") == head else f"the event's head {head} is not what is checked out"
    return ChangedFiles(git.changed(base, head), base, head, doubt)


def _default_base(git: Git) -> str:
    """Merge base of what is checked out with the default branch."""
    head = git.commit("HEAD")
    if head is None:
        raise InfrastructureError("There is no commit yet, so there is nothing to compare with.")
    name, commit = default_of_clone(git.first_commit)
    base = head if commit == head else git.merge_base(commit, "HEAD")
    if base is None:
        raise InfrastructureError(f"What is checked out and {name!r} have no common ancestor in this clone.")
    return base


def _work_tree(git: Git) -> ChangedFiles:
    base = _default_base(git)
    from ratiba_action.util.work_tree import changed_since  # a commit's files need no hashes

    return ChangedFiles(changed_since(git, base), base, None)
