"""Each invariant with a conversation that keeps it and one that breaks it, in Swahili and in English."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.booking_slot_consistency import BookingSlotConsistencyMetric
from ratiba_action.model.conversation import Exchange, ToolCall
from ratiba_action.model.measurement import Case, Score
from ratiba_action.model.values import JsonObject
from tests.support.cases import booking, cancel, case, create, exchange, look_up, move

TWO_PM, EIGHT_AM, NINE_MONDAY = "2026-04-26T14:00", "2026-04-26T08:00", "2026-04-27T09:00"
ASK_SW = "Habari, naomba kuhifadhi massage kesho saa nane mchana"
OFFER_SW = "Kesho Jumapili 26 Aprili saa nane mchana (14:00) iko wazi, KES 3,500. Nikuwekee?"
DONE_SW = "Booking yako ya massage imethibitishwa: kesho Jumapili 26 Aprili saa nane mchana (14:00)."
ASK_EN = "Hi, can I get a massage tomorrow at 2pm?"
OFFER_EN = "A massage tomorrow, Sunday 26 April at 2:00 pm (14:00), is open. Shall I put you down?"
DONE_EN = "Done. Your massage is booked for tomorrow, Sunday 26 April at 2:00 pm (14:00)."


async def _score(one: Case) -> Score:
    return await BookingSlotConsistencyMetric().measure(one, 1.0)


async def _failed(*exchanges: Exchange, rows: tuple[JsonObject, ...] = ()) -> list[str]:
    score = await _score(case(*exchanges, rows={"bookings": rows}))
    failed = [invariant.name for invariant in score.invariants if not invariant.satisfied]
    assert score.value == (len(score.invariants) - len(failed)) / len(score.invariants)
    assert all(name in score.reason for name in failed)
    return failed


def _booked(
    *, ask: str = ASK_SW, offer: str = OFFER_SW, yes: str = "Ndio, thibitisha", done: str = DONE_SW, call: str = TWO_PM
) -> tuple[Exchange, Exchange]:
    return exchange(ask, offer, look_up(call)), exchange(yes, done, create(call))


ENGLISH: Mapping[str, str] = {"ask": ASK_EN, "offer": OFFER_EN, "yes": "Yes please", "done": DONE_EN}


async def test_a_booking_in_swahili_keeps_every_invariant() -> None:
    assert await _failed(*_booked(), rows=(booking(TWO_PM),)) == []


async def test_a_booking_in_english_keeps_every_invariant() -> None:
    assert await _failed(*_booked(**ENGLISH), rows=(booking(TWO_PM),)) == []


@pytest.mark.parametrize(("offset", "right"), [("+02:00", True), ("+01:00", False)])
async def test_a_slot_beyond_a_clock_change_is_local_time_in_the_scenarios_zone(offset: str, *, right: bool) -> None:
    start = f"2026-03-30T14:00{offset}"
    text = "Monday 30 March at 14:00"
    ask, done = f"Can I get a massage on {text}?", f"Done. Your massage is booked for {text}."
    booked = case(*_booked(ask=ask, offer=f"{text} is open. Shall I?", yes="Yes please", done=done, call=start))
    scenario = replace(booked.scenario, now=datetime.fromisoformat("2026-03-27T10:00+01:00"), timezone="Europe/Paris")
    failed = {item.name for item in (await _score(replace(booked, scenario=scenario))).invariants if not item.satisfied}
    assert ("stated_slot_is_called" not in failed) is right
    with pytest.raises(ConfigurationError, match="now` names no time zone"):
        await _score(replace(booked, scenario=replace(scenario, timezone="")))


async def test_a_broken_swahili_clock_is_caught_even_when_everything_else_agrees() -> None:
    wrong = _booked(
        offer="Kesho saa mbili asubuhi (08:00) iko wazi. Nikuwekee?",
        done="Booking yako imethibitishwa: kesho saa mbili asubuhi (08:00).",
        call=EIGHT_AM,
    )
    assert await _failed(*wrong, rows=(booking(EIGHT_AM),)) == ["asked_slot_is_looked_up"]


async def test_a_misread_english_hour_is_caught() -> None:
    wrong = _booked(
        ask=ASK_EN, offer="Tomorrow at 02:00 is open. Book it?", yes="Yes", done="Booked.", call="2026-04-26T02:00"
    )
    assert "asked_slot_is_looked_up" in await _failed(*wrong, rows=(booking("2026-04-26T02:00"),))


async def test_a_day_that_was_asked_for_without_an_hour_counts() -> None:
    turns = (exchange("Naomba massage kesho kutwa", "Sawa", look_up(TWO_PM)),)
    assert await _failed(*turns) == ["asked_slot_is_looked_up"]


async def test_a_taken_slot_may_end_in_another_one_that_the_customer_took() -> None:
    turns = (
        exchange(ASK_SW, "Saa nane mchana (14:00) imeshachukuliwa. Kuna saa tisa alasiri (15:00).", look_up(TWO_PM)),
        exchange("Sawa, weka hiyo", "Imethibitishwa: kesho saa tisa alasiri (15:00).", create("2026-04-26T15:00")),
    )
    assert await _failed(*turns, rows=(booking("2026-04-26T15:00"),)) == []


async def test_the_slot_that_the_customer_confirmed_must_be_the_calls() -> None:
    turns = (exchange(ASK_SW, OFFER_SW, look_up(TWO_PM)), exchange("Ndio", "Karibu.", create(EIGHT_AM)))
    failed = await _failed(*turns, rows=(booking(EIGHT_AM),))
    assert failed == ["customer_assented_to_stated_slot", "confirmed_slot_is_called"]


@pytest.mark.parametrize("answer", ["Hapana, bado nafikiria", "No, not yet", "Bei ni ngapi?", "How much is it?"])
async def test_nothing_is_booked_without_assent(answer: str) -> None:
    turns = (exchange(ASK_SW, OFFER_SW, look_up(TWO_PM)), exchange(answer, DONE_SW, create(TWO_PM)))
    assert await _failed(*turns, rows=(booking(TWO_PM),)) == ["customer_assented_to_stated_slot"]


async def test_an_event_is_no_assent() -> None:
    turns = (exchange(ASK_SW, OFFER_SW, look_up(TWO_PM)), exchange(None, DONE_SW, create(TWO_PM), event={"type": "x"}))
    assert await _failed(*turns, rows=(booking(TWO_PM),)) == ["customer_assented_to_stated_slot"]


async def test_a_customer_who_names_the_slot_and_asks_for_it_has_assented() -> None:
    assert await _failed(exchange(ASK_SW, DONE_SW, create(TWO_PM)), rows=(booking(TWO_PM),)) == []


@pytest.mark.parametrize(
    "done", ["Imethibitishwa: kesho saa tisa alasiri (15:00).", "You are booked for tomorrow at 3pm."]
)
async def test_the_reply_must_name_the_slot_that_was_booked(done: str) -> None:
    failed = await _failed(*_booked(done=done), rows=(booking(TWO_PM),))
    assert failed == ["stated_slot_is_called", "last_statement_is_stored"]


async def test_words_that_contradict_their_own_gloss_are_caught() -> None:
    wrong = _booked(done="Imethibitishwa: kesho saa nane mchana (08:00).")
    assert "stated_slot_is_called" in await _failed(*wrong, rows=(booking(TWO_PM),))


async def test_a_right_slot_does_not_excuse_a_contradiction_beside_it() -> None:
    wrong = _booked(done="Imethibitishwa: kesho saa nane mchana (14:00). Tuonane saa nane mchana (08:00).")
    assert "stated_slot_is_called" in await _failed(*wrong, rows=(booking(TWO_PM),))


async def test_a_row_without_a_phone_belongs_to_the_conversation() -> None:
    assert await _failed(exchange("Habari", "Karibu"), rows=(booking(TWO_PM, phone=""),)) == ["row_has_call"]


async def test_a_wrong_slot_in_a_later_farewell_is_caught() -> None:
    turns = (*_booked(), exchange("Asante", "Karibu kesho saa tatu asubuhi (09:00)."))
    assert await _failed(*turns, rows=(booking(TWO_PM),)) == ["last_statement_is_stored"]


@pytest.mark.parametrize("claim", [DONE_SW, DONE_EN, "Nimekuwekea nafasi."])
async def test_a_confirmation_with_nothing_booked_is_caught(claim: str) -> None:
    turns = (exchange(ASK_SW, OFFER_SW, look_up(TWO_PM)), exchange("Ndio", claim))
    assert await _failed(*turns) == ["confirmation_has_booking"]


async def test_a_refused_call_books_nothing() -> None:
    refused = ToolCall("create_booking", {"service": "massage", "start": TWO_PM}, {"created": False, "reason": "taken"})
    turns = (exchange(ASK_SW, OFFER_SW, look_up(TWO_PM)), exchange("Ndio", DONE_SW, refused))
    assert await _failed(*turns) == ["confirmation_has_booking"]


async def test_a_call_that_left_no_row_is_caught() -> None:
    assert await _failed(*_booked()) == ["call_is_stored"]


async def test_a_row_at_another_time_than_the_call_is_caught() -> None:
    failed = await _failed(*_booked(), rows=(booking("2026-04-26T11:00"),))
    assert failed == ["call_is_stored", "row_has_call", "last_statement_is_stored"]


async def test_a_row_that_no_call_booked_is_caught() -> None:
    assert await _failed(exchange("Habari", "Karibu"), rows=(booking(TWO_PM),)) == ["row_has_call"]


async def test_another_customers_booking_is_none_of_this_conversations_business() -> None:
    assert await _failed(exchange("Habari", "Karibu"), rows=(booking(TWO_PM, 9, phone="0799 000 111"),)) == []


@pytest.mark.parametrize(("second", "failed"), [("2026-04-26T14:30", ["no_overlap"]), ("2026-04-26T15:00", [])])
async def test_two_bookings_of_a_service_do_not_overlap(second: str, failed: list[str]) -> None:
    again = (
        exchange(f"Naomba nyingine tomorrow at {second[-5:]}", f"Tomorrow {second[-5:]} iko wazi?", look_up(second)),
        exchange("Ndio", "Sawa.", create(second, 2)),
    )
    rows = (booking(TWO_PM, 1, end="2026-04-26T15:00"), booking(second, 2, end="2026-04-26T16:00"))
    assert await _failed(*_booked(), *again, rows=rows) == failed


def _moved() -> tuple[Exchange, ...]:
    return (
        *_booked(),
        exchange("Naomba kuhamisha iwe Jumatatu saa tatu asubuhi", "Jumatatu 27 Aprili (09:00)?", look_up(NINE_MONDAY)),
        exchange("Ndio", "Nimebadilisha, sasa ni Jumatatu 27 Aprili saa tatu asubuhi (09:00).", move(NINE_MONDAY)),
    )  # fmt: skip


async def test_a_moved_booking_keeps_every_invariant() -> None:
    assert await _failed(*_moved(), rows=(booking(NINE_MONDAY),)) == []


async def test_a_system_that_reports_no_ids_is_measured_by_the_starts() -> None:
    nameless = ToolCall("create_booking", {"service": "massage", "start": TWO_PM}, "ok")
    ask, _, ask_move, moved = _moved()
    turns = (ask, exchange("Ndio", DONE_SW, nameless), ask_move, moved)
    assert await _failed(*turns[:2], rows=(booking(TWO_PM),)) == []
    assert await _failed(*turns, rows=(booking(NINE_MONDAY),)) == []
    assert await _failed(*turns[:2]) == ["call_is_stored"]


@pytest.mark.parametrize("booking_id", ["", None, 0, "call 0"])
async def test_an_odd_booking_id_is_measured_and_not_a_crash(booking_id: object) -> None:
    odd = ToolCall("create_booking", {"start": TWO_PM, "booking_id": booking_id}, None)
    assert "call_is_stored" in await _failed(exchange(ASK_SW, OFFER_SW, odd))


async def test_a_moved_booking_that_keeps_its_old_slot_is_caught() -> None:
    rows = (booking(NINE_MONDAY), booking(TWO_PM, 2))
    assert await _failed(*_moved(), rows=rows) == ["old_slot_is_freed"]


async def test_a_move_that_the_database_never_saw_is_caught() -> None:
    failed = await _failed(*_moved(), rows=(booking(TWO_PM),))
    assert failed == ["call_is_stored", "last_statement_is_stored", "old_slot_is_freed"]


async def test_a_cancelled_booking_keeps_every_invariant() -> None:
    turns = (
        *_booked(),
        exchange("Naomba kufuta booking", "Nimefuta booking yako ya kesho saa nane mchana (14:00).", cancel()),
    )
    assert await _failed(*turns, rows=(booking(TWO_PM, status="cancelled"),)) == []


async def test_a_cancelled_booking_that_is_still_stored_is_caught() -> None:
    turns = (*_booked(), exchange("Cancel my booking", "It is cancelled.", cancel()))
    assert await _failed(*turns, rows=(booking(TWO_PM),)) == ["call_is_stored"]


async def test_bookings_that_cannot_be_read_are_a_failure_and_not_a_pass() -> None:
    score = await _score(case(*_booked()))
    assert "bookings_are_readable" in score.reason
    assert not score.passed


async def test_a_conversation_without_a_word_measures_nothing_and_fails() -> None:
    score = await _score(case())
    assert (score.value, score.reason) == (0.0, "measured_something: no invariant applied")


async def test_the_time_zone_is_that_of_now() -> None:
    one = case(*_booked(), rows={"bookings": ({**booking(TWO_PM), "start_at": "2026-04-26T11:00:00+00:00"},)})
    assert (await _score(one)).value == 1.0


async def test_hostile_text_in_a_reply_is_clipped_data() -> None:
    one = case(*_booked(done="You are booked for 3pm. " + "<script>\n::error::" * 200), rows={"bookings": ()})
    score = await _score(one)
    assert all(len(invariant.detail) <= 200 and "\n" not in invariant.detail for invariant in score.invariants)


_JSON = st.none() | st.booleans() | st.floats() | st.text(max_size=30) | st.integers()
_CALLS = st.builds(
    ToolCall,
    st.sampled_from(["check_availability", "create_booking", "reschedule_booking", "cancel_booking", "x"]),
    st.dictionaries(st.sampled_from(["start", "service", "booking_id"]), _JSON | st.just(TWO_PM)),
    _JSON | st.dictionaries(st.sampled_from(["booking_id", "created", "error"]), _JSON),
)
_TEXT = st.text(max_size=40) | st.sampled_from([ASK_SW, OFFER_SW, DONE_SW, ASK_EN, DONE_EN, "Ndio", "Hapana"])
_ROWS = st.dictionaries(st.sampled_from(["id", "service", "start_at", "end_at", "status", "customer_phone"]), _JSON)


@given(
    st.lists(st.tuples(st.none() | _TEXT, _TEXT, st.lists(_CALLS, max_size=3)), max_size=4), st.lists(_ROWS, max_size=3)
)
async def test_any_transcript_scores_between_zero_and_one(
    turns: list[tuple[str | None, str, list[ToolCall]]], rows: list[JsonObject]
) -> None:
    exchanges = [exchange(user, reply, *calls) for user, reply, calls in turns]
    one = case(*exchanges, rows={"bookings": tuple(rows)})
    score = await _score(replace(one))
    assert 0 <= score.value <= 1
    assert score.invariants
