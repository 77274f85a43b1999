"""How the tool calls that were made compare with the expected ones.

An expected call is matched by a call of the same name whose arguments contain all of its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import eq
from typing import Any

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.conversation import Exchange, ToolCall
from ratiba_action.model.measurement import Case, Score
from ratiba_action.model.scenario import ExpectedTool
from ratiba_action.util.instants import NAME_THE_ZONE, LocalTime, clock_of, same_value, unclear_time
from ratiba_action.util.text import clip


def longest_common_subsequence(
    first: Sequence[Any], second: Sequence[Any], same: Callable[[Any, Any], bool] = eq
) -> int:
    """How many items two sequences share in the same order, by dynamic programming in O(len(one) · len(other)).

    Args:
        same: whether an item of the first is one of the second.
    """
    before = [0] * (len(second) + 1)
    for item in first:
        row = [0]
        for at, candidate in enumerate(second):
            row.append(before[at] + 1 if same(item, candidate) else max(before[at + 1], row[at]))
        before = row
    return before[-1]


@dataclass(frozen=True, slots=True)
class ToolTurn:
    """A turn that says which calls it must make, and those that it made."""

    turn: int
    expected: tuple[ExpectedTool, ...]
    made: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class ToolMatch:
    """Expected and made calls of a conversation, put together one to one, as many as can be.

    Args:
        missing: expected calls that no call met.
        surplus: calls that met no expected one.
    """

    matched: int
    missing: tuple[ExpectedTool, ...]
    surplus: tuple[ToolCall, ...]

    @property
    def expected(self) -> int:
        """How many calls were expected."""
        return self.matched + len(self.missing)

    @property
    def made(self) -> int:
        """How many calls were made."""
        return self.matched + len(self.surplus)


def tool_turns(exchanges: Sequence[Exchange]) -> tuple[ToolTurn, ...]:
    """The turns whose ``expect.tools`` is given; the calls of others are neither right nor wrong."""
    return tuple(
        ToolTurn(number, exchange.turn.expect.tools, exchange.reply.tool_calls)
        for number, exchange in enumerate(exchanges, 1)
        if exchange.turn.expect.tools is not None
    )


def meets(expected: ExpectedTool, call: ToolCall, clock: LocalTime) -> bool:
    """Whether a call is the expected one; times without an offset are read by the scenario's clock."""
    return expected.name == call.name and same_value(dict(expected.args), dict(call.args), clock)


def match_calls(turns: Sequence[ToolTurn], clock: LocalTime) -> ToolMatch:
    """Match the calls of all turns, in any order: a maximum matching, by augmenting paths (Kuhn, 1955)."""
    expected = [tool for turn in turns for tool in turn.expected]
    made = [call for turn in turns for call in turn.made]
    met_by = [[at for at, call in enumerate(made) if meets(tool, call, clock)] for tool in expected]
    owner: dict[int, int] = {}

    def place(tool: int, tried: set[int]) -> bool:
        for at in met_by[tool]:
            if at not in tried:
                tried.add(at)
                if at not in owner or place(owner[at], tried):
                    owner[at] = tool
                    return True
        return False

    placed = [place(tool, set()) for tool in range(len(expected))]
    return ToolMatch(
        sum(placed),
        tuple(tool for tool, found in zip(expected, placed, strict=True) if not found),
        tuple(call for at, call in enumerate(made) if at not in owner),
    )


def f1(match: ToolMatch) -> float:
    """Harmonic mean of precision and recall: 2·matched / (made + expected); 1 when none was expected or made."""
    total = match.made + match.expected
    return 2 * match.matched / total if total else 1.0


def step_efficiency(match: ToolMatch) -> float:
    """Matched calls over the larger of those expected and those made; 1 when none was expected or made.

    Where every expected call was made this is expected / made. Work left undone counts like work done in vain, so that
    a system that does nothing is not efficient.
    """
    maximum = max(match.made, match.expected)
    return match.matched / maximum if maximum else 1.0


def ordered_accuracy(turns: Sequence[ToolTurn], clock: LocalTime) -> float:
    """Calls in the right turn and order over the larger of those expected and those made, turn by turn.

    In a turn, the calls in the right order are the longest common subsequence. 1 when none was expected or made.
    """
    right = sum(
        longest_common_subsequence(turn.expected, turn.made, lambda tool, call: meets(tool, call, clock))
        for turn in turns
    )
    maximum = sum(max(len(turn.expected), len(turn.made)) for turn in turns)
    return right / maximum if maximum else 1.0


def argument_values(turn: ToolTurn, clock: LocalTime) -> tuple[tuple[ExpectedTool, frozenset[str]], ...]:
    """Each expected call of a turn that names arguments, with the names of those that its call got right.

    Its call is the one of the same name, not taken by an earlier one, that has most of them right; without one, none.
    """
    free = list(turn.made)
    found = []
    for tool in turn.expected:
        candidates = [(_right(tool, call, clock), -at) for at, call in enumerate(free) if call.name == tool.name]
        right: frozenset[str] = frozenset()
        if candidates:
            right, place = max(candidates, key=lambda pair: (len(pair[0]), pair[1]))
            free.pop(-place)
        if tool.args:
            found.append((tool, right))
    return tuple(found)


def _right(tool: ExpectedTool, call: ToolCall, clock: LocalTime) -> frozenset[str]:
    return frozenset(
        name for name, value in tool.args.items() if name in call.args and same_value(value, call.args[name], clock)
    )


NO_TOOLS = "Give a turn `expect.tools`; an empty list forbids any call."


def score_match(
    metric: str, version: str, case: Case, threshold: float, formula: Callable[[ToolMatch], float]
) -> Score:
    """A formula over the matched calls, with what was missing and what was surplus as the reason.

    Raises:
        ConfigurationError: no turn that was held says which calls it expects.
    """
    match = match_calls(turns_of(metric, case), clock_of(case.scenario))
    details = [f"{match.matched} of {match.expected} expected calls made, {match.made} made in all"]
    if match.missing:
        details.append(f"missing: {clip(', '.join(tool.name for tool in match.missing))}")
    if match.surplus:
        details.append(f"not expected: {clip(', '.join(call.name for call in match.surplus))}")
    return Score(metric, version, formula(match), threshold, judged=False, reason="; ".join(details))


def turns_of(metric: str, case: Case) -> tuple[ToolTurn, ...]:
    """The turns that say which calls they expect.

    Raises:
        ConfigurationError: there is none, or a time in a call cannot be compared.
    """
    turns = tool_turns(case.transcript.exchanges)
    if not turns:
        raise ConfigurationError(f"{metric} found nothing to measure in this conversation.", NO_TOOLS)
    clock = clock_of(case.scenario)
    pairs = [(tool, call) for turn in turns for tool in turn.expected for call in turn.made if tool.name == call.name]
    unclear = (unclear_time(tool.args, call.args, clock) for tool, call in pairs)
    if why := next(filter(None, unclear), ""):
        raise ConfigurationError(f"{metric} cannot compare the calls: {why}.", NAME_THE_ZONE)
    return turns
