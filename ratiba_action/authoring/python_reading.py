"""Reads what a Python file says without running it: names stand for their values, literal loops are unrolled.

What cannot be known without running the file stays the expression that it is.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from types import MappingProxyType
from typing import Any, TypeAlias

from ratiba_action.authoring.imports import Import, ImportOutcome
from ratiba_action.authoring.source_folder import SourceFolder
from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.util.strict_yaml import MAX_BYTES
from ratiba_action.util.text import clip

_MAX_NODES = 100_000
"""Of one value; a list that doubles itself is refused."""
_MAX_STEPS = 500_000
_ADDS: Mapping[str, str] = MappingProxyType({"add_golden": "goldens", "add_test_case": "test_cases"})
"""Methods that add to a list by which an object can be made, as DeepEval's datasets have them."""
_MAX_CALLS = 5
"""Calls of the file's own functions inside each other."""

Names: TypeAlias = dict[str, ast.expr | None]
"""What names stand for; None for what only a run knows."""
Place: TypeAlias = tuple[int, int]
"""Line and column: the same for an expression and its copies in which names are replaced."""
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class _TooLargeError(Exception):
    """Unrolled, the file would be too large."""


@dataclass(slots=True)
class PythonFile:
    """What a file's statements do, as far as it can be read.

    Args:
        visit: is given each call by its last name, with names replaced.
        wanted: the last names of calls that ``visit`` wants.
        asserted: is given each ``assert``.
        functions: of the file, also methods.
        modules: what an imported name is, as ``module:name``.
        outside: what names of the module stand for.
        read: places of calls of which an argument was read, as ``golden.input``.
        within: the functions that are being followed, the outermost one first.
    """

    tree: ast.Module
    wanted: frozenset[str]
    visit: Callable[[ast.Call], None] = lambda _node: None
    asserted: Callable[[ast.Assert, Names], None] = lambda _statement, _names: None
    functions: dict[str, Function] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)
    read: set[Place] = field(default_factory=set)
    within: list[str] = field(default_factory=list)
    outside: Names = field(default_factory=dict)
    _sizes: dict[int, int] = field(default_factory=dict)
    _kept: list[ast.expr] = field(default_factory=list)
    _steps: int = 0
    _depth: int = 0

    def run(self) -> None:
        """Follow the module, then its tests, then functions that nothing in the file calls."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.functions.setdefault(node.name, node)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                self.modules |= {each.asname or each.name: f"{node.module}:{each.name}" for each in node.names}
        outside = self.outside
        self._block(self.tree.body, outside)
        calls = (node for node in ast.walk(self.tree) if isinstance(node, ast.Call))
        followed = {function.name for function in map(self._own, calls) if function is not None}
        listed = [node for node in in_order(self.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        for decorator in (each for function in listed for each in function.decorator_list):
            self._calls(decorator, outside)
        for function in sorted(listed, key=lambda each: not each.name.startswith("test")):
            if function.name.startswith("test") or function.name not in followed:
                self._alone(function, outside)

    def _alone(self, function: Function, outside: Names) -> None:
        """A function that the file itself does not call, once for each row of its parameters."""
        for row in _parametrized(function, lambda node: self.value(node, outside)):
            names = {**outside, **self._defaults(function, outside), **row}
            for each in _parameters(function):
                fixture = self.functions.get(each.arg)
                if each.arg not in row and fixture is not None and _is_fixture(fixture):
                    names[each.arg] = self._returned(fixture, outside)
            self._inside(function, names)

    def _inside(self, function: Function, names: Names) -> None:
        self.within.append(function.name)
        self._block(function.body, names)
        self.within.pop()

    def _defaults(self, function: Function, names: Names) -> Names:
        listed = [*function.args.posonlyargs, *function.args.args]
        given: Names = dict.fromkeys(each.arg for each in _parameters(function))
        for parameter, default in zip(reversed(listed), reversed(function.args.defaults), strict=False):
            given[parameter.arg] = self.value(default, names)
        for parameter, value in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
            if value is not None:
                given[parameter.arg] = self.value(value, names)
        return given

    def _block(self, statements: Sequence[ast.stmt], names: Names) -> None:
        for statement in statements:
            self._step()
            self._statement(statement, names)

    def _step(self) -> None:
        self._steps += 1
        if self._steps > _MAX_STEPS:
            raise _TooLargeError

    def _statement(self, statement: ast.stmt, names: Names) -> None:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return
            case ast.ClassDef():
                self._block(statement.body, {**names})
            case ast.For() | ast.AsyncFor():
                self._loop(statement, names)
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                self._assign(statement, names)
            case ast.Assert():
                self._calls(statement.test, names)
                self.asserted(statement, names)
            case ast.With() | ast.AsyncWith():
                for item in statement.items:
                    self._calls(item.context_expr, names)
                    if item.optional_vars is not None:
                        self._bind(item.optional_vars, self.value(item.context_expr, names), names)
                self._block(statement.body, names)
            case _:
                self._others(statement, names)

    def _others(self, statement: ast.stmt, names: Names) -> None:
        """Every branch, one after the other."""
        for each in ast.iter_child_nodes(statement):
            if isinstance(each, ast.expr):
                self._calls(each, names)
                self._changed(each, names)
            elif isinstance(each, ast.stmt):
                self._block([each], names)
            elif isinstance(each, ast.ExceptHandler | ast.match_case):
                self._block(each.body, names)

    def _assign(self, statement: ast.Assign | ast.AnnAssign | ast.AugAssign, names: Names) -> None:
        if statement.value is None:
            return
        self._calls(statement.value, names)
        if isinstance(statement, ast.AugAssign):
            added = ast.BinOp(_load(statement.target), statement.op, statement.value)
            self._bind(statement.target, self.value(ast.copy_location(added, statement), names), names)
            return
        value = self.value(statement.value, names)
        for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
            self._bind(target, value, names)

    def _bind(self, target: ast.expr, value: ast.expr | None, names: Names) -> None:
        if isinstance(target, ast.Name):
            names[target.id] = value
        elif isinstance(target, ast.List | ast.Tuple):
            items = value.elts if isinstance(value, ast.List | ast.Tuple) else []
            same = len(items) == len(target.elts)
            for index, each in enumerate(target.elts):
                self._bind(each, items[index] if same else None, names)

    def _loop(self, statement: ast.For | ast.AsyncFor, names: Names) -> None:
        self._calls(statement.iter, names)
        items = self._items(self.value(statement.iter, names))
        for item in [None] if items is None else items:
            self._bind(statement.target, item, names)
            self._block(statement.body, names)
        self._block(statement.orelse, names)

    def _items(self, value: ast.expr) -> list[ast.expr] | None:
        """The items of a literal list; None for any other expression."""
        return value.elts if isinstance(value, ast.List | ast.Tuple | ast.Set) else None

    def _changed(self, node: ast.expr, names: Names) -> None:
        """``append`` and ``extend`` of a list that a name stands for."""
        node = node.value if isinstance(node, ast.Await) else node
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 1):
            return
        owner, method = node.func.value, node.func.attr
        before = names.get(owner.id) if isinstance(owner, ast.Name) else None
        if isinstance(owner, ast.Name) and isinstance(before, ast.Call) and method in _ADDS:
            names[owner.id] = self._added(before, _ADDS[method], self.value(node.args[0], names))
            return
        if isinstance(owner, ast.Name) and isinstance(before, ast.List) and method in {"append", "extend"}:
            value = self.value(node.args[0], names)
            items = [value] if method == "append" else self._items(value)
            names[owner.id] = None if items is None else self._made(ast.List([*before.elts, *items]), node)

    def _added(self, before: ast.Call, key: str, item: ast.expr) -> ast.expr:
        """What an object is made with, and one item more."""
        held = next((each.value for each in before.keywords if each.arg == key), None)
        items = self._items(held) if held is not None else []
        if items is None:
            return before
        others = [each for each in before.keywords if each.arg != key]
        more = ast.keyword(key, self._made(ast.List([*items, item]), item))
        return self._made(ast.Call(before.func, before.args, [*others, more]), before)

    def _calls(self, node: ast.expr, names: Names) -> None:
        """Visit the calls of an expression, and follow those of the file's own functions."""
        if isinstance(node, ast.Lambda):
            return
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            for row in self._rows(node.generators, names) or [{**names, **_targets(node.generators)}]:
                self._calls(node.elt, row)
            return
        for child in ast.iter_child_nodes(node):
            for each in [child.value] if isinstance(child, ast.keyword) else [child]:
                if isinstance(each, ast.expr):
                    self._calls(each, names)
        if not isinstance(node, ast.Call):
            return
        self._step()
        function = self._own(node)
        if called(node) in self.wanted:
            resolved = self.value(node, names)
            self.visit(resolved if isinstance(resolved, ast.Call) else node)
        elif function is not None and self._depth < _MAX_CALLS:
            self._depth += 1
            self._inside(function, self._entered(function, node, names))
            self._depth -= 1

    def _own(self, node: ast.Call) -> Function | None:
        """The function of the file that a call names."""
        own = isinstance(node.func, ast.Name) or (
            isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") in {"self", "cls"}
        )
        return self.functions.get(called(node)) if own else None

    def _entered(self, function: Function, node: ast.Call, names: Names) -> Names:
        """What names stand for inside a call of a function."""
        given = {**names, **self._defaults(function, names)}
        parameters = [each.arg for each in [*function.args.posonlyargs, *function.args.args] if each.arg != "self"]
        given |= {key: self.value(value, names) for key, value in zip(parameters, node.args, strict=False)}
        return given | {each.arg: self.value(each.value, names) for each in node.keywords if each.arg is not None}

    def _returned(self, function: Function, names: Names) -> ast.expr | None:
        """What a function of assignments and one ``return`` or ``yield`` gives; None for any other."""
        inside = dict(names)
        for statement in function.body:
            self._step()
            if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
                value = self.value(statement.value, inside)
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                for target in targets:
                    self._bind(target, value, inside)
            elif isinstance(statement, ast.Return) and statement.value is not None:
                return self.value(statement.value, inside)
            elif isinstance(statement, ast.Expr):
                value = statement.value
                if isinstance(value, ast.Yield) and value.value is not None:
                    return self.value(value.value, inside)
                self._changed(value, inside)
            else:
                return None
        return None

    def applied(self, function: ast.expr, argument: ast.expr) -> ast.expr | None:
        """What a function of the file, or a lambda, gives for one argument; None if that cannot be known."""
        if isinstance(function, ast.Lambda) and len(function.args.args) == 1:
            return self.value(function.body, {function.args.args[0].arg: argument})
        known = self.functions.get(function.id) if isinstance(function, ast.Name) else None
        if known is None or len(_parameters(known)) != 1:
            return None
        return self._returned(known, {**self.outside, _parameters(known)[0].arg: argument})

    def value(self, node: ast.expr, names: Names) -> ast.expr:
        """The expression with names replaced by what they stand for, and what is literal worked out."""
        self._step()
        match node:
            case ast.Name():
                return names.get(node.id) or node
            case ast.Await() | ast.Starred():
                return self.value(node.value, names)
            case ast.Call():
                return self._call(node, names)
            case ast.JoinedStr():
                return self._joined(node, names)
            case ast.ListComp() | ast.GeneratorExp():
                rows = self._rows(node.generators, names)
                return node if rows is None else self._made(ast.List([self.value(node.elt, row) for row in rows]), node)
        return self._of_parts(node, names)

    def _of_parts(self, node: ast.expr, names: Names) -> ast.expr:
        """An expression that is made of others again."""
        match node:
            case ast.List() | ast.Tuple() | ast.Set():
                return self._made(type(node)([each for item in node.elts for each in self._spread(item, names)]), node)
            case ast.Dict():
                keys = [None if key is None else self.value(key, names) for key in node.keys]
                return self._made(ast.Dict(keys, [self.value(each, names) for each in node.values]), node)
            case ast.Attribute():
                return self._attribute(node, self.value(node.value, names))
            case ast.Subscript():
                return self._subscript(node, self.value(node.value, names), self.value(node.slice, names))
            case ast.BinOp(op=ast.Add()):
                return self._sum(node, self.value(node.left, names), self.value(node.right, names))
        return node

    def _made(self, node: ast.expr, place: ast.AST) -> ast.expr:
        """A new expression at a place of the file.

        Raises:
            _TooLargeError: it has too many parts.
        """
        parts = (each.value if isinstance(each, ast.keyword) else each for each in ast.iter_child_nodes(node))
        size = 1 + sum(self._sizes.get(id(each), 1) for each in parts)
        if size > _MAX_NODES:
            raise _TooLargeError
        self._sizes[id(node)] = size
        self._kept.append(node)
        return ast.copy_location(node, place)

    def _spread(self, item: ast.expr, names: Names) -> list[ast.expr]:
        value = self.value(item, names)
        items = self._items(value) if isinstance(item, ast.Starred) else None
        return [value] if items is None else items

    def _call(self, node: ast.Call, names: Names) -> ast.expr:
        function = self._own(node)
        if function is not None and self._depth < _MAX_CALLS:
            self._depth += 1
            returned = self._returned(function, self._entered(function, node, names))
            self._depth -= 1
            if returned is not None:
                return returned
        given = [each for item in node.args for each in self._spread(item, names)]
        keywords = [ast.keyword(each.arg, self.value(each.value, names)) for each in node.keywords]
        owner = self.value(node.func.value, names) if isinstance(node.func, ast.Attribute) else None
        folded = _folded(called(node), owner, given)
        if folded is not None:
            return self._made(folded, node)
        target = node.func
        if isinstance(node.func, ast.Attribute) and owner is not None:
            target = self._made(ast.Attribute(owner, node.func.attr), node.func)
        return self._made(ast.Call(target, given, keywords), node)

    def _attribute(self, node: ast.Attribute, owner: ast.expr) -> ast.expr:
        if isinstance(owner, ast.Call) and called(owner)[:1].isupper():
            for each in owner.keywords:
                if each.arg == node.attr:
                    self.read.add(place_of(owner))
                    return each.value
        return self._made(ast.Attribute(owner, node.attr), node)

    def _subscript(self, node: ast.Subscript, owner: ast.expr, key: ast.expr) -> ast.expr:
        if isinstance(key, ast.Constant) and isinstance(owner, ast.Dict):
            for name, value in zip(owner.keys, owner.values, strict=True):
                if isinstance(name, ast.Constant) and name.value == key.value:
                    return value
        items = self._items(owner)
        if items is not None and isinstance(key, ast.Constant) and isinstance(key.value, int):
            return items[key.value] if -len(items) <= key.value < len(items) else node
        return self._made(ast.Subscript(owner, key), node)

    def _joined(self, node: ast.JoinedStr, names: Names) -> ast.expr:
        parts: list[ast.expr] = []
        texts: list[str] = []
        for part in node.values:
            inner = self.value(part.value, names) if isinstance(part, ast.FormattedValue) else part
            plain = not isinstance(part, ast.FormattedValue) or (part.format_spec is None and part.conversion == -1)
            if isinstance(part, ast.FormattedValue):
                parts.append(self._made(ast.FormattedValue(inner, part.conversion, part.format_spec), part))
            else:
                parts.append(part)
            if plain and isinstance(inner, ast.Constant) and isinstance(inner.value, str | int):
                texts.append(str(inner.value))
        done = len(texts) == len(node.values)
        return self._made(ast.Constant("".join(texts)) if done else ast.JoinedStr(parts), node)

    def _sum(self, node: ast.BinOp, left: ast.expr, right: ast.expr) -> ast.expr:
        if isinstance(left, ast.List) and isinstance(right, ast.List):
            return self._made(ast.List([*left.elts, *right.elts]), node)
        if isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
            first, second = left.value, right.value
            if isinstance(first, str) and isinstance(second, str):
                return self._made(ast.Constant(first + second), node)
            if isinstance(first, int) and isinstance(second, int):
                return self._made(ast.Constant(first + second), node)
        return self._made(ast.BinOp(left, node.op, right), node)

    def _rows(self, generators: Sequence[ast.comprehension], names: Names) -> list[Names] | None:
        """What names stand for in each round of a comprehension; None if its rounds cannot be known."""
        rows = [names]
        for each in generators:
            found: list[Names] = []
            for row in rows:
                items = self._items(self.value(each.iter, row))
                if items is None or each.ifs:
                    return None
                for item in items:
                    self._step()
                    found.append(dict(row))
                    self._bind(each.target, item, found[-1])
            rows = found
        return rows


def read_python(folder: SourceFolder, name: str) -> ast.Module:
    """Parse a file.

    Raises:
        SuiteError: it cannot be read or is not Python.
    """
    content = folder.read(name, MAX_BYTES)
    try:
        return ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        reason = f"not Python: {getattr(error, 'msg', None) or error}"
        raise SuiteError([FileProblem(folder.name(name), line, reason)]) from error


@dataclass(slots=True)
class PythonReader:
    """Reads a file of another tool; a subclass says what each call of ``file.wanted`` becomes.

    Args:
        name: of the file, as findings show it.
        used: places of the calls that were dealt with.
    """

    name: str
    found: Import
    file: PythonFile
    used: set[Place] = field(default_factory=set)

    def read(self) -> None:
        """Follow the file's statements, then list what is left over.

        Raises:
            SuiteError: unrolled, it is too large, or it is nested too deeply.
        """
        self.file.visit, self.file.asserted = self.visit, self.asserted
        try:
            self.file.run()
        except (_TooLargeError, RecursionError) as error:
            much = f"its lists and loops give more than {_MAX_NODES:,} values, or are nested too deeply; split the file"
            raise SuiteError([FileProblem(self.name, 1, much)]) from error
        self.left_over()

    def visit(self, node: ast.Call) -> None:
        """A call, with names replaced."""
        raise NotImplementedError

    def asserted(self, statement: ast.Assert, names: Names) -> None:
        """An ``assert``; ignored unless a subclass says otherwise."""

    def left_over(self) -> None:
        """What no call used; a subclass lists it."""

    def note(self, node: ast.AST | None, outcome: ImportOutcome, what: str, result: str) -> None:
        """Add a finding at a place of the file."""
        self.found.note((self.name, getattr(node, "lineno", 1)), outcome, what, result)


def literals(given: Mapping[str, ast.expr]) -> dict[str, Any]:
    """Arguments by name; see ``literal``."""
    return {key: literal(value) for key, value in given.items()}


def called(node: ast.Call) -> str:
    """The last name of what is called."""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def place_of(node: ast.expr) -> Place:
    """Where an expression, or the one that it is a copy of, stands."""
    return node.lineno, node.col_offset


def in_order(tree: ast.AST) -> Sequence[ast.stmt | ast.expr]:
    """Statements and expressions by their place."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.stmt | ast.expr)]
    return sorted(nodes, key=lambda node: (node.lineno, node.col_offset))


def literal(node: ast.expr) -> Any:
    """The value of a literal, or the expression itself."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return node


def arguments(node: ast.Call, parameters: Sequence[str] = ()) -> dict[str, ast.expr]:
    """Arguments by name; positional ones by the names of the first parameters."""
    given = dict(zip(parameters, node.args, strict=False))
    return given | {each.arg: each.value for each in node.keywords if each.arg is not None}


def items_of(node: ast.expr | None) -> list[ast.expr]:
    """The items of a literal list; the expression itself otherwise."""
    if node is None:
        return []
    return list(node.elts) if isinstance(node, ast.List | ast.Tuple | ast.Set) else [node]


def shown(node: ast.AST) -> str:
    """The expression in one line of a message."""
    text = " ".join(ast.unparse(node).split())
    return clip(text, 80)


def _load(target: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Name(target.id), target) if isinstance(target, ast.Name) else target


def _targets(generators: Iterable[ast.comprehension]) -> Names:
    return {node.id: None for each in generators for node in ast.walk(each.target) if isinstance(node, ast.Name)}


def _parameters(function: Function) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def _is_fixture(function: Function) -> bool:
    names = [each.func if isinstance(each, ast.Call) else each for each in function.decorator_list]
    return any(ast.unparse(each).rpartition(".")[2] == "fixture" for each in names)


def _folded(name: str, owner: ast.expr | None, given: Sequence[ast.expr]) -> ast.expr | None:
    """What a function of Python gives for literals; None for any other."""
    if owner is not None:
        return _method(name, owner, given)
    if name in _PLAIN and len(given) == 1 and isinstance(given[0], ast.Constant):
        try:
            return ast.Constant(_PLAIN[name](given[0].value))
        except (TypeError, ValueError, OverflowError):
            return None
    lists = [each.elts for each in given if isinstance(each, ast.List | ast.Tuple)]
    return _of_lists(name, lists) if lists and len(lists) == len(given) else None


def _of_lists(name: str, lists: Sequence[list[ast.expr]]) -> ast.expr | None:
    if name == "zip":
        return ast.List([_pair(*row) for row in zip(*lists, strict=False)])
    if name == "enumerate" and len(lists) == 1:
        counted = [(ast.copy_location(ast.Constant(index), each), each) for index, each in enumerate(lists[0])]
        return ast.List([_pair(*row) for row in counted])
    return ast.List(lists[0]) if name in {"list", "tuple"} and len(lists) == 1 else None


_PLAIN: Mapping[str, Callable[[Any], Any]] = MappingProxyType({"str": str, "int": int, "chr": chr, "ord": ord})


def _method(name: str, owner: ast.expr, given: Sequence[ast.expr]) -> ast.expr | None:
    if name == "get" and isinstance(owner, ast.Dict) and given:
        pairs = zip(owner.keys, owner.values, strict=True)
        found = [value for key, value in pairs if key is not None and ast.dump(key) == ast.dump(given[0])]
        return (found or [*given[1:], ast.Constant(None)])[0]
    if given:
        return None
    if name == "items" and isinstance(owner, ast.Dict) and None not in owner.keys:
        pairs = zip(owner.keys, owner.values, strict=True)
        return ast.List([_pair(key, value) for key, value in pairs if key is not None])
    if name == "values" and isinstance(owner, ast.Dict):
        return ast.List(list(owner.values))
    if name == "strip" and isinstance(owner, ast.Constant) and isinstance(owner.value, str):
        return ast.Constant(owner.value.strip())
    return None


def _pair(*items: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Tuple(list(items)), items[0])


def _parametrized(function: Function, value: Callable[[ast.expr], ast.expr]) -> Iterator[Names]:
    """The rows of ``pytest.mark.parametrize``; one empty row without it."""
    axes: list[list[Names]] = []
    for decorator in function.decorator_list:
        if not isinstance(decorator, ast.Call) or called(decorator) != "parametrize":
            continue
        given = arguments(decorator, ("argnames", "argvalues"))
        named = literal(value(given["argnames"])) if "argnames" in given else ""
        names = [each.strip() for each in named.split(",")] if isinstance(named, str) else named
        rows = value(given["argvalues"]) if "argvalues" in given else None
        if isinstance(rows, ast.List | ast.Tuple) and isinstance(names, list | tuple):
            axes.append([_row([str(name) for name in names], each) for each in rows.elts])
    for rows_of_axes in product(*axes):
        yield {key: each for row in rows_of_axes for key, each in row.items()}


def _row(names: Sequence[str], row: ast.expr) -> Names:
    values: Sequence[ast.expr] = [row]
    if isinstance(row, ast.Call) and called(row) == "param":
        values = row.args
    elif len(names) > 1:
        values = row.elts if isinstance(row, ast.List | ast.Tuple) else []
    return {name: values[index] if index < len(values) else None for index, name in enumerate(names)}
