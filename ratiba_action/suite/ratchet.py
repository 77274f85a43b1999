"""The ratchet on scenarios: the stricter of base and head applies, with a note for each difference."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ratiba_action.checks.row_checks import what_of
from ratiba_action.model.canonical import arguments_digest
from ratiba_action.model.case_file import CaseFile, CaseThreshold
from ratiba_action.model.note import Caveat
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
from ratiba_action.util.text import few, plural
from ratiba_action.verdict.quarantine import is_proposal
from ratiba_action.verdict.trials import max_failures


def ratchet_strategy(scenario: Scenario, before: Scenario) -> tuple[Strategy, tuple[str, ...]]:
    """The stricter strategy of head and base, and a note for each thing that the change tried to relax."""
    strategy, notes = scenario.strategy, []
    earlier = before.strategy
    if max_failures(scenario) > max_failures(before) or _min_passes(scenario) < _min_passes(before):
        strategy = replace(strategy, trials=earlier.trials, passes=earlier.passes)
        notes.append(f"{_passes(earlier)} must pass, as at the base; this change sets {_passes(scenario.strategy)}")
    minimum = _min_mean(scenario, before)
    if minimum != strategy.min_mean:
        strategy = replace(strategy, min_mean=minimum)
        notes.append("its scores keep the threshold of the base" + _mean_words(minimum))
    if strategy.statistical != earlier.statistical:
        strategy = replace(strategy, statistical=earlier.statistical)
        notes.append("what its own history decides is as at the base; this change's applies once it is merged")
    seconds = _shorter(strategy.timeout_seconds, earlier.timeout_seconds)
    if seconds != strategy.timeout_seconds:
        strategy = replace(strategy, timeout_seconds=seconds)
        notes.append(f"the time limit of a trial stays {seconds:g} s; this change raises it")
    if strategy.retries > earlier.retries:
        notes.append(f"retries stay {earlier.retries}; this change sets {strategy.retries}")
        strategy = replace(strategy, retries=earlier.retries)
    return strategy, tuple(f"{note}." for note in notes)


def ratchet_quarantine(scenario: Scenario, before: Scenario | None) -> tuple[Quarantine | None, tuple[str, ...]]:
    """The quarantine of the base, if the change still has it; see ``ratchet_strategy``.

    Args:
        before: the scenario at the base; None for a new scenario.
    """
    wanted = scenario.quarantine
    if wanted is None:
        return None, ()
    if before is None and is_proposal(scenario):
        # Without its file the run would be the same: it takes nothing out of the verdict.
        return wanted, ("proposed by a model and not reviewed yet, so it is shown and does not count.",)
    granted = None if before is None or before.critical else before.quarantine
    if granted is None:
        return None, (f"this change adds a quarantine until {wanted.until}, which applies only after the merge.",)
    if wanted.until <= granted.until:
        return wanted, ()
    note = f"the quarantine ends on {granted.until}, as at the base; this change sets {wanted.until}."
    return replace(wanted, until=granted.until), (note,)


def _min_passes(scenario: Scenario) -> int:
    return scenario.strategy.trials - max_failures(scenario)


def _min_mean(scenario: Scenario, before: Scenario) -> float | None:
    """The greater mean; if only one of them uses a mean, that of the base, since the two kinds are not comparable."""
    wanted, earlier = scenario.strategy.min_mean, before.strategy.min_mean
    return earlier if wanted is None or earlier is None else max(wanted, earlier)


def _mean_words(minimum: float | None) -> str:
    return ", each to its threshold" if minimum is None else f", a mean of {minimum:g}"


def _shorter(seconds: float | None, before: float | None) -> float | None:
    return min((value for value in (seconds, before) if value is not None), default=None)


def _passes(strategy: Strategy) -> str:
    passes = strategy.trials if strategy.passes is None else strategy.passes
    return f"{passes} of {plural(strategy.trials, 'trial')}"


_NAMED = 3


def row_floors(base: Suite) -> Mapping[str, Scenario]:
    """By the id of each case file, the floor for all its rows, including new and renamed ones."""
    rows: dict[str, list[Scenario]] = {}
    for scenario in base.scenarios:
        if scenario.data_set:
            rows.setdefault(scenario.data_set, []).append(scenario)
    return {name: _common(found) for name, found in rows.items()}


def _common(rows: Sequence[Scenario]) -> Scenario:
    """A row with the lowest thresholds, and only the metrics, rules and marks that all rows have."""
    count = Counter(entry.label for row in rows for entry in row.assertions)
    minimum: dict[str, Assertion] = {}
    for entry in (entry for row in rows for entry in row.assertions if count[entry.label] == len(rows)):
        earlier = minimum.setdefault(entry.label, entry)
        minimum[entry.label] = min(earlier, entry, key=lambda assertion: assertion.threshold)
    rules = Counter((rule.type, repr(rule.value)) for row in rows for rule in row.rules)
    return replace(
        rows[0],
        id="",
        assertions=tuple(minimum.values()),
        rules=tuple(rule for rule in rows[0].rules if rules[rule.type, repr(rule.value)] >= len(rows)),
        critical=all(row.critical for row in rows),
        quarantine=_common_quarantine([row.quarantine for row in rows]),
    )


def _common_quarantine(rows: Sequence[Quarantine | None]) -> Quarantine | None:
    """The shortest quarantine, if all rows have one."""
    granted = [quarantine for quarantine in rows if quarantine is not None]
    return min(granted, key=lambda quarantine: quarantine.until) if len(granted) == len(rows) else None


def ratchet_thresholds(
    head: Sequence[CaseFile], base: Sequence[CaseFile], scenarios: Iterable[Scenario]
) -> tuple[tuple[CaseFile, ...], tuple[str, ...]]:
    """The case files that run, each with the stricter of its own gates and its base's.

    Args:
        base: case files of the commit that it starts from.
        scenarios: all that run, so that a case that still runs though it was removed counts.

    Returns:
        The case files, and one note for each gate that the change tried to relax or take away.
    """
    cases = Counter(scenario.data_set for scenario in scenarios)
    earlier = {case_file.id: case_file for case_file in base}
    ratcheted: list[CaseFile] = []
    notes: list[str] = []
    for case_file in head:
        before = earlier.pop(case_file.id, None)
        gates, more = (case_file.gates, []) if before is None else _thresholds(case_file, before)
        ratcheted.append(replace(case_file, gates=gates, cases=cases[case_file.id]))
        notes += more
    # Critical rows of a removed case file still run, and its thresholds still apply to them.
    ratcheted += [
        replace(case_file, cases=cases[case_file.id]) for case_file in earlier.values() if cases[case_file.id]
    ]
    notes += [
        f"{case_file.id}: this change removes the thresholds of these cases."
        for case_file in earlier.values()
        if case_file.gates
    ]
    return tuple(ratcheted), tuple(notes)


def _thresholds(case_file: CaseFile, before: CaseFile) -> tuple[tuple[CaseThreshold, ...], list[str]]:
    floors = {gate.metric: gate for gate in before.gates}
    shares = {gate.metric for gate in before.gates if gate.decides}
    gates: list[CaseThreshold] = []
    notes: list[str] = []
    for gate in case_file.gates:
        floor = floors.pop(gate.metric, gate)
        if floor.at_least > gate.at_least:
            requested = f"this change sets {gate.at_least:.2f}"
            notes.append(f"{case_file.id}: the threshold of {gate.metric} stays {floor.at_least:.2f}; {requested}.")
        if gate.decides and gate.metric not in shares:
            notes.append(f"{case_file.id}: each case still decides; that {gate.metric} does is this change's.")
        stricter = max(gate, floor, key=lambda gate: gate.at_least)
        gates.append(replace(stricter, decides=gate.decides and gate.metric in shares))
    notes += [
        f"{case_file.id}: the threshold of {name} still applies, although this change removes it."
        for name in sorted(floors)
    ]
    return (*gates, *floors.values()), notes


def join_notes(notes: Iterable[tuple[Scenario, str]]) -> tuple[str, ...]:
    """The notes with their scenarios; equal notes on cases of one file are joined."""
    cases: dict[tuple[str, str], list[str]] = {}
    for scenario, note in notes:
        cases.setdefault((_group(scenario), note), []).append(scenario.id)
    return tuple(
        f"{ids[0]}: {note}" if len(ids) == 1 else f"{name}, {len(ids)} {_kind(name)} ({few(ids, _NAMED)}): {note}"
        for (name, note), ids in cases.items()
    )


def names_of(scenarios: Iterable[Scenario]) -> tuple[str, ...]:
    """The ids of scenarios, sorted, with the cases of a file joined."""
    groups: dict[str, list[str]] = {}
    for scenario in scenarios:
        groups.setdefault(_group(scenario), []).append(scenario.id)
    return tuple(
        ids[0] if len(ids) == 1 else f"{len(ids)} {_kind(name)} of {name} ({few(ids, _NAMED)})"
        for name, ids in sorted(groups.items())
    )


def _group(scenario: Scenario) -> str:
    """What a scenario is named with others by: the file of its cases or tests."""
    return scenario.data_set or (scenario.path if scenario.test is not None else scenario.id)


def _kind(group: str) -> str:
    return "tests" if group.endswith(".py") else "cases"


def ratchet_parameters(assertion: Assertion, base: Assertion) -> tuple[JsonObject, tuple[str, ...]]:
    """The parameters to run a metric with, and notes on them.

    Which parameters are stricter is unknown in general, so those of the base apply. A mapping, such as a catalogue of
    terms, is expected data like the turns: the change may edit it if the base has one, and a note says so.

    Args:
        base: of the same metric in the commit that it starts from.
    """
    truth = {key: value for key, value in assertion.parameters.items() if _both_mappings(value, base.parameters, key)}
    parameters = {**base.parameters, **truth}
    notes = [
        f"this change edits the {key} of {assertion.label}."
        for key, value in truth.items()
        if not _written_alike(value, base.parameters[key])
    ]
    if not _written_alike(parameters, assertion.parameters):
        notes.append(f"{assertion.label} keeps the parameters of the base; this change edits them.")
    return parameters, tuple(notes)


def _written_alike(first: Any, second: Any) -> bool:
    """To Python True, 1 and 1.0 are equal; to a metric they need not be."""
    return arguments_digest(first) == arguments_digest(second)


def _both_mappings(value: object, base: JsonObject, key: str) -> bool:
    return isinstance(value, Mapping) and isinstance(base.get(key), Mapping)


def ratchet_suite(head: Suite, base: Suite) -> tuple[Suite, tuple[str, ...]]:
    """The head's scenarios, held to the thresholds, rules and marks of the base's.

    Args:
        base: scenarios of the commit that it starts from.

    Returns:
        The suite to run, and one note for each thing that the change tried to relax or took away.
    """
    earlier = {scenario.id: scenario for scenario in base.scenarios}
    floors = row_floors(base)
    ratcheted: list[Scenario] = []
    all_notes: list[tuple[Scenario, str]] = []
    for scenario in head.scenarios:
        before = earlier.pop(scenario.id, None) or floors.get(scenario.data_set)
        # What the change left as it was is one object for both sides.
        if before is None or before is scenario:
            stricter, notes = scenario, tuple[str, ...]()
        else:
            stricter, notes = _ratchet_scenario(scenario, before)
        quarantine, refused = ratchet_quarantine(scenario, before)
        stricter, notes = _with(stricter, {"quarantine": quarantine}), (*notes, *refused)
        ratcheted.append(stricter)
        all_notes += [(scenario, note) for note in notes]
    removed = [scenario for scenario in earlier.values() if not scenario.critical]
    critical = [scenario for scenario in earlier.values() if scenario.critical]
    all_notes += [(scenario, "critical, so it still runs although this change removes it.") for scenario in critical]
    known = {scenario.id for scenario in base.scenarios}
    new = [scenario for scenario in head.scenarios if scenario.id not in known]
    edited = [scenario for scenario, note in all_notes if isinstance(note, _Edited)]
    case_files, more = ratchet_thresholds(head.data_sets, base.data_sets, (*ratcheted, *critical))
    suite = replace(head, scenarios=(*ratcheted, *critical), data_sets=case_files)
    return suite, (*_changed(edited, new, removed), *join_notes(all_notes), *more)


_REVIEW = "Check that this is meant."


class _Edited(str):
    """A note that the change edits what a scenario asks or expects, which has no stricter value."""

    __slots__ = ()


def _changed(edited: Sequence[Scenario], new: Sequence[Scenario], removed: Sequence[Scenario]) -> Sequence[str]:
    """Which scenarios the change renames, removes and edits, in one note that everybody sees; nothing without any.

    A new scenario that asks the same variant the same, with the same inputs, as a removed one is that one under another
    name.

    Args:
        edited: what they ask or expect is another than on the base.
        new: the base has none by their names.
    """
    by_messages = {_messages(scenario): scenario for scenario in reversed(new)}
    found = [(scenario, by_messages.get(_messages(scenario))) for scenario in removed]
    renamed = [_renamed(before, scenario) for before, scenario in found if scenario is not None]
    gone = names_of(before for before, scenario in found if scenario is None)
    parts = [f"renames scenarios: {few(renamed, _NAMED)}"] if renamed else []
    parts += [f"removes scenarios: {few(gone, _NAMED)}"] if gone else []
    parts += [f"edits what scenarios ask or expect: {few(names_of(edited), _NAMED)}"] if edited else []
    return (Caveat(f"This change {'; '.join(parts)}.", _REVIEW),) if parts else ()


def _renamed(before: Scenario, scenario: Scenario) -> str:
    relaxed = [name for name, rule in RULES.items() if rule(scenario, before)[1]]
    # Their messages are the same, so turns differ in what they expect.
    edited = [
        name for name in CONTENT if name not in _DESCRIPTIVE and _content(scenario, name) != _content(before, name)
    ]
    relaxed += ["expectations of turns" if name == "turns" else name for name in edited]
    return f"{before.id} to {scenario.id}" + (f" (weaker or other: {', '.join(relaxed)})" if relaxed else "")


def _messages(scenario: Scenario) -> str:
    messages = [(turn.user, turn.event) for turn in scenario.turns]
    asked = (scenario.variant, arguments_digest(scenario.inputs))
    return repr((scenario.data_set, scenario.test, *asked, messages))


def _ratchet_scenario(scenario: Scenario, before: Scenario) -> tuple[Scenario, tuple[str, ...]]:
    values: dict[str, Any] = {}
    notes: list[str] = []
    for name, rule in RULES.items():
        values[name], more = rule(scenario, before)
        notes += more
    edited = [name for name in CONTENT if _content(scenario, name) != _content(before, name)]
    if edited and scenario.id == before.id:
        mark = "critical, and " if before.critical else ""
        note = f"{mark}this change edits its {', '.join(edited)}."
        notes.append(note if _DESCRIPTIVE.issuperset(edited) else _Edited(note))
    return _with(scenario, values), tuple(notes)


def _with(scenario: Scenario, values: Mapping[str, Any]) -> Scenario:
    """The scenario with these fields; the same object where nothing differs, so that nothing is worked out twice."""
    # Compared as it is written; see ``_written_alike``. Fields are no JSON.
    same = all(repr(getattr(scenario, name)) == repr(value) for name, value in values.items())
    return scenario if same else replace(scenario, **values)


def _assertions(scenario: Scenario, before: Scenario) -> tuple[tuple[Assertion, ...], Sequence[str]]:
    # The strictest of several assertions on a metric counts, whatever their order.
    floors = {entry.label: entry for entry in sorted(before.assertions, key=lambda entry: entry.threshold)}
    known = frozenset(floors)
    ratcheted: list[Assertion] = []
    notes: list[str] = []
    for assertion in scenario.assertions:
        if before.strategy.min_mean is not None and assertion.label not in known:
            notes.append(f"{assertion.label} is measured only after the merge, since it would change the mean.")
            continue
        floor = floors.pop(assertion.label, assertion)
        if floor.threshold > assertion.threshold:
            notes.append(
                f"the threshold of {assertion.label} stays {floor.threshold:.2f}; "
                f"this change sets {assertion.threshold:.2f}."
            )
        parameters, more = ratchet_parameters(assertion, floor)
        notes += more
        threshold = max(floor.threshold, assertion.threshold)
        of_rule = assertion.of_rule or floor.of_rule
        ratcheted.append(replace(assertion, threshold=threshold, parameters=parameters, of_rule=of_rule))
    for metric, floor in sorted(floors.items()):
        notes.append(f"{metric} is still measured, although this change removes it.")
        ratcheted.append(floor)
    return tuple(ratcheted), notes


def _rules(scenario: Scenario, before: Scenario) -> tuple[tuple[FailureRule, ...], Sequence[str]]:
    present = {(rule.type, repr(rule.value)) for rule in scenario.rules}
    missing = tuple(rule for rule in before.rules if (rule.type, repr(rule.value)) not in present)
    names = ", ".join(sorted({rule.type for rule in missing}))
    return scenario.rules + missing, [f"rules removed by this change still apply ({names})."] if missing else []


def _rows(scenario: Scenario, before: Scenario) -> tuple[tuple[ExpectedRows, ...], Sequence[str]]:
    present = {repr(replace(row, line=0)) for row in scenario.rows}
    missing = tuple(row for row in before.rows if repr(replace(row, line=0)) not in present)
    names = ", ".join(map(what_of, missing))
    notes = [f"assertions on rows removed by this change still apply ({names})."] if missing else []
    return scenario.rows + missing, notes


def _critical(scenario: Scenario, before: Scenario) -> tuple[bool, Sequence[str]]:
    dropped = before.critical and not scenario.critical
    notes = ["still critical, although this change removes the mark."] if dropped else []
    return scenario.critical or before.critical, notes


def _limits(scenario: Scenario, before: Scenario) -> tuple[TurnLimits, Sequence[str]]:
    """The lower of each limit; None means no limit."""
    both = (scenario.limits, before.limits)
    seconds = [limits.seconds for limits in both if limits.seconds is not None]
    usd = [limits.usd for limits in both if limits.usd is not None]
    lower = TurnLimits(min(seconds, default=None), min(usd, default=None))
    notes = (
        ["the limits of a turn stay those of the base where this change raises them."]
        if lower != scenario.limits
        else []
    )
    return lower, notes


def _family(scenario: Scenario, before: Scenario) -> tuple[str, Sequence[str]]:
    """The base's: a change that puts all scenarios into one family would find no drop of its own."""
    note = f"its family stays {before.family or 'none'} until this change is merged."
    return before.family, [note] if scenario.family != before.family else []


RULES: Mapping[str, Callable[[Scenario, Scenario], tuple[Any, Sequence[str]]]] = {
    "assertions": _assertions,
    "rules": _rules,
    "rows": _rows,
    "critical": _critical,
    "limits": _limits,
    "family": _family,
    "strategy": ratchet_strategy,
}
"""The ratchet of each field: takes the head's and the base's scenario; gives the value to run with and notes on what
the change tried to relax. ``ratchet_quarantine`` also applies to new scenarios."""

CONTENT = (
    *("turns", "now", "timezone", "customer", "language", "layer", "system_type", "vertical", "tags", "touches"),
    *("script", "replies", "captured", "simulated_user", "provenance", "fluency", "test", "inputs", "variant"),
)
"""Fields without a stricter value: the change decides them, and a note names them. ``fluency`` removes no assertion of
the base, since ``assertions`` has a rule."""

_DESCRIPTIVE = frozenset({"vertical", "tags", "touches", "provenance", "fluency"})
"""Those of them that neither ask nor expect anything."""


def _content(scenario: Scenario, name: str) -> object:
    """A field of a scenario, without line numbers."""
    if name == "turns":
        return tuple((turn.user, turn.event, _without_lines(turn.expect)) for turn in scenario.turns)
    return getattr(scenario, name)


def _without_lines(expect: Expectation) -> Expectation:
    return replace(expect, rows=tuple(replace(row, line=0) for row in expect.rows)) if expect.rows else expect
