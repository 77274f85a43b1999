"""What is said about the judges of a run that paid."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.comparison import Agreement, CrossCheckStatus, ScorePair
from ratiba_action.model.verdict import CrossChecking, Report
from ratiba_action.reporting.money_facts import judge_facts
from ratiba_action.verdict.agreement import judges_agreement
from tests.support.sample_report import (
    sample_cross_checking,
    sample_live_report,
    sample_replayed_spending,
    sample_score,
    sample_scored,
)


def text(report: Report) -> dict[str, str]:
    return {fact.what: fact.text for fact in judge_facts(report)}


def checked(**changes: object) -> Report:
    return sample_live_report(cross_checking=sample_cross_checking(**changes))


def test_judge_sample_agreement_and_votes_are_reported() -> None:
    assert text(sample_live_report()) == {
        "judge": "claude-opus-5-5",
        "cross-check": "gpt-5.6, 10% of the scores: 4 of 4 compared",
        "agreement": "n = 4: 75% on the same side; kappa 0.50 (moderate), quadratic 0.72 (substantial)",
        "votes": "1 of 2 judged scores: spa_booking SwahiliFluencyMetric 0.81 (0.78, 0.81, 0.84)",
    }


def test_a_kappa_that_is_undefined_is_never_shown_as_perfect() -> None:
    pair = ScorePair("spa", "SwahiliFluencyMetric:1.0.0", "0" * 64, 0.8, 0.9, 0.9)
    report = checked(agreement=judges_agreement([pair, pair]))
    assert text(report)["agreement"] == "n = 2: 100% on the same side; kappa undefined, quadratic undefined"


def test_a_cross_check_that_was_given_up_says_why() -> None:
    report = checked(status=CrossCheckStatus(0.10, 7, 3, "the budget has $0.01 left of $0.30."))
    expected = "gpt-5.6, reduced from 10% to 0% because the budget has $0.01 left of $0.30; 3 of 7 compared"
    assert text(report)["cross-check"] == expected


def test_grades_of_the_second_judge_that_were_kept_are_reported() -> None:
    report = checked(status=CrossCheckStatus(0.10, 7, 6, cached=4))
    expected = "gpt-5.6, 10% of the scores: 6 of 7 compared, 4 by a score from the cache"
    assert text(report)["cross-check"] == expected


def test_a_sample_that_holds_nothing_has_no_agreement() -> None:
    report = checked(status=CrossCheckStatus(0.10, 0, 0), agreement=Agreement(0))
    assert text(report)["cross-check"] == "gpt-5.6, 10% of the scores: none fell into the sample"
    assert "agreement" not in text(report)


@pytest.mark.parametrize(("why", "expected"), [("no key for openai", "off: no key for openai"), ("", "off")])
def test_a_cross_check_that_is_off_says_why(why: str, expected: str) -> None:
    report = checked(model="", status=CrossCheckStatus(0, 0, 0), agreement=Agreement(0), off=why)
    assert text(report)["cross-check"] == expected


def test_a_run_that_ended_before_its_cross_check_says_nothing_of_it() -> None:
    assert "cross-check" not in text(sample_live_report(cross_checking=None))


def test_of_many_votes_five_are_named() -> None:
    voted = sample_score(0.81, votes=(0.78, 0.81, 0.84))
    results = tuple(sample_scored(f"spa_{number}", scores=(voted,)) for number in range(7))
    votes = text(sample_live_report(results=results))["votes"]
    assert votes.startswith("7 of 7 judged scores: spa_0 ")
    assert votes.endswith("; and 2 more")


def test_a_replayed_run_and_one_that_judges_nothing_have_no_such_table() -> None:
    assert judge_facts(sample_live_report(spending=sample_replayed_spending())) == ()
    assert judge_facts(sample_live_report(results=(sample_scored(),))) == ()


@given(
    st.floats(0, 1), st.integers(0, 99), st.integers(0, 99), st.one_of(st.none(), st.floats(-1, 1)), st.text(max_size=9)
)
def test_every_cross_check_can_be_reported(
    share: float, sampled: int, pairs: int, kappa: float | None, why: str
) -> None:
    agreement = Agreement(pairs, None if kappa is None else abs(kappa), kappa, kappa)
    report = sample_live_report(
        cross_checking=CrossChecking("gpt", CrossCheckStatus(share, sampled, 0, why), agreement)
    )
    assert text(report)["cross-check"].startswith("gpt, ")
    assert ("agreement" in text(report)) == bool(pairs)
