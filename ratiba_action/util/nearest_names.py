"""What somebody meant who mistyped a name."""

from collections.abc import Iterable
from difflib import SequenceMatcher

_MOST = 3
_LIKENESS, _BEHIND = 0.7, 0.15
"""Share of the letters that both names have, and how far it may lie behind the best: others nobody meant."""


def nearest_names(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """The known names that are most like a mistyped one, the likeliest first; none where none is like it."""
    mistyped = _compared(name[:200])
    likeness = {one: SequenceMatcher(None, mistyped, _compared(one)).ratio() for one in sorted(known)}
    best = max(likeness.values(), default=0.0)
    near = [one for one in likeness if likeness[one] >= max(_LIKENESS, best - _BEHIND)]
    return tuple(sorted(near, key=lambda one: -likeness[one])[:_MOST])


def _compared(name: str) -> str:
    """A name without letter case and without the ending of all metrics, which makes none like another."""
    return name.casefold().removesuffix("metric")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The question that proposes the nearest names; empty where there are none."""
    *others, last = [repr(one) for one in nearest_names(name, known)] or [""]
    if not last:
        return ""
    return f"did you mean {', '.join(others)} or {last}?" if others else f"did you mean {last}?"
