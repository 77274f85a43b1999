"""What a change may not relax about the parameters of a metric."""

from collections.abc import Mapping

from ratiba_action.model.scenario import Assertion
from ratiba_action.model.values import JsonObject


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
        notes.append(f"{assertion.label} is told what the base tells it; this change edits its parameters.")
    return held, tuple(notes)


def _both_mappings(value: object, base: JsonObject, key: str) -> bool:
    return isinstance(value, Mapping) and isinstance(base.get(key), Mapping)
