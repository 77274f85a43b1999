"""Every exception that a user can fix stands in the tree of ``errors.py``, below the one that it is."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ratiba_action import errors

PRODUCT = Path(errors.__file__).parent
ROW = re.compile(r"^((?:[│ ]   )*)(?:[├└]── )?(\w+)  ", re.MULTILINE)


def drawn() -> Iterator[tuple[str, str]]:
    """Each exception of the tree with the one that it stands below."""
    above: list[str] = []
    for found in ROW.finditer(errors.__doc__ or ""):
        depth = (found.start(2) - found.start()) // 4
        above[depth:] = [found[2]]
        if depth:
            yield found[2], above[depth - 1]


def defined() -> Mapping[str, str]:
    """Each public class below ``RatibaError``, with its base."""
    bases = {
        node.name: node.bases[0].id
        for path in PRODUCT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef) and node.bases and isinstance(node.bases[0], ast.Name)
    }

    def is_ours(name: str) -> bool:
        return name == "RatibaError" or (name in bases and is_ours(bases[name]))

    return {name: base for name, base in bases.items() if is_ours(base) and not name.startswith("_")}


def test_the_tree_has_every_exception_below_its_base() -> None:
    assert dict(drawn()) == defined()
