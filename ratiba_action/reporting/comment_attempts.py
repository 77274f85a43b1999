"""The runs of the gate on one pull request, as the comment shows them."""

import re
from collections.abc import Sequence

from ratiba_action.github.attempts import NO_HEAD, Attempt
from ratiba_action.model.change import Subject
from ratiba_action.reporting.markdown import folded, table

_RUN_URL = re.compile(r"(https?://[A-Za-z0-9._:-]+/[A-Za-z0-9._/-]*/actions/runs/)[0-9]+", re.ASCII)
_SHORT = 7
_STARTED_BY = {
    "pull_request": "the pull request",
    "merge_group": "the merge queue",
    "push": "a push",
    "workflow_dispatch": "hand",
    "other": "another event",
}


def attempts_table(attempts: Sequence[Attempt], subject: Subject) -> str:
    """The attempts, the latest first; folded, and empty when there is but one.

    Args:
        attempts: the present one among them.
        subject: of the present run.
    """
    if len(attempts) <= 1:
        return ""
    rows = [_row(attempt, subject) for attempt in reversed(attempts)]
    header = ("run", "commit", "started by", "mode", "result")
    return folded(f"The last {len(attempts)} runs on this pull request", table(header, rows))


def _row(attempt: Attempt, subject: Subject) -> tuple[str, ...]:
    name = f"{attempt.run_id}, attempt {attempt.number}"
    found = _RUN_URL.fullmatch(subject.run_url)
    run = f"[{name}]({found[1]}{attempt.run_id}/attempts/{attempt.number})" if found else name
    present = (attempt.run_id, attempt.number) == (subject.run_id, subject.run_attempt)
    return (
        f"**{run}, this one**" if present else run,
        "unknown" if attempt.head == NO_HEAD else f"`{attempt.head[:_SHORT]}`",
        _STARTED_BY[attempt.event],
        attempt.mode.value,
        attempt.conclusion.value,
    )
