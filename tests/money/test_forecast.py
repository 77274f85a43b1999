"""What a run is expected to cost, and what the budget would not hold."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.conversation import ModelCall, Party, Usage
from ratiba_action.money.budget import Limit
from ratiba_action.money.forecast import Expected, Forecast, without_paid

amounts = st.decimals(min_value=0, max_value=10, places=4)


def conversation(name: str, cost: str, maximum: str) -> Expected:
    half = Decimal(cost) / 2
    return Expected(name, {Party.SYSTEM: half, Party.JUDGE: half}, Decimal(maximum))


def budget(cap: str | Decimal) -> tuple[Limit, ...]:
    return (Limit("the budget of this run", Decimal(cap), Decimal(0)),)


def paid(scenario_id: str, party: Party, cost: str) -> ModelCall:
    return ModelCall(
        scenario_id=scenario_id,
        party=party,
        model="gpt",
        usage=Usage(),
        cost=Decimal(cost),
        list_price=Decimal(cost),
        replayed=False,
    )


def test_costs_are_added_by_party_and_the_dearest_call_counts_once() -> None:
    found = Forecast(budget("1"), (conversation("a", "0.10", "0.30"), conversation("b", "0.20", "0.25")))
    assert found.by_party == {Party.SYSTEM: Decimal("0.15"), Party.JUDGE: Decimal("0.15")}
    assert (found.cost, found.maximum) == (Decimal("0.30"), Decimal("0.50"))


def test_a_conversation_without_room_is_left_out_and_a_cheaper_one_behind_it_may_fit() -> None:
    conversations = (conversation("a", "0.2", "0.2"), conversation("b", "0.2", "0.9"), conversation("c", "0.1", "0.1"))
    assert Forecast(budget("0.3"), conversations).left_out == ("b",)
    assert Forecast(budget("1.2"), conversations).left_out == ()


def test_nothing_costs_nothing() -> None:
    empty = Forecast(budget("0"), ())
    assert empty.maximum == 0
    assert empty.left_out == ()


@given(st.lists(st.tuples(amounts, amounts), max_size=8), amounts)
def test_with_the_most_that_is_expected_none_is_left_out_and_what_fits_never_passes_the_cap(
    costs: list[tuple[Decimal, Decimal]], cap: Decimal
) -> None:
    conversations = tuple(
        Expected(str(number), {Party.JUDGE: cost}, cost + gap) for number, (cost, gap) in enumerate(costs)
    )
    found = Forecast(budget(cap), conversations)
    assert Forecast(budget(found.maximum), conversations).left_out == ()
    held = [one.cost for one in conversations if one.scenario_id not in found.left_out]
    assert sum(held) <= cap


def test_the_cap_with_the_least_left_binds() -> None:
    month = Limit("the budget of the month 2026-11", Decimal(300), Decimal("299.75"), setting="monthly-budget-usd")
    conversations = (conversation("a", "0.2", "0.2"), conversation("b", "0.2", "0.2"))
    found = Forecast((*budget("20"), month), conversations)
    assert found.binding is month
    assert found.left_out == ("b",)
    assert Forecast((*budget("0.1"), month), conversations).binding.name == "the budget of this run"


def test_what_an_earlier_process_paid_for_is_not_expected_again() -> None:
    whole = (conversation("a", "0.20", "0.50"), conversation("b", "0.20", "0.50"))
    calls = [paid("a", Party.SYSTEM, "0.30"), paid("a", Party.CROSS_CHECK, "9"), paid("b", Party.JUDGE, "0.04")]
    first, second = without_paid(whole, calls)
    assert first.by_party == {Party.SYSTEM: 0, Party.JUDGE: Decimal("0.10")}
    assert (first.cost, first.maximum) == (Decimal("0.10"), Decimal("0.40"))
    assert (second.cost, second.maximum) == (Decimal("0.16"), Decimal("0.46"))
    (done,) = without_paid(whole[:1], [paid("a", Party.SYSTEM, "0.1"), paid("a", Party.JUDGE, "0.1")])
    assert not done.cost
    assert not done.maximum


def test_of_several_trials_of_a_scenario_a_payment_is_taken_off_once() -> None:
    twice = (conversation("a", "0.20", "0.20"), conversation("a", "0.20", "0.20"))
    rest = without_paid(twice, [paid("a", Party.SYSTEM, "0.15")])
    assert sum(one.cost for one in rest) == Decimal("0.25")
