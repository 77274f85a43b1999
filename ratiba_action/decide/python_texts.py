"""The texts of a Python module that a model may be sent, without comments, types and what is logged."""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

_LOGS = re.compile(r"_*(?:log|logger|logging|warnings|console)", re.IGNORECASE)
_LEVELS = frozenset({
    "trace", "debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log",
})  # fmt: skip
_UNSENT_CALLS = frozenset({"print", "getLogger", "get_logger", "TypeVar", "ParamSpec", "NewType"})
_UNSENT_NAMES = frozenset({"__all__", "__version__", "__author__", "__slots__"})
_PLAIN_DECORATORS = frozenset({
    "property", "staticmethod", "classmethod", "cached_property", "cache", "lru_cache", "dataclass", "override",
    "overload", "contextmanager", "asynccontextmanager", "abstractmethod", "wraps", "unique",
})  # fmt: skip
_PLAIN_BASES = frozenset({
    "object", "ABC", "Protocol", "Enum", "StrEnum", "IntEnum", "Flag", "IntFlag", "str", "int", "Exception",
})  # fmt: skip
"""Of classes whose docstring nothing reads; a tool's schema, which may hold one, is compared when scenarios run."""
_SENT_ANNOTATIONS = frozenset({"Annotated", "Literal"})
_DOCSTRINGS_READ = re.compile(rb"tool|__doc__|getdoc", re.IGNORECASE)


def texts_differ(before: bytes, after: bytes) -> bool:
    """Whether a text of a module that may be sent, or a statement that puts such texts together, is another one.

    Raises:
        SyntaxError: a state of it cannot be parsed; other errors of ``ast.parse`` too.
    """
    old, new = (_sendable(source) for source in (before, after))
    _rename_locals(old, new)
    return _texts(old) != _texts(new)


def _sendable(source: bytes) -> ast.Module:
    tree: ast.Module = _Sendable(docstrings=bool(_DOCSTRINGS_READ.search(source))).visit(ast.parse(source))
    return tree


def _texts(tree: ast.Module) -> list[str]:
    statements = list(_statements(tree.body, ()))
    carrying = _carrying([statement for statement, _ in statements])
    carrying |= _figures([statement for statement, _ in statements], carrying)
    texts: list[str] = []
    for number, (statement, conditions) in enumerate(statements):
        texts += [repr(text) for text in map(_text, ast.walk(statement)) if text is not None]
        if number in carrying:
            texts += [ast.dump(node) for node in (statement, *conditions)]
    return texts


class _Sendable(ast.NodeTransformer):
    """Leaves out what no model is sent: types, what is logged, and docstrings that nothing reads."""

    def __init__(self, *, docstrings: bool) -> None:
        self._docstrings = docstrings
        self._plain = set(_PLAIN_BASES)

    def visit_Module(self, node: ast.Module) -> ast.AST:
        return self._without_docstring(node, kept=self._docstrings)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        kept = self._docstrings or _is_marked(node) or not self._plain.issuperset(map(_last_name, node.bases))
        (self._plain.discard if kept else self._plain.add)(node.name)
        return self._without_docstring(node, kept=kept)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self._without_docstring(node, kept=self._docstrings or _is_marked(node))

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self._without_docstring(node, kept=self._docstrings or _is_marked(node))

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = _sent_annotation(node.annotation)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        annotation = _sent_annotation(node.annotation)
        if annotation is not None:
            node.annotation = annotation
            return self.generic_visit(node)
        if node.value is None:
            return ast.Pass()
        assigned: ast.AST = self.visit(ast.Assign([node.target], node.value, lineno=node.lineno))
        return assigned

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        named = {target.id for target in node.targets if isinstance(target, ast.Name)}
        return ast.Pass() if named and named <= _UNSENT_NAMES else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return ast.Constant(None) if _is_unsent(node.func) else self.generic_visit(node)

    def _without_docstring(
        self, node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, *, kept: bool
    ) -> ast.AST:
        if not kept and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
        return self.generic_visit(node)


def _is_unsent(function: ast.expr) -> bool:
    name = _last_name(function)
    if not isinstance(function, ast.Attribute) or name in _UNSENT_CALLS:
        return name in _UNSENT_CALLS
    return name in _LEVELS and bool(_LOGS.fullmatch(_last_name(function.value)))


def _last_name(node: ast.expr) -> str:
    """The name of a variable or attribute, of what is called for it too: ``logger`` of ``self.logger.bind(a=1)``."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_marked(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a decorator may make a tool of it, whose description is its docstring."""
    called = (each.func if isinstance(each, ast.Call) else each for each in node.decorator_list)
    return any(_last_name(each) not in _PLAIN_DECORATORS for each in called)


def _sent_annotation(annotation: ast.expr | None) -> ast.expr | None:
    """An annotation that describes an argument to a model."""
    names = (_last_name(node) for node in ast.walk(annotation) if isinstance(node, ast.expr)) if annotation else ()
    return annotation if any(name in _SENT_ANNOTATIONS for name in names) else None


_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


def _statements(
    body: Sequence[ast.stmt], conditions: tuple[ast.expr, ...]
) -> Iterator[tuple[ast.AST, tuple[ast.expr, ...]]]:
    """Every statement without those inside it, with the conditions under which it is run."""
    for statement in body:
        inner = [name for name in _BODIES if getattr(statement, name, None)]
        if not inner:
            yield statement, conditions
            continue
        head = [value for name, value in ast.iter_fields(statement) if name not in inner]
        flat = [each for value in head for each in (value if isinstance(value, list) else [value])]
        heads = [each for each in flat if isinstance(each, ast.AST)]
        yield from ((each, conditions) for each in heads)
        tested = tuple(each for each in heads if isinstance(each, ast.expr))
        own = conditions if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) else (
            *conditions, *tested
        )  # fmt: skip
        for name in inner:
            yield from _statements(getattr(statement, name), own)


def _text(node: ast.AST) -> str | bytes | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) else None


def _is_prose(node: ast.AST) -> bool:
    """Whether a text has several words; the values of an f-string are words of it."""
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "" for part in node.values]
        letters = any(character.isalpha() for part in parts for character in str(part))
        return letters and " " in "0".join(map(str, parts)).strip()
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip()


def _carrying(statements: Sequence[ast.AST]) -> set[int]:
    """Numbers of the statements that hold a text of several words, or a name that stands for one."""
    users: dict[str, list[int]] = {}
    found: set[int] = set()
    for number, statement in enumerate(statements):
        for node in ast.walk(statement):
            if _is_prose(node):
                found.add(number)
            elif isinstance(node, ast.Name | ast.Attribute):
                users.setdefault(_last_name(node), []).append(number)
    waiting = list(found)
    while waiting:  # each statement once, since a change may name one after another thousands of times
        for name in _targets(statements[waiting.pop()]):
            fresh = set(users.pop(name, ())) - found
            found |= fresh
            waiting += fresh
    return found


def _targets(statement: ast.AST) -> Iterator[str]:
    """The names that a statement gives a value."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield _last_name(node)


def _figures(statements: Sequence[ast.AST], carrying: Iterable[int]) -> set[int]:
    """Numbers of the statements that give a name, which one of these uses, a value that is written out: ``MOST = 3``.

    Args:
        carrying: numbers of the statements that hold texts; what an error says is none of a model's.
    """
    sending = (statements[number] for number in carrying if not isinstance(statements[number], ast.Raise))
    used = {
        _last_name(node)
        for statement in sending
        for node in ast.walk(statement)
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)
    }
    return {
        number
        for number, statement in enumerate(statements)
        if isinstance(statement, ast.Assign)
        and all(isinstance(node, _WRITTEN_OUT) for node in ast.walk(statement.value))
        and not used.isdisjoint(_targets(statement))
    }


_WRITTEN_OUT = (
    ast.Constant, ast.UnaryOp, ast.unaryop, ast.BinOp, ast.operator, ast.Tuple, ast.List, ast.Set, ast.Dict,
    ast.expr_context,
)  # fmt: skip
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_READ_BY_NAME = frozenset({
    "locals", "vars", "globals", "eval", "exec", "dir", "f_locals", "currentframe", "_getframe",
})  # fmt: skip
_Scope = (
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef,
    ast.ClassDef,
)  # fmt: skip


def _rename_locals(tree: ast.AST, like: ast.AST) -> None:
    """Give the local variables of each function their names of another state of the module.

    Names that the other function no longer has, and those that it has instead, are paired in their order. Neither may
    stand for anything else on its own side. A wrong pair makes the functions differ, so that the change counts.
    """
    others = dict(_functions(like))
    for name, function in list(_functions(tree)):
        other = others.get(name)
        if other is None:
            continue
        own, theirs = set(_names_in(function)), set(_names_in(other))
        if not _READ_BY_NAME.isdisjoint({*own, *theirs, *_attributes(function), *_attributes(other)}):
            continue
        gone = [variable for variable in _locals_of(function) if variable not in theirs]
        fresh = [variable for variable in _locals_of(other) if variable not in own]
        if len(gone) != len(fresh):
            continue
        named = dict(zip(gone, fresh, strict=True))
        # Defaults and decorators are read where the function is defined: a name there is not the function's own.
        for node in (node for statement in function.body for node in ast.walk(statement)):
            if isinstance(node, ast.Name):
                node.id = named.get(node.id, node.id)


def _functions(tree: ast.AST, above: str = "") -> Iterator[tuple[str, _Function]]:
    """Each function with its dotted name; of those in another function none, as their names are its names too."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{above}{node.name}", node
        else:
            yield from _functions(node, f"{above}{node.name}." if isinstance(node, ast.ClassDef) else above)


def _attributes(part: ast.AST) -> Iterator[str]:
    return (node.attr for node in ast.walk(part) if isinstance(node, ast.Attribute))


def _names_in(part: ast.AST) -> Iterator[str]:
    """The names of variables, parameters, imports, functions and classes in a part of a module."""
    for node in ast.walk(part):
        if isinstance(node, ast.Name):
            yield node.id
        else:
            yield from _own_names(node)


def _own_names(node: ast.AST) -> Iterator[str]:
    """The names that a parameter, import, function, class, handler, pattern or ``global`` introduces."""
    for field in () if isinstance(node, ast.keyword) else ("arg", "name", "asname", "names", "rest"):
        value = getattr(node, field, None)
        for each in value if isinstance(value, list) else [value]:
            yield from [each, each.partition(".")[0]] if isinstance(each, str) else []  # `import a.b` gives `a`


def _locals_of(function: _Function) -> list[str]:
    """Variables that nothing outside of a function can see, in the order in which they get a value.

    A name that a comprehension or a function inside gives a value of its own may stand for two things, and is none.
    """
    assigned: dict[str, None] = {}
    others: set[str] = set()
    for statement in function.body:
        for scope in ast.walk(statement):
            if isinstance(scope, _Scope):
                stored = (node for node in ast.walk(scope) if isinstance(node, ast.Name))
                others.update(node.id for node in stored if isinstance(node.ctx, ast.Store))
    for node in ast.walk(function):
        if not isinstance(node, ast.Name):
            others.update(_names_in(node) if isinstance(node, ast.ClassDef) else _own_names(node))
        elif isinstance(node.ctx, ast.Store):
            assigned[node.id] = None
    return [name for name in assigned if name not in others]
