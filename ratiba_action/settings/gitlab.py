"""A job of GitLab, by the variables that its runner sets; without them there is none. Standard library only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_EVENTS = {"merge_request_event": "pull_request", "push": "push"}
_MANUAL = frozenset({"api", "chat", "trigger", "web", "pipeline", "parent_pipeline"})


@dataclass(frozen=True, slots=True)
class GitlabJob:
    """What GitLab says about a job.

    Args:
        api: base of the API, ``https://gitlab.example/api/v4``.
        project: path of the project that the change is to be merged into, with its groups.
        page: address of that project.
        merge_request: its number in the project; None outside one.
        job: id of the job; one that is retried has a higher one.
        event: what started it, in the words of ``ratiba decide``.
        payload: what is known of the event, in the shape of GitHub's.
    """

    api: str
    project: str
    page: str
    merge_request: int | None
    job: int
    url: str
    event: str
    payload: Mapping[str, Any]


def gitlab_job(environment: Mapping[str, str]) -> GitlabJob | None:
    """The job that this process runs in; None outside GitLab's CI."""
    if environment.get("GITLAB_CI") != "true" or environment.get("GITHUB_ACTIONS") == "true":
        return None
    source = environment.get("CI_PIPELINE_SOURCE", "")
    event = _EVENTS.get(source) or ("workflow_dispatch" if source in _MANUAL else source or "unknown")
    number = _number(environment.get("CI_MERGE_REQUEST_IID", "")) or None
    return GitlabJob(
        api=environment.get("CI_API_V4_URL", ""),
        project=environment.get("CI_MERGE_REQUEST_PROJECT_PATH") or environment.get("CI_PROJECT_PATH", ""),
        page=environment.get("CI_MERGE_REQUEST_PROJECT_URL") or environment.get("CI_PROJECT_URL", ""),
        merge_request=number,
        job=_number(environment.get("CI_JOB_ID", "")),
        url=environment.get("CI_JOB_URL", ""),
        event=event,
        payload=_payload(environment, event, number),
    )


def _payload(environment: Mapping[str, str], event: str, number: int | None) -> Mapping[str, Any]:
    named = {"full_name": environment.get("CI_PROJECT_PATH"), "default_branch": environment.get("CI_DEFAULT_BRANCH")}
    branch = environment.get("CI_COMMIT_BRANCH")
    ref = f"refs/heads/{branch}" if branch else f"refs/tags/{environment.get('CI_COMMIT_TAG', '')}"
    if event == "pull_request":
        return {"repository": named, "pull_request": _merge_request(environment, number)}
    if event == "push":
        before, after = environment.get("CI_COMMIT_BEFORE_SHA"), environment.get("CI_COMMIT_SHA")
        return {"repository": named, "ref": ref, "before": before, "after": after}
    started: Mapping[str, Any] = {"schedule": ""} if event == "schedule" else {"inputs": {}}
    return {"repository": named, "ref": ref, **started}


def _merge_request(environment: Mapping[str, str], number: int | None) -> Mapping[str, Any]:
    """In a pipeline of merged results what is checked out is a merge, and the branch's own head stands elsewhere."""
    head = environment.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA") or environment.get("CI_COMMIT_SHA")
    return {
        "number": number,
        "title": environment.get("CI_MERGE_REQUEST_TITLE", ""),
        "base": {
            "sha": environment.get("CI_MERGE_REQUEST_DIFF_BASE_SHA"),
            "ref": environment.get("CI_MERGE_REQUEST_TARGET_BRANCH_NAME"),
            "repo": {"full_name": environment.get("CI_MERGE_REQUEST_PROJECT_PATH")},
        },
        "head": {
            "sha": head,
            "repo": {"full_name": environment.get("CI_MERGE_REQUEST_SOURCE_PROJECT_PATH")},
        },
    }


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0  # noqa: PLR2004 - 63 bits
