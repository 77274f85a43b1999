from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.util.instants import parse_instant, same_value

NAIROBI = timezone(timedelta(hours=3))
TWO_PM = datetime(2026, 4, 26, 14, tzinfo=NAIROBI)


@pytest.mark.parametrize(
    "text",
    [
        "2026-04-26T14:00",
        "2026-04-26 14:00",
        "2026-04-26T14:00:00+03:00",
        "2026-04-26T11:00:00Z",
        "2026-04-26T11:00+00:00",
    ],
)
def test_every_spelling_of_a_moment_is_the_same_moment(text: str) -> None:
    assert parse_instant(text, NAIROBI) == TWO_PM


def test_a_datetime_is_taken_as_it_is() -> None:
    assert parse_instant(datetime(2026, 4, 26, 11, tzinfo=UTC), NAIROBI) == TWO_PM


@pytest.mark.parametrize(
    "value", [None, 14, "", "14:00", "2026-04-26", "kesho saa nane mchana", "2026-13-40T99:99", []]
)
def test_what_is_no_moment_is_none(value: object) -> None:
    assert parse_instant(value, NAIROBI) is None


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_moment_at_the_edge_of_the_calendar_does_not_raise(text: str) -> None:
    assert parse_instant(text, NAIROBI) is None or isinstance(parse_instant(text, NAIROBI), datetime)


@pytest.mark.parametrize(
    ("expected", "got"), [(1, True), (0, False), ("1", 1), ([1], [1, 2]), ({"a": 1}, [1]), (None, 0)]
)
def test_values_of_another_kind_are_not_the_same(expected: object, got: object) -> None:
    assert not same_value(expected, got, NAIROBI)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(_JSON)
def test_every_value_is_the_same_as_itself(value: object) -> None:
    assert same_value(value, value, NAIROBI)


@given(st.dictionaries(st.text(), _JSON), st.dictionaries(st.text(), _JSON))
def test_an_object_with_more_in_it_still_holds_what_is_expected(
    expected: dict[str, object], more: dict[str, object]
) -> None:
    assert same_value(expected, {**more, **expected}, NAIROBI)
