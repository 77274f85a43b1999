"""A scenario's data ↔ the parts of its item: what the system is given, what is expected of it, and the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
    """The data of the parts, as whoever edited them left them, and everything that is wrong with their shape."""
    problems = (
        *_unknown("input", parts.input, (_TURNS, *_GIVEN)),
        *_unknown("expected_output", parts.expected_output, (_TURNS, *_EXPECTED)),
    )
    known = {_TURNS, *_GIVEN, *_EXPECTED}
    problems += tuple(f"metadata: {name!r:.80} stands in another part" for name in parts.rest if name in known)
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
        if turns is not None and not (isinstance(turns, list) and all(isinstance(one, Mapping) for one in turns)):
            return None, (f"{part}.turns is no list of objects",)
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
