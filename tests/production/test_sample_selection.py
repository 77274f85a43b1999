from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.production.conversation import Observation
from ratiba_action.production.sample_reading import Why, chosen

BEGAN = datetime(2026, 11, 22, 6, tzinfo=UTC)
IDS = st.sets(st.text("0123456789abcdef", min_size=32, max_size=32), max_size=30)
SHARES = st.floats(0, 1, allow_nan=False)


def root(trace: str, minutes: int = 0) -> Observation:
    return Observation(trace, "root", "", "conversation", BEGAN + timedelta(minutes=minutes))


def ids(traces: list[Observation], share: float, failed: set[str], disliked: set[str]) -> list[str]:
    return [one.trace_id for one in chosen(traces, share, failed, disliked)]


@given(IDS, SHARES, st.randoms(use_true_random=False))
def test_two_machines_choose_the_same_in_whatever_order_they_read(
    traces: set[str], share: float, random: object
) -> None:
    given_order = [root(one) for one in sorted(traces)]
    other_order = list(given_order)
    random.shuffle(other_order)  # type: ignore[attr-defined]
    assert ids(given_order, share, set(), set()) == ids(other_order, share, set(), set())


@given(IDS, SHARES, SHARES)
def test_a_larger_share_holds_all_that_a_smaller_one_holds(traces: set[str], one: float, other: float) -> None:
    roots = [root(each) for each in sorted(traces)]
    assert set(ids(roots, min(one, other), set(), set())) <= set(ids(roots, max(one, other), set(), set()))


@given(IDS, SHARES, st.data())
def test_every_error_and_every_negative_feedback_is_chosen_at_any_share(
    traces: set[str], share: float, data: st.DataObject
) -> None:
    some = st.sets(st.sampled_from(sorted(traces))) if traces else st.just(set[str]())
    failed, disliked = data.draw(some), data.draw(some)
    picked = {one.trace_id: one.why for one in chosen([root(one) for one in traces], share, failed, disliked)}
    assert {name for name, why in picked.items() if why is Why.NEGATIVE_FEEDBACK} == disliked
    assert {name for name, why in picked.items() if why is Why.ERROR} == failed - disliked


def test_the_share_of_many_is_near_what_was_asked_for() -> None:
    roots = [root(f"{number:032x}") for number in range(20_000)]
    # 5 % of 20,000 is 1,000 with a standard deviation of 31; the hash is fixed, so that this does not vary.
    assert abs(len(ids(roots, 0.05, set(), set())) - 1_000) < 124
    assert ids(roots, 0.0, set(), set()) == []
    assert len(ids(roots, 1.0, set(), set())) == 20_000


def test_what_customers_disliked_comes_first_and_then_the_errors_each_from_the_earliest() -> None:
    roots = [root("plain"), root("late_error", 9), root("early_error", 1), root("disliked", 5)]
    assert ids(roots, 1.0, {"late_error", "early_error"}, {"disliked", "of_yesterday"}) == [
        "of_yesterday",
        "disliked",
        "early_error",
        "late_error",
        "plain",
    ]
