"""The events and runs that the gate must not run on, each with what serves instead. Standard library only."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ratiba_action.decide.trusted_configuration import EVENTS

_LONGEST = 80


@dataclass(frozen=True, slots=True)
class RefusedEvent:
    """Why the gate must not run on an event, and what to do instead."""

    problem: str
    remedy: str


TARGET_REFUSED = RefusedEvent(
    "The event 'pull_request_target' is refused: it would run a fork's code with this repository's secrets.",
    "Trigger the workflow by 'pull_request'.",
)
UNREAD_REFUSED = RefusedEvent(
    "A manual run of a fork's pull request is refused unless it names the head commit that was read.",
    "Read the change, then give its head as the workflow's input 'commit'; a head that has moved on is not evaluated.",
)
UNKNOWN_REFUSED = RefusedEvent(
    "A manual run is refused while its pull request cannot be read: a fork's code might run with this repository's "
    "secrets.",
    "Give the pull request's number, check out a git repository, and let the step's token read pull requests; "
    "then start the run again.",
)

_BY_HAND = "Trigger the workflow by 'workflow_dispatch', and give it the pull request's number as 'pull-request'."
_INSTEAD: Mapping[str, str] = MappingProxyType(
    {
        "issue_comment": _BY_HAND,
        "issues": _BY_HAND,
        "repository_dispatch": _BY_HAND,
        "workflow_run": "To evaluate a change, trigger the workflow by 'pull_request'. To publish the report of a "
        "fork's run, use the action's sub-action report (ratiba report --workflow-run).",
        "pull_request_review_comment": "Trigger the workflow by 'pull_request_review'.",
        "pull_request_review_thread": "Trigger the workflow by 'pull_request_review'.",
        "create": "Trigger the workflow by 'push'.",
        "release": "Trigger the workflow by 'push' of the tag.",
    }
)
_ANY = (
    "Trigger the workflow by 'pull_request', 'merge_group', 'push', 'schedule' or 'workflow_dispatch' (on GitLab: a "
    "merge request, a push, a schedule or by hand)."
)


def refused_event(name: str) -> RefusedEvent | None:
    """Why the gate must not run on an event; None for one that it knows.

    Args:
        name: as GitHub gives it, in small letters; empty for none.
    """
    if name in EVENTS:
        return None
    if name == "pull_request_target":
        return TARGET_REFUSED
    problem = f"The event {name[:_LONGEST]!r} is refused: it does not say which commit the change is to be merged into."
    return RefusedEvent(problem, _INSTEAD.get(name, _ANY))
