"""What is said about the cost of a run before anything is paid."""

from dataclasses import replace
from decimal import Decimal

from ratiba_action.model.conversation import Party
from ratiba_action.money.budget import Limit
from ratiba_action.money.forecast import Expected, Forecast
from ratiba_action.reporting.money_facts import forecast_lines, log_forecast

COSTS = {Party.SYSTEM: Decimal("0.10"), Party.JUDGE: Decimal("0.30")}


def forecast(count: int, cap: str) -> Forecast:
    conversations = tuple(Expected(f"spa_{number:02}", COSTS, Decimal("0.50")) for number in range(count))
    return Forecast((Limit("the budget of this run", Decimal(cap), Decimal(0)),), conversations)


def test_costs_parties_budget_and_that_all_fit_are_reported_in_one_line() -> None:
    expected = (
        "Expected to cost USD 0.80 (judge 0.60, system 0.20), at most USD 0.90, of the budget of this run (USD 20.00); "
    )
    assert forecast_lines(forecast(2, "20")) == (f"{expected}all 2 scenarios are expected to fit.",)
    assert forecast_lines(forecast(1, "20"))[0].endswith("; it is expected to fit.")


def test_what_would_not_fit_is_said_first() -> None:
    first, second = forecast_lines(forecast(3, "0.91"))
    assert first == "The budget of this run (USD 0.91) should cover 2 of 3 scenarios; it may not cover spa_02."
    assert second.endswith("of the budget of this run (USD 0.91).")


def test_of_many_that_would_not_fit_ten_are_named() -> None:
    first = forecast_lines(forecast(14, "0.50"))[0]
    assert "1 of 14 scenarios; it may not cover spa_01, " in first
    assert first.endswith("spa_10 and 3 more.")


def test_a_run_that_asks_models_only_as_needed_says_so() -> None:
    (line,) = forecast_lines(replace(forecast(2, "20"), as_needed=True))
    assert line.startswith("Costs nothing while every recording fits; if models are called, expected to cost USD 0.80")


def test_a_forecast_without_recorded_costs_says_so() -> None:
    assert (
        "the cost of its own calls is not included"
        in forecast_lines(replace(forecast(2, "20"), system_known=False))[-1]
    )


def test_only_a_run_that_asks_models_for_everything_notes_what_will_not_fit() -> None:
    for as_needed, notes in ((False, 1), (True, 0)):
        reported: list[str] = []
        warned: list[str] = []
        log_forecast(replace(forecast(3, "0.91"), as_needed=as_needed), reported.append, warned.append)
        assert len(reported) == 2
        assert warned == reported[:notes]


def test_the_cap_that_binds_is_named_with_what_is_left_of_it() -> None:
    month = Limit("the budget of the month 2026-11", Decimal(300), Decimal("299.09"))
    run = forecast(3, "20")
    first, second = forecast_lines(replace(run, limits=(*run.limits, month)))
    left = "what is left of the budget of the month 2026-11 (USD 0.91 of 300.00)"
    assert first == f"W{left[1:]} should cover 2 of 3 scenarios; it may not cover spa_02."
    assert second.endswith(f"of {left}.")


def test_a_resumed_run_is_compared_with_what_its_journal_left() -> None:
    resumed = replace(forecast(3, "20"), limits=(Limit("the budget of this run", Decimal(2), Decimal("1.50")),))
    assert "left of the budget of this run (USD 0.50 of 2.00)" in forecast_lines(resumed)[0]
