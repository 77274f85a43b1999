"""One event of every type, each of its texts chosen by the test."""

from dataclasses import fields
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, get_type_hints

from ratiba_action.model.conversation import Usage
from ratiba_action.model.event import EVENT_TYPES, BudgetAction, Event, Happening, Place

SAMPLE_PLACE = Place("head", "spa_booking", 0, turn=1)

_VALUES: dict[Any, Any] = {
    int: 3,
    float: 0.5,
    bool: True,
    Decimal: Decimal("0.25"),
    Usage: Usage(10, 5),
    BudgetAction: BudgetAction.SETTLED,
    int | None: 7,
    datetime | None: datetime(2026, 4, 20, 9, tzinfo=UTC),
    bool | None: False,
    Decimal | None: Decimal("1.5"),
    float | None: -0.06,
    tuple[float, ...]: (0.25, 0.75),
}


def sample_events(text: str = "some text", place: Place = SAMPLE_PLACE) -> tuple[Event, ...]:
    """An event of every type.

    Args:
        text: stands in every field of their data that holds text.
        place: of all of them.
    """
    return tuple(Event(_filled(kind, text), place) for kind in EVENT_TYPES.values())


def _filled(kind: type[Happening], text: str) -> Happening:
    hints = get_type_hints(kind)
    return kind(**{item.name: _value(hints[item.name], text) for item in fields(kind)})


def _value(hint: Any, text: str) -> Any:
    if hint in _VALUES:
        return _VALUES[hint]
    return (text, text) if hint == tuple[str, ...] else text
