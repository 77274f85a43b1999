"""Mutants of a system's code and prompts, and the order in which they are run.

The words are those of mutation testing (DeMillo, Lipton and Sayward, "Hints on Test Data Selection", IEEE Computer
11(4), 1978): a *mutant* is the system with one small fault, a scenario that fails on it has *killed* it.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum


class Operator(StrEnum):
    """What a mutant does to the system."""

    DROP_GUARD = "drop_guard"
    """A condition never holds; a filter lets everything pass; an assertion is gone."""
    INVERT_GUARD = "invert_guard"
    DROP_CALL = "drop_call"
    """A call is not made; where its value is used it is ``None``. A raised exception is not raised."""
    CHANGE_CONSTANT = "change_constant"
    """A number is one more, a truth value the other, a text empty."""
    CHANGE_OPERATOR = "change_operator"
    """``and`` is ``or``, ``<`` is ``<=``, ``+`` is ``-`` and the reverse; ``*`` and ``/`` likewise."""
    CHANGE_QUERY = "change_query"
    """A condition of SQL always holds (beside ``OR``: never), or a boundary or connective of it is another one."""
    DROP_DESCRIPTION = "drop_description"
    """A tool's description is empty."""
    DROP_SENTENCE = "drop_sentence"
    INVERT_SENTENCE = "invert_sentence"
    DROP_ITEM = "drop_item"
    """A bullet or numbered item of a prompt is gone."""
    DROP_ROW = "drop_row"
    """A row of a table in a prompt is gone."""
    DROP_EXAMPLE = "drop_example"
    """A few-shot example is gone."""


_OF_CODE = frozenset(
    {
        Operator.DROP_GUARD,
        Operator.INVERT_GUARD,
        Operator.DROP_CALL,
        Operator.CHANGE_CONSTANT,
        Operator.CHANGE_OPERATOR,
        Operator.CHANGE_QUERY,
    }
)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One small fault of the system.

    Args:
        path: of the file, from the system's root.
        line: where the fault is, from 1.
        before: what it changes, shortened.
        after: what stands there instead; empty for nothing.
        needed: lines of code of which one must run before the fault can make a difference; empty where that is unknown.
        differs: whether it makes a difference once one of them has run.
        node: number of the syntax tree's node, in the order of ``ast.walk``; -1 in a text.
        begin: first character of what changes in a text; of code, what distinguishes mutants of one node.
        end: character after it.
        fault: ``after`` as people read it, where that is long; empty where it is not.
        seen: whether its difference is meant to be seen; false of a call of a logger and its constants.
    """

    path: str
    line: int
    operator: Operator
    before: str
    after: str
    needed: tuple[int, ...] = ()
    differs: bool = False
    node: int = -1
    begin: int = 0
    end: int = 0
    fault: str = ""
    seen: bool = True

    @property
    def of_code(self) -> bool:
        """Whether it changes what the code does, not what a model is given."""
        return self.operator in _OF_CODE

    @property
    def name(self) -> str:
        """Distinguishes it from every other mutant of the same files."""
        return f"{self.path}:{self.line}:{self.operator.value}:{self.node}:{self.begin}"


def by_risk(
    mutants: Iterable[Mutant], changed: Collection[tuple[str, int]], critical: Callable[[Mutant], bool]
) -> tuple[Mutant, ...]:
    """The mutants in the order in which they are run: of each line one, then of each a second, and so on.

    Within such a round, lines that the change edits come first, then what critical scenarios run.

    Args:
        changed: path and line of what the change edits.
        critical: whether a critical scenario comes to the mutant.
    """
    rounds: dict[tuple[str, int], int] = {}
    ranked = []
    for mutant in sorted(mutants, key=lambda mutant: (mutant.path, mutant.line, mutant.operator.value, mutant.name)):
        place = (mutant.path, mutant.line)
        rounds[place] = rounds.get(place, -1) + 1
        ranked.append((rounds[place], place not in changed, not critical(mutant), mutant.name, mutant))
    return tuple(entry[-1] for entry in sorted(ranked, key=lambda entry: entry[:-1]))
