"""A docstring names what is there: each entry of ``Args`` is a parameter or field, each error of the tree is listed."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from ratiba_action import errors

PROJECT = Path(__file__).parent.parent
MODULES = sorted((PROJECT / "ratiba_action").rglob("*.py"))
Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def listed(docstring: str) -> Iterator[str]:
    """The names of the section ``Args``."""
    section = re.search(r"^Args:\n((?:    .*\n?|\n)+)", docstring, re.MULTILINE)
    for line in section[1].splitlines() if section else ():
        if found := re.match(r"    (?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)*):(?: |$)", line):
            yield from (name.strip("* ") for name in found["names"].split(","))


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    given = node.args
    several = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    return {one.arg for one in several}


def named(node: Documented) -> set[str]:
    """The parameters of a function; of a class its fields and those of its constructor."""
    if not isinstance(node, ast.ClassDef):
        return parameters(node)
    fields = {
        item.target.id for item in node.body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    }
    fields |= {
        target.id
        for item in node.body
        if isinstance(item, ast.Assign)
        for target in item.targets
        if isinstance(target, ast.Name)
    }
    methods = [item for item in node.body if isinstance(item, ast.FunctionDef)]
    return fields.union(
        {item.name for item in methods}, *(parameters(item) for item in methods if item.name in {"__init__", "__new__"})
    )


def test_arguments_that_are_described_exist() -> None:
    wrong = [
        f"{path.relative_to(PROJECT)}:{node.lineno}: {node.name} has no {name}"
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, Documented)
        for name in listed(ast.get_docstring(node) or "")
        if name not in named(node)
    ]
    assert wrong == []


def test_the_tree_of_errors_lists_each_one_of_the_product_below_its_parent() -> None:
    lines = re.findall(r"^([│├└─ ]*)(\w+Error) ", errors.__doc__ or "", re.MULTILINE)
    above: list[str] = []
    drawn: dict[str, str] = {}
    for branch, name in lines:
        above[len(branch) // 4 :] = [name]
        drawn[name] = above[-2] if len(above) > 1 else "Exception"
    bases = {
        node.name: node.bases[0].id
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and node.bases and isinstance(node.bases[0], ast.Name)
    }

    def can_be_fixed(name: str) -> bool:
        return name == "RatibaError" or (name in bases and can_be_fixed(bases[name]))

    assert drawn == {name: base for name, base in bases.items() if can_be_fixed(name) and not name.startswith("_")}
