from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.metrics.booking.slots import find_dates, find_slots
from tests.support.cases import NOW  # Saturday 25 April 2026


def _fits(text: str, moment: str) -> bool:
    return any(slot.fits(datetime.fromisoformat(f"{moment}:00+03:00")) for slot in find_slots(text, NOW))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("kesho saa nane mchana", "2026-04-26T14:00"),
        ("saa nane mchana kesho", "2026-04-26T14:00"),
        ("leo saa kumi na moja jioni", "2026-04-25T17:00"),
        ("kesho kutwa saa tatu asubuhi", "2026-04-27T09:00"),
        ("keshokutwa saa tatu asubuhi", "2026-04-27T09:00"),
        ("Jumatatu saa nne asubuhi", "2026-04-27T10:00"),
        ("Jumanne ya wiki ijayo saa nne asubuhi", "2026-04-28T10:00"),
        ("next week Friday at 2pm", "2026-05-01T14:00"),
        ("next Tuesday 2pm", "2026-04-28T14:00"),
        ("next Tuesday 2pm", "2026-05-05T14:00"),
        ("tomorrow 2pm", "2026-04-26T14:00"),
        ("tomorrow at 2:30 p.m.", "2026-04-26T14:30"),
        ("the day after tomorrow at 9 in the morning", "2026-04-27T09:00"),
        ("today at noon", "2026-04-25T12:00"),
        ("tomorrow at 14:30", "2026-04-26T14:30"),
        ("kesho 4pm", "2026-04-26T16:00"),
        ("tomorrow saa nane mchana", "2026-04-26T14:00"),
        ("26 Aprili saa nane mchana", "2026-04-26T14:00"),
        ("April 26th, 2pm", "2026-04-26T14:00"),
        ("2026-04-26 14:00", "2026-04-26T14:00"),
        ("26/4 saa nane mchana", "2026-04-26T14:00"),
        ("kesho Jumapili 26 Aprili saa nane mchana (14:00), KES 3,500", "2026-04-26T14:00"),
        ("Saturday 13 June at 10:00 am (10:00)", "2026-06-13T10:00"),
        ("5 Januari saa nne asubuhi", "2027-01-05T10:00"),
    ],
)
def test_a_slot_in_words_is_resolved_from_the_scenarios_now(text: str, moment: str) -> None:
    assert _fits(text, moment)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("kesho saa nane mchana", "2026-04-26T08:00"),
        ("kesho saa nane mchana", "2026-04-27T14:00"),
        ("kesho kutwa saa nane mchana", "2026-04-26T14:00"),
        ("the day after tomorrow 2pm", "2026-04-26T14:00"),
        ("Saturday 13 June at 10:00 am", "2026-04-25T10:00"),
        ("12 am", "2026-04-25T12:00"),
        ("KES 14:00", "2026-04-25T02:00"),
    ],
)
def test_words_do_not_fit_another_moment(text: str, moment: str) -> None:
    assert not _fits(text, moment)


def test_a_gloss_that_contradicts_the_words_fits_nothing() -> None:
    (slot,) = find_slots("saa nane mchana (08:00)", NOW)
    assert slot.times == frozenset()


def test_two_offers_with_their_glosses_are_two_slots() -> None:
    slots = find_slots("saa sita mchana (12:00) na saa saba mchana (13:00)", NOW)
    assert [sorted(moment.hour for moment in slot.times) for slot in slots] == [[12], [13]]


@pytest.mark.parametrize("text", ["kati ya saa nane na saa kumi jioni", "we open from 9am until 6pm", "after 2pm"])
def test_a_range_is_not_firm(text: str) -> None:
    assert not any(slot.firm for slot in find_slots(text, NOW))


@pytest.mark.parametrize("text", ["KES 3,500", "simu 0712 345 432", "dakika 60", "TKL4X8Q2ZP", "I am 2", "at 3"])
def test_prices_numbers_and_codes_are_no_slots(text: str) -> None:
    assert find_slots(text, NOW) == ()


def test_days_side_by_side_are_one_day() -> None:
    assert find_dates("kesho Jumapili 26 Aprili", NOW) == (frozenset({date(2026, 4, 26)}),)


@pytest.mark.parametrize("text", ["31 Februari", "2026-13-01", "99/99", "32 June"])
def test_a_day_that_does_not_exist_is_left_out(text: str) -> None:
    assert find_dates(text, NOW) == ()


@given(st.text(alphabet=st.sampled_from("saa nekumichhlodi0123456789:(),/-pmtJur ")))
def test_no_text_makes_it_raise(text: str) -> None:
    for slot in find_slots(text, NOW):
        assert slot.words in text
