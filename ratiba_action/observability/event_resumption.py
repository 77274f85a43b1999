"""Which run a log goes on with after a kill, and what it has said already."""

from collections.abc import Iterable, Sequence

from ratiba_action.model.event import BudgetMoved, Event, LoggedEvent, Place, RunEnded, RunStarted

Said = tuple[str, Place, str]
"""What a resumed run would say again: its type, where, and of which metric."""


def unfinished_run(logged: Iterable[LoggedEvent], begun: RunStarted) -> tuple[LoggedEvent, ...]:
    """The events of the last run of the same commit and gate that has no end; empty where there is none.

    Args:
        logged: everything in the file.
        begun: how the run that is resumed begins.
    """
    runs: dict[str, list[LoggedEvent]] = {}
    for one in logged:
        runs.setdefault(one.run, []).append(one)
    for events in reversed(runs.values()):
        if _is_unfinished(events, begun):
            return tuple(events)
    return ()


def _is_unfinished(events: Sequence[LoggedEvent], begun: RunStarted) -> bool:
    ended = any(isinstance(one.event.data, RunEnded) for one in events)
    starts = [one.event.data for one in events if isinstance(one.event.data, RunStarted)]
    return not ended and any(_same_subject(start, begun) for start in starts[:1])


def _same_subject(one: RunStarted, other: RunStarted) -> bool:
    return (one.gate, one.repository, one.commit, one.base) == (other.gate, other.repository, other.commit, other.base)


def said(event: Event) -> Said | None:
    """What tells whether an event was said before; None of money, which moves once.

    A resumed run holds every conversation again and is answered from the journal, so it comes by the same events in
    the same order; only the metrics of one conversation may overtake each other.
    """
    if isinstance(event.data, BudgetMoved):
        return None
    return event.type, event.place, getattr(event.data, "metric", "")
