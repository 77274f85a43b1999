"""Which trials may start, and when the cross-check is given up: never more promised than is left."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.money.budget import BudgetStep, Limit, Running, admit, cross_check_refusal

AMOUNTS = st.integers(0, 10**13).map(lambda grains: Decimal(grains).scaleb(-12))
RUNNING = st.builds(Running, envelope=AMOUNTS, spent=AMOUNTS)
LIMITS = st.builds(Limit, name=st.just("the budget"), cap=AMOUNTS, spent=AMOUNTS, reserved=AMOUNTS)


def limit(cap: str, spent: str = "0", reserved: str = "0", name: str = "the budget of this run") -> Limit:
    return Limit(name, Decimal(cap), Decimal(spent), Decimal(reserved))


def running(envelope: str, spent: str = "0") -> Running:
    return Running(Decimal(envelope), Decimal(spent))


@pytest.mark.parametrize(
    ("budget", "trials", "estimate", "step"),
    [
        (limit("0.30"), [], "0.30", BudgetStep.START),
        (limit("0.30"), [], "0.31", BudgetStep.REFUSE),
        (limit("0.30"), [running("0.10"), running("0.10")], "0.10", BudgetStep.START),
        (limit("0.30"), [running("0.10"), running("0.15")], "0.10", BudgetStep.WAIT),
        (limit("0.30", "0.15"), [running("0.20", "0.15")], "0.10", BudgetStep.START),
        (limit("0.30", "0.15"), [running("0.20", "0.15")], "0.11", BudgetStep.WAIT),
        (limit("0.30", "0.21"), [running("0.20", "0.15")], "0.10", BudgetStep.REFUSE),
        (limit("0.30", "0.10"), [running("0.05", "0.10")], "0.20", BudgetStep.START),
        (limit("0.30", "0.00", "0.25"), [running("0.10")], "0.10", BudgetStep.WAIT),
        (limit("0.30", "0.00", "0.25"), [], "0.10", BudgetStep.START),
        (limit("0"), [], "0", BudgetStep.START),
        (limit("0.30", "0.40"), [], "0", BudgetStep.REFUSE),
    ],
    ids=[
        "alone and it just fits",
        "alone and it never fits",
        "beside others and it just fits",
        "others may turn out cheaper",
        "what others have spent is not counted twice",
        "a cent more has to wait",
        "waiting cannot help",
        "one that cost more than expected promises nothing more",
        "calls in flight count where they are more than what was promised",
        "calls in flight without a trial are waited for by the calls themselves",
        "what costs nothing runs without money",
        "after a breach nothing starts",
    ],
)
def test_a_trial_starts_waits_or_is_refused(
    budget: Limit, trials: list[Running], estimate: str, step: BudgetStep
) -> None:
    assert admit([budget], trials, Decimal(estimate)).step is step


def test_every_limit_must_hold_and_a_refusal_goes_before_a_wait() -> None:
    run, month = limit("0.30"), limit("300", "299.95", name="the budget of the month 2026-11")
    assert admit([run, month], [running("0.25")], Decimal("0.10")).step is BudgetStep.REFUSE
    assert admit([run], [running("0.25")], Decimal("0.10")).step is BudgetStep.WAIT


def test_a_refusal_says_what_was_missing_where() -> None:
    month = limit("300", "299.95", name="the budget of the month 2026-11")
    reason = admit([limit("20"), month], [], Decimal("0.10")).reason
    assert reason == "it may cost $0.10, and the budget of the month 2026-11 has $0.05 left of $300.00"


def test_what_is_left_below_one_cent_is_not_nothing() -> None:
    reason = admit([limit("0.0042", "0.0011")], [], Decimal("0.0051")).reason
    assert reason == "it may cost $0.0051, and the budget of this run has $0.0031 left of $0.0042"


def test_the_cross_check_goes_on_while_it_leaves_enough_for_every_scenario() -> None:
    budget = limit("0.30", "0.05")
    trials = [running("0.10", "0.05")]
    waiting = [Decimal("0.10"), Decimal("0.05")]
    assert cross_check_refusal([budget], trials, waiting, Decimal("0.05")) == ""
    assert "may need $0.15" in cross_check_refusal([budget], trials, waiting, Decimal("0.06"))


def test_the_cross_check_is_given_up_from_the_start_when_the_work_is_worth_more_than_the_cap() -> None:
    refusal = cross_check_refusal([limit("0.30")], [], [Decimal("0.10")] * 10)
    assert refusal == ("the budget of this run has $0.30 left of $0.30, and the scenarios that wait may need $1.00")


@given(st.lists(LIMITS, min_size=1, max_size=3), st.lists(RUNNING, max_size=5), AMOUNTS)
def test_what_is_let_start_fits_beside_everything_that_runs(
    limits: list[Limit], trials: list[Running], estimate: Decimal
) -> None:
    admission = admit(limits, trials, estimate)
    promised = sum((trial.remaining for trial in trials), Decimal(0))
    fits = all(one.spent + (max(promised, one.reserved) if trials else 0) + estimate <= one.cap for one in limits)
    assert (admission.step is BudgetStep.START) == fits
    assert (admission.reason == "") == fits


@given(st.lists(LIMITS, min_size=1, max_size=3), st.lists(RUNNING, max_size=5), AMOUNTS)
def test_a_trial_waits_only_for_trials_that_run(limits: list[Limit], trials: list[Running], estimate: Decimal) -> None:
    if admit(limits, trials, estimate).step is BudgetStep.WAIT:
        assert trials
        assert admit([Limit(one.name, one.cap, one.spent) for one in limits], [], estimate).step is BudgetStep.START
