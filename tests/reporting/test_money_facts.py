"""What is said about the money of a run."""

from dataclasses import replace
from decimal import Decimal

import pytest

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.verdict import Report
from ratiba_action.reporting.money_facts import money_facts, money_phrase, month_note, parts
from ratiba_action.reporting.summary import summarise
from tests.support.sample_report import sample_live_report, sample_replayed_spending, sample_report


def text(report: Report) -> dict[str, str]:
    return {fact.what: " ".join(filter(None, (fact.text, fact.bar, fact.after))) for fact in money_facts(report)}


def replayed() -> Report:
    return sample_report(spending=sample_replayed_spending(), llm="replay")


def test_a_replayed_run_says_what_it_would_cost_live() -> None:
    assert text(replayed()) == {
        "spent": "USD 0.00 ░░░░░░░░░░░░░░░░░░░░ of 20.00",
        "estimated cost of the same run live": "USD 1.67",
        "model calls": "0 live, 16 replayed",
    }


def test_a_live_run_does_not_say_what_it_would_cost_live() -> None:
    assert [what for what in text(sample_live_report()) if "list prices" in what] == []
    assert "list prices" not in money_phrase(sample_live_report().spending)


def test_of_a_mixed_run_the_replayed_part_is_distinguished() -> None:
    assert text(sample_report())["estimated cost of the replayed calls live"] == "USD 0.42"
    assert money_phrase(sample_report().spending) == "USD 1.25 of 20.00 (estimated cost if all were live: USD 1.67)"


def test_what_runs_spent_together_stands_beside_its_caps() -> None:
    report = sample_live_report()
    assert text(report)["the month 2026-04, all runs"] == "USD 41.20 ██░░░░░░░░░░░░░░░░░░ of 300.00"
    assert text(report)["the pull request ratiba/assistant#7, all runs"] == "USD 3.93 ███░░░░░░░░░░░░░░░░░ of 20.00"
    assert month_note(report) == ""


def test_only_a_run_that_paid_says_that_the_month_is_not_tracked() -> None:
    note = month_note(sample_live_report(shared_spending=()))
    assert note == "The spending of this month is not tracked: ledger-url is not set."
    assert month_note(replayed()) == ""


def test_a_shared_ledger_that_was_not_read_is_not_called_untracked() -> None:
    note = month_note(sample_live_report(shared_spending=(), shared_ledger=True))
    assert note == "The spending of all runs this month is unknown: the shared ledger was not read."


def test_a_run_that_asked_no_model_says_nothing() -> None:
    assert money_facts(sample_report(spending=sample_replayed_spending(replayed_calls=0))) == ()


def test_the_dearest_stands_first_and_what_cost_nothing_is_left_out() -> None:
    found = parts({"judge": Decimal("0.25"), "baseline": Decimal(0), "system": Decimal("0.75")})
    assert [(part.name, part.share) for part in found] == [("system", 0.75), ("judge", 0.25)]
    assert parts({"judge": Decimal(0)}) == ()


@pytest.mark.parametrize(
    ("llm", "words"),
    list(zip(AnswerOrigin, ("replayed", "live where no recording fits", "live", "recorded live"), strict=True)),
)
def test_where_the_answers_came_from_ends_the_line_of_figures(llm: AnswerOrigin, words: str) -> None:
    assert summarise(replace(sample_live_report(), llm=llm)).line.endswith(f" · {words}")
