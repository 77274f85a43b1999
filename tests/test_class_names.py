"""Each class of the product has a name of its own, so that a name in a message, a trace or a review is one class."""

import ast
from collections import Counter
from pathlib import Path

PRODUCT = Path(__file__).parent.parent / "ratiba_action"
SHARED = {
    "Adapter",  # what an address of the worker's own adapters ends with
    "Parameters",  # of a metric, inside its class
    "Rule",  # of the mode, and of an import
}
"""It only shrinks."""


def test_no_two_classes_share_a_name() -> None:
    defined = Counter(
        node.name
        for path in PRODUCT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert {name for name, count in defined.items() if count > 1} == SHARED
