"""results.csv: a row for each check and score, and never a formula."""

import csv
import io
from dataclasses import replace

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
    assert tuple(table[0][: len(HEADER)]) == HEADER
    assert [row[0] for row in table[1:] if row[6] != "conversation"] == ["spa_booking"] * 3 + [
        "salon_reschedule"
    ] * 4 + ["barbershop_mpesa", "spa_handoff"]


def test_each_conversation_has_a_row_with_request_reply_and_a_column_for_each_metric() -> None:
    text = render_csv(summarise(sample_report()))
    names = rows(text)[0][len(HEADER) :]
    assert names == sorted({row["assertion"].partition(":")[0] for row in dictionaries(text) if "score" in row["kind"]})
    conversations = [row for row in dictionaries(text) if row["kind"] == "conversation"]
    assert [row["scenario"] for row in conversations] == [
        "spa_booking",
        "salon_reschedule",
        "barbershop_mpesa",
        "spa_handoff",
    ]
    first = conversations[0]
    assert first["request"] == sample_scored().trial.scenario.turns[0].user
    assert first["reply"] == "Nafasi ipo saa nane mchana. Nithibitishe?"
    scores = {
        row["assertion"].partition(":")[0]: row["got"] for row in dictionaries(text)[:3] if "score" in row["kind"]
    }
    assert {name: first[name] for name in names if first[name]} == scores
    assert [row["request"] for row in conversations[2:]] == ["", ""]


def test_a_metric_and_a_text_of_a_conversation_begin_no_formula() -> None:
    hostile = sample_scored("a", (), (replace(sample_score(0.5), metric="=cmd()"),))
    exchanges = hostile.transcript.exchanges
    spoken = replace(exchanges[0], reply=replace(exchanges[0].reply, text="=1\n+2"))
    transcript = replace(hostile.transcript, exchanges=(spoken,))
    table = rows(render_csv(summarise(sample_report(results=(replace(hostile, transcript=transcript),)))))
    assert table[0][-1] == "'=cmd()"
    assert table[-1][HEADER.index("reply")] == "'=1\n'+2"


def dictionaries(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


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
    assert [len(row) for row in table] == [len(HEADER)] * 3
    assert table[1][10].replace("'", "") == text.replace("\x00", "").replace("'", "")


def test_each_row_of_a_scenario_has_its_title() -> None:
    titled = sample_scored("a", (sample_check(),), title="Asked for 14:00")
    found = dictionaries(render_csv(summarise(sample_report(results=(titled, sample_scored("b"))))))
    assert {(row["scenario"], row["title"]) for row in found} == {("a", "Asked for 14:00"), ("b", "")}
