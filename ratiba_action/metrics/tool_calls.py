"""How the tool calls that were made compare with those that were expected.

An expected call is met by a call of the same name whose arguments hold all of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo

from ratiba_action.metrics.text.subsequence import longest_common_subsequence
from ratiba_action.model.conversation import Exchange, ToolCall
from ratiba_action.model.scenario import ExpectedTool
from ratiba_action.util.instants import same_value


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


def meets(expected: ExpectedTool, call: ToolCall, zone: tzinfo | None) -> bool:
    """Whether a call is the expected one; times without an offset are read in ``zone``."""
    return expected.name == call.name and same_value(dict(expected.args), dict(call.args), zone)


def match_calls(turns: Sequence[ToolTurn], zone: tzinfo | None) -> ToolMatch:
    """Match the calls of all turns, in any order: a maximum matching, by augmenting paths (Kuhn, 1955)."""
    expected = [tool for turn in turns for tool in turn.expected]
    made = [call for turn in turns for call in turn.made]
    met_by = [[at for at, call in enumerate(made) if meets(tool, call, zone)] for tool in expected]
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
    most = max(match.made, match.expected)
    return match.matched / most if most else 1.0


def ordered_accuracy(turns: Sequence[ToolTurn], zone: tzinfo | None) -> float:
    """Calls in the right turn and order over the larger of those expected and those made, turn by turn.

    In a turn, the calls in the right order are the longest common subsequence. 1 when none was expected or made.
    """
    right = sum(
        longest_common_subsequence(turn.expected, turn.made, lambda tool, call: meets(tool, call, zone))
        for turn in turns
    )
    most = sum(max(len(turn.expected), len(turn.made)) for turn in turns)
    return right / most if most else 1.0


def argument_values(turn: ToolTurn, zone: tzinfo | None) -> tuple[tuple[ExpectedTool, frozenset[str]], ...]:
    """Each expected call of a turn that names arguments, with the names of those that its call got right.

    Its call is the one of the same name, not taken by an earlier one, that has most of them right; without one, none.
    """
    free = list(turn.made)
    found = []
    for tool in turn.expected:
        candidates = [(_right(tool, call, zone), -at) for at, call in enumerate(free) if call.name == tool.name]
        right: frozenset[str] = frozenset()
        if candidates:
            right, place = max(candidates, key=lambda one: (len(one[0]), one[1]))
            free.pop(-place)
        if tool.args:
            found.append((tool, right))
    return tuple(found)


def _right(tool: ExpectedTool, call: ToolCall, zone: tzinfo | None) -> frozenset[str]:
    return frozenset(
        name for name, value in tool.args.items() if name in call.args and same_value(value, call.args[name], zone)
    )
