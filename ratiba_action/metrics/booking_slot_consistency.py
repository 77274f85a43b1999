"""Do the words, tool calls and the database agree about the slot? The invariants are in `docs/metrics-bookings.md`."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import combinations

from ratiba_action.metrics.booking.bookings import (
    CANCEL,
    CREATE,
    LOOK_UP,
    MOVE,
    BookingCall,
    StoredBooking,
    booking_calls,
    stored_bookings,
)
from ratiba_action.metrics.booking.slots import Slot, find_dates, find_slots
from ratiba_action.metrics.booking.speech_acts import assents, claims_booking, requests
from ratiba_action.metrics.turn_scores import finding, score_invariants
from ratiba_action.model.conversation import Exchange
from ratiba_action.model.measurement import Case, Invariant, Score
from ratiba_action.privacy.phone_numbers import normalise_phone
from ratiba_action.util.instants import clock_of

__version__ = "1.1.0"


class BookingSlotConsistencyMetric:
    """Implements ``Metric`` without a judge: satisfied invariants over those that applied."""

    name = "BookingSlotConsistencyMetric"
    version = __version__
    judged = False

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score one case from its transcript, tool calls and the rows of the ``bookings`` query."""
        return score_invariants(self.name, self.version, threshold, _findings(_SlotRecord.of(case)))


@dataclass(frozen=True, slots=True)
class _SlotRecord:
    """A case with its slots, calls and rows read out. ``user`` and ``assistant`` hold one entry a turn."""

    now: datetime
    exchanges: tuple[Exchange, ...]
    user: tuple[tuple[Slot, ...], ...]
    assistant: tuple[tuple[Slot, ...], ...]
    calls: tuple[BookingCall, ...]
    rows: tuple[StoredBooking, ...]
    readable: bool

    @classmethod
    def of(cls, case: Case) -> "_SlotRecord":
        now, exchanges = case.scenario.now, case.transcript.exchanges
        clock = clock_of(case.scenario)
        calls = booking_calls(case.transcript, clock)
        own = normalise_phone(case.scenario.customer.phone)
        ids = {call.booking_id for call in calls if call.booking_id}
        return cls(
            now,
            exchanges,
            tuple(find_slots(exchange.turn.user or "", now) for exchange in exchanges),
            tuple(find_slots(exchange.reply.text, now) for exchange in exchanges),
            calls,
            tuple(
                row
                for row in stored_bookings(case.transcript.rows.get("bookings", ()), clock)
                if row.id in ids or normalise_phone(row.phone) in {own, None}
            ),
            "bookings" in case.transcript.rows,
        )

    @property
    def changes(self) -> tuple[BookingCall, ...]:
        """Calls that booked or moved a slot."""
        return tuple(call for call in self.calls if call.tool in {CREATE, MOVE} and call.succeeded)


def _findings(record: _SlotRecord) -> Iterator[Invariant]:
    yield from _asked_slot_is_looked_up(record)
    for call in record.changes:
        yield _customer_assented(record, call)
        yield from _confirmed_slot_is_called(record, call)
    yield from _confirmation_has_booking(record)
    if not record.readable:
        if record.changes:
            yield finding("bookings_are_readable", "no row query is called 'bookings'", satisfied=False)
        return
    yield from _call_is_stored(record)
    yield from _row_has_call(record)
    yield from _last_statement_is_stored(record)
    yield from _no_overlap(record)
    yield from _old_slot_is_freed(record)


def _asked_slot_is_looked_up(record: _SlotRecord) -> Iterator[Invariant]:
    """The slot that the customer put in words is the one of the next tool call that takes a start."""
    slots: tuple[Slot, ...] = ()
    dates: tuple[frozenset[date], ...] = ()
    for turn, exchange in enumerate(record.exchanges, 1):
        slots = tuple(slot for slot in record.user[turn - 1] if slot.firm) or slots
        dates = find_dates(exchange.turn.user or "", record.now) or dates
        for call in record.calls:
            if call.turn != turn or call.start is None or call.tool not in {LOOK_UP, CREATE, MOVE}:
                continue
            start = call.start
            if slots or dates:
                right = any(slot.fits(start) for slot in slots) or not slots
                right = right and (not dates or any(start.date() in day for day in dates))
                words = ", ".join(slot.words for slot in slots) or "a day"
                detail = f"turn {turn}: the customer asked for {words}, {call.tool} has {_moment(start)}"
                yield finding("asked_slot_is_looked_up", detail, satisfied=right)
            slots, dates = (), ()


def _customer_assented(record: _SlotRecord, call: BookingCall) -> Invariant:
    """A slot is booked only after it was stated, in a turn in which the customer agrees to it or asks for it."""
    text = record.exchanges[call.turn - 1].turn.user or ""
    start = call.start
    messages = [*record.user[: call.turn], *record.assistant[: call.turn - 1]]
    stated = start is not None and any(slot.fits(start) for slots in messages for slot in slots)
    own_words = start is not None and any(slot.fits(start) for slot in record.user[call.turn - 1]) and requests(text)
    detail = f"turn {call.turn}: {call.tool} at {_moment(start)} after {text!r}"
    return finding("customer_assented_to_stated_slot", detail, satisfied=stated and (assents(text) or own_words))


def _confirmed_slot_is_called(record: _SlotRecord, call: BookingCall) -> Iterator[Invariant]:
    """The slot named last before the assent is the one of the call, and the reply names no other."""
    before = [record.user[call.turn - 1], *reversed(record.assistant[: call.turn - 1])]
    firm = ([slot for slot in slots if slot.firm] for slots in before)
    named = next((slots for slots in firm if slots), [])
    if named:
        fits = call.start is not None and any(slot.fits(call.start) for slot in named)
        detail = f"turn {call.turn}: confirmed {_words(named)}, {call.tool} has {_moment(call.start)}"
        yield finding("confirmed_slot_is_called", detail, satisfied=fits)
    answer = [slot for slot in record.assistant[call.turn - 1] if slot.firm]
    if answer:
        detail = f"turn {call.turn}: {call.tool} has {_moment(call.start)}, the assistant says {_words(answer)}"
        starts = [other.start for other in record.changes if other.turn == call.turn and other.start]
        yield finding("stated_slot_is_called", detail, satisfied=_consistent(answer, starts))


def _confirmation_has_booking(record: _SlotRecord) -> Iterator[Invariant]:
    """The assistant says that a slot is booked only once a call has booked one."""
    for turn, exchange in enumerate(record.exchanges, 1):
        if not exchange.reply.text.strip():
            continue
        claim = claims_booking(exchange.reply.text)
        booked = any(call.turn <= turn for call in record.changes)
        detail = f"turn {turn}: {claim!r} with nothing booked" if claim else f"turn {turn}"
        yield finding("confirmation_has_booking", detail, satisfied=claim is None or booked)


def _call_is_stored(record: _SlotRecord) -> Iterator[Invariant]:
    """What the calls left behind is what the database holds."""
    for final in _final_calls(record):
        rows = [row for row in record.rows if _same_booking(row, final)]
        confirmed = final.tool != CANCEL
        right = any(row.confirmed == confirmed and (not confirmed or row.start == final.start) for row in rows)
        stored = ", ".join(f"{_moment(row.start)} {'confirmed' if row.confirmed else 'cancelled'}" for row in rows)
        detail = (
            f"{final.tool} {_moment(final.start)} in turn {final.turn}, the database holds {stored or 'no such row'}"
        )
        yield finding("call_is_stored", detail, satisfied=right)


def _row_has_call(record: _SlotRecord) -> Iterator[Invariant]:
    """Each confirmed booking of the customer comes from a call that booked that very slot."""
    for row in record.rows:
        if row.confirmed:
            called = any(call.start == row.start and row.start is not None for call in record.changes)
            detail = f"booking {row.id} at {_moment(row.start)}"
            yield finding("row_has_call", detail, satisfied=called)


def _last_statement_is_stored(record: _SlotRecord) -> Iterator[Invariant]:
    """The slot that the assistant states last, offers left out, is a stored one."""
    first = max((call.turn for call in record.changes), default=0)
    starts = [row.start for row in record.rows if row.start]
    for turn in range(len(record.exchanges), first - 1, -1) if first and starts else ():
        text = record.exchanges[turn - 1].reply.text
        named = [slot for slot in record.assistant[turn - 1] if slot.firm]
        if named and ("?" not in text or claims_booking(text)):
            stored = ", ".join(_moment(start) for start in starts)
            detail = f"turn {turn}: the assistant says {_words(named)}, the database holds {stored}"
            yield finding("last_statement_is_stored", detail, satisfied=_consistent(named, starts))
            return


def _no_overlap(record: _SlotRecord) -> Iterator[Invariant]:
    """No two confirmed bookings of a service share a moment."""
    confirmed = [row for row in record.rows if row.confirmed and row.start]
    for first, second in combinations(confirmed, 2):
        if first.service == second.service:
            apart = _ends(first) <= _starts(second) or _ends(second) <= _starts(first)
            detail = f"{first.service} at {_moment(first.start)} and {_moment(second.start)}"
            yield finding("no_overlap", detail, satisfied=apart)


def _old_slot_is_freed(record: _SlotRecord) -> Iterator[Invariant]:
    """A moved booking holds its new slot only."""
    for move in (call for call in record.changes if call.tool == MOVE):
        before = [call for call in record.changes if call.turn <= move.turn and call is not move]
        old = next((call.start for call in reversed(before) if call.booking_id == move.booking_id), None)
        left = [row for row in record.rows if row.confirmed and old is not None and row.start == old != move.start]
        twice = [row for row in record.rows if row.confirmed and row.id is not None and row.id == move.booking_id]
        detail = f"turn {move.turn}: moved to {_moment(move.start)}, still holds {_moment(old)}"
        yield finding("old_slot_is_freed", detail, satisfied=not left and len(twice) <= 1)


def _final_calls(record: _SlotRecord) -> list[BookingCall]:
    """The last successful call about each booking.

    A system may report a new booking without its id; a later move or cancellation of an id that nobody made is then
    taken to be about the oldest such booking.
    """
    last: dict[str, BookingCall] = {}
    nameless: list[str] = []
    for number, call in enumerate(record.calls):
        if call.tool == LOOK_UP or not call.succeeded:
            continue
        name = call.booking_id or f"call {number}"
        if call.tool != CREATE and name not in last and nameless:
            del last[nameless.pop(0)]
        if call.tool == CREATE and not call.booking_id:
            nameless.append(name)
        last[name] = call
    return list(last.values())


def _same_booking(row: StoredBooking, call: BookingCall) -> bool:
    return row.id == call.booking_id if call.booking_id and row.id else row.start == call.start


def _consistent(slots: list[Slot], starts: list[datetime]) -> bool:
    """Some slot fits a start, and none contradicts itself."""
    return all(slot.times for slot in slots) and any(slot.fits(start) for slot in slots for start in starts)


def _starts(row: StoredBooking) -> datetime:
    assert row.start is not None  # noqa: S101 — callers keep rows that have one; for the type checker
    return row.start


def _ends(row: StoredBooking) -> datetime:
    return row.end or _starts(row) + timedelta(minutes=1)


def _moment(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d %H:%M") if moment else "no time"


def _words(slots: list[Slot]) -> str:
    return ", ".join(slot.words for slot in slots)
