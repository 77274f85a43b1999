"""What a change may not relax: where head and base differ, the stricter holds and the reader is told."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from ratiba_action.checks.row_checks import what_of
from ratiba_action.model.scenario import (
    Assertion,
    Expectation,
    ExpectedRows,
    FailureRule,
    Scenario,
    Suite,
    TurnLimits,
)
from ratiba_action.suite.ratchet.data_set_strictness import hold_gates, join_notes, names_of, row_floors
from ratiba_action.suite.ratchet.held_parameters import hold_parameters
from ratiba_action.suite.ratchet.strategy_strictness import hold_quarantine, hold_strategy


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
    assertions, notes = _assertions(scenario, before)
    rules = _missing_rules(scenario.rules, before.rules)
    if rules:
        names = ", ".join(sorted({rule.type for rule in rules}))
        notes.append(f"rules removed by this change still hold ({names}).")
    rows = _missing_rows(scenario.rows, before.rows)
    if rows:
        notes.append(f"assertions on rows removed by this change still apply ({', '.join(map(what_of, rows))}).")
    if before.critical and not scenario.critical:
        notes.append("still critical, though this change says otherwise.")
    limits = _stricter(scenario.limits, before.limits)
    if limits != scenario.limits:
        notes.append("the limits of a turn stay the base's where this change loosens them.")
    same = scenario.id == before.id
    edited = [name for name in _CONTENT if same and _content(scenario, name) != _content(before, name)]
    if edited:
        mark = "critical, and " if before.critical else ""
        notes.append(f"{mark}this change edits its {', '.join(edited)}.")
    strategy, refused = hold_strategy(scenario, before)
    held = replace(
        scenario,
        strategy=strategy,
        assertions=assertions,
        rules=scenario.rules + rules,
        rows=scenario.rows + rows,
        critical=scenario.critical or before.critical,
        limits=limits,
    )
    return held, (*notes, *refused)


def _assertions(scenario: Scenario, before: Scenario) -> tuple[tuple[Assertion, ...], list[str]]:
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


def _stricter(limits: TurnLimits, before: TurnLimits) -> TurnLimits:
    """Of each limit the lower one; none is no limit."""
    seconds = [one.seconds for one in (limits, before) if one.seconds is not None]
    usd = [one.usd for one in (limits, before) if one.usd is not None]
    return TurnLimits(min(seconds, default=None), min(usd, default=None))


def _missing_rules(rules: Iterable[FailureRule], before: Iterable[FailureRule]) -> tuple[FailureRule, ...]:
    present = {(rule.type, repr(rule.value)) for rule in rules}
    return tuple(rule for rule in before if (rule.type, repr(rule.value)) not in present)


def _missing_rows(rows: Iterable[ExpectedRows], before: Iterable[ExpectedRows]) -> tuple[ExpectedRows, ...]:
    present = {repr(replace(one, line=0)) for one in rows}
    return tuple(one for one in before if repr(replace(one, line=0)) not in present)


_CONTENT = (
    *("turns", "now", "customer", "language", "layer", "system_type", "vertical", "tags", "touches"),
    *("script", "replies", "simulated_user", "provenance"),
)


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
