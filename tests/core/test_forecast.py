"""What a run is expected to cost, and what the budget would not hold."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.core.forecast import Expected, Forecast
from ratiba_action.core.model.conversation import Party

amounts = st.decimals(min_value=0, max_value=10, places=4)


def conversation(name: str, cost: str, most: str) -> Expected:
    half = Decimal(cost) / 2
    return Expected(name, {Party.SYSTEM: half, Party.JUDGE: half}, Decimal(most))


def test_costs_are_added_by_party_and_the_dearest_call_counts_once() -> None:
    found = Forecast(Decimal(1), (conversation("a", "0.10", "0.30"), conversation("b", "0.20", "0.25")))
    assert found.by_party == {Party.SYSTEM: Decimal("0.15"), Party.JUDGE: Decimal("0.15")}
    assert (found.cost, found.most) == (Decimal("0.30"), Decimal("0.50"))


def test_a_conversation_without_room_is_left_out_and_a_cheaper_one_behind_it_may_fit() -> None:
    conversations = (conversation("a", "0.2", "0.2"), conversation("b", "0.2", "0.9"), conversation("c", "0.1", "0.1"))
    assert Forecast(Decimal("0.3"), conversations).left_out == ("b",)
    assert Forecast(Decimal("1.2"), conversations).left_out == ()


def test_nothing_costs_nothing() -> None:
    empty = Forecast(Decimal(0), ())
    assert empty.most == 0
    assert empty.left_out == ()


@given(st.lists(st.tuples(amounts, amounts), max_size=8), amounts)
def test_with_the_most_that_is_expected_none_is_left_out_and_what_fits_never_passes_the_cap(
    costs: list[tuple[Decimal, Decimal]], cap: Decimal
) -> None:
    conversations = tuple(
        Expected(str(number), {Party.JUDGE: cost}, cost + gap) for number, (cost, gap) in enumerate(costs)
    )
    found = Forecast(cap, conversations)
    assert Forecast(found.most, conversations).left_out == ()
    held = [one.cost for one in conversations if one.scenario_id not in found.left_out]
    assert sum(held) <= cap
