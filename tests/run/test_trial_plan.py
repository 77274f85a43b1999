from ratiba_action.model.conversation import Party, payer
from ratiba_action.model.plan import BASE, HEAD, Arm, Plan, Trial
from ratiba_action.run.arms import possible_trials, with_recorded
from tests.support.sample_report import sample_scenario

OURS = Arm(HEAD, "checkout")


def held(plan: Plan, arm: str) -> list[tuple[str, int]]:
    return [(trial.scenario.id, trial.number) for trial in plan.trials if trial.arm.name == arm]


def one_each(*names: str) -> Plan:
    return Plan(tuple(Trial(sample_scenario(name), OURS) for name in names))


def test_every_recorded_trial_is_held_and_both_sides_have_as_many() -> None:
    plan = with_recorded(one_each("a", "b"), {"a": 3, "b": 1}, {"a": 2, "b": 4})
    assert held(plan, HEAD) == [("a", 0), ("a", 1), ("b", 0)]
    assert held(plan, BASE) == [("a", 0), ("a", 1), ("b", 0)]


def test_a_scenario_that_the_base_does_not_have_is_held_as_often_as_it_is_recorded() -> None:
    plan = with_recorded(one_each("a", "new"), {"a": 1, "new": 2}, {"a": 1})
    assert held(plan, HEAD) == [("a", 0), ("new", 0), ("new", 1)]
    assert held(plan, BASE) == [("a", 0)]


def test_trials_that_a_strategy_asks_for_are_held_whatever_the_base_has() -> None:
    plan = Plan(tuple(Trial(sample_scenario("a"), OURS, number) for number in range(3)))
    reported = with_recorded(plan, {"a": 3}, {"a": 1})
    assert held(reported, HEAD) == [("a", 0), ("a", 1), ("a", 2)]
    assert held(reported, BASE) == [("a", 0)]


def test_the_head_comes_first_and_nothing_is_asked_of_a_base_that_is_not_run() -> None:
    assert [one.arm.name for one in with_recorded(one_each("a", "b"), {}, {"a": 1, "b": 1}).trials] == [
        HEAD,
        HEAD,
        BASE,
        BASE,
    ]
    assert with_recorded(one_each("a"), {"a": 1}, {}) == one_each("a")


def test_possible_trials_are_those_that_both_sides_hold() -> None:
    assert possible_trials({"a": 3, "new": 2}, {"a": 2, "gone": 5}) == {"a": 2}


def test_all_that_the_base_asks_for_is_the_baselines_but_its_cross_checks() -> None:
    booked = {party: payer(party, BASE) for party in Party}
    assert booked.pop(Party.CROSS_CHECK) is Party.CROSS_CHECK
    assert set(booked.values()) == {Party.BASELINE}
    assert all(payer(party, HEAD) is party for party in Party)
