from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.scenario import Expectation, ExpectedTool, Turn
from ratiba_action.util.instants import (
    CHANGING,
    LocalTime,
    clock_of,
    home_zone,
    parse_instant,
    same_value,
    unclear_time,
    unclear_times,
    zone_names,
)
from tests.support.sample_report import sample_scenario

EAT = timezone(timedelta(hours=3))
NAIROBI = LocalTime(datetime(2026, 4, 25, 10, tzinfo=EAT))
TWO_PM = datetime(2026, 4, 26, 14, tzinfo=EAT)


def clock(now: str, zone: str = "") -> LocalTime:
    return LocalTime(datetime.fromisoformat(now), zone)


PARIS = clock("2026-03-27T10:00+01:00", "Europe/Paris")
LAGOS = clock("2026-03-27T10:00+01:00", "Africa/Lagos")
ONLY_AN_OFFSET = clock("2026-03-27T10:00+01:00")


@pytest.mark.parametrize(
    ("scenario", "local", "moment", "same"),
    [
        (PARIS, "2026-03-30T14:00", "2026-03-30T14:00:00+02:00", True),
        (PARIS, "2026-03-30T14:00", "2026-03-30T14:00:00+01:00", False),
        (PARIS, "2026-03-30T14:00", "2026-03-30T12:00:00Z", True),
        (PARIS, "2026-03-28T14:00", "2026-03-28T14:00:00+01:00", True),
        (LAGOS, "2026-03-30T14:00", "2026-03-30T14:00:00+01:00", True),
        (LAGOS, "2026-03-30T14:00", "2026-03-30T14:00:00+02:00", False),
        (ONLY_AN_OFFSET, "2026-03-28T14:00", "2026-03-28T14:00:00+01:00", True),
        (ONLY_AN_OFFSET, "2026-03-30T14:00", "2026-03-30T14:00:00+02:00", False),
        (ONLY_AN_OFFSET, "2026-03-30T14:00", "2026-03-30T14:00:00+01:00", False),
        (clock("2026-10-20T10:00+02:00", "Europe/Paris"), "2026-10-26T09:00", "2026-10-26T09:00+01:00", True),
        (clock("2026-10-20T10:00-04:00", "America/New_York"), "2026-11-02T09:00", "2026-11-02T09:00-05:00", True),
        (clock("2026-09-20T10:00+12:00", "Pacific/Auckland"), "2026-09-28T09:00", "2026-09-28T09:00+13:00", True),
        (clock("2026-04-01T10:00+11:00", "Australia/Lord_Howe"), "2026-04-06T09:00", "2026-04-06T09:00+10:30", True),
        (clock("2026-01-10T10:00+00:00", "Africa/Casablanca"), "2026-02-20T09:00", "2026-02-20T09:00+00:00", True),
        (PARIS, "2026-10-25T02:30", "2026-10-25T02:30+02:00", False),
        (PARIS, "2026-03-29T02:30", "2026-03-29T02:30+01:00", False),
        (NAIROBI, "2026-04-26T14:00", "2026-04-26T11:00Z", True),
    ],
)
def test_a_local_time_is_the_moment_that_the_rules_of_its_zone_give(
    scenario: LocalTime, local: str, moment: str, *, same: bool
) -> None:
    assert same_value(local, moment, scenario) is same
    assert same_value({"at": [moment]}, {"at": [local], "more": 1}, scenario) is same


@pytest.mark.parametrize("scenario", [PARIS, LAGOS, ONLY_AN_OFFSET, NAIROBI])
def test_two_local_times_need_no_zone(scenario: LocalTime) -> None:
    assert same_value("2026-03-30T14:00", "2026-03-30 14:00:00", scenario)
    assert not same_value("2026-03-30T14:00", "2026-03-30T15:00", scenario)


@pytest.mark.parametrize(
    ("scenario", "local", "why"),
    [
        (
            PARIS,
            "2026-10-25T02:30",
            "exists twice in Europe/Paris, where clocks go back: write 2026-10-25T02:30+02:00 or",
        ),
        (
            PARIS,
            "2026-03-29T02:30",
            "does not exist in Europe/Paris, where clocks go forward: write 2026-03-29T01:30+01:00",
        ),
        (ONLY_AN_OFFSET, "2026-03-30T14:00", "is 2026-03-30T14:00+02:00 or 2026-03-30T14:00+01:00: name the time zone"),
    ],
)
def test_a_local_time_that_is_not_one_moment_is_reported_with_its_readings(
    scenario: LocalTime, local: str, why: str
) -> None:
    assert why in unclear_time([{"at": local}], [{"at": "2026-06-01T10:00Z"}], scenario)
    assert unclear_time([{"at": local}], [{"at": local}], scenario) == ""
    with pytest.raises(ConfigurationError, match="unclear"):
        parse_instant(local, scenario)


def test_a_moment_beyond_a_clock_change_has_the_local_time_of_its_zone() -> None:
    found = parse_instant("2026-03-30T14:00+02:00", PARIS)
    assert found is not None
    assert found.replace(tzinfo=None) == datetime(2026, 3, 30, 14)  # noqa: DTZ001 - the local time
    with pytest.raises(ConfigurationError, match="is 13:00 or 14:00 local time"):
        parse_instant("2026-03-30T14:00+02:00", ONLY_AN_OFFSET)


def test_of_an_hour_that_comes_twice_both_moments_are_distinguished() -> None:
    first, second = (parse_instant(f"2026-10-25T02:30{offset}", PARIS) for offset in ("+02:00", "+01:00"))
    assert first is not None
    assert second is not None
    assert second - first == timedelta(hours=1)


def test_each_zone_that_changes_its_clocks_has_the_rules_of_a_listed_one() -> None:
    days = [datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(days=number) for number in range(365)]

    def offsets(name: str) -> tuple[timedelta | None, ...]:
        zone = ZoneInfo(name)
        return tuple(day.astimezone(zone).utcoffset() for day in days)

    listed = {offsets(name) for name in CHANGING}
    assert [name for name in sorted(zone_names()) if len(set(found := offsets(name))) > 1 and found not in listed] == []


@pytest.mark.parametrize(
    "text",
    [
        "2026-04-26T14:00",
        "2026-04-26 14:00",
        "2026-04-26T14:00:00+03:00",
        "2026-04-26T11:00:00Z",
        "2026-04-26T11:00+00:00",
        "2026-04-26T14:00:00+03:00[Africa/Nairobi]",
        "2026-04-26T11:00:00Z[UTC]",
        "2026-04-26T14:00:00+03:00[!Africa/Nairobi][u-ca=iso8601]",
    ],
)
def test_every_spelling_of_a_moment_is_the_same_moment(text: str) -> None:
    assert parse_instant(text, NAIROBI) == TWO_PM


def test_a_datetime_is_taken_as_it_is() -> None:
    assert parse_instant(datetime(2026, 4, 26, 11, tzinfo=UTC), NAIROBI) == TWO_PM


@pytest.mark.parametrize(
    "value",
    [
        None,
        14,
        "",
        "14:00",
        "2026-04-26",
        "kesho saa nane mchana",
        "2026-13-40T99:99",
        "2026-04-26T14:00[Africa/Nairobi]",
        [],
    ],
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


@pytest.mark.parametrize(
    ("language", "now", "zone"),
    [
        ("fr", "2026-03-27T10:00+01:00", "Europe/Paris"),
        ("fr", "2026-07-27T10:00+02:00", "Europe/Paris"),
        ("fi", "2026-03-27T10:00+02:00", "Europe/Helsinki"),
        ("fr", "2026-03-27T10:00-04:00", ""),  # Martinique, Montréal in summer: another offset than at home
        ("fr", "2026-07-27T10:00+01:00", ""),  # Douala all the year
        ("es", "2026-03-27T10:00-03:00", ""),
        ("en", "2026-03-27T10:00+00:00", ""),
        ("sw", "2026-03-27T10:00+03:00", ""),
        ("mixed", "2026-03-27T10:00+01:00", ""),
    ],
)
def test_a_language_gives_its_home_zone_where_the_offset_of_now_is_the_zone_s(
    language: str, now: str, zone: str
) -> None:
    scenario = sample_scenario(language=language, now=datetime.fromisoformat(now), timezone="")
    assert home_zone(scenario) == zone
    assert clock_of(scenario) == clock(now, zone)


def test_a_zone_that_is_named_is_not_overruled_by_the_language() -> None:
    now = datetime.fromisoformat("2026-03-27T10:00+01:00")
    scenario = sample_scenario(language="fr", now=now, timezone="Africa/Douala")
    assert home_zone(scenario) == ""
    assert not same_value("2026-03-30T14:00", "2026-03-30T14:00+02:00", clock_of(scenario))


def test_times_that_only_the_language_decides_are_found_at_their_line() -> None:
    expect = Expectation(tools=(ExpectedTool("book", {"start": "2026-03-30T14:00", "end": "2026-03-28T14:00"}),))
    now = datetime.fromisoformat("2026-03-27T10:00+01:00")
    scenario = sample_scenario(language="fr", now=now, timezone="", turns=(Turn("a", expect=expect, line=7),))
    ((line, why),) = unclear_times(scenario)
    assert line == 7
    assert "2026-03-30T14:00+02:00 or 2026-03-30T14:00+01:00" in why
