"""Mutants of a system's code and prompts, what a suite says of each, and the share that it notices.

The words are those of mutation testing (DeMillo, Lipton and Sayward, "Hints on Test Data Selection", IEEE Computer
11(4), 1978): a *mutant* is the system with one small fault, a scenario that fails on it has *killed* it. Whether a
mutant was reached and made a difference follows the model of reachability, infection and propagation (Voas, "PIE", IEEE
TSE 18(8), 1992). A mutant that made a difference which no output shows may be a hole of the suite as well as an
equivalent program: it counts, but for calls of a logger, which are not meant to be seen.
"""

import ast
import copy
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby, zip_longest
from typing import Any, TypeGuard

from ratiba_action.diagnosis.query_faults import INSERTED, QueryFault, is_query, query_faults
from ratiba_action.verdict.interval import Interval, wilson_interval


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
_OTHER_OPERATORS: dict[type[ast.AST], Callable[[], Any]] = {
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
}
_LOGGERS = re.compile(
    r"(?:\w+\.)*_*(?:log|logger|logging|LOG|LOGGER)\.(?:debug|info|warning|error|exception|critical)\("
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
        """Tells it from every other mutant of the same files."""
        return f"{self.path}:{self.line}:{self.operator.value}:{self.node}:{self.begin}"


def mutants_of(path: str, text: str) -> tuple[Mutant, ...]:
    """Every mutant of a file: of Python code each guard, call and constant, of a prompt each part of the text.

    Of code these are left out: docstrings and annotations, ``None`` and ``...``, and what only type checkers or a
    direct call of the file run (``TYPE_CHECKING``, ``__name__``).

    Args:
        path: from the system's root.

    Raises:
        SyntaxError: it is no Python, though its name ends in ``.py``; with the line.
    """
    found = _Code(path, text).mutants() if path.endswith(".py") else _of_prompt(path, text)
    return tuple(sorted(found, key=lambda mutant: (mutant.line, mutant.node, mutant.begin, mutant.operator)))


def migration_lines(text: str, adapter: str) -> frozenset[int]:
    """Lines of an adapter's ``migrate``, which runs before a mutant is there, so that no scenario notices one."""
    bodies = [node.body for node in ast.parse(text).body if isinstance(node, ast.ClassDef) and node.name == adapter]
    methods = (node for body in bodies for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(
        line
        for method in methods
        if method.name == "migrate"
        for line in range(method.lineno, (method.end_lineno or method.lineno) + 1)
    )


def mutated(mutant: Mutant, text: str) -> str:
    """A file's text with a mutant in it.

    Args:
        text: as it is without.
    """
    if mutant.node < 0:
        return text[: mutant.begin] + mutant.after + text[mutant.end :]
    tree = ast.parse(text)
    target = list(ast.walk(tree))[mutant.node]
    changed = _Replacement(target, mutant.after).visit(tree)
    return ast.unparse(ast.fix_missing_locations(changed)) + "\n"


class _Replacement(ast.NodeTransformer):
    """Puts an expression for one node; removes a statement or a decorator where there is none."""

    def __init__(self, target: ast.AST, after: str) -> None:
        self._target, self._after = target, after

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self._target:
            if isinstance(node, ast.AugAssign):
                return ast.parse(self._after).body[0]
            return ast.parse(self._after, mode="eval").body if self._after else ast.Pass()
        decorators = getattr(node, "decorator_list", [])
        if not self._after and self._target in decorators:
            decorators.remove(self._target)
        found: ast.AST = self.generic_visit(node)
        return found


_ANNOTATIONS = frozenset({"annotation", "returns", "type_params"})
_ABSORBING = (ast.BoolOp, ast.Compare, ast.Slice, ast.Lambda, ast.comprehension)
"""What changes inside may make no difference to the whole, or is not evaluated."""
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class _NodePlace:
    """Where a node stands.

    Args:
        lines: of its statement, without what is nested in it.
        certain: the node is evaluated when its statement runs, and its value counts.
        seen: an output may show it; false of a call of a logger, and in it but for other calls.
    """

    lines: tuple[int, ...] = ()
    certain: bool = False
    seen: bool = True


class _Code:
    """Finds the mutants of one Python file."""

    def __init__(self, path: str, text: str) -> None:
        self._path, self._tree = path, ast.parse(text)
        self._numbers = {id(node): number for number, node in enumerate(ast.walk(self._tree))}
        self._found: list[Mutant] = []

    def mutants(self) -> list[Mutant]:
        self._inside(self._tree, _NodePlace())
        return self._found

    def _add(
        self,
        node: ast.AST,
        operator: Operator,
        after: str,
        place: _NodePlace,
        *,
        differs: bool | None = None,
        part: QueryFault | None = None,
        number: int = 0,
    ) -> None:
        """Note a mutant.

        Args:
            part: of a query; None for the whole node.
            number: of the operator in a chain of them.
        """
        line, before = getattr(node, "lineno", place.lines[0] if place.lines else 1), ast.unparse(node)
        found = Mutant(
            path=self._path,
            line=line,
            operator=operator,
            before=before if part is None else part.before,
            after=after,
            needed=place.lines,
            differs=place.certain if differs is None else differs,
            seen=place.seen,
            node=self._numbers[id(node)],
            begin=number if part is None else part.position,
            fault="" if part is None else part.after,
        )
        self._found.append(found)

    def _look(self, node: ast.AST, place: _NodePlace) -> None:
        """The mutants of a node and of all below it."""
        if isinstance(node, ast.stmt):
            place = _NodePlace(_header(node), place.certain, seen=not (isinstance(node, ast.Expr) and _is_log(node)))
            if isinstance(node, ast.If) and _is_for_others(node.test):
                for other in node.orelse:
                    self._look(other, place)
                return
            if _is_bare_constant(node):
                return
        if isinstance(node, (ast.Call, ast.Await)) and not _is_log(node):
            place = replace(place, seen=True)
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            self._text(node, place)
        else:
            self._inside(self._own(node, place), place)

    def _own(self, node: ast.AST, place: _NodePlace) -> ast.AST:
        """Note the mutants of a node itself.

        Returns:
            The node inside of which to go on.
        """
        if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert, ast.comprehension, ast.match_case)):
            self._guards(node, place)
        elif isinstance(node, (ast.BoolOp, ast.BinOp, ast.AugAssign, ast.Compare)):
            self._operators(node, place)
        elif isinstance(node, ast.Await) and isinstance(node.value, ast.Call):
            self._add(node, Operator.DROP_CALL, "None", place)
            return node.value
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            self._add(node, Operator.DROP_CALL, "", place)
            return node.exc
        elif isinstance(node, ast.Call):
            self._add(node, Operator.DROP_CALL, "None", place)
        return node

    def _operators(self, node: ast.BoolOp | ast.BinOp | ast.AugAssign | ast.Compare, place: _NodePlace) -> None:
        """The node with another operator; texts are not subtracted."""
        operands = [node.left, node.right] if isinstance(node, ast.BinOp) else [getattr(node, "value", None)]
        if any(isinstance(operand, ast.JoinedStr) or _is_string(operand) for operand in operands):
            return
        for number, operator in enumerate(node.ops if isinstance(node, ast.Compare) else [node.op]):
            other = _OTHER_OPERATORS.get(type(operator))
            if other is None:
                continue
            changed = copy.copy(node)
            if isinstance(changed, ast.Compare):
                changed.ops = [*changed.ops[:number], other(), *changed.ops[number + 1 :]]
            else:
                changed.op = other()
            self._add(node, Operator.CHANGE_OPERATOR, ast.unparse(changed), place, differs=False, number=number)

    def _text(self, node: ast.Constant | ast.JoinedStr, place: _NodePlace) -> None:
        """A constant is another one; a text that is a query has the faults of its conditions instead."""
        pieces = node.values if isinstance(node, ast.JoinedStr) else [node]
        text = "".join(str(each.value) if _is_string(each) else INSERTED for each in pieces)
        faults = list(query_faults(text)) if is_query(text) else []
        inserted = [each for each in pieces if isinstance(each, ast.FormattedValue)]
        for fault in faults:
            after: ast.expr = ast.Constant(fault.text)
            if isinstance(node, ast.JoinedStr):
                words = map(ast.Constant, fault.text.split(INSERTED))
                after = ast.JoinedStr([each for pair in zip_longest(words, inserted) for each in pair if each])
            self._add(node, Operator.CHANGE_QUERY, ast.unparse(after), place, part=fault)
        if isinstance(node, ast.JoinedStr):
            for each in inserted if faults else node.values:
                self._look(each, place)
        elif not faults and node.value is not None and node.value is not ...:
            self._add(node, Operator.CHANGE_CONSTANT, repr(_other(node.value)), place)

    def _guards(self, node: ast.AST, place: _NodePlace) -> None:
        """A condition: once dropped, once inverted. A loop is only dropped: inverted it might never end."""
        if isinstance(node, ast.Assert):
            self._add(node, Operator.DROP_GUARD, "", place, differs=False)
            self._add(node.test, Operator.INVERT_GUARD, _not(node.test), place)
        elif isinstance(node, (ast.If, ast.While)):
            body = _header(node.body[0])
            apart = body[0] > (node.test.end_lineno or node.test.lineno)
            taken = _NodePlace(body if apart else place.lines, certain=apart)
            self._add(node.test, Operator.DROP_GUARD, "False", taken)
            if isinstance(node, ast.If):
                self._add(node.test, Operator.INVERT_GUARD, _not(node.test), place, differs=True)
        elif isinstance(node, ast.comprehension):
            for test in node.ifs:
                self._add(test, Operator.DROP_GUARD, "True", place, differs=False)
                self._add(test, Operator.INVERT_GUARD, _not(test), place, differs=False)
        else:
            condition = node.guard if isinstance(node, ast.match_case) else getattr(node, "test", None)
            if condition is not None:
                self._add(condition, Operator.DROP_GUARD, "False", place, differs=False)
                self._add(condition, Operator.INVERT_GUARD, _not(condition), place)

    def _inside(self, node: ast.AST, place: _NodePlace) -> None:
        if isinstance(node, (ast.Module, _Definition)):
            return self._definition(node, place)
        for name, child in _children(node):
            uncertain = isinstance(node, _ABSORBING) or name in {"test", "ifs", "guard"}
            uncertain |= isinstance(node, _COMPREHENSIONS) or (isinstance(node, ast.IfExp) and name != "test")
            if self._is_description(node, name, child):
                self._add(child, Operator.DROP_DESCRIPTION, "''", place, differs=False)
            else:
                self._look(child, replace(place, certain=place.certain and not uncertain))
        return None

    def _definition(self, node: ast.Module | _Definition, place: _NodePlace) -> None:
        """Of a function the body runs when it is called; what else is in a definition is evaluated once, before."""
        within = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for name, child in _children(node):
            if name == "decorator_list":
                if isinstance(child, ast.Call):
                    # It runs when the function is defined, and has its effect there.
                    self._add(child, Operator.DROP_CALL, "", place, differs=True)
                    self._inside(child, _NodePlace(place.lines, certain=True))
                continue
            if (
                name == "body"
                and within
                and isinstance(child, ast.Expr)
                and _is_bare_constant(child)
                and _is_tool(node)
            ):
                self._add(child.value, Operator.DROP_DESCRIPTION, "''", place, differs=False)
            self._look(child, _NodePlace(place.lines, certain=within and name == "body"))

    def _is_description(self, node: ast.AST, name: str, child: ast.AST) -> bool:
        """Whether a text says to a model what a tool does: a keyword or a key ``description``."""
        if not (isinstance(child, ast.Constant) and isinstance(child.value, str)):
            return False
        if isinstance(node, ast.keyword):
            return node.arg == "description"
        if not isinstance(node, ast.Dict) or name != "values":
            return False
        key = node.keys[next(number for number, value in enumerate(node.values) if value is child)]
        return isinstance(key, ast.Constant) and key.value == "description"


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for name, value in ast.iter_fields(node):
        if name not in _ANNOTATIONS:
            yield from (
                (name, child) for child in (value if isinstance(value, list) else [value]) if isinstance(child, ast.AST)
            )


def _header(statement: ast.stmt) -> tuple[int, ...]:
    """Lines of a statement, without the statements in it."""
    begin = min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))])
    body = getattr(statement, "body", None) or getattr(statement, "cases", None)
    first = getattr(body[0], "lineno", getattr(getattr(body[0], "pattern", None), "lineno", begin)) if body else 0
    end = first - 1 if body else statement.end_lineno or begin
    return tuple(range(begin, max(begin, end) + 1))


def _is_string(node: ast.AST | None) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_log(node: ast.AST) -> bool:
    return _LOGGERS.match(ast.unparse(node).removeprefix("await ")) is not None


def _is_bare_constant(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_tool(node: ast.AST) -> bool:
    names = (ast.unparse(each).partition("(")[0] for each in getattr(node, "decorator_list", ()))
    return any(name.rpartition(".")[2].endswith("tool") for name in names)


def _is_for_others(test: ast.expr) -> bool:
    """Whether a condition is one of type checkers, or of a direct call of the file."""
    return any(
        isinstance(node, ast.Name) and node.id in {"TYPE_CHECKING", "__name__"} for node in ast.walk(test)
    ) or any(isinstance(node, ast.Attribute) and node.attr == "TYPE_CHECKING" for node in ast.walk(test))


def _not(test: ast.expr) -> str:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return ast.unparse(test.operand)
    return f"not ({ast.unparse(test)})"


def _other(value: object) -> str | bytes | bool | int | float | complex:
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float, complex)):
        return value + 1
    if isinstance(value, bytes):
        return b"" if value else b"mutant"
    return "" if value else "mutant"


_ITEM = re.compile(r"\s*([-*+]|\d+[.)])\s+")
_SKIPPED = re.compile(r"\s*(#|---+\s*$|===+\s*$|\{%|<!--|$)")
_FENCE = re.compile(r"\s*(```|~~~|<examples?\b)")
_EXAMPLE = re.compile(r"\s*(example|mfano)\b[^.]*:", re.IGNORECASE)
_SEPARATOR = re.compile(r"\s*\|?\s*:?-{2,}[\s|:-]*$")
_SENTENCE = re.compile(r"\S.*?(?:[.!?](?=[\"'`)\]*]*(?:\s|$))[\"'`)\]*]*|\Z)", re.DOTALL)
_DESCRIPTION = re.compile(r"""[\s{-]*(["']?)description\1\s*:\s*(?P<text>[^\s|>].*?)\s*,?\s*$""")
_INVERSIONS = tuple(
    (re.compile(rf"\b{pattern}\b", re.IGNORECASE), other)
    for pattern, other in (
        (r"(must|should|may|can|do|does|is|are|will) not", r"\1"),
        (r"don't", "do"),
        (r"(can)(?:not|'t)", r"\1"),
        ("never", "always"),
        ("always", "never"),
        ("kamwe", "daima"),
        ("daima", "kamwe"),
        ("must", "must not"),
        ("should", "should not"),
        ("without", "with"),
        ("only", "not only"),
    )
)


def inverted(sentence: str) -> str | None:
    """A sentence that says the opposite, by its first word that forbids, orders or restricts; None without one."""
    for pattern, other in _INVERSIONS:
        match = pattern.search(sentence)
        if match is not None:
            replaced = match.expand(other)
            replaced = replaced[0].upper() + replaced[1:] if match.group()[0].isupper() else replaced
            return sentence[: match.start()] + replaced + sentence[match.end() :]
    return None


@dataclass(frozen=True, slots=True)
class _Block:
    """Consecutive lines of a prompt that belong together, by positions of characters.

    Args:
        words: where its text begins, after the mark of an item.
        operator: that drops it; ``DROP_SENTENCE`` for a paragraph, whose sentences are dropped one by one.
    """

    begin: int
    words: int
    end: int
    operator: Operator


def _of_prompt(path: str, text: str) -> Iterator[Mutant]:
    """The mutants of a text that a model reads."""
    found = _of_descriptions if path.endswith((".yaml", ".yml", ".json")) else _of_blocks
    for operator, begin, end, after in found(text):
        line, before = text.count("\n", 0, begin) + 1, text[begin:end].strip()
        yield Mutant(path=path, line=line, operator=operator, before=before, after=after, begin=begin, end=end)


_Edit = tuple[Operator, int, int, str]
"""An operator, the characters that it changes, and what stands there instead."""


def _of_descriptions(text: str) -> Iterator[_Edit]:
    for begin, line in _lines(text):
        match = _DESCRIPTION.match(line)
        if match is not None and match["text"] not in {"''", '""'}:
            yield Operator.DROP_DESCRIPTION, begin + match.start("text"), begin + match.end("text"), '""'


def _of_blocks(text: str) -> Iterator[_Edit]:
    for block in _blocks(_lines(text)):
        if block.operator is not Operator.DROP_SENTENCE:
            yield block.operator, block.begin, block.end, ""
        if block.operator is Operator.DROP_EXAMPLE:
            continue
        found = [] if block.operator is Operator.DROP_ROW else list(_SENTENCE.finditer(text, block.words, block.end))
        sentences = [match.span() for match in found] or [(block.words, block.end)]
        for begin, end in sentences:
            if found and (len(sentences) > 1 or block.operator is Operator.DROP_SENTENCE):
                yield Operator.DROP_SENTENCE, begin, end, ""
            opposite = inverted(text[begin:end])
            if opposite is not None:
                yield Operator.INVERT_SENTENCE, begin, end, opposite


def _lines(text: str) -> list[tuple[int, str]]:
    """Each line with the position of its first character."""
    found, position = [], 0
    for line in text.splitlines(keepends=True):
        found.append((position, line))
        position += len(line)
    return found


def _blocks(lines: Sequence[tuple[int, str]]) -> Iterator[_Block]:
    number = 0
    while number < len(lines):
        begin, line = lines[number]
        last, operator, words = number, Operator.DROP_SENTENCE, begin
        if fence := _FENCE.match(line):
            ends = fence[1] if fence[1][0] != "<" else f"</{fence[1][1:]}"
            inside = range(number + (fence[1][0] != "<"), len(lines))
            last = next((each for each in inside if ends in lines[each][1]), number)
            operator = Operator.DROP_EXAMPLE
        elif _SKIPPED.match(line) or _is_head_of_table([each for _, each in lines[number : number + 2]]):
            number += 1
            continue
        elif line.lstrip().startswith("|"):
            operator = Operator.DROP_ROW
        elif item := _ITEM.match(line):
            operator, words = Operator.DROP_ITEM, begin + item.end()
            last = _last(lines, number, lambda each: each[0] in " \t")
        else:
            last = _last(lines, number, lambda _: True)
            operator = Operator.DROP_EXAMPLE if _EXAMPLE.match(line) else operator
        yield _Block(begin, words, lines[last][0] + len(lines[last][1]), operator)
        number = last + 1


def _last(lines: Sequence[tuple[int, str]], number: int, belongs: Callable[[str], bool]) -> int:
    """The last of the lines that go on with one."""
    for following in range(number + 1, len(lines)):
        line = lines[following][1]
        begins_another = any(pattern.match(line) for pattern in (_SKIPPED, _ITEM, _FENCE)) or line.lstrip().startswith(
            "|"
        )
        if begins_another or not belongs(line):
            return following - 1
    return len(lines) - 1


def _is_head_of_table(lines: Sequence[str]) -> bool:
    """Whether the first of two lines is a table's rule, or its names above one."""
    return any("|" in lines[0] and _SEPARATOR.match(line) for line in lines)


class Fate(StrEnum):
    """What the suite says of a mutant."""

    KILLED = "killed"
    """A scenario fails on it that passes without it."""
    SURVIVED = "survived"
    """An output of a scenario changed, and nothing failed."""
    UNEXERCISED = "unexercised"
    """No scenario comes to where it would make a difference."""
    UNOBSERVED = "unobserved"
    """It ran, and no output that the scenarios look at changed: an assertion or a query in ``rows`` is missing."""
    EQUIVALENT = "equivalent"
    """A call of a logger is gone or says something else, which no output is meant to show. Not counted."""
    NEEDS_MODEL = "needs_model"
    """A request leaves the recordings before anything fails: only a live run can tell. Not counted."""
    NOT_MEASURED = "not_measured"
    """Time, money or a service was missing. Not counted."""


class Notice(StrEnum):
    """How one scenario ended on a mutant that it passes without."""

    FAILED = "failed"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    NEEDS_MODEL = "needs_model"
    NOT_MEASURED = "not_measured"


@dataclass(frozen=True, slots=True)
class MutantResult:
    """A mutant, what the suite says of it, and the scenarios that killed it."""

    mutant: Mutant
    fate: Fate
    killed_by: tuple[str, ...] = ()


def judge_mutant(mutant: Mutant, notices: Mapping[str, Notice]) -> MutantResult:
    """What the suite says of a mutant.

    Args:
        notices: of each scenario that could notice it, by id; those that fail without it are not among them.
    """
    killers = tuple(sorted(name for name, notice in notices.items() if notice is Notice.FAILED))
    seen = {*notices.values()}
    if killers:
        return MutantResult(mutant, Fate.KILLED, killers)
    if Notice.NOT_MEASURED in seen:
        return MutantResult(mutant, Fate.NOT_MEASURED)
    if Notice.NEEDS_MODEL in seen:
        return MutantResult(mutant, Fate.NEEDS_MODEL)
    if Notice.CHANGED in seen:
        return MutantResult(mutant, Fate.SURVIVED)
    if not (seen and mutant.differs):
        return MutantResult(mutant, Fate.UNEXERCISED)
    return MutantResult(mutant, Fate.UNOBSERVED if mutant.seen else Fate.EQUIVALENT)


@dataclass(frozen=True, slots=True)
class MutationScore:
    """The share of mutants that the suite kills.

    Args:
        counted: mutants that were killed, survived, or were not exercised or observed.
        interval: of the share at 95 % (Wilson 1927); None where nothing was counted.
    """

    killed: int
    counted: int
    interval: Interval | None

    @property
    def share(self) -> float | None:
        """From 0 to 1; None where nothing was counted."""
        return self.killed / self.counted if self.counted else None


OPEN = frozenset({Fate.SURVIVED, Fate.UNEXERCISED, Fate.UNOBSERVED})
"""Results that show a hole of the suite."""
_COUNTED = OPEN | {Fate.KILLED}


def score_of(results: Iterable[MutantResult]) -> MutationScore:
    """The mutation score; what is equivalent, needs a model or was not measured is left out."""
    counted = [result.fate for result in results if result.fate in _COUNTED]
    killed = counted.count(Fate.KILLED)
    return MutationScore(killed, len(counted), wilson_interval(killed, len(counted)) if counted else None)


class LineMutants(StrEnum):
    """What the mutants of a line say about it."""

    PROTECTED = "protected"
    PARTLY = "partly"
    UNPROTECTED = "unprotected"
    UNKNOWN = "unknown"
    """Only a model or a further run can tell."""


@dataclass(frozen=True, slots=True)
class LineProtection:
    """A line of a file, and the scenarios that kill mutants of it."""

    path: str
    line: int
    protection: LineMutants
    scenarios: tuple[str, ...]
    results: tuple[MutantResult, ...]


def lines_of(results: Iterable[MutantResult]) -> tuple[LineProtection, ...]:
    """What is known of each line, in order; a line whose mutants are all equivalent is not listed."""
    found = []
    ordered = sorted(results, key=lambda result: (result.mutant.path, result.mutant.line))
    for (path, line), group in groupby(ordered, key=lambda result: (result.mutant.path, result.mutant.line)):
        counted = tuple(result for result in group if result.fate is not Fate.EQUIVALENT)
        fates = {result.fate for result in counted}
        if not counted:
            continue
        scenarios = tuple(sorted({name for result in counted for name in result.killed_by}))
        found.append(LineProtection(path, line, _protection(fates), scenarios, counted))
    return tuple(found)


def _protection(fates: Collection[Fate]) -> LineMutants:
    killed, open_ = Fate.KILLED in fates, bool(OPEN & {*fates})
    if open_:
        return LineMutants.PARTLY if killed else LineMutants.UNPROTECTED
    return LineMutants.PROTECTED if killed else LineMutants.UNKNOWN


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


def functions_of(text: str) -> tuple[tuple[int, str, frozenset[int]], ...]:
    """Line, name and lines of the body of every function of a Python file, those in classes with their class."""
    found = list[tuple[int, str, frozenset[int]]]()

    def look(node: ast.AST, names: tuple[str, ...]) -> None:
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, _Definition):
                look(child, names)
                continue
            inner = (*names, child.name)
            if not isinstance(child, ast.ClassDef):
                code = child.body[1:] if _is_bare_constant(child.body[0]) else child.body
                lines = frozenset(line for each in code for line in range(each.lineno, (each.end_lineno or 0) + 1))
                found.append((child.lineno, ".".join(inner), lines))
            look(child, inner)

    look(ast.parse(text), ())
    return tuple(found)
