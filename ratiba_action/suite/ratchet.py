"""What a change may not relax: where head and base differ, the stricter holds and the reader is told."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ratiba_action.checks.row_checks import what_of
from ratiba_action.model.data_set import DataSet, Gate
from ratiba_action.model.scenario import (
    Assertion,
    Expectation,
    ExpectedRows,
    FailureRule,
    Quarantine,
    Scenario,
    Strategy,
    Suite,
    TurnLimits,
)
from ratiba_action.model.values import JsonObject
from ratiba_action.verdict.trials import most_failures


def hold_strategy(scenario: Scenario, before: Scenario) -> tuple[Strategy, tuple[str, ...]]:
    """The strategy to run a scenario with, and a note for each thing that the change tried to relax.

    Args:
        scenario: of the change.
        before: the same at its base.
    """
    held, notes = scenario.strategy, []
    earlier = before.strategy
    if most_failures(scenario) > most_failures(before) or _least_passes(scenario) < _least_passes(before):
        held = replace(held, trials=earlier.trials, passes=earlier.passes)
        notes.append(f"{_passes(earlier)} must pass, as before; this change asks for {_passes(scenario.strategy)}")
    least = _least_mean(scenario, before)
    if least != held.least_mean:
        held = replace(held, least_mean=least)
        notes.append("its scores keep the threshold that they had before" + _mean_words(least))
    seconds = _shorter(held.timeout_seconds, earlier.timeout_seconds)
    if seconds != held.timeout_seconds:
        held = replace(held, timeout_seconds=seconds)
        notes.append(f"a trial may still take {seconds:g} s, though this change allows more")
    if held.retries > earlier.retries:
        notes.append(f"retries stay {earlier.retries}; this change asks for {held.retries}")
        held = replace(held, retries=earlier.retries)
    return held, tuple(f"{note}." for note in notes)


def hold_quarantine(scenario: Scenario, before: Scenario | None) -> tuple[Quarantine | None, tuple[str, ...]]:
    """The quarantine that the base grants, as far as the change still wants it; see ``hold_strategy``.

    Args:
        scenario: of the change.
        before: the same at its base; None for a scenario that the change adds.
    """
    wanted = scenario.quarantine
    if wanted is None:
        return None, ()
    granted = None if before is None or before.critical else before.quarantine
    if granted is None:
        return None, (
            f"this change adds a quarantine until {wanted.until}, which does not hold in this change itself.",
        )
    if wanted.until <= granted.until:
        return wanted, ()
    note = f"the quarantine ends on {granted.until}; this change asks for {wanted.until}."
    return replace(wanted, until=granted.until), (note,)


def _least_passes(scenario: Scenario) -> int:
    return scenario.strategy.trials - most_failures(scenario)


def _least_mean(scenario: Scenario, before: Scenario) -> float | None:
    """A mean and thresholds of each score are not comparable, so the base's kind holds, and of means the greater."""
    wanted, earlier = scenario.strategy.least_mean, before.strategy.least_mean
    return earlier if wanted is None or earlier is None else max(wanted, earlier)


def _mean_words(least: float | None) -> str:
    return ", each to its threshold" if least is None else f", a mean of {least:g}"


def _shorter(seconds: float | None, before: float | None) -> float | None:
    return min((each for each in (seconds, before) if each is not None), default=None)


def _passes(strategy: Strategy) -> str:
    passes = strategy.trials if strategy.passes is None else strategy.passes
    return f"{passes} of {strategy.trials} {'trial' if strategy.trials == 1 else 'trials'}"


_NAMED = 3


def row_floors(base: Suite) -> Mapping[str, Scenario]:
    """By the id of each case file, the floor of all of its rows, of new and renamed ones too."""
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
    """The case files that run, each with the stricter of its own gates and its base's.

    Args:
        head: case files of the change.
        base: case files of the commit that it starts from.
        scenarios: all that run, so that a case that still runs though it was removed counts.

    Returns:
        The case files, and one note for each gate that the change tried to relax or take away.
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
    # Critical rows of a case file that is gone still run, and its gates still hold for them.
    held += [replace(one, cases=cases[one.id]) for one in earlier.values() if cases[one.id]]
    notes += [f"{one.id}: this change removes the thresholds of these cases." for one in earlier.values() if one.gates]
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
    """One note a scenario, and one for all cases of a case file of which the same is said."""
    cases: dict[tuple[str, str], list[str]] = {}
    for scenario, note in said:
        cases.setdefault((scenario.data_set or scenario.id, note), []).append(scenario.id)
    return tuple(
        f"{ids[0]}: {note}" if len(ids) == 1 else f"{name}, {len(ids)} cases ({_few(ids)}): {note}"
        for (name, note), ids in cases.items()
    )


def names_of(scenarios: Iterable[Scenario]) -> tuple[str, ...]:
    """Scenarios by their ids, the cases of a case file together, sorted."""
    groups: dict[str, list[str]] = {}
    for scenario in scenarios:
        groups.setdefault(scenario.data_set or scenario.id, []).append(scenario.id)
    return tuple(
        ids[0] if len(ids) == 1 else f"{len(ids)} cases of {name} ({_few(ids)})" for name, ids in sorted(groups.items())
    )


def _few(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return ", ".join(ids[:_NAMED]) + more


def hold_parameters(assertion: Assertion, base: Assertion) -> tuple[JsonObject, tuple[str, ...]]:
    """The parameters that a metric is told, and what the reader is told of them.

    Which parameters are stricter cannot be told in general, so the base's hold. A mapping, such as a catalogue of
    terms, is truth like the turns' expectations: the change may edit it where the base has one, and that is said.

    Args:
        assertion: of the change.
        base: of the same metric in the commit that it starts from.
    """
    truth = {key: value for key, value in assertion.parameters.items() if _both_mappings(value, base.parameters, key)}
    held = {**base.parameters, **truth}
    notes = [
        f"this change edits the {key} of {assertion.label}."
        for key, value in truth.items()
        if value != base.parameters[key]
    ]
    if held != assertion.parameters:
        notes.append(f"{assertion.label} keeps the base's parameters; this change edits them.")
    return held, tuple(notes)


def _both_mappings(value: object, base: JsonObject, key: str) -> bool:
    return isinstance(value, Mapping) and isinstance(base.get(key), Mapping)


def hold_to_base(head: Suite, base: Suite) -> tuple[Suite, tuple[str, ...]]:
    """The head's scenarios, held to the thresholds, rules and marks of the base's.

    Args:
        head: scenarios of the change.
        base: scenarios of the commit that it starts from.

    Returns:
        The suite to run, and one note for each thing that the change tried to relax or took away.
    """
    earlier = {scenario.id: scenario for scenario in base.scenarios}
    floors = row_floors(base)
    kept: list[Scenario] = []
    said: list[tuple[Scenario, str]] = []
    for scenario in head.scenarios:
        before = earlier.pop(scenario.id, None) or floors.get(scenario.data_set)
        held, notes = (scenario, ()) if before is None else _hold(scenario, before)
        quarantine, refused = hold_quarantine(scenario, before)
        held, notes = replace(held, quarantine=quarantine), (*notes, *refused)
        kept.append(held)
        said += [(scenario, note) for note in notes]
    removed = [scenario for scenario in earlier.values() if not scenario.critical]
    critical = [scenario for scenario in earlier.values() if scenario.critical]
    said += [(scenario, "critical, so it still runs though this change removes it.") for scenario in critical]
    told = [f"This change removes scenarios: {', '.join(names_of(removed))}."] if removed else []
    data_sets, more = hold_gates(head.data_sets, base.data_sets, (*kept, *critical))
    suite = replace(head, scenarios=(*kept, *critical), data_sets=data_sets)
    return suite, (*join_notes(said), *told, *more)


def _hold(scenario: Scenario, before: Scenario) -> tuple[Scenario, tuple[str, ...]]:
    held: dict[str, Any] = {}
    notes: list[str] = []
    for name, rule in RULES.items():
        held[name], said = rule(scenario, before)
        notes += said
    edited = [name for name in CONTENT if _content(scenario, name) != _content(before, name)]
    if edited and scenario.id == before.id:
        mark = "critical, and " if before.critical else ""
        notes.append(f"{mark}this change edits its {', '.join(edited)}.")
    return replace(scenario, **held), tuple(notes)


def _assertions(scenario: Scenario, before: Scenario) -> tuple[tuple[Assertion, ...], Sequence[str]]:
    # The strictest of several stands for a metric, whatever their order.
    floors = {entry.label: entry for entry in sorted(before.assertions, key=lambda entry: entry.threshold)}
    known = frozenset(floors)
    held: list[Assertion] = []
    notes: list[str] = []
    for assertion in scenario.assertions:
        if before.strategy.least_mean is not None and assertion.label not in known:
            notes.append(f"{assertion.label} is not measured yet: it would change the mean that decides.")
            continue
        floor = floors.pop(assertion.label, assertion)
        if floor.threshold > assertion.threshold:
            notes.append(
                f"the threshold of {assertion.label} stays {floor.threshold:.2f}; "
                f"this change asks for {assertion.threshold:.2f}."
            )
        parameters, said = hold_parameters(assertion, floor)
        notes += said
        threshold = max(floor.threshold, assertion.threshold)
        held.append(replace(assertion, threshold=threshold, parameters=parameters))
    for metric, floor in sorted(floors.items()):
        notes.append(f"{metric} is still measured, though this change removes it.")
        held.append(floor)
    return tuple(held), notes


def _rules(scenario: Scenario, before: Scenario) -> tuple[tuple[FailureRule, ...], Sequence[str]]:
    present = {(rule.type, repr(rule.value)) for rule in scenario.rules}
    missing = tuple(rule for rule in before.rules if (rule.type, repr(rule.value)) not in present)
    names = ", ".join(sorted({rule.type for rule in missing}))
    return scenario.rules + missing, [f"rules removed by this change still hold ({names})."] if missing else []


def _rows(scenario: Scenario, before: Scenario) -> tuple[tuple[ExpectedRows, ...], Sequence[str]]:
    present = {repr(replace(one, line=0)) for one in scenario.rows}
    missing = tuple(one for one in before.rows if repr(replace(one, line=0)) not in present)
    names = ", ".join(map(what_of, missing))
    told = [f"assertions on rows removed by this change still apply ({names})."] if missing else []
    return scenario.rows + missing, told


def _critical(scenario: Scenario, before: Scenario) -> tuple[bool, Sequence[str]]:
    dropped = before.critical and not scenario.critical
    told = ["still critical, though this change says otherwise."] if dropped else []
    return scenario.critical or before.critical, told


def _limits(scenario: Scenario, before: Scenario) -> tuple[TurnLimits, Sequence[str]]:
    """Of each limit the lower one; none is no limit."""
    both = (scenario.limits, before.limits)
    seconds = [one.seconds for one in both if one.seconds is not None]
    usd = [one.usd for one in both if one.usd is not None]
    held = TurnLimits(min(seconds, default=None), min(usd, default=None))
    told = ["the limits of a turn stay the base's where this change loosens them."] if held != scenario.limits else []
    return held, told


RULES: Mapping[str, Callable[[Scenario, Scenario], tuple[Any, Sequence[str]]]] = {
    "assertions": _assertions,
    "rules": _rules,
    "rows": _rows,
    "critical": _critical,
    "limits": _limits,
    "strategy": hold_strategy,
}
"""What a change cannot relax in a scenario, field by field: the head's and the base's scenario → the value to run with,
and a note for each thing that the change does not get. ``hold_quarantine`` has a rule for new scenarios too."""

CONTENT = (
    *("turns", "now", "customer", "language", "layer", "system_type", "vertical", "tags", "touches"),
    *("script", "replies", "captured", "simulated_user", "provenance"),
)
"""What a change decides, and is named for: no value is stricter than another."""


def _content(scenario: Scenario, name: str) -> object:
    """A field of a scenario, without the lines that its turns stand on."""
    if name == "turns":
        return tuple((turn.user, turn.event, _without_lines(turn.expect)) for turn in scenario.turns)
    return getattr(scenario, name)


def _without_lines(expect: Expectation) -> Expectation:
    return replace(expect, rows=tuple(replace(one, line=0) for one in expect.rows))


def with_assertions(suite: Suite, attach: Callable[[Scenario], tuple[Assertion, ...]]) -> Suite:
    """The suite with each scenario's assertions as ``attach`` gives them."""
    return replace(
        suite, scenarios=tuple(replace(scenario, assertions=attach(scenario)) for scenario in suite.scenarios)
    )
