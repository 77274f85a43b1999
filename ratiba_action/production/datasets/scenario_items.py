"""Converts between a scenario's data and its dataset item: input, expected output, and the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ratiba_action.model.canonical import digest
from ratiba_action.model.langfuse_dataset import DatasetItem
from ratiba_action.observability.traces.datasets import OURS

DIGEST = "sha256"
"""Key in it for the fingerprint of the last push."""

_EXACT = 1 << 53
"""Largest integer that JavaScript servers store exactly."""


def ours(metadata: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The gate's part of metadata; None if there is none."""
    found = metadata.get(OURS)
    return found if isinstance(found, Mapping) else None


def fingerprint(item: DatasetItem) -> str:
    """SHA-256 of an item: input, expected output and the gate's metadata except the fingerprint."""
    own = {name: value for name, value in (ours(item.metadata) or {}).items() if name != DIGEST}
    return digest(plain_numbers([item.input, item.expected_output, own]))


def stamped(item: DatasetItem, before: Mapping[str, Any]) -> DatasetItem:
    """The item, active, with its fingerprint.

    Args:
        item: with the gate's metadata.
        before: metadata that it had; other keys are preserved.
    """
    own = {**(ours(item.metadata) or {}), DIGEST: fingerprint(item)}
    return replace(item, metadata={**before, OURS: own}, active=True)


def same_json(left: Any, right: Any) -> bool:
    """Whether two values are the same JSON; True is not 1."""
    return digest(plain_numbers(left)) == digest(plain_numbers(right))


def plain_numbers(value: Any) -> Any:
    """The value with 1.0 as 1: JSON has one number type, and servers may write it either way."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT:
        return int(value)
    if isinstance(value, Mapping):
        return {key: plain_numbers(item) for key, item in value.items()}
    return [plain_numbers(item) for item in value] if isinstance(value, list) else value


def inexact_number(value: Any) -> int | None:
    """An integer that a server may not store exactly; None if there is none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) > _EXACT else None
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return next((found for item in items if (found := inexact_number(item)) is not None), None)


_GIVEN = ("now", "customer", "simulated_user")
_EXPECTED = ("rules", "assertions")
_TURN_GIVEN = ("user", "event")
_TURN_EXPECTED = ("expect", "reply")
_TURNS = "turns"


@dataclass(frozen=True, slots=True)
class ScenarioParts:
    """A scenario in three parts.

    Args:
        rest: its other keys.
    """

    input: Mapping[str, Any]
    expected_output: Mapping[str, Any]
    rest: Mapping[str, Any]


def split_scenario(data: Mapping[str, Any]) -> ScenarioParts:
    """The parts of a scenario file's data; no key is lost."""
    given = {name: data[name] for name in _GIVEN if name in data}
    expected = {name: data[name] for name in _EXPECTED if name in data}
    rest = {name: value for name, value in data.items() if name not in {_TURNS, *_GIVEN, *_EXPECTED}}
    if _TURNS in data:
        turns = data[_TURNS]
        given = {_TURNS: [_part(turn, _TURN_GIVEN) for turn in turns], **given}
        expected = {_TURNS: [_part(turn, _TURN_EXPECTED) for turn in turns], **expected}
    return ScenarioParts(given, expected, rest)


def _part(turn: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: turn[name] for name in names if name in turn}


def join_scenario(parts: ScenarioParts) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The scenario data of untrusted parts, and every problem of their structure."""
    problems = (
        *_unknown("input", parts.input, (_TURNS, *_GIVEN)),
        *_unknown("expected_output", parts.expected_output, (_TURNS, *_EXPECTED)),
    )
    known = {_TURNS, *_GIVEN, *_EXPECTED}
    problems += tuple(f"metadata: {name!r:.80} belongs to another part" for name in parts.rest if name in known)
    turns, wrong = _join_turns(parts.input.get(_TURNS), parts.expected_output.get(_TURNS))
    data = {
        **parts.rest,
        **{name: parts.input[name] for name in _GIVEN if name in parts.input},
        **({_TURNS: turns} if turns is not None else {}),
        **{name: parts.expected_output[name] for name in _EXPECTED if name in parts.expected_output},
    }
    return data, (*problems, *wrong)


def _unknown(part: str, value: Mapping[str, Any], allowed: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        f"{part}: unknown key {name!r:.80}; allowed here: {', '.join(allowed)}" for name in value if name not in allowed
    )


def _join_turns(given: Any, expected: Any) -> tuple[list[dict[str, Any]] | None, tuple[str, ...]]:
    if given is None and expected is None:
        return None, ()
    for part, turns in (("input", given), ("expected_output", expected)):
        if turns is not None and not (isinstance(turns, list) and all(isinstance(turn, Mapping) for turn in turns)):
            return None, (f"{part}.turns must be a list of objects",)
    given, expected = given or [], expected or []
    if len(expected) > len(given):
        return None, (f"expected_output.turns has {len(expected)} turns, and input.turns has {len(given)}",)
    problems: list[str] = []
    for number, turn in enumerate(given):
        problems += _unknown(f"input.turns.{number}", turn, _TURN_GIVEN)
    for number, turn in enumerate(expected):
        problems += _unknown(f"expected_output.turns.{number}", turn, _TURN_EXPECTED)
    missing: list[Mapping[str, Any]] = [{}] * (len(given) - len(expected))
    joined = [{**turn, **wanted} for turn, wanted in zip(given, [*expected, *missing], strict=True)]
    return joined, tuple(problems)
