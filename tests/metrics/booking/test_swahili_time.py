"""The table is the six-hour offset that grammars of Swahili teach: hour one of the day is 07:00, of the night 19:00."""

from datetime import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.metrics.booking.slots import swahili_times


def _read(text: str) -> list[set[str]]:
    return [{moment.strftime("%H:%M") for moment in clock.times} for clock in swahili_times(text)]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("saa kumi alfajiri", "04:00"),
        ("saa kumi na moja alfajiri", "05:00"),
        ("saa kumi na mbili asubuhi", "06:00"),
        ("saa moja asubuhi", "07:00"),
        ("saa mbili asubuhi", "08:00"),
        ("saa tatu asubuhi", "09:00"),
        ("saa nne asubuhi", "10:00"),
        ("saa tano asubuhi", "11:00"),
        ("saa sita mchana", "12:00"),
        ("saa saba mchana", "13:00"),
        ("saa nane mchana", "14:00"),
        ("saa tisa alasiri", "15:00"),
        ("saa kumi jioni", "16:00"),
        ("saa kumi na moja jioni", "17:00"),
        ("saa kumi na mbili jioni", "18:00"),
        ("saa moja jioni", "19:00"),
        ("saa moja usiku", "19:00"),
        ("saa mbili usiku", "20:00"),
        ("saa tano usiku", "23:00"),
        ("saa sita usiku", "00:00"),
        ("saa saba usiku", "01:00"),
        ("saa tisa usiku", "03:00"),
        ("saa 8 mchana", "14:00"),
        ("SAA 3 ASUBUHI", "09:00"),
        ("saa 8:30 mchana", "14:30"),
        ("saa nane ya mchana", "14:00"),
        ("saa nne kasoro robo asubuhi", "09:45"),
        ("saa nne kasorobo asubuhi", "09:45"),
        ("saa tano na nusu asubuhi", "11:30"),
        ("saa nane na robo mchana", "14:15"),
        ("saa nane na dakika ishirini mchana", "14:20"),
        ("saa tisa kasoro dakika kumi mchana", "14:50"),
        ("saa 14:00", "14:00"),
    ],
)
def test_a_swahili_hour_with_its_part_of_the_day_is_one_time(words: str, expected: str) -> None:
    assert _read(f"Naomba kesho {words} tafadhali") == [{expected}]


def test_without_a_part_of_the_day_it_may_be_either_half_and_is_not_firm() -> None:
    (clock,) = swahili_times("inachukua saa moja tu")
    assert (clock.times, clock.firm) == (frozenset({time(7), time(19)}), False)


@pytest.mark.parametrize(
    "words", ["saa nane asubuhi", "saa moja mchana", "saa 25", "saa ngapi", "masaa mawili", "saana"]
)
def test_an_hour_that_the_part_of_the_day_does_not_have_is_left_out(words: str) -> None:
    assert _read(words) == []


@given(st.text())
def test_no_text_makes_it_raise(text: str) -> None:
    for clock in swahili_times("saa " + text):
        assert clock.times
