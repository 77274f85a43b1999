"""Which trials a run begins with: where answers are recorded, every recorded trial is one."""

from collections.abc import Mapping

from ratiba_action.model.plan import BASE, Arm, Plan, Trial


def with_recorded(plan: Plan, head: Mapping[str, int], base: Mapping[str, int]) -> Plan:
    """A plan of the head's trials with all that are recorded, and those of the base that they are compared with.

    A scenario that is compared has as many trials on both sides, so that no further trial of one side is left alone.

    Args:
        plan: trials of the head that must be held in any case.
        head: how many trials of each scenario are recorded, by its id.
        base: the same of the base, for the scenarios that are held there too; empty where it is not run.
    """
    least: dict[str, list[Trial]] = {}
    for trial in plan.trials:
        least.setdefault(trial.scenario.id, []).append(trial)
    both = possible_trials(head, base)
    own: list[Trial] = []
    other: list[Trial] = []
    for name, trials in least.items():
        count = max(len(trials), both.get(name, head.get(name, 1)))
        held = [Trial(trials[0].scenario, trials[0].arm, number) for number in range(count)]
        own += held
        compared = held[: base[name]] if name in base else []
        other += [Trial(trial.scenario, Arm(BASE, ""), trial.number) for trial in compared]
    return Plan((*own, *other))


def possible_trials(head: Mapping[str, int], base: Mapping[str, int]) -> dict[str, int]:
    """How many trials of each scenario can be held on both sides, the first one included.

    Args:
        head: how many there can be on the head, by scenario id.
        base: the same of the base.
    """
    return {name: min(count, base[name]) for name, count in head.items() if name in base}
