"""What the stand-in for GitHub knows and what it was asked; shared with the test."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request.

    Args:
        head: commit that it points at.
        base: tip of its base branch, ``main``.
        branch: name of its branch.
        head_repository: where the branch is; None for the repository itself, empty for one that is gone.
        state: ``open`` or ``closed``.
        files: its changed paths; a pair is a renamed file, new name first.
        changed_files: how many files it says it has, None for the true number.
    """

    head: str = "a" * 40
    base: str = "b" * 40
    branch: str = "change"
    head_repository: str | None = None
    author: str = "wanjiku"
    title: str = "Warmer greeting"
    state: str = "open"
    files: tuple[str | tuple[str, str], ...] = ()
    changed_files: int | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """A run of a workflow.

    Args:
        head_repository: where the commit comes from; None for the repository itself.
        conclusion: None while it goes on.
    """

    number: int
    commit: str
    event: str = "push"
    branch: str = "main"
    conclusion: str | None = "success"
    head_repository: str | None = None


@dataclass(frozen=True, slots=True)
class Artifact:
    """An artifact with its content.

    Args:
        content: the zip archive.
    """

    number: int
    name: str
    run: Run
    content: bytes = b""
    created_at: str = "2026-04-25T07:00:00Z"
    expired: bool = False


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it arrived; the path includes the query, header names are in small letters."""

    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: Any = None


@dataclass
class Fault:
    """A bad moment of GitHub: what goes wrong with the next requests of one kind.

    Args:
        method: of the requests; empty for any.
        path: a part of their path; empty for any.
        times: how many of them; the fault is over then.
        done: whether GitHub does what it is asked all the same.
        status: of the answer; 0 for GitHub's own.
        message: of that answer.
        headers: of that answer.
        seconds: that the answer takes, whatever it is.
        until: the answer waits for this event, whatever it is, and no longer than a minute.
        reset: the connection is reset in the place of an answer.
        cut: the answer ends in its middle.
        late: GitHub does what it is asked only when the next request that writes arrives.
    """

    method: str = ""
    path: str = ""
    times: int = 1
    done: bool = False
    status: int = 0
    message: str = "Server Error"
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    until: threading.Event | None = None
    reset: bool = False
    cut: bool = False
    late: bool = False


@dataclass
class GithubState:
    """One stand-in's content.

    Args:
        login: whom the token belongs to.
        heads: commit that each pull request points at, for tests that need no more of it.
        pulls: pull requests by their number; ``heads`` wins where both know one.
        artifacts: names of each workflow run's artifacts, for tests that need no more of them.
        kept: artifacts with their content; their runs are known through them.
        ancestors: pairs of an older and a newer commit that descends from it.
        writable: False for the token of a fork's run, which only reads.
        answers: by path and query, what is answered in place of GitHub's own, whatever the description says.
        failure: status and message to answer every request with, None to serve it.
        failure_headers: sent with it.
        failing_methods: the methods that ``failure`` holds for.
        faults: each holds for the next requests that it is about; the first one in the list comes first.
        gate: requests wait until it is set; a slow server is one whose gate stays shut.
        pending: requests that are done late.
        clone: the repository itself, which knows its commits; None for one without any.
        branches: tips of branches by name; others are those of the clone.
        default_branch: name of one.
        closing: set when the server ends.
        violations: what was asked or answered against GitHub's own description.
    """

    login: str = "github-actions[bot]"
    heads: dict[int, str] = field(default_factory=dict)
    pulls: dict[int, Pull] = field(default_factory=dict)
    artifacts: dict[int, tuple[str, ...]] = field(default_factory=dict)
    kept: list[Artifact] = field(default_factory=list)
    ancestors: set[tuple[str, str]] = field(default_factory=set)
    comments: list[dict[str, Any]] = field(default_factory=list)
    statuses: list[dict[str, Any]] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    clone: Path | None = None
    branches: dict[str, str] = field(default_factory=dict)
    default_branch: str = "main"
    writable: bool = True
    answers: dict[str, Any] = field(default_factory=dict)
    failure: tuple[int, str] | None = None
    failure_headers: Mapping[str, str] = field(default_factory=dict)
    failing_methods: frozenset[str] = frozenset({"GET", "POST", "PATCH"})
    faults: list[Fault] = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)
    closing: threading.Event = field(default_factory=threading.Event)
    pending: list[Received] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    violations: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.gate.set()

    @property
    def requests(self) -> list[tuple[str, str]]:
        """Method and path with query of each request, in order."""
        return [(request.method, request.path) for request in self.received]

    def next_fault(self, request: Received) -> Fault | None:
        """What goes wrong with a request, None where nothing does."""
        with self.lock:
            for fault in self.faults:
                if fault.times > 0 and fault.method in {"", request.method} and fault.path in request.path:
                    fault.times -= 1
                    return fault
        return None

    def pull(self, number: int) -> Pull | None:
        """A pull request, None when there is none of this number."""
        if number not in self.heads:
            return self.pulls.get(number)
        return replace(self.pulls.get(number, Pull()), head=self.heads[number])

    def numbers(self) -> list[int]:
        """Numbers of all pull requests, the latest first."""
        return sorted({*self.heads, *self.pulls}, reverse=True)

    def add_comment(self, body: str, login: str, number: int = 7) -> dict[str, Any]:
        """Put a comment on a pull request; what is returned may be edited in place."""
        number_of_it = 1_000 + max([len(self.comments), *(one["id"] - 999 for one in self.comments)])
        comment = {"id": number_of_it, "body": body, "login": login, "number": number}
        self.comments.append(comment)
        return comment
