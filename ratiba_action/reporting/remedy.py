"""What to do about a verdict: the lines to fix first, the verdict's own advice, and the command that repeats it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ratiba_action.model.attribution import ChangedPart
from ratiba_action.model.verdict import Conclusion, Verdict
from ratiba_action.reporting.wording import CauseText, ExplanationText
from ratiba_action.util.text import plural

_PLACES = 3
_AGAIN = 3
_ID = re.compile(r"[A-Za-z0-9_.-]{1,200}", re.ASCII)
"""A scenario's id that a shell takes as one word."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """What to do.

    Args:
        places: parts of the change to fix or revert; empty where no line is known for certain.
        further: how many other such places there are.
        advice: follows the places, or stands alone; empty if there is none.
        command: runs again what failed; empty if no scenario failed.
    """

    places: tuple[ChangedPart, ...] = ()
    further: int = 0
    advice: str = ""
    command: str = ""

    def text(self, place: Callable[[ChangedPart], str] | None = None, prose: Callable[[str], str] = str) -> str:
        """The advice in a sentence or two; empty if there is none.

        Args:
            place: writes a place as a format does; plain text without it.
            prose: writes other text as a format does.
        """
        if not self.places:
            return prose(self.advice)
        more = f" and {plural(self.further, 'more place')}" if self.further else ""
        named = ", ".join(map(place or line_of, self.places))
        if not self.advice:
            return f"Fix or revert {named}{more}, or update the scenario if the change is right."
        return f"Fix or revert {named}{more}. {prose(self.advice)}"


def line_of(part: ChangedPart) -> str:
    """A place as plain text."""
    return part.path if part.whole else f"{part.path} line {part.line}"


def remedy_of(verdict: Verdict, explanation: ExplanationText | None, failing: Sequence[str]) -> Remedy:
    """What to do about a verdict.

    An action that names a line itself, as that of an exception does, stays as it is.

    Args:
        failing: ids of the scenarios of which an assertion or a score failed, critical ones first.
    """
    certain = [cause for cause in (explanation.causes if explanation else ()) if cause.certain and _fixable(cause)]
    again = failing or [name for cause in certain for name in cause.scenarios]
    ids = [name for name in again if _ID.fullmatch(name)][:_AGAIN]
    command = " ".join(["ratiba gate", *(f"--scenario {name}" for name in ids)]) if ids else ""
    if not certain or verdict.conclusion is not Conclusion.FAILED or verdict.action.startswith("Fix "):
        return Remedy(advice=verdict.action, command=command)
    by_line = {line_of(part): part for cause in certain for part in _fixable(cause)}
    places = tuple(by_line.values())
    explained = {name for cause in certain for name in cause.scenarios}
    advice = "" if explained.issuperset(failing) else verdict.action
    return Remedy(places[:_PLACES], max(len(places) - _PLACES, 0), advice, command)


def _fixable(cause: CauseText) -> Sequence[ChangedPart]:
    """The parts to fix; none of a prompt that lacks a recorded answer, which every edited prompt does."""
    return [part for part in cause.parts if not (cause.unrecorded and part.prompt)]
