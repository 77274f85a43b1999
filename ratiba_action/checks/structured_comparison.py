"""Two JSON values side by side: equal but for what does not count, and if not, where they differ first."""

from typing import Any

from ratiba_action.checks.json_path import parse_path, without
from ratiba_action.model.canonical import canonical_json
from ratiba_action.model.scenario import ExpectedOutput


def output_problem(expected: ExpectedOutput) -> str | None:
    """What is wrong with an expected output, or None."""
    for path in expected.ignore:
        try:
            parse_path(path)
        except ValueError as error:
            return str(error)
    return None


def first_difference(expected: ExpectedOutput, got: Any) -> str | None:
    """Where a structured answer differs from the expected one, in words; None when it is the same.

    Numbers are equal by value, so that 1 is 1.0; a boolean is no number. Nothing else is converted.

    Args:
        expected: the value, and what of it does not count.
        got: any JSON.

    Raises:
        ValueError: a path of ``expected.ignore`` cannot be read.
    """
    paths = [parse_path(path) for path in expected.ignore]
    return _difference(_normal(without(expected.value, paths), expected), _normal(without(got, paths), expected), "$")


def _normal(value: Any, rule: ExpectedOutput) -> Any:
    """The value in the spelling in which it is compared."""
    if isinstance(value, str):
        return " ".join(value.split()) if rule.ignore_whitespace else value
    if isinstance(value, dict):
        return {key: _normal(part, rule) for key, part in value.items()}
    if isinstance(value, list | tuple):
        parts = [_normal(part, rule) for part in value]
        return sorted(parts, key=_sort_key) if rule.ignore_order else parts
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _sort_key(value: Any) -> str:
    return canonical_json(value)


def _difference(expected: Any, got: Any, where: str) -> str | None:
    if isinstance(expected, dict) and isinstance(got, dict):
        return _object_difference(expected, got, where)
    if isinstance(expected, list) and isinstance(got, list):
        if len(expected) != len(got):
            return f"{where} has {len(got)} items, not {len(expected)}"
        parts = enumerate(zip(expected, got, strict=True))
        found = (_difference(one, other, f"{where}[{index}]") for index, (one, other) in parts)
        return next((difference for difference in found if difference is not None), None)
    if isinstance(expected, bool) == isinstance(got, bool) and expected == got:
        return None
    return f"{where} is {_shown(got)}, not {_shown(expected)}"


def _object_difference(expected: dict[str, Any], got: dict[str, Any], where: str) -> str | None:
    missing = [key for key in expected if key not in got]
    if missing:
        return f"{where} has no {missing[0]!r}"
    more = [key for key in got if key not in expected]
    if more:
        return f"{where} has {more[0]!r} besides"
    found = (_difference(expected[key], got[key], f"{where}.{key}") for key in expected)
    return next((difference for difference in found if difference is not None), None)


def _shown(value: Any) -> str:
    return canonical_json(value)
