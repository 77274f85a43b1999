"""Counts the modules that a parameter of the product, or a part of it, enters.

The parameter is followed by name, through assignments, attributes and arguments, into every function of the package
that it is passed to by its name. What is put into an object, what an argument is called with and what a function gives
back are followed no further: there a reader stops, too.

    python -m tests.support.followed_parameter ratiba_action/commands/gate_run.py:run:options
"""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

PRODUCT = Path(__file__).parent.parent.parent / "ratiba_action"


class Parameter(NamedTuple):
    """A parameter of a function of a module, which is named as it is imported."""

    module: str
    function: str
    name: str


@cache
def _functions(module: str) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    return {node.name: node for node in _tree(module).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@cache
def _tree(module: str) -> ast.Module:
    path = PRODUCT.parent / f"{module.replace('.', '/')}.py"
    return ast.parse(path.read_text(encoding="utf-8") if path.is_file() else "")


@cache
def _imported(module: str) -> dict[str, tuple[str, str]]:
    """Where each imported name of the product comes from, wherever in the module it is imported."""
    imports = [node for node in ast.walk(_tree(module)) if isinstance(node, ast.ImportFrom)]
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in imports
        if node.module is not None and node.module.split(".")[0] == PRODUCT.name
        for alias in node.names
    }


def modules_entered(start: Parameter) -> set[str]:
    """The modules, with the parameter's own."""
    waiting, seen = [start], set[Parameter]()
    while waiting:
        parameter = waiting.pop()
        if parameter not in seen:
            seen.add(parameter)
            waiting += _passed_on(parameter)
    return {parameter.module for parameter in seen}


def _passed_on(parameter: Parameter) -> Iterator[Parameter]:
    """The parameters of other functions that it becomes."""
    function = _functions(parameter.module)[parameter.function]
    names = _names_of(parameter, function)
    for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
        called, given = call.func, call.args
        if isinstance(called, ast.Name) and called.id == "partial" and given:
            called, given = given[0], given[1:]
        place = _place(parameter.module, called)
        if place is None or place[1] not in _functions(place[0]):
            continue
        known = _functions(place[0])[place[1]].args
        by_position = zip((each.arg for each in (*known.posonlyargs, *known.args)), given, strict=False)
        by_name = ((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg is not None)
        for name, value in chain(by_position, by_name):
            if any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(value)):
                yield Parameter(*place, name)


def _place(module: str, called: ast.expr) -> tuple[str, str] | None:
    """Module and name of what is called, where it is the product's and called by its name."""
    if not isinstance(called, ast.Name):
        return None
    return (module, called.id) if called.id in _functions(module) else _imported(module).get(called.id)


def _names_of(parameter: Parameter, function: ast.AST) -> set[str]:
    """What the function calls the parameter and its parts."""
    names, before = {parameter.name}, 0
    while before != len(names):
        before = len(names)
        for value, targets in _bound(function):
            if _is_part(parameter.module, value, names):
                names |= {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    return names


def _bound(function: ast.AST) -> Iterator[tuple[ast.expr, list[ast.expr]]]:
    """Each value that a name is given, with its names."""
    for node in ast.walk(function):
        match node:
            case ast.Assign(value=value, targets=targets):
                yield value, [target for target in targets if isinstance(target, ast.Name | ast.Tuple)]
            case ast.AnnAssign(value=ast.expr() as value, target=ast.Name() as target):
                yield value, [target]
            case ast.NamedExpr(value=value, target=target):
                yield value, [target]
            case ast.For(iter=value, target=target) | ast.comprehension(iter=value, target=target):
                yield value, [target]


def _is_part(module: str, value: ast.AST, names: set[str]) -> bool:
    """Whether an expression has one of the names outside of what it calls of the product."""
    if isinstance(value, ast.Call) and _place(module, value.func) is not None:
        return False
    if isinstance(value, ast.Name):
        return value.id in names
    return any(_is_part(module, child, names) for child in ast.iter_child_nodes(value))


def main(argument: str) -> None:
    """Print the modules and their number."""
    path, function, name = argument.split(":")
    entered = modules_entered(Parameter(path.removesuffix(".py").replace("/", "."), function, name))
    sys.stdout.write("\n".join([*sorted(entered), str(len(entered)), ""]))


if __name__ == "__main__":
    main(sys.argv[1])
