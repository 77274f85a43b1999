"""What changed, and how strict to be about it.

Only the standard library is imported: the ``decide`` step runs this on a bare Python.
"""

from dataclasses import dataclass
from enum import StrEnum


class Mode(StrEnum):
    """How much the gate may stop: nothing to run, a warning, or the merge."""

    SKIP = "skip"
    ADVISORY = "advisory"
    BLOCKING = "blocking"

    @property
    def rank(self) -> int:
        """Rank of the mode: 0 for skip, 2 for blocking."""
        return _ORDER.index(self)


_ORDER = tuple(Mode)
FLOORS = ("auto", Mode.ADVISORY.value, Mode.BLOCKING.value)
"""What the input ``mode`` may be."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern of the ``rules`` input.

    Args:
        line: its line in the rules text, from 1; 0 for what the system or a scenario names.
        built_in: one of the default rules, which count in any letter case and take no code for documentation.
        why: what names the file; empty for the system or a scenario.
    """

    mode: Mode
    pattern: str
    line: int = 0
    built_in: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """The paths that a change touches.

    Args:
        paths: repository-relative, with both names of a renamed file.
        base: commit that the change starts from, when known.
        head: commit that is evaluated, when known.
        doubt: why the list may be incomplete; any doubt makes the gate blocking.
    """

    paths: tuple[str, ...]
    base: str | None = None
    head: str | None = None
    doubt: str | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """Why one file asks for a mode.

    Args:
        path: the file; empty when the reason is not about a file.
        rule: the pattern that decided, or the name of a built-in rule.
    """

    path: str
    rule: str
    mode: Mode
    why: str


NAMED_BY_SYSTEM = "the system or a scenario names it"
"""Begins the reason of a file that the ``system`` block or a scenario's ``touches`` names."""


@dataclass(frozen=True, slots=True)
class DependencyChange:
    """One package whose version or source differs between base and head.

    Args:
        package: its name, with the kind of file in doubt.
        before: version at the base, None when it was added.
        after: version at the head, None when it was removed.
        change: ``major``, ``minor``, ``patch``, ``added``, ``removed``, ``downgrade``, ``source`` or ``unreadable``.
        file: the manifest or lock file.
    """

    package: str
    before: str | None
    after: str | None
    change: str
    file: str


@dataclass(frozen=True, slots=True)
class ModeDecision:
    """The mode of a run with everything that led to it."""

    mode: Mode
    reasons: tuple[Reason, ...]
    dependencies: tuple[DependencyChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Subject:
    """What was evaluated.

    Args:
        repository: ``owner/name``, empty on a laptop without a remote.
        pull_request: its number, None outside a pull request.
        base: commit that it was compared with.
        author: login of the pull request's author; shown, never trusted.
        run_id: id of the workflow run, 0 on a laptop.
        run_attempt: attempt of that run, from 1.
        event: name of the event that started the run, empty outside a workflow.
        base_branch: that the change is to be merged into; empty where there is none.
        branch: that was evaluated itself; empty for a change that is to be merged, and on a laptop.
    """

    repository: str = ""
    pull_request: int | None = None
    head: str = ""
    base: str = ""
    title: str = ""
    author: str = ""
    run_id: int = 0
    run_attempt: int = 1
    run_url: str = ""
    event: str = ""
    base_branch: str = ""
    branch: str = ""
