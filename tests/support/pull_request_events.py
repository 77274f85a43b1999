"""Payloads of events as GitHub sends them, reduced to what is read."""

from typing import Any


def pull_request_payload(base: str, head: str, *, files: int | None = None, fork: bool = False) -> dict[str, Any]:
    """A pull request, as in an event or from the API.

    Args:
        base: tip of the base branch.
        head: tip of the pull request's branch.
        files: its ``changed_files``.
        fork: its head is in another repository.
    """
    return {
        "number": 7,
        "title": "Warmer greeting",
        "user": {"login": "wanjiku"},
        "base": {"sha": base, "ref": "main", "repo": {"full_name": "salon/assistant"}},
        "head": {"sha": head, "ref": "f", "repo": {"full_name": "other/assistant" if fork else "salon/assistant"}},
        **({} if files is None else {"changed_files": files}),
    }


def pull_request_event(base: str, head: str, *, files: int | None = None, fork: bool = False) -> dict[str, Any]:
    """A ``pull_request`` event; see ``pull_request_payload``."""
    return {
        "action": "synchronize",
        "number": 7,
        "pull_request": pull_request_payload(base, head, files=files, fork=fork),
        "repository": {"full_name": "salon/assistant"},
    }


def edited_event(base: str, head: str, *, left: str | None = None) -> dict[str, Any]:
    """The same event after an edit.

    Args:
        base: tip of the base branch.
        head: tip of the pull request's branch.
        left: tip of the base branch before; None where only the title was edited.
    """
    changes: dict[str, Any] = {"title": {"from": "Warm greeting"}}
    if left is not None:
        changes = {"base": {"ref": {"from": "release"}, "sha": {"from": left}}}
    return {**pull_request_event(base, head), "action": "edited", "changes": changes}


def workflow_run_event(head: str, **run: Any) -> dict[str, Any]:
    """The ``workflow_run`` event of a fork's pull request whose run has failed.

    Args:
        head: tip of the pull request's branch.
        **run: fields of the run that replace others.
    """
    return {
        "action": "completed",
        "workflow_run": {
            "id": 555,
            "run_attempt": 2,
            "event": "pull_request",
            "conclusion": "failure",
            "head_branch": "change",
            "head_sha": head,
            "head_repository": {"full_name": "other/assistant"},
            **run,
        },
        "repository": {"full_name": "salon/assistant"},
    }
