"""Further trials of base and head run by turns, in blocks."""

from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.plan import BASE, HEAD, Arm, Plan, Trial
from ratiba_action.verdict.blocks import in_blocks
from tests.support.sample_report import sample_scenario

ARMS = (Arm(HEAD, "head"), Arm(BASE, "base"))


def plan(scenarios: int, steps: int = 1) -> Plan:
    return Plan(
        tuple(
            Trial(scenario, arm, 1 + step)
            for scenario in (sample_scenario(f"s{number:03}") for number in range(scenarios))
            for step in range(steps)
            for arm in ARMS
        )
    )


def places(part: Plan) -> list[tuple[str, int]]:
    return [(trial.scenario.id, trial.number) for trial in part.trials]


@given(st.integers(1, 60), st.integers(1, 3), st.integers(1, 20), st.text(max_size=5))
def test_every_trial_runs_once_each_part_on_one_arm_and_no_block_later_than_its_other_arm(
    scenarios: int, steps: int, size: int, seed: str
) -> None:
    given_plan = plan(scenarios, steps)
    parts = in_blocks(given_plan, size, seed)
    ran = [trial for part in parts for trial in part.trials]
    assert Counter((trial.scenario.id, trial.number, trial.arm.name) for trial in ran) == Counter(
        (trial.scenario.id, trial.number, trial.arm.name) for trial in given_plan.trials
    )
    assert all(len({trial.arm.name for trial in part.trials}) == 1 for part in parts)
    assert parts[0].trials[0].arm.name == BASE
    at = {(trial.scenario.id, trial.number, trial.arm.name): place for place, trial in enumerate(ran)}
    assert all(
        abs(at[trial.scenario.id, trial.number, HEAD] - at[trial.scenario.id, trial.number, BASE]) <= 3 * size
        for trial in ran
    ), "the two trials of a pair are never further apart than two neighbouring blocks"


def test_the_arm_that_begins_changes_and_the_seed_decides_the_rest() -> None:
    parts = in_blocks(plan(40), 4, "a")
    assert [(part.trials[0].arm.name, len(part.trials)) for part in parts[:2]] == [(BASE, 4), (HEAD, 8)]
    assert all(first.trials[0].arm.name != second.trials[0].arm.name for first, second in pairwise(parts))
    assert list(map(places, parts)) == list(map(places, in_blocks(plan(40), 4, "a")))
    assert list(map(places, parts)) != list(map(places, in_blocks(plan(40), 4, "b")))
    starts = {tuple(part.trials[0].arm.name for part in in_blocks(plan(40), 4, str(seed))) for seed in range(20)}
    assert len({len(order) for order in starts}) > 1, "which arm begins is drawn"


def test_trials_of_one_arm_stay_together_and_arms_are_never_mixed() -> None:
    own = Plan(tuple(trial for trial in plan(20).trials if trial.arm.name == HEAD))
    assert in_blocks(own, 4, "a") == (own,)
    uneven = Plan(plan(20).trials[:-1])
    base, head = in_blocks(uneven, 4, "a")
    assert {trial.arm.name for trial in base.trials} == {BASE}
    assert {trial.arm.name for trial in head.trials} == {HEAD}
