"""Assertions on rows: which rows count, what they must hold, and what a reader is shown."""

from datetime import datetime
from typing import Any

import pytest

from ratiba_action.checks.row_checks import FoundRows, check_rows, query_problem, sql_of
from ratiba_action.model.scenario import ExpectedRows
from ratiba_action.util.instants import LocalTime

CLOCK = LocalTime(datetime.fromisoformat("2026-03-27T10:00+01:00"))
PARIS = LocalTime(CLOCK.now, "Europe/Paris")

PAID = {"id": 1, "status": "PAID", "amount_kes": 3500, "briefing": {"customer": {"name": "Amina"}, "state": "PAID"}}
FAILED = {"id": 2, "status": "FAILED", "amount_kes": 3500, "briefing": None}


def passes(*rows: dict[str, Any], **expected: Any) -> bool:
    return check_rows(ExpectedRows(table="payments", **expected), FoundRows(rows), 1, CLOCK).passed


@pytest.mark.parametrize(
    ("expected", "passed"),
    [
        ({}, True),
        ({"count": 2}, True),
        ({"count": 1}, False),
        ({"where": {"status": "PAID"}, "count": 1}, True),
        ({"where": {"status": "REVERSED"}}, False),
        ({"where": {"status": "REVERSED"}, "count": 0}, True),
        ({"where": {"briefing": {"customer": {"name": "Amina"}}}, "count": 1}, True),
        ({"where": {"briefing": None}, "count": 1}, True),
        ({"equals": {"amount_kes": 3500}}, True),
        ({"equals": {"status": "PAID"}}, False),
        ({"equals": [{"status": "FAILED"}, {"status": "PAID"}]}, True),
        ({"equals": [{"amount_kes": 3500}, {"status": "PAID"}]}, True),
        ({"equals": [{"status": "PAID"}, {"status": "PAID"}]}, False),
        ({"equals": [{"status": "PAID"}]}, False),
        ({"equals": []}, False),
    ],
)
def test_rows_are_picked_by_where_then_counted_and_compared(expected: dict[str, Any], *, passed: bool) -> None:
    assert passes(PAID, FAILED, **expected) is passed


@pytest.mark.parametrize(
    ("where", "got"),
    [
        ({"id": 1, "amount_kes": 3500, "status": "FAILED"}, 'no rows; the nearest has {"status": "PAID"}'),
        ({"id": 9, "status": "REVERSED"}, "no rows"),
        ({"id": 2}, '1 row: {"id": 2}'),
    ],
)
def test_of_no_row_a_reader_sees_in_what_the_nearest_differs(where: dict[str, Any], got: str) -> None:
    check = check_rows(ExpectedRows(table="payments", where=where, count=5), FoundRows((PAID, FAILED)), 1, CLOCK)
    assert (check.passed, check.got) == (False, got)


def test_where_no_row_is_wanted_the_nearest_is_no_fault() -> None:
    absent = ExpectedRows(table="payments", where={"id": 1, "status": "FAILED"}, count=0)
    check = check_rows(absent, FoundRows((PAID, FAILED)), 1, CLOCK)
    assert (check.passed, check.got) == (True, "no rows")


@pytest.mark.parametrize(
    ("stored", "clock", "there"),
    [
        ("2026-03-30T14:00:00+02:00", PARIS, True),
        ("2026-03-30T14:00:00+01:00", PARIS, False),
        ("2026-03-30T14:00:00", PARIS, True),
        ("2026-03-30T14:00:00", CLOCK, True),
    ],
)
def test_a_time_of_a_row_is_compared_by_the_rules_of_the_scenarios_zone(
    stored: str, clock: LocalTime, *, there: bool
) -> None:
    rows = FoundRows(({"start_at": stored},))
    for count in (0, 1):
        expected = ExpectedRows(table="bookings", where={"start_at": "2026-03-30T14:00"}, count=count)
        assert check_rows(expected, rows, 1, clock).passed is ((count == 1) is there)


def test_rows_whose_times_cannot_be_compared_pass_neither_an_assertion_nor_its_negation() -> None:
    for count in (0, 1):
        expected = ExpectedRows(table="bookings", where={"start_at": "2026-03-30T14:00"}, count=count)
        check = check_rows(expected, FoundRows(({"start_at": "2026-03-30T14:00:00+02:00"},)), 1, CLOCK)
        assert not check.passed
        assert check.got.startswith(
            "not compared: 2026-03-30T14:00:00 is 2026-03-30T14:00+02:00 or 2026-03-30T14:00+01"
        )


def test_without_a_count_no_row_at_all_fails() -> None:
    assert not passes(equals={"status": "PAID"})
    assert passes(equals=[])


@pytest.mark.parametrize(("value", "passed"), [(2, True), (3, False), (True, False)])
def test_a_query_with_one_value_is_compared_with_it(value: Any, *, passed: bool) -> None:
    expected = ExpectedRows(query="SELECT count(*) FROM payments", equals=value)
    assert check_rows(expected, FoundRows(({"count": 2},)), 0, CLOCK).passed is passed


def test_a_reader_sees_the_columns_that_were_asked_for() -> None:
    check = check_rows(
        ExpectedRows(table="payments", where={"id": 2}, equals={"status": "PAID"}, line=12),
        FoundRows((PAID, FAILED)),
        3,
        CLOCK,
    )
    assert (check.kind, check.turn, check.line, check.passed) == ("rows", 3, 12, False)
    assert check.what == "rows of payments where id=2"
    assert check.expected == 'at least 1 row: {"status": "PAID"}'
    assert check.got == '1 row: {"id": 2, "status": "FAILED"}'


def test_what_the_database_refuses_fails_and_says_why() -> None:
    check = check_rows(ExpectedRows(table="payment", count=0), FoundRows(problem="no table payment"), 1, CLOCK)
    assert (check.passed, check.got) == (False, "not read: no table payment")


def test_columns_that_are_named_are_read_so_that_a_misspelt_one_is_refused() -> None:
    expected = ExpectedRows(table='odd"name', where={"stat": "PAID"}, equals=[{"kes": 1}])
    assert sql_of(expected) == (
        'SELECT * FROM (\nTABLE "odd""name"\n) AS found WHERE pg_catalog.num_nonnulls(found."stat", found."kes") >= 0'
    )


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("SELECT 1;", None),
        ("  with a as (select 1) select * from a", None),
        ("DELETE FROM payments", "does not read: begin it with SELECT or WITH"),
        ("SELECT 1; DELETE FROM payments", "holds more than one statement"),
    ],
)
def test_a_query_reads_and_is_one_statement(query: str, problem: str | None) -> None:
    assert query_problem(query) == problem
