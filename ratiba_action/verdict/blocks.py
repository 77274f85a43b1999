"""The order of further trials: base and head by turns, so that what a minute does to a provider is done to both.

Pairs of trials, of one scenario on both arms, run in blocks: those of one arm, then those of the other. The arm that
begins changes from block to block (ABBA), which takes a linear trend out. Which arm begins each pair of blocks, and
which scenarios stand in which block, is drawn (randomised blocks: Fisher 1935, chapter 4).
"""

from collections import defaultdict
from collections.abc import Sequence

from ratiba_action.model.canonical import digest
from ratiba_action.model.plan import BASE, Plan, Trial


def in_blocks(plan: Plan, size: int, seed: str) -> tuple[Plan, ...]:
    """The plan in parts that run one after the other, each of one arm.

    The first part is the base's. Trials that have none of the other arm beside them stay in one part of their arm.

    Args:
        plan: trials of both arms, as many of each scenario on either.
        size: pairs of a block.
        seed: the same seed gives the same order.
    """
    pairs = _pairs(plan)
    if any(len(arms) < 2 for arms in pairs):  # noqa: PLR2004 - base and head
        of_base = tuple(trial for trial in plan.trials if trial.arm.name == BASE)
        own = tuple(trial for trial in plan.trials if trial.arm.name != BASE)
        return tuple(Plan(trials) for trials in (of_base, own) if trials)
    pairs.sort(key=lambda pair: digest([seed, pair[0].scenario.id, pair[0].number]))
    parts: list[list[Trial]] = []
    base_first = True
    for number, start in enumerate(range(0, len(pairs), size)):
        if number % 2 == 0 and number:
            base_first = int(digest([seed, number]), 16) % 2 == 0
        block = pairs[start : start + size]
        order = (0, 1) if base_first else (1, 0)
        for arm in order:
            trials = [pair[arm] for pair in block]
            if parts and parts[-1][0].arm.name == trials[0].arm.name:
                parts[-1] += trials
            else:
                parts.append(trials)
        base_first = not base_first
    return tuple(Plan(tuple(trials)) for trials in parts)


def _pairs(plan: Plan) -> list[Sequence[Trial]]:
    """The trials of each scenario on both arms, the base's first, the n-th of one with the n-th of the other."""
    arms: defaultdict[str, tuple[list[Trial], list[Trial]]] = defaultdict(lambda: ([], []))
    for trial in plan.trials:
        arms[trial.scenario.id][trial.arm.name != BASE].append(trial)
    return [
        [side[number] for side in both if number < len(side)]
        for both in arms.values()
        for number in range(max(map(len, both)))
    ]
