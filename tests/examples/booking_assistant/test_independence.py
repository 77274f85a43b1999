import ast
from pathlib import Path

import pytest

from tests.examples.booking_assistant.conftest import SYSTEM_ROOT

MODULES = sorted(SYSTEM_ROOT.rglob("*.py"))


def imported(module: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(module.read_text(encoding="utf-8"))))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.relative_to(SYSTEM_ROOT).as_posix())
def test_a_users_repository_needs_nothing_of_the_gate(module: Path) -> None:
    assert not {name for name in imported(module) if name.split(".")[0] == "ratiba_action"}


def test_the_adapter_is_among_the_modules_that_were_looked_at() -> None:
    assert SYSTEM_ROOT / "booking_assistant" / "ratiba_adapter.py" in MODULES
