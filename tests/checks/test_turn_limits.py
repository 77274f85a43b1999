from dataclasses import replace
from decimal import Decimal

import pytest

from ratiba_action.checks.checks import check_transcript, limits_not_measured
from ratiba_action.model.measurement import Check, Scored
from ratiba_action.model.plan import Arm, Trial
from ratiba_action.model.scenario import TurnLimits
from ratiba_action.model.values import Usd
from ratiba_action.verdict.trials import is_measured
from tests.support.cases import case, exchange


def _check(limits: TurnLimits, seconds: float = 0.0, usd: Usd | None = None, *, replayed: bool = False) -> Check:
    one = case(replace(exchange("a", "b"), seconds=seconds, usd=usd, replayed=replayed))
    (check,) = check_transcript(replace(one.scenario, limits=limits), one.transcript)
    return check


@pytest.mark.parametrize(("seconds", "held"), [(1.99, True), (2.0, True), (2.01, False)])
def test_a_live_turn_may_take_so_many_seconds(seconds: float, *, held: bool) -> None:
    check = _check(TurnLimits(seconds=2.0), seconds)
    assert (check.kind, check.turn, check.passed, check.measured) == ("limit", 1, held, True)


def test_a_replayed_turn_says_nothing_about_seconds() -> None:
    check = _check(TurnLimits(seconds=2.0), 0.001, replayed=True)
    assert (check.passed, check.measured) == (True, False)
    assert check.got == "not measured: a recording or a script answered"


@pytest.mark.parametrize(("usd", "held"), [("0.01", True), ("0.0100001", False)])
def test_a_turn_may_cost_so_much_at_list_prices_replayed_too(usd: str, *, held: bool) -> None:
    check = _check(TurnLimits(usd=Decimal("0.01")), usd=Decimal(usd), replayed=True)
    assert (check.passed, check.measured) == (held, True)


def test_a_turn_whose_answers_have_no_price_is_not_measured() -> None:
    check = _check(TurnLimits(usd=Decimal("0.01")), usd=None)
    assert (check.passed, check.measured) == (True, False)


def test_a_scenario_of_which_nothing_was_measured_never_counts_as_measured() -> None:
    one = case(exchange("a", "b"))
    result = Scored(
        Trial(one.scenario, Arm("head", ".")),
        one.transcript,
        (_check(TurnLimits(seconds=2.0), replayed=True),),
        (),
        seconds=0.1,
    )
    assert not is_measured(result)
    assert limits_not_measured([result]) == ("1 limit of a turn was not measured: recordings or scripts answered.",)
    measured = replace(result, checks=(_check(TurnLimits(seconds=2.0)),))
    assert (is_measured(measured), limits_not_measured([measured])) == (True, ())
