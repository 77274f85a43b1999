"""The ledger: no interleaving of calls makes the sum pass the cap, and nothing that was paid is hidden."""

from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from ratiba_action.diagnosis.delta_debugging import NoFurtherStepError, StepOutcome, attribute
from ratiba_action.errors import BudgetError
from ratiba_action.model.attribution import Finding
from ratiba_action.model.conversation import Party, Reservation, Usage
from ratiba_action.money.budget import Ledger

AMOUNTS = st.decimals(min_value=0, max_value=30, places=12)
PARTIES = st.sampled_from(list(Party))
MODELS = st.sampled_from(["claude-opus-5-5", "gpt-5.2"])
NO_TOKENS = Usage()


def reserve(ledger: Ledger, upper: str, party: Party = Party.SYSTEM, model: str = "gpt-5.2") -> Reservation:
    return ledger.reserve(party, "spa", model, Decimal(upper))


def test_a_settled_call_costs_what_it_cost_and_frees_the_rest_of_its_reservation() -> None:
    ledger = Ledger(Decimal(20))
    ledger.settle(reserve(ledger, "5"), Usage(10, 20), Decimal("1.25"))
    assert (ledger.spent, ledger.reserved) == (Decimal("1.25"), Decimal(0))
    (call,) = ledger.calls
    assert (call.usage, call.cost, call.list_price, call.replayed) == (
        Usage(10, 20),
        Decimal("1.25"),
        Decimal("1.25"),
        False,
    )


def test_a_call_that_might_pass_the_cap_is_refused_with_every_amount_and_a_remedy() -> None:
    ledger = Ledger(Decimal(20))
    ledger.settle(reserve(ledger, "15"), NO_TOKENS, Decimal("12.50"))
    reserve(ledger, "4.50")
    with pytest.raises(BudgetError) as caught:
        reserve(ledger, "3.000000000001", Party.JUDGE, "claude-opus-5-5")
    for part in ("judge", "claude-opus-5-5", "'spa'", "$3.0001", "$12.50", "$4.50", "$20.00"):
        assert part in caught.value.problem
    assert "RATIBA_EVAL_BUDGET_USD" in caught.value.remedy
    assert ledger.reserved == Decimal("4.50")


def test_a_call_that_just_fits_is_let_through() -> None:
    ledger = Ledger(Decimal("0.3"))
    for _ in range(3):
        reserve(ledger, "0.1")
    assert ledger.reserved == Decimal("0.3")


def test_a_cap_of_nothing_refuses_every_paid_call() -> None:
    with pytest.raises(BudgetError):
        reserve(Ledger(Decimal(0)), "0.000000000001")


def test_a_call_that_timed_out_is_spent_in_full() -> None:
    ledger = Ledger(Decimal(20))
    ledger.keep(reserve(ledger, "2"))
    assert (ledger.spent, ledger.reserved, ledger.snapshot().live_calls) == (Decimal(2), Decimal(0), 1)


def test_a_call_that_the_provider_refused_costs_nothing_and_is_no_call() -> None:
    ledger = Ledger(Decimal(20))
    ledger.release(reserve(ledger, "20"))
    assert (ledger.spent, ledger.reserved, ledger.calls) == (Decimal(0), Decimal(0), ())


@pytest.mark.parametrize("first", ["settle", "keep", "release"])
@pytest.mark.parametrize("second", ["settle", "keep", "release"])
def test_a_reservation_is_closed_exactly_once(first: str, second: str) -> None:
    ledger = Ledger(Decimal(20))
    reservation = reserve(ledger, "2")
    ways = {
        "settle": lambda: ledger.settle(reservation, NO_TOKENS, Decimal(1)),
        "keep": lambda: ledger.keep(reservation),
        "release": lambda: ledger.release(reservation),
    }
    ways[first]()
    before = ledger.snapshot()
    with pytest.raises(ValueError, match="was closed before"):
        ways[second]()
    assert ledger.snapshot() == before
    assert ledger.reserved == 0


def test_another_ledgers_reservation_is_refused() -> None:
    mine, other = Ledger(Decimal(20)), Ledger(Decimal(20))
    foreign = reserve(other, "2")
    reserve(mine, "2")
    with pytest.raises(ValueError, match="another ledger"):
        mine.settle(foreign, NO_TOKENS, Decimal(1))
    assert mine.reserved == 2


def test_a_cost_above_its_reservation_is_counted_in_full_and_reported() -> None:
    ledger = Ledger(Decimal(2))
    ledger.settle(reserve(ledger, "1"), NO_TOKENS, Decimal(3))
    assert ledger.spent == 3
    (breach,) = ledger.breaches
    assert "cost $3.00, reserved were $1.00" in breach
    with pytest.raises(BudgetError):
        reserve(ledger, "0.000000000001")


@pytest.mark.parametrize("amount", ["-1", "NaN", "sNaN", "Infinity", "-Infinity", "1E-13", "1E+12"])
def test_an_amount_that_is_not_exact_is_refused_everywhere(amount: str) -> None:
    ledger = Ledger(Decimal(20))
    reservation = reserve(ledger, "2")
    with pytest.raises(BudgetError, match="cap"):
        Ledger(Decimal(amount))
    with pytest.raises(BudgetError, match="upper bound"):
        reserve(ledger, amount)
    with pytest.raises(BudgetError, match="cost"):
        ledger.settle(reservation, NO_TOKENS, Decimal(amount))
    with pytest.raises(BudgetError, match="price of a call"):
        ledger.record_replayed(Party.SYSTEM, "spa", "gpt-5.2", NO_TOKENS, Decimal(amount))
    assert (ledger.spent, ledger.reserved) == (Decimal(0), Decimal(2))


def test_replayed_calls_and_cache_hits_are_counted_and_cost_nothing() -> None:
    ledger = Ledger(Decimal(0))
    ledger.record_replayed(Party.SYSTEM, "spa", "gpt-5.2", Usage(5, 5), Decimal("0.40"))
    ledger.record_replayed(Party.JUDGE, "spa", "claude-opus-5-5", Usage(5, 5), Decimal("0.10"))
    ledger.count_cache_hit()
    spending = ledger.snapshot()
    assert (spending.spent, spending.list_price) == (Decimal(0), Decimal("0.50"))
    assert (spending.live_calls, spending.replayed_calls, spending.cache_hits) == (0, 2, 1)
    assert spending.by_party == {"system": Decimal(0), "judge": Decimal(0)}


def test_a_resumed_ledger_counts_what_was_paid_before_even_above_its_cap() -> None:
    before = Ledger(Decimal(20))
    before.settle(reserve(before, "5", Party.JUDGE), Usage(1, 1), Decimal("1.25"))
    before.keep(reserve(before, "2"))
    after = Ledger(Decimal(3))
    after.carry_on(before.calls, last_number=2)
    assert (after.spent, after.snapshot().by_party) == (Decimal("3.25"), before.snapshot().by_party)
    with pytest.raises(BudgetError):
        reserve(after, "0.000000000001")


def test_a_resumed_ledger_goes_on_with_the_numbers() -> None:
    ledger = Ledger(Decimal(20))
    ledger.carry_on([], last_number=7)
    assert reserve(ledger, "1").number == 8


def test_a_ledger_that_was_used_carries_on_no_other() -> None:
    ledger = Ledger(Decimal(20))
    reserve(ledger, "1")
    with pytest.raises(ValueError, match="was used"):
        ledger.carry_on([], last_number=7)


def test_whether_waiting_for_calls_in_flight_can_help() -> None:
    ledger = Ledger(Decimal(2))
    ledger.keep(reserve(ledger, "1"))
    reserve(ledger, "1")
    assert ledger.could_fit(Decimal(1))
    assert not ledger.could_fit(Decimal("1.000000000001"))
    assert not ledger.could_fit(Decimal("NaN"))


def test_what_a_scenario_cost_is_known_by_party() -> None:
    ledger = Ledger(Decimal(20))
    ledger.keep(reserve(ledger, "2"))
    ledger.keep(reserve(ledger, "1", Party.CROSS_CHECK))
    assert ledger.spent_on("spa") == Decimal(3)
    assert ledger.spent_on("spa", without=Party.CROSS_CHECK) == Decimal(2)
    assert ledger.spent_on("restaurant") == Decimal(0)


@given(st.lists(AMOUNTS, max_size=60))
def test_a_sum_is_exact_whatever_the_order(costs: list[Decimal]) -> None:
    totals = []
    for order in (costs, costs[::-1]):
        ledger = Ledger(Decimal(10_000))
        for cost in order:
            ledger.settle(reserve(ledger, "30"), NO_TOKENS, cost)
        totals.append(ledger.spent)
    grains = sum(int(cost.scaleb(12)) for cost in costs)
    assert totals[0] == totals[1]
    assert int(totals[0].scaleb(12)) == grains


class LedgerUnderAnyInterleaving(RuleBasedStateMachine):
    """Calls are reserved, settled, kept and released in any order; the model keeps its books in whole grains."""

    pending: Bundle[Reservation] = Bundle("pending")

    @initialize(cap=AMOUNTS)
    def open_ledger(self, cap: Decimal) -> None:
        self.ledger = Ledger(cap)
        self.spent = 0
        self.reserved = 0

    @rule(target=pending, party=PARTIES, model=MODELS, upper=AMOUNTS)
    def reserve(self, party: Party, model: str, upper: Decimal) -> Reservation | MultipleResults[Reservation]:
        fits = self.spent + self.reserved + grains(upper) <= grains(self.ledger.cap)
        try:
            reservation = self.ledger.reserve(party, "spa", model, upper)
        except BudgetError:
            assert not fits
            return multiple()
        assert fits
        self.reserved += grains(upper)
        return reservation

    @rule(reservation=consumes(pending), share=st.integers(0, 1000))
    def settle(self, reservation: Reservation, share: int) -> None:
        cost = Decimal(grains(reservation.upper) * share // 1000).scaleb(-12)
        self.ledger.settle(reservation, Usage(1, 1), cost)
        self.reserved -= grains(reservation.upper)
        self.spent += grains(cost)

    @rule(reservation=consumes(pending))
    def keep(self, reservation: Reservation) -> None:
        self.ledger.keep(reservation)
        self.reserved -= grains(reservation.upper)
        self.spent += grains(reservation.upper)

    @rule(reservation=consumes(pending))
    def release(self, reservation: Reservation) -> None:
        self.ledger.release(reservation)
        self.reserved -= grains(reservation.upper)

    @rule(party=PARTIES, model=MODELS, price=AMOUNTS)
    def replay(self, party: Party, model: str, price: Decimal) -> None:
        self.ledger.record_replayed(party, "spa", model, Usage(1, 1), price)

    @invariant()
    def never_passes_the_cap(self) -> None:
        assert self.ledger.spent + self.ledger.reserved <= self.ledger.cap
        assert not self.ledger.breaches

    @invariant()
    def keeps_exact_books(self) -> None:
        assert (grains(self.ledger.spent), grains(self.ledger.reserved)) == (self.spent, self.reserved)

    @invariant()
    def parts_equal_the_total(self) -> None:
        spending = self.ledger.snapshot()
        assert sum(spending.by_party.values()) == sum(spending.by_model.values()) == spending.spent
        assert spending.live_calls + spending.replayed_calls == len(self.ledger.calls)


def grains(amount: Decimal) -> int:
    return int(amount.scaleb(12))


TestLedgerUnderAnyInterleaving = LedgerUnderAnyInterleaving.TestCase


SMALL_AMOUNTS = st.decimals(0, 5, places=4)


@given(
    SMALL_AMOUNTS,
    st.lists(st.tuples(SMALL_AMOUNTS, st.floats(0, 1), st.sampled_from(["settle", "keep", "kill"])), max_size=40),
    SMALL_AMOUNTS,
)
def test_the_runs_of_an_attribution_never_pass_their_limit_or_the_cap(
    before: Decimal, calls: list[tuple[Decimal, float, str]], limit: Decimal
) -> None:
    """Random prices, calls whose cost is unknown, and a process that ends between reservation and settlement."""
    ledger = Ledger(Decimal(10))
    ledger.settle(ledger.reserve(Party.SYSTEM, "a", "m", before), Usage(1, 1), before)
    left = iter(calls)

    def outcome(subset: frozenset[int]) -> StepOutcome:
        upper, share, end = next(left, (Decimal(0), 0.0, "settle"))
        try:
            reservation = ledger.reserve(Party.SYSTEM, "a", "m", upper)
        except BudgetError as error:
            raise NoFurtherStepError("its budget was spent") from error
        assert ledger.spent + ledger.reserved <= min(before + limit, ledger.cap)
        if end == "kill":
            raise KeyboardInterrupt
        if end == "keep":
            ledger.keep(reservation)
        else:
            ledger.settle(reservation, Usage(1, 1), (upper * Decimal(str(round(share, 3)))).quantize(Decimal("0.0001")))
        return StepOutcome.FAILS if {1, 4} <= subset else StepOutcome.PASSES

    with suppress(KeyboardInterrupt), ledger.limited_to(limit):
        found = attribute(6, outcome)
        if found.finding is Finding.FOUND:
            assert found.parts == (1, 4)
        else:
            assert found.finding is Finding.ONE_OF
            assert {1, 4} <= set(found.parts)
    assert ledger.spent + ledger.reserved <= min(before + limit, ledger.cap)
    assert ledger.allowed == ledger.cap
    assert ledger.could_fit(ledger.cap - ledger.spent)


@pytest.mark.parametrize(("amount", "aside"), [("0", "0"), ("4", "4"), ("10", "10"), ("25", "10")])
def test_what_is_set_aside_is_not_spent_and_leaves_at_least_nothing(amount: str, aside: str) -> None:
    ledger = Ledger(Decimal(10))
    ledger.set_aside(Decimal(amount))
    assert (ledger.cap, ledger.spent, ledger.aside) == (Decimal(10), Decimal(0), Decimal(aside))
    left = Decimal(10) - Decimal(aside)
    assert ledger.allowed == left
    ledger.release(ledger.reserve(Party.SYSTEM, "s1", "gpt-5", left))
    with pytest.raises(BudgetError):
        ledger.reserve(Party.SYSTEM, "s1", "gpt-5", left + Decimal("0.01"))
