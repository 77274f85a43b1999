"""Which conversations of production are looked at: a share of all, every error, every negative feedback.

Chance has no part in it: the share is chosen by a hash of the trace's id, so that two runs or two machines choose the
same, and a larger share holds all that a smaller one holds.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from ratiba_action.metrics.judging.sampling import in_sample
from ratiba_action.production.conversation import Observation

_SALT = "production sample"


class Why(StrEnum):
    """Why a conversation was chosen; the first that applies."""

    NEGATIVE_FEEDBACK = "negative feedback"
    ERROR = "error"
    SHARE = "share"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A conversation to look at."""

    trace_id: str
    why: Why


def chosen(
    roots: Iterable[Observation], share: float, failed: Collection[str], disliked: Collection[str]
) -> tuple[Chosen, ...]:
    """What to look at, in this order: negative feedback, errors, the share; each from the earliest.

    Args:
        roots: of the traces that began in the time.
        share: of those with neither, 0 to 1.
        failed: ids of the traces with a step that failed; they may have begun earlier.
        disliked: ids of the traces with negative feedback; the same.
    """
    begun = {one.trace_id: one for one in sorted(roots, key=lambda one: (one.start, one.trace_id), reverse=True)}
    order = [*sorted({*disliked, *failed} - begun.keys()), *reversed(begun)]
    found = ((trace_id, _why(trace_id, share, failed, disliked)) for trace_id in order)
    picked = [Chosen(trace_id, why) for trace_id, why in found if why is not None]
    return tuple(sorted(picked, key=lambda one: list(Why).index(one.why)))


def _why(trace_id: str, share: float, failed: Collection[str], disliked: Collection[str]) -> Why | None:
    if trace_id in disliked:
        return Why.NEGATIVE_FEEDBACK
    if trace_id in failed:
        return Why.ERROR
    return Why.SHARE if in_sample(share, _SALT, trace_id) else None
