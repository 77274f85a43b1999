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
