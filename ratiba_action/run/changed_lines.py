"""Which changed lines of the system's code no scenario runs: a change that nothing reaches passes like any other."""

import ast
import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from ratiba_action.errors import RatibaError
from ratiba_action.model.measurement import Scored
from ratiba_action.model.note import Caveat
from ratiba_action.run.base_commit import BaseInputs
from ratiba_action.run.inputs import RunInputs
from ratiba_action.run.reads import system_prefix
from ratiba_action.util.locked_folder import read_plain_file
from ratiba_action.util.text import few, plural, ranges

if TYPE_CHECKING:
    from ratiba_action.run.services import Measured

_MAX_FILES, _MAX_BYTES, _MAX_PAIRS, _MAX_STATEMENTS = 100, 1 << 18, 4_000_000, 20_000
"""What a change may make the gate do before and after a run, a few seconds at most: files that are looked at; bytes of
a file; pairs of its lines and the base's, without those at both ends that are equal, over all files; statements of a
file. Nothing is said of what is beyond."""
_LINE_END = re.compile(r"\r\n|\r|\n")  # as Python counts lines; ``splitlines`` knows more ends
_NAMED = 5
_NESTED = (ast.stmt, ast.ExceptHandler, ast.match_case)
_WITHOUT_CODE = (ast.Global, ast.Nonlocal, ast.Pass)
Executed = Mapping[str, Mapping[str, frozenset[int]]]
"""Lines that ran, by scenario and by file below the system's root."""


@dataclass(frozen=True, slots=True)
class ChangedLines:
    """The changed lines of the system's Python files.

    Args:
        changed: the text of each file as the change has it, and the numbers of its lines that the base has otherwise.
        prefix: how the paths of the system's files begin in the repository.
    """

    changed: Mapping[str, tuple[str, frozenset[int]]]
    prefix: str = ""

    @property
    def files(self) -> tuple[str, ...]:
        """Below the system's root."""
        return tuple(self.changed)

    def notes(self, executed: Executed, measured: "Measured") -> tuple[str, ...]:
        """What no scenario was seen to run; nothing where one did not run to its end, or runs where nobody looks.

        Args:
            executed: by the scenarios of the change.
        """
        ended = {result.trial.scenario.id for result in measured.own if isinstance(result, Scored)}
        if not all(isinstance(result, Scored) for result in measured.own) or not ended <= executed.keys():
            return ()
        places, count = list[str](), 0
        for name, (text, lines) in self.changed.items():
            ran = frozenset[int]().union(*(found.get(name, ()) for found in executed.values()))
            missed = never_run(text, lines, ran)
            count += len(missed)
            places += (f"{self.prefix}{name}:{span}" for span in ranges(missed))
        if not places:
            return ()
        where = few(places, _NAMED)
        return (
            Caveat(
                f"No scenario was seen to run {plural(count, 'changed line')}: {where}.",
                "Add a scenario that does, or check these lines yourself.",
            ),
        )


NO_CHANGED_LINES = ChangedLines({})


def changed_lines(inputs: RunInputs) -> ChangedLines:
    """The changed lines of a run's change; none where no base is known, or where it cannot be read."""
    base, change = inputs.base, inputs.decided.change
    if not isinstance(base, BaseInputs) or change.git is None:
        return NO_CHANGED_LINES
    root = inputs.repository / inputs.configuration.system.root
    prefix = system_prefix(inputs, root)
    names = [path for path in change.files.paths if path.startswith(prefix) and path.endswith(".py")][:_MAX_FILES]
    before, after = dict[str, str](), dict[str, str]()
    with change.git.blobs() as blobs:
        for path in names:
            name = path.removeprefix(prefix)
            with contextlib.suppress(RatibaError, UnicodeDecodeError):  # too large, or no text
                before[name] = (blobs.read(f"{base.commit}:{path}", _MAX_BYTES) or b"").decode()
                with contextlib.suppress(OSError):  # removed
                    after[name] = read_plain_file(root, name, _MAX_BYTES).decode()
    removed = "".join(text for name, text in before.items() if name not in after)
    # A file that the base has under another name is not new.
    changed, pairs = dict[str, tuple[str, frozenset[int]]](), _MAX_PAIRS
    for name, text in after.items():
        lines, took = lines_that_differ(before[name] or removed, text, pairs)
        pairs -= took
        if lines:
            changed[name] = (text, lines)
    return ChangedLines(changed, prefix)


def lines_that_differ(before: str, after: str, max_pairs: int = _MAX_PAIRS) -> tuple[frozenset[int], int]:
    """Numbers of the lines of a text, from 1, that another text has otherwise or not at all, and the pairs compared.

    Args:
        max_pairs: of lines; none differs, and none was compared, where it would take more.
    """
    old, new = _LINE_END.split(before), _LINE_END.split(after)
    begin = next((place for place, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), None)
    if begin is None:
        begin = min(len(old), len(new))
    old, new = old[begin:], new[begin:]
    while old and new and old[-1] == new[-1]:
        del old[-1], new[-1]
    if len(old) * len(new) > max_pairs:
        return frozenset(), 0
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    differ = (range(first, last) for kind, _, _, first, last in blocks if kind != "equal")
    return frozenset(begin + line + 1 for lines in differ for line in lines), len(old) * len(new)


def never_run(text: str, changed: frozenset[int], ran: frozenset[int]) -> tuple[int, ...]:
    """Those of some lines whose statement did not run.

    Only statements in functions are looked at: all others run when their file is imported, which may have been before
    anybody looked. Nothing is known of a file of which no line was seen to run: it may run in another process.

    Args:
        text: of a Python file.
    """
    if not ran:
        return ()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    found = set[int]()
    for number, lines in enumerate(_statements(tree)):
        if number == _MAX_STATEMENTS:
            return ()
        touched = changed & lines
        if touched and not lines & ran:
            found |= touched
    return tuple(sorted(found))


def _statements(tree: ast.AST) -> Iterator[frozenset[int]]:
    """Lines of each statement in a function that has code, without the statements in it."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, inside = waiting.pop()
        if inside and isinstance(node, ast.stmt | ast.ExceptHandler) and _has_code(node):
            yield _header(node)
        inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        waiting += ((child, inside) for child in ast.iter_child_nodes(node))


def _has_code(node: ast.stmt | ast.ExceptHandler) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return False
    return not isinstance(node, _WITHOUT_CODE) and not (isinstance(node, ast.AnnAssign) and node.value is None)


def _header(node: ast.stmt | ast.ExceptHandler) -> frozenset[int]:
    """Lines that a statement itself stands on; those of a statement without nested ones are all of its lines."""
    own = [child for child in ast.iter_child_nodes(node) if not isinstance(child, _NESTED)]
    ends = (getattr(each, "end_lineno", None) or 0 for child in own for each in ast.walk(child))
    begin = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
    last = node.lineno if len(own) < sum(1 for _ in ast.iter_child_nodes(node)) else node.end_lineno or 0
    return frozenset(range(begin, max(begin, last, *ends) + 1))
