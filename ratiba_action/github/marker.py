"""The hidden first line of a comment: which gate wrote it, for which commit, in which run."""

import re
from dataclasses import dataclass

from ratiba_action.model.canonical import digest
from ratiba_action.model.verdict import Report

_UNSAFE = re.compile(r"[^A-Za-z0-9_.]+")
_MARKER = re.compile(
    r"\A<!-- ratiba-eval-gate name=(?P<name>[\w.-]+) head=(?P<head>[0-9A-Za-z]+) "
    r"run=(?P<run>\d{1,19}) attempt=(?P<attempt>\d{1,9}) -->",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Marker:
    """Identity of a comment.

    Args:
        name: of the gate, made safe by ``marker_of``.
        head: commit that was evaluated; ``none`` when unknown.
        run_attempt: attempt of that run, from 1.
    """

    name: str
    head: str
    run_id: int
    run_attempt: int

    def __str__(self) -> str:
        return (
            f"<!-- ratiba-eval-gate name={self.name} head={self.head} run={self.run_id} attempt={self.run_attempt} -->"
        )


def marker_of(report: Report) -> Marker:
    """The marker of a report's comment; the gate's name and commit can not end the HTML comment."""
    subject = report.subject
    # Two hyphens would end an HTML comment, so a run of anything unusual becomes one.
    name = _UNSAFE.sub("-", report.name)[:60].strip("-") or "gate"
    if name != report.name:
        # Two names that look alike once they are safe must not share a comment.
        name = f"{name}-{digest(report.name)[:8]}"
    head = re.sub(r"[^0-9A-Za-z]", "", subject.head)[:64] or "none"
    return Marker(name, head, max(subject.run_id, 0), max(subject.run_attempt, 0))


def read_marker(body: str) -> Marker | None:
    """The marker at the very beginning of a comment, None when it is not one of ours."""
    found = _MARKER.match(body)
    if found is None:
        return None
    return Marker(found["name"], found["head"], int(found["run"]), int(found["attempt"]))


def is_stale(ours: Marker, theirs: Marker, current_head: str) -> bool:
    """Whether a comment of ours would hide a newer one.

    The commit that the pull request now points at wins over any other; otherwise the later run, then attempt.

    Args:
        current_head: commit that the pull request points at now.
    """
    if (ours.head == current_head) != (theirs.head == current_head):
        return theirs.head == current_head
    return (ours.run_id, ours.run_attempt) < (theirs.run_id, theirs.run_attempt)
