"""results.csv: a row for each check and score, and never a formula."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.reporting.results_csv import HEADER, render_csv
from ratiba_action.reporting.summary import summarise
from tests.support.sample_report import sample_check, sample_report, sample_score, sample_scored


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def test_there_is_a_row_for_each_check_and_score_and_for_each_gap() -> None:
    table = rows(render_csv(summarise(sample_report())))
    assert tuple(table[0]) == HEADER
    assert [row[0] for row in table[1:]] == ["spa_booking"] * 3 + ["salon_reschedule"] * 4 + [
        "barbershop_mpesa",
        "spa_handoff",
    ]


def test_votes_and_the_cache_stand_beside_a_score() -> None:
    voted = sample_score(0.81, votes=(0.78, 0.81, 0.84), cached=True)
    table = rows(render_csv(summarise(sample_report(results=(sample_scored("a", (), (voted,)),)))))
    found = dict(zip(table[0], table[1], strict=True))
    assert (found["got"], found["cached"], found["votes"]) == ("0.8100", "true", "0.7800 0.8100 0.8400")


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\r", " =1", "\uff1d1", '"=1'])
def test_a_cell_never_begins_a_formula(text: str) -> None:
    scored = sample_scored(text, (sample_check(got=text),))
    table = rows(render_csv(summarise(sample_report(results=(scored,)))))
    assert (table[1][0], table[1][10]) == (f"'{text}", f"'{text}")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ok;=1", "ok;'=1"),
        ("ok, @SUM(1)", "ok,' @SUM(1)"),
        ('ok;""=1', 'ok;\'""=1'),
        ("a\t+1\r-1\n=2", "a\t'+1\r'-1\n'=2"),
        ("\t=1", "'\t'=1"),
        ("from 1, then 2; a=b", "from 1, then 2; a=b"),
    ],
)
def test_no_part_of_a_cell_becomes_a_formula_where_other_signs_separate_cells(text: str, shown: str) -> None:
    table = rows(render_csv(summarise(sample_report(results=(sample_scored("a", (sample_check(got=text),)),)))))
    assert table[1][10] == shown


@given(st.text(max_size=20))
def test_any_text_stays_in_its_cell(text: str) -> None:
    table = rows(render_csv(summarise(sample_report(results=(sample_scored("a", (sample_check(got=text),)),)))))
    assert [len(row) for row in table] == [len(HEADER)] * 2
    assert table[1][10].replace("'", "") == text.replace("\x00", "").replace("'", "")
