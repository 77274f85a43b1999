"""What a report says besides its verdict, with what to do about it; and what a team is notified of."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from ratiba_action.errors import RatibaError


class Note(str):
    """A note whose reader can do something. One without a remedy is a plain text: it informs.

    It is its own text, since a note is text wherever it is written to. Whoever makes it knows the remedy, and says so;
    nobody has to find out from its words.

    Args:
        problem: what is so, as one or more sentences.
        remedy: what to do about it, an imperative sentence.
    """

    __slots__ = ("remedy",)

    remedy: str

    def __new__(cls, problem: str, remedy: str) -> Self:
        """A text that reads: problem, then remedy."""
        note = super().__new__(cls, f"{problem} {remedy}".rstrip())
        note.remedy = remedy
        return note


class Caveat(Note):
    """A note that qualifies a pass: what was not measured, or by which other means. Everybody who reads one sees it.

    Args:
        remedy: empty where the reader can do nothing about it.
    """

    __slots__ = ()

    def __new__(cls, problem: str, remedy: str = "") -> Self:
        """A text that reads: problem, then remedy."""
        return super().__new__(cls, problem, remedy)


class MachineNote(Note):
    """A note about the machine that the gate runs on; it says nothing about the change, so it stands last."""

    __slots__ = ()


def note_of(error: RatibaError) -> str:
    """The note that an error leaves which does not end the run."""
    return Note(error.problem, error.remedy) if error.remedy else error.problem


def prefixed(prefix: str, note: str) -> str:
    """The note with words before it; its remedy stays one."""
    if isinstance(note, Note):
        return type(note)(f"{prefix}{note.removesuffix(note.remedy).rstrip()}", note.remedy)
    return f"{prefix}{note}"


def in_order(notes: Iterable[str]) -> tuple[str, ...]:
    """Each note once: first what qualifies a pass, then what can be acted on, last what is about the machine."""

    def place(note: str) -> tuple[bool, bool, bool]:
        return isinstance(note, MachineNote), not isinstance(note, Caveat), not isinstance(note, Note)

    return tuple(sorted(dict.fromkeys(notes), key=place))


def caveats_of(notes: Iterable[str]) -> tuple[str, ...]:
    """Those of the notes that qualify a pass."""
    return tuple(note for note in notes if isinstance(note, Caveat))


class AlertKind(StrEnum):
    """What may have happened; the configuration lists which of it is sent."""

    FAILED = "failed"
    """A run on the default branch failed."""
    INCOMPLETE = "incomplete"
    BUDGET = "budget"
    """A run has spent 80 % of its budget or reached it."""
    MONTH = "month"
    """Runs that share a ledger have spent 80 % of the month's budget or reached it."""
    DECLINE = "decline"
    """A run of the base branch confirmed that its scores have fallen since its anchor."""
    PASSED = "passed"
    """A run passed; sent only where ``on_success`` asks for it."""
    DRIFT = "drift"
    CANARY = "canary"
    CALIBRATION = "calibration"


@dataclass(frozen=True, slots=True)
class Alert:
    """One thing that happened.

    Args:
        text: in one sentence; models and people may have written parts of it.
    """

    kind: AlertKind
    text: str
