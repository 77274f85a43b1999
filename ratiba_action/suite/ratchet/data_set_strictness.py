"""What a change may not relax about a data set: its gates, and what every row of it was held to."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ratiba_action.model.data_set import DataSet, Gate
from ratiba_action.model.scenario import Assertion, Quarantine, Scenario, Suite

_NAMED = 3


def row_floors(base: Suite) -> Mapping[str, Scenario]:
    """By the id of each data set, what all of its rows are held to: a new or renamed row is held to it too."""
    rows: dict[str, list[Scenario]] = {}
    for scenario in base.scenarios:
        if scenario.data_set:
            rows.setdefault(scenario.data_set, []).append(scenario)
    return {name: _common(found) for name, found in rows.items()}


def _common(rows: Sequence[Scenario]) -> Scenario:
    """A row with the least thresholds, and only the metrics, rules and marks that all rows have."""
    count = Counter(entry.label for row in rows for entry in row.assertions)
    least: dict[str, Assertion] = {}
    for entry in (entry for row in rows for entry in row.assertions if count[entry.label] == len(rows)):
        earlier = least.setdefault(entry.label, entry)
        least[entry.label] = min(earlier, entry, key=lambda one: one.threshold)
    rules = Counter((rule.type, repr(rule.value)) for row in rows for rule in row.rules)
    return replace(
        rows[0],
        id="",
        assertions=tuple(least.values()),
        rules=tuple(rule for rule in rows[0].rules if rules[rule.type, repr(rule.value)] >= len(rows)),
        critical=all(row.critical for row in rows),
        quarantine=_common_quarantine([row.quarantine for row in rows]),
    )


def _common_quarantine(rows: Sequence[Quarantine | None]) -> Quarantine | None:
    """The shortest, where all rows have one."""
    granted = [quarantine for quarantine in rows if quarantine is not None]
    return min(granted, key=lambda one: one.until) if len(granted) == len(rows) else None


def hold_gates(
    head: Sequence[DataSet], base: Sequence[DataSet], scenarios: Iterable[Scenario]
) -> tuple[tuple[DataSet, ...], tuple[str, ...]]:
    """The data sets that run, each with the stricter of its own gates and its base's.

    Args:
        head: data sets of the change.
        base: data sets of the commit that it starts from.
        scenarios: all that run, so that a case that still runs though it was removed counts.

    Returns:
        The data sets, and one note for each gate that the change tried to relax or take away.
    """
    cases = Counter(scenario.data_set for scenario in scenarios)
    earlier = {one.id: one for one in base}
    held: list[DataSet] = []
    notes: list[str] = []
    for one in head:
        before = earlier.pop(one.id, None)
        gates, said = (one.gates, []) if before is None else _gates(one, before)
        held.append(replace(one, gates=gates, cases=cases[one.id]))
        notes += said
    # Critical rows of a data set that is gone still run, and its gates still hold for them.
    held += [replace(one, cases=cases[one.id]) for one in earlier.values() if cases[one.id]]
    notes += [f"{one.id}: this change removes the gates of this data set." for one in earlier.values() if one.gates]
    return tuple(held), tuple(notes)


def _gates(data_set: DataSet, before: DataSet) -> tuple[tuple[Gate, ...], list[str]]:
    floors = {gate.metric: gate for gate in before.gates}
    gates: list[Gate] = []
    notes: list[str] = []
    for gate in data_set.gates:
        floor = floors.pop(gate.metric, gate)
        if floor.at_least > gate.at_least:
            asked = f"this change asks for {gate.at_least:.2f}"
            notes.append(f"{data_set.id}: the gate {gate.metric} stays {floor.at_least:.2f}; {asked}.")
        gates.append(max(gate, floor, key=lambda one: one.at_least))
    notes += [f"{data_set.id}: the gate {name} still holds, though this change removes it." for name in sorted(floors)]
    return (*gates, *floors.values()), notes


def join_notes(said: Iterable[tuple[Scenario, str]]) -> tuple[str, ...]:
    """One note a scenario, and one for all cases of a data set of which the same is said."""
    cases: dict[tuple[str, str], list[str]] = {}
    for scenario, note in said:
        cases.setdefault((scenario.data_set or scenario.id, note), []).append(scenario.id)
    return tuple(
        f"{ids[0]}: {note}" if len(ids) == 1 else f"{name}, {len(ids)} cases ({_few(ids)}): {note}"
        for (name, note), ids in cases.items()
    )


def names_of(scenarios: Iterable[Scenario]) -> tuple[str, ...]:
    """Scenarios by their ids, the cases of a data set together, sorted."""
    groups: dict[str, list[str]] = {}
    for scenario in scenarios:
        groups.setdefault(scenario.data_set or scenario.id, []).append(scenario.id)
    return tuple(
        ids[0] if len(ids) == 1 else f"{len(ids)} cases of {name} ({_few(ids)})" for name, ids in sorted(groups.items())
    )


def _few(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return ", ".join(ids[:_NAMED]) + more
