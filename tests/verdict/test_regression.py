"""What a workflow is told of a comparison: whether something got worse, and with what confidence."""

from dataclasses import replace
from typing import Any

import pytest

from ratiba_action.model.case_file import CaseThreshold, CaseThresholdResult, CaseThresholdStatus
from ratiba_action.model.comparison import Comparison, Tier
from ratiba_action.model.verdict import Conclusion, Report, Verdict
from ratiba_action.verdict.tally import confidence, regression_detected, tally
from tests.support.sample_comparison import (
    sample_compared_report,
    sample_comparison,
    sample_passed_comparison,
)
from tests.support.sample_report import (
    sample_check,
    sample_data_set,
    sample_report,
    sample_score,
    sample_scored,
)


def compared(found: Comparison | None, conclusion: Conclusion = Conclusion.PASSED) -> Report:
    return sample_compared_report(sample_comparison(), verdict=Verdict(conclusion, "So it is.", comparison=found))


def test_a_confirmed_drop_is_a_regression_with_the_confidence_of_its_test() -> None:
    report = sample_compared_report()
    assert regression_detected(report)
    assert confidence(report) == pytest.approx(0.994)


def test_a_regression_of_single_conversations_has_no_confidence() -> None:
    report = compared(sample_comparison(mean_fell=False, confirm_p=0.4), Conclusion.FAILED)
    assert regression_detected(report)
    assert confidence(report) is None


@pytest.mark.parametrize("tier", [Tier.WITHIN_NOISE, Tier.IMPROVED])
def test_a_drop_that_is_ruled_out_has_the_confidence_of_the_lower_bound(tier: Tier) -> None:
    report = compared(sample_passed_comparison(tier=tier))
    assert not regression_detected(report)
    assert confidence(report) == 0.95


def test_answers_that_were_replayed_once_leave_nothing_to_chance() -> None:
    assert confidence(compared(sample_passed_comparison(exact=True, low=None, high=None))) == 1.0


@pytest.mark.parametrize(
    "found",
    [
        None,
        sample_passed_comparison(tier=Tier.UNCLEAR),
        Comparison(Tier.NOT_COMPARABLE, (), (), "Nothing can be compared."),
    ],
)
def test_what_is_not_established_has_no_confidence(found: Comparison | None) -> None:
    assert confidence(compared(found)) is None


GATES = (CaseThresholdResult(CaseThreshold("accuracy", 0.9), 0.5, 0.5, CaseThresholdStatus.FAILED),)


@pytest.mark.parametrize(
    "exact",
    [
        {"results": (sample_scored(checks=(sample_check(passed=False),)),)},
        {"results": (), "data_sets": (sample_data_set(gates=GATES),)},
    ],
    ids=["a check", "a threshold of cases"],
)
def test_something_exact_is_a_regression_where_the_run_was_compared_with_its_base(exact: dict[str, Any]) -> None:
    within_noise = sample_passed_comparison()
    not_comparable = Comparison(Tier.NOT_COMPARABLE, (), (), "Nothing can be compared.")
    for found, regression in ((within_noise, True), (not_comparable, False), (None, False)):
        report = sample_report(verdict=Verdict(Conclusion.FAILED, "It failed.", comparison=found), **exact)
        assert regression_detected(report) is regression


@pytest.mark.parametrize("passes", [True, False])
def test_what_newly_fails_is_a_regression_though_no_score_can_be_compared(*, passes: bool) -> None:
    flip = replace(sample_comparison().flips[0], passes=passes)
    checks_alone = Comparison(Tier.NOT_COMPARABLE, (), (), "Nothing can be compared.", flips=(flip,))
    failed = sample_report(verdict=Verdict(Conclusion.FAILED, "It failed.", comparison=checks_alone))
    assert regression_detected(failed) is not passes


def test_a_pass_rate_below_its_limit_is_none_by_itself() -> None:
    below = sample_scored(scores=(sample_score(0.1),))
    assert not regression_detected(sample_report(results=(below,)))


@pytest.mark.parametrize("conclusion", [one for one in Conclusion if one is not Conclusion.FAILED])
def test_only_a_failed_run_has_found_one(conclusion: Conclusion) -> None:
    assert not regression_detected(compared(sample_comparison(), conclusion))


def test_a_further_trial_below_its_threshold_fails_no_conversation_of_the_report() -> None:
    first = sample_scored(scores=(sample_score(0.9),))
    further = replace(first, trial=replace(first.trial, number=1), scores=(sample_score(0.1),))
    report = sample_report(results=(first, further))
    assert (tally(report).passed, tally(report).failed) == (1, 0)
    broken = replace(further, checks=(sample_check(passed=False),))
    assert tally(sample_report(results=(first, broken))).failed == 1
