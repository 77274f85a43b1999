"""What is shown of a run while it goes on, from the lines of its ``events.jsonl``."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from ratiba_action.model.codec import CodecError
from ratiba_action.model.event import (
    BudgetMoved,
    ConversationEnded,
    ConversationStarted,
    EvaluationFailed,
    LoggedEvent,
    Place,
    RunEnded,
    RunStarted,
    TurnEnded,
)
from ratiba_action.model.plan import HEAD
from ratiba_action.model.values import Usd
from ratiba_action.observability.event_file import FILE
from ratiba_action.observability.event_lines import ensure_plain_file, is_written_file, parse_event_line
from ratiba_action.reporting.markdown import clean
from ratiba_action.util.text import clip

SHOWN = 500
"""Conversations that a reader is sent at once, the newest ones; a data file may have thousands of cases."""
_LONGEST = 4_000
_PROBLEMS = 10
_DIGITS = 16
_CHUNK = 4 << 20
"""Bytes that are read at once, so that a long log does not keep everything else waiting."""


@dataclass(slots=True)
class LiveConversation:
    """One conversation as far as it has come.

    Args:
        sequence: of the last event about it.
        status: ``running``, ``passed``, ``failed``, ``errored`` or ``not run``.
        turns: what the customer said, and the reply.
        problems: what failed, in words.
    """

    place: Place
    sequence: int = 0
    status: str = "running"
    seconds: float | None = None
    turns: list[tuple[str, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def data(self) -> dict[str, Any]:
        """For a page."""
        place = self.place
        more = [f"trial {place.trial + 1}"] if place.trial else []
        more += [place.variant] if place.variant else []
        more += [place.arm] if place.arm not in {None, HEAD} else []
        return {
            "key": "/".join(map(str, (place.scenario, place.arm, place.trial, place.variant))),
            "name": clean(place.scenario or ""),
            "more": clean(", ".join(more)),
            "status": self.status,
            "seconds": self.seconds,
            "turns": [[clean(user), clean(reply)] for user, reply in self.turns],
            "problems": [clean(problem) for problem in self.problems],
        }


@dataclass(slots=True)
class _RunState:
    """What is known of one run."""

    id: str = ""
    began: datetime | None = None
    sequence: int = 0
    started: RunStarted | None = None
    planned: dict[str | None, int] = field(default_factory=dict)
    ended: RunEnded | None = None
    spent: Usd | None = None
    cap: Usd | None = None
    conversations: dict[Place, LiveConversation] = field(default_factory=dict)


class LiveRun:
    """The newest run of a log: its progress, its money, and its conversations."""

    def __init__(self) -> None:
        self._now = _RunState()

    def add(self, logged: LoggedEvent) -> None:
        """Note one event; a run that began later takes the place of the one before."""
        data, place = logged.event.data, logged.event.place
        if isinstance(data, RunStarted) and logged.run != self._now.id:
            if self._now.began is not None and logged.at < self._now.began:
                return  # of a shard, whose events stand behind those of the merge
            self._now = _RunState(logged.run, logged.at)
        now = self._now
        if logged.run != now.id:
            return
        now.sequence = max(now.sequence, logged.sequence)
        match data:
            case RunStarted():
                now.started, now.ended = now.started or data, None
                now.planned[place.variant] = data.scenarios
            case BudgetMoved():
                now.spent, now.cap = data.spent_usd, data.limit_usd
            case RunEnded():
                now.ended, now.cap = data, data.budget_usd
                now.spent = now.spent if data.spent_usd is None else data.spent_usd
            case _ if place.scenario is not None:
                self._converse(logged)

    def _converse(self, logged: LoggedEvent) -> None:
        data, place = logged.event.data, logged.event.place
        own = Place(place.arm, place.scenario, place.trial, place.variant)
        known = self._now.conversations.setdefault(own, LiveConversation(own))
        known.sequence = logged.sequence
        match data:
            case ConversationStarted():
                known.status, known.turns, known.problems = "running", [], []
            case TurnEnded():
                message = data.user if data.user is not None else f"(event {data.event or ''})"
                known.turns.append((clip(message, _LONGEST), clip(data.reply, _LONGEST)))
            case EvaluationFailed() if len(known.problems) < _PROBLEMS:
                known.problems.append(_problem(data))
            case ConversationEnded():
                known.seconds, known.status = data.seconds, _status(data)
                known.problems += [clip(data.reason, _LONGEST)] if data.reason else []

    @property
    def position(self) -> str:
        """Of the last event: what a reader who comes back has seen; empty before any."""
        return f"{self._now.id}:{self._now.sequence}" if self._now.id else ""

    def since(self, position: str) -> dict[str, Any]:
        """What a reader is to be sent who has seen everything up to a position.

        Args:
            position: of ``position``; anything else counts as nothing.
        """
        run, _, seen = position.rpartition(":")
        now = self._now
        known = number_of(seen) if run and run == now.id else None
        changed = [each for each in now.conversations.values() if known is None or each.sequence > known]
        changed.sort(key=lambda each: each.sequence)
        return {
            "run": self._summary(),
            "whole": known is None,
            "left_out": max(0, len(changed) - SHOWN),
            "conversations": [each.data() for each in changed[-SHOWN:]],
        }

    def _summary(self) -> dict[str, Any] | None:
        now = self._now
        if now.started is None:
            return None
        done = {
            (each.place.scenario, each.place.variant)
            for each in now.conversations.values()
            if each.status != "running" and each.place.arm in {None, HEAD}
        }
        return {
            "began": now.began.isoformat() if now.began is not None else "",
            "gate": clean(now.started.gate),
            "mode": now.started.mode,
            "answers": now.started.llm,
            "commit": clean(now.started.commit)[:7],
            "done": len(done),
            "planned": max(sum(now.planned.values()), len(done)),
            "spent_usd": None if now.spent is None else f"{now.spent:.4f}",
            "cap_usd": None if now.cap is None else f"{now.cap:.2f}",
            "conclusion": "" if now.ended is None else now.ended.conclusion,
            "reason": "" if now.ended is None else clean(now.ended.reason),
        }


def number_of(text: str) -> int | None:
    """The number that a reader says it has seen; None for anything that was never sent."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < _DIGITS else None


def _problem(failed: EvaluationFailed) -> str:
    wanted = f": expected {failed.expected}, got {failed.got}" if failed.expected or failed.got else ""
    reason = f": {failed.reason}" if failed.reason else ""
    return clip(f"{failed.name}{wanted}{reason}", _LONGEST)


def _status(ended: ConversationEnded) -> str:
    if ended.outcome == "scored":
        return "passed" if ended.passed else "failed"
    return {"errored": "errored", "not_run": "not run"}.get(ended.outcome, ended.outcome)


class EventTail:
    """Reads what is added to a log, also when the next run begins it anew.

    Args:
        folders: that may have the log, the likeliest first; a link is never followed.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._paths = [folder / FILE for folder in folders]
        self._path: Path | None = None
        self._descriptor = -1
        self._rest = b""

    def read(self) -> tuple[LoggedEvent, ...]:
        """The events since the last call, at most as many as fit into some megabytes; lines that are none are left out.

        A file that is read stays open, so that no other one can have its number.
        """
        if self._descriptor >= 0:
            found = self._read_on()
            if found or self._is_current():
                return found
            self.close()
        for path in self._paths:
            if self._opens(path):
                return self._read_on()
        return ()

    def _is_current(self) -> bool:
        """Whether the file is still the log, and nothing of it was taken away."""
        if self._path is None or not is_written_file(self._path, self._descriptor):
            return False
        at = os.lseek(self._descriptor, 0, os.SEEK_CUR)
        return os.fstat(self._descriptor).st_size >= at

    def _opens(self, path: Path) -> bool:
        if path.parent.is_symlink():
            return False
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            ensure_plain_file(descriptor)
        except OSError:
            os.close(descriptor)
            return False
        self._path, self._descriptor, self._rest = path, descriptor, b""
        return True

    def _read_on(self) -> tuple[LoggedEvent, ...]:
        try:
            read = os.read(self._descriptor, _CHUNK)
        except OSError:
            return ()
        *lines, rest = (self._rest + read).split(b"\n")
        self._rest = rest if len(rest) <= _CHUNK else b""  # no line of the gate's is as long
        return tuple(event for line in lines for event in _event(line))

    def close(self) -> None:
        """Let go of the file; may be called twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self._path, self._rest = -1, None, b""


def _event(line: bytes) -> tuple[LoggedEvent, ...]:
    try:
        return (parse_event_line(line),)
    except CodecError:
        return ()
