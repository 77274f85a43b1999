"""Tests of one promptfoo conversation: turns of one scenario."""

from collections.abc import Sequence

from ratiba_action.authoring.imports import TEST, Import, ImportedCase, ImportOutcome
from ratiba_action.authoring.promptfoo.system import with_message
from ratiba_action.authoring.promptfoo.written_checks import CHECKS


def join_conversations(found: Import) -> None:
    """Make the tests of one conversation the turns of one scenario."""
    threads: dict[str, list[ImportedCase]] = {}
    for case in found.cases:
        if case.thread:
            threads.setdefault(case.thread, []).append(case)
    variables = {case.variable for cases in threads.values() for case in cases} - {""}
    if found.system is not None and len(variables) == 1 and any(len(cases) > 1 for cases in threads.values()):
        found.system = with_message(found.system, next(iter(variables)))
    joined = {id(cases[0]): _joined(cases, found) for cases in threads.values() if len(cases) > 1}
    inner = {id(case) for cases in threads.values() for case in cases[1:]}
    found.cases[:] = [joined.get(id(case), case) for case in found.cases if id(case) not in inner]


def _joined(cases: Sequence[ImportedCase], found: Import) -> ImportedCase:
    """One case of several turns."""
    first, last, variable = cases[0], cases[-1], cases[0].variable
    whole = ImportedCase(first.file, first.line, first.name or f"{first.thread}: {first.messages[0]}")
    whole.messages = tuple(message for case in cases for message in case.messages)
    whole.earlier = tuple(case.expect for case in cases[:-1])
    whole.expect, whole.inputs, whole.variant = last.expect, first.inputs, first.variant
    whole.family, whole.calls_nothing = first.family, first.calls_nothing
    for number, case in enumerate(cases):
        place = (case.file, case.line)
        for rule in case.rules:
            if rule not in whole.rules:
                whole.rules.append(rule)
            result = "a rule, which applies to every turn of the conversation"
            found.note(place, ImportOutcome.APPROXIMATED, f"assert: {rule['type']}", result)
        for entry in case.assertions:
            parameters = dict(entry.get("with", {}))
            if entry["metric"].startswith(f"{CHECKS}:"):
                own = {name: value for name, value in case.inputs.items() if first.inputs.get(name) != value}
                parameters |= {"turn": number, **({"vars": {**parameters.get("vars", {}), **own}} if own else {})}
            else:
                found.note(
                    place, ImportOutcome.APPROXIMATED, f"assert: {entry['metric']}", "it scores the whole conversation"
                )
            whole.measure(entry["metric"], entry["threshold"], **parameters)
        for key, value in case.limits.items():
            whole.limits[key] = max(value, whole.limits.get(key, value))
        others = [key for key, value in case.inputs.items() if key != variable and first.inputs.get(key) != value]
        if others:
            result = f"{', '.join(others)} changes within the conversation; the first turn's value is used"
            found.note(place, ImportOutcome.MANUAL, "vars", result)
        if number:
            named = f": {case.name}" if case.name else ""
            found.note(place, ImportOutcome.MAPPED, TEST, f"turn {number + 1} of {first.thread}{named}")
    return whole
