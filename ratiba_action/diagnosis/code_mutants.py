"""Finds the mutants of Python code: of each guard, call, constant, operator, query and description of a tool."""

import ast
import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, TypeGuard

from ratiba_action.diagnosis.mutants import Mutant, Operator
from ratiba_action.diagnosis.query_faults import INSERTED, QueryFault, is_query, query_faults

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


def code_mutants(path: str, text: str) -> list[Mutant]:
    """The mutants of one file.

    Raises:
        SyntaxError: it is no Python.
    """
    return _Code(path, text).mutants()


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
