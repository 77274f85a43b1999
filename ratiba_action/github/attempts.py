"""Earlier runs of a gate on one pull request, kept in a hidden line of its comment."""

import re
from dataclasses import dataclass

from ratiba_action.model.change import Mode
from ratiba_action.model.verdict import Conclusion, Report

MAX_ATTEMPTS = 10
EVENTS = ("pull_request", "merge_group", "push", "workflow_dispatch", "other")
"""What an attempt may have been started by; anything else is ``other``."""

NO_HEAD = "none"

_MODES = "|".join(Mode)
_CONCLUSIONS = "|".join(Conclusion)
_ITEM = re.compile(
    rf"(?P<run>[1-9][0-9]{{0,18}})\.(?P<number>[1-9][0-9]{{0,8}}):(?P<head>[0-9a-f]{{7,12}}|{NO_HEAD})"
    rf":(?P<mode>{_MODES}):(?P<conclusion>{_CONCLUSIONS}):(?P<event>{'|'.join(EVENTS)})"
)
_PREFIX = "<!-- ratiba-eval-gate-attempts"
_LONGEST = 1_500  # characters; ten items of the greatest length are shorter


@dataclass(frozen=True, slots=True)
class CommentAttempt:
    """One run of the gate.

    Args:
        number: attempt of that run, from 1.
        head: the first twelve digits of the commit that was evaluated, or ``none``.
        event: one of ``EVENTS``.
    """

    run_id: int
    number: int
    head: str
    mode: Mode
    conclusion: Conclusion
    event: str


def attempt_of(report: Report) -> CommentAttempt | None:
    """The attempt that a report is of; None outside a workflow."""
    subject = report.subject
    head = subject.head[:12] if re.fullmatch(r"[0-9a-f]{7,64}", subject.head) else NO_HEAD
    event = subject.event if subject.event in EVENTS else "other"
    attempt = CommentAttempt(
        subject.run_id, subject.run_attempt, head, report.decision.mode, report.verdict.conclusion, event
    )
    return attempt if _ITEM.fullmatch(_item(attempt)) else None


def history(earlier: tuple[CommentAttempt, ...], present: CommentAttempt | None) -> tuple[CommentAttempt, ...]:
    """The earlier attempts with the present one last; the oldest go beyond ``MAX_ATTEMPTS``.

    Args:
        present: replaces an earlier one of the same run and number.
    """
    if present is None:
        return earlier[-MAX_ATTEMPTS:]
    others = [attempt for attempt in earlier if (attempt.run_id, attempt.number) != (present.run_id, present.number)]
    return (*others, present)[-MAX_ATTEMPTS:]


def attempts_line(attempts: tuple[CommentAttempt, ...]) -> str:
    """The hidden line; empty for no attempts."""
    return f"{_PREFIX} {' '.join(map(_item, attempts))} -->" if attempts else ""


def read_attempts(body: str) -> tuple[CommentAttempt, ...]:
    """The attempts of a comment; none when its second line is not exactly such a line.

    The first line is the marker. Nothing below the second is looked at: people and models wrote it.
    """
    lines = body.split("\n", 2)
    line = lines[1].removesuffix("\r") if len(lines) > 1 else ""
    if len(line) > _LONGEST or not line.startswith(f"{_PREFIX} ") or not line.endswith(" -->"):
        return ()
    found = [_ITEM.fullmatch(item) for item in line[len(_PREFIX) + 1 : -len(" -->")].split(" ")]
    matches = [match for match in found if match is not None]
    if len(matches) != len(found) or len(found) > MAX_ATTEMPTS:
        return ()
    attempts = tuple(map(_attempt, matches))
    return attempts if len({(attempt.run_id, attempt.number) for attempt in attempts}) == len(attempts) else ()


def _item(attempt: CommentAttempt) -> str:
    return (
        f"{attempt.run_id}.{attempt.number}:{attempt.head}:{attempt.mode.value}:{attempt.conclusion.value}"
        f":{attempt.event}"
    )


def _attempt(match: re.Match[str]) -> CommentAttempt:
    return CommentAttempt(
        int(match["run"]),
        int(match["number"]),
        match["head"],
        Mode(match["mode"]),
        Conclusion(match["conclusion"]),
        match["event"],
    )
