"""The event that started a workflow run, and the facts that it states."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ratiba_action.errors import InfrastructureError
from ratiba_action.model.change import Subject
from ratiba_action.settings.gitlab import gitlab_job

_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LARGEST = 50_000_000
_LONGEST_BRANCH = 255


@dataclass(frozen=True, slots=True)
class PullRequest:
    """What a payload or the API says about a pull request.

    Args:
        changed_files: number of its files, None when it is not said.
        fork: its head is in another repository, or in one that is gone.
        branch: that it is to be merged into; empty when it is not said.
        merge: the merge of both that the forge has made to try it; empty when it is not said.
    """

    number: int
    base: str
    head: str
    changed_files: int | None = None
    title: str = ""
    author: str = ""
    fork: bool = False
    branch: str = ""
    merge: str = ""


def load_event(path: Path) -> Mapping[str, Any]:
    """Read an event file.

    Raises:
        InfrastructureError: it is missing, too large, not JSON, or not an object.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        event = json.loads(content) if len(content) <= _LARGEST else None
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InfrastructureError(f"The event file {str(path)!r} cannot be read: {why}.") from error
    if not isinstance(event, dict):
        raise InfrastructureError(f"The event file {str(path)!r} does not contain a JSON object.")
    return event


def infer_name(event: Mapping[str, Any]) -> str:
    """Name of the event that a payload is of, for runs outside GitHub Actions; empty when it cannot be known."""
    for key, name in (
        ("pull_request", "pull_request"),
        ("merge_group", "merge_group"),
        ("inputs", "workflow_dispatch"),
    ):
        if key in event:
            return name
    return "push" if {"before", "after", "ref"} <= event.keys() else ""


def sha(value: Any, what: str) -> str:
    """A commit id of a payload.

    Raises:
        InfrastructureError: the value is not one; it would reach git's command line.
    """
    if not isinstance(value, str) or not _SHA.fullmatch(value):
        raise InfrastructureError(f"The event's {what} is {value!r}, not a commit id.")
    return value


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def read_pull_request(value: Any) -> PullRequest:
    """Read a pull request object of a payload or of the API.

    Raises:
        InfrastructureError: its number or a commit id is missing or malformed.
    """
    payload = mapping(value)
    number, files = payload.get("number"), payload.get("changed_files")
    if not isinstance(number, int) or isinstance(number, bool):
        raise InfrastructureError(f"The event's pull request number is {number!r}, not a number.")
    base, head = mapping(payload.get("base")), mapping(payload.get("head"))
    names = [mapping(side.get("repo")).get("full_name") for side in (base, head)]
    return PullRequest(
        number,
        sha(base.get("sha"), "pull request base"),
        sha(head.get("sha"), "pull request head"),
        files if isinstance(files, int) and not isinstance(files, bool) else None,
        str(payload.get("title") or ""),
        str(mapping(payload.get("user")).get("login") or ""),
        fork=names[0] is None or names[0] != names[1],
        branch=_branch(base.get("ref")),
        merge=str(payload.get("merge_commit_sha") or ""),
    )


def _branch(value: Any) -> str:
    """A branch's name, which stands in requests and in the comment; empty for anything else."""
    name = value.removeprefix("refs/heads/") if isinstance(value, str) else ""
    return name if name.isprintable() and len(name) <= _LONGEST_BRANCH else ""


def _own_branch(event: Mapping[str, Any]) -> str:
    """The branch that a push or a manual run is about, or the one that schedules run on; empty for a tag."""
    if "schedule" in event:
        return _branch(mapping(event.get("repository")).get("default_branch"))
    ref = event.get("ref")
    return _branch(ref) if isinstance(ref, str) and ref.startswith("refs/heads/") else ""


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else 0  # noqa: PLR2004 - no id is longer


def subject_of(event: Mapping[str, Any], pull_request: PullRequest | None, environment: Mapping[str, str]) -> Subject:
    """The facts of a run that are shown to people; nothing is decided by them."""
    repository = environment.get("GITHUB_REPOSITORY") or str(mapping(event.get("repository")).get("full_name") or "")
    run_id = _number(environment.get("GITHUB_RUN_ID", ""))
    server = environment.get("GITHUB_SERVER_URL", "")
    job = gitlab_job(environment)
    if job is not None:
        repository, run_id = job.project, job.job
    return Subject(
        repository=repository,
        pull_request=pull_request.number if pull_request else None,
        head=pull_request.head if pull_request else "",
        base=pull_request.base if pull_request else "",
        title=pull_request.title if pull_request else "",
        author=pull_request.author if pull_request else "",
        base_branch=pull_request.branch if pull_request else _branch(mapping(event.get("merge_group")).get("base_ref")),
        branch="" if pull_request else _own_branch(event),
        run_id=run_id,
        run_attempt=_number(environment.get("GITHUB_RUN_ATTEMPT", "")) or 1,
        run_url=job.url if job is not None else _run_url(server, repository, run_id),
    )


def _run_url(server: str, repository: str, run_id: int) -> str:
    return f"{server}/{repository}/actions/runs/{run_id}" if server and repository and run_id else ""
