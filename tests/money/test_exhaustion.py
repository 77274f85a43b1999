"""What a person can do about conversations that the caps did not hold."""

from dataclasses import replace
from decimal import Decimal

from ratiba_action.model.conversation import Party
from ratiba_action.money.budget import Limit
from ratiba_action.money.forecast import Expected, Forecast, way_out

RUN = Limit("the budget of this run", Decimal("0.30"), Decimal("0.285"))
MONTH = Limit("the budget of the month 2026-11", Decimal(300), Decimal("299.90"), Decimal(0), "monthly-budget-usd")
PLENTY = Limit("the budget of the month 2026-11", Decimal(300), Decimal(1), Decimal(0), "monthly-budget-usd")


def rest(*limits: Limit, cost: str = "0.124", count: int = 3) -> Forecast:
    return Forecast(limits, (Expected("spa", {Party.JUDGE: Decimal(cost)}, Decimal(cost)),) * count)


def test_the_cap_its_value_its_input_and_what_the_rest_needs_are_named() -> None:
    assert way_out(rest(RUN, PLENTY)) == (
        "Raise budget-usd (RATIBA_EVAL_BUDGET_USD) from $0.30 to about $0.66, or select fewer scenarios: "
        "the budget of this run has $0.01 left, and 3 scenarios need about $0.38."
    )


def test_every_cap_that_is_too_small_is_named_once_and_no_other() -> None:
    pull_request = Limit("the budget of the pull request salon/assistant#7", Decimal("0.30"), Decimal("0.29"))
    assert way_out(rest(RUN, MONTH, pull_request)) == (
        "Raise budget-usd (RATIBA_EVAL_BUDGET_USD) from $0.30 to about $0.67 and monthly-budget-usd "
        "(RATIBA_EVAL_MONTHLY_BUDGET_USD) from $300.00 to about $300.28, or select fewer scenarios: the budget of this "
        "run has $0.01 left, the budget of the month 2026-11 has $0.10 left, the budget of the pull request "
        "salon/assistant#7 has $0.01 left, and 3 scenarios need about $0.38."
    )


def test_a_call_that_did_not_fit_beside_others_names_the_cap_that_binds_and_what_holds_both() -> None:
    reported = way_out(rest(RUN, PLENTY, cost="0.001", count=1))
    assert reported == (
        "Raise budget-usd (RATIBA_EVAL_BUDGET_USD) from $0.30 to about $0.31, or select fewer scenarios: "
        "the budget of this run has $0.01 left, and 1 scenario needs about $0.01."
    )


def test_a_share_of_the_budget_names_the_budget_that_all_shards_divide() -> None:
    share = replace(RUN, shares=4)
    assert way_out(rest(share, PLENTY)) == (
        "Raise budget-usd (RATIBA_EVAL_BUDGET_USD) from $1.20 to about $2.63, or select fewer scenarios: "
        "the budget of this run has $0.01 left, and 3 scenarios need about $0.38."
    )


def test_without_an_amount_no_cap_is_named() -> None:
    assert way_out(rest(RUN, cost="0", count=1)) is None


def test_without_a_rest_there_is_nothing_to_do() -> None:
    assert way_out(rest(RUN, count=0)) is None
