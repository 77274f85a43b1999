"""The payload of ``workflow_run``: facts about the run of another workflow, which GitHub states and a fork cannot."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ratiba_action.decide.event import PullRequest, mapping, read_pull_request, sha
from ratiba_action.errors import InfrastructureError

_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}")
_WORD = re.compile(r"[a-z_]{1,40}")
_LONGEST_BRANCH = 255


@dataclass(frozen=True, slots=True)
class WorkflowRun:
    """The run that ended.

    Args:
        repository: ``owner/name`` that it ran in.
        head_repository: ``owner/name`` that the evaluated commit comes from; empty when it is gone.
        branch: of the head repository.
        head: commit that was evaluated.
        ended: how GitHub says that it ended, such as ``failure``.
    """

    repository: str
    head_repository: str
    branch: str
    head: str
    run_id: int
    run_attempt: int
    event: str
    ended: str


def read_workflow_run(event: Mapping[str, Any]) -> WorkflowRun:
    """Read a payload.

    Raises:
        InfrastructureError: something that is needed is missing or malformed.
    """
    run = mapping(event.get("workflow_run"))
    if not run:
        raise InfrastructureError("The event holds no 'workflow_run'.")
    branch = run.get("head_branch")
    if not isinstance(branch, str) or not 0 < len(branch) <= _LONGEST_BRANCH or not branch.isprintable():
        raise InfrastructureError(f"The event's head branch is {branch!r:.300}, not a branch.")
    return WorkflowRun(
        repository=_repository(mapping(event.get("repository")).get("full_name"), "repository"),
        head_repository=_head_repository(run),
        branch=branch,
        head=sha(run.get("head_sha"), "head"),
        run_id=_number(run.get("id"), "run id"),
        run_attempt=_number(run.get("run_attempt"), "run attempt"),
        event=_word(run.get("event"), "name of the event"),
        ended=_word(run.get("conclusion"), "conclusion"),
    )


def pull_requests_of(run: WorkflowRun, rows: Any) -> tuple[PullRequest, ...]:
    """Those of the API's answer that really come from the run's head repository and branch.

    Args:
        run: what they must belong to.
        rows: the answer to a search by the owner's name and the branch, which other repositories of the owner share.

    Raises:
        InfrastructureError: the answer is no list of pull requests.
    """
    if not isinstance(rows, list):
        raise InfrastructureError("GitHub's answer was not understood: a list of pull requests was expected.")
    return tuple(read_pull_request(row) for row in rows if _belongs(mapping(row), run))


def _belongs(row: Mapping[str, Any], run: WorkflowRun) -> bool:
    head, base = mapping(row.get("head")), mapping(row.get("base"))
    names = mapping(head.get("repo")).get("full_name"), mapping(base.get("repo")).get("full_name")
    return names == (run.head_repository, run.repository) and head.get("ref") == run.branch


def _head_repository(run: Mapping[str, Any]) -> str:
    found = run.get("head_repository")
    return "" if found is None else _repository(mapping(found).get("full_name"), "head repository")


def _repository(value: Any, what: str) -> str:
    if not isinstance(value, str) or not _REPOSITORY.fullmatch(value):
        raise InfrastructureError(f"The event's {what} is {value!r:.300}, not owner/name.")
    return value


def _number(value: Any, what: str) -> int:
    if type(value) is not int or not 0 < value < 10**15:
        raise InfrastructureError(f"The event's {what} is {value!r:.80}, not a number.")
    return value


def _word(value: Any, what: str) -> str:
    if not isinstance(value, str) or not _WORD.fullmatch(value):
        raise InfrastructureError(f"The event's {what} is {value!r:.80}, not a word.")
    return value
