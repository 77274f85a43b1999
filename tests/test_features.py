"""What the page of features names exists: commands with their options, files, test functions, targets of make."""

import argparse
import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from ratiba_action.cli import COMMANDS

PROJECT = Path(__file__).parent.parent
PAGE = (PROJECT / "docs" / "features.md").read_text(encoding="utf-8")
EXPECTED = [f"{letter}{number}" for letter, last in
            (("R", 19), ("L", 8), ("H", 14), ("C", 5), ("U", 6), ("A", 6), ("N", 25))
            for number in range(1, last + 1)]  # fmt: skip


def rows() -> Iterator[tuple[str, list[str]]]:
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if re.fullmatch(r"[A-Z]\d+", cells[0]):
            yield cells[0], cells[1:]


@cache
def functions(path: str) -> frozenset[str]:
    tree = ast.parse((PROJECT / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@cache
def options(command: str) -> frozenset[str]:
    parser = argparse.ArgumentParser()
    import_module(COMMANDS[command][0]).add_arguments(parser)
    return frozenset(parser._option_string_actions)


def problem(named: str) -> str:
    """Why something that the page names cannot be found; empty where it can."""
    words = named.split()
    if words[0] == "ratiba":
        if words[1] not in COMMANDS:
            return f"there is no command {words[1]!r}"
        unknown = [word for word in words[2:] if word.startswith("--") and word not in options(words[1])]
        return f"ratiba {words[1]} has no option {unknown[0]}" if unknown else ""
    if words[0] == "make":
        makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
        return "" if re.search(rf"^{re.escape(words[1])}:", makefile, re.MULTILINE) else "there is no such target"
    path, _, function = named.partition("::")
    if not (PROJECT / path).exists():
        return f"there is no {path!r}"
    return "" if not function or function in functions(path) else f"{path} has no test {function!r}"


def test_every_row_of_the_seeds_says_how_it_reads_them() -> None:
    reading = re.compile(r"(?:Seed's reading|(?:Stricter|Other) than the seed: )[^|]*\.$")
    assert [name for name, cells in rows() if name[0] in "RLHCUA" and not reading.search(cells[0])] == []


def test_every_row_stands_once_and_in_order() -> None:
    assert [name for name, _ in rows()] == EXPECTED


@pytest.mark.parametrize(("name", "cells"), list(rows()), ids=[name for name, _ in rows()])
def test_what_a_row_names_exists(name: str, cells: list[str]) -> None:
    assert len(cells) == 4, f"{name} has {len(cells)} cells"
    feature, *places = cells
    assert len(feature.split()) > 2
    for place in places:
        named = re.findall(r"`([^`]+)`", place)
        assert named, f"{name}: {place!r} names nothing"
        assert re.sub(r"`[^`]+`", "", place).strip(", ") == "", f"{name}: {place!r} has words besides names"
        assert [found for entry in named if (found := problem(entry))] == []
    tests = re.findall(r"`([^`]+)`", places[1])
    assert all(entry.startswith("tests/") for entry in tests)


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("ratiba nothing", "no command"),
        ("ratiba gate --nothing", "no option --nothing"),
        ("make nothing", "no such target"),
        ("docs/nothing.md", "there is no"),
        ("tests/test_features.py::test_nothing", "has no test"),
    ],
)
def test_what_does_not_exist_is_found(named: str, why: str) -> None:
    assert why in problem(named)
