"""The table in docs/statistics.md is the one that its benchmark writes; its numbers take minutes, its form does not."""

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

PROJECT = Path(__file__).parent.parent
PAGE = PROJECT / "docs/statistics.md"
FIRST_COLUMNS = 3


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(PROJECT / "benchmarks"))
    yield import_module("operating_characteristics")
    sys.modules.pop("operating_characteristics", None)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def shape(lines: list[str]) -> list[str]:
    """The lines with every measured number replaced: header, rule, and of each row its first columns and form."""
    heads, rows = lines[:2], [cells(line) for line in lines[2:]]
    return [
        *heads,
        *(
            " | ".join([*row[:FIRST_COLUMNS], *(re.sub(r"\d+", "0", one) for one in row[FIRST_COLUMNS:])])
            for row in rows
        ),
    ]


def published(benchmark: ModuleType) -> list[str]:
    text = PAGE.read_text("utf-8").partition(benchmark.BEGIN)[2].partition(benchmark.END)[0]
    return [line for line in text.splitlines() if line.startswith("|")]


def test_the_page_has_the_columns_and_rows_of_the_benchmark_in_its_format(benchmark: ModuleType) -> None:
    written = list(benchmark.table(0, [], benchmark.SIZES[4:5]))
    shown = published(benchmark)
    assert shape(written)[:2] == shape(shown)[:2]
    (form,) = {one.split(" | ", FIRST_COLUMNS)[FIRST_COLUMNS] for one in shape(shown)[2:]}
    assert shape(written)[2].endswith(f" | {form}")
    assert [cells(line)[:FIRST_COLUMNS] for line in shown[2:]] == [
        [str(conversations), f"{spread:.2f}", str(runs)] for conversations, spread, runs, _ in benchmark.SIZES
    ]


def test_what_it_writes_into_the_page_leaves_the_rest_as_it_is(benchmark: ModuleType) -> None:
    page = PAGE.read_text("utf-8")
    assert benchmark.with_table(page, published(benchmark)) == page
    other = benchmark.with_table(page, ["| a |", "|---|"])
    assert "\n| a |\n|---|\n" in other
    assert other.partition(benchmark.BEGIN)[0] == page.partition(benchmark.BEGIN)[0]
    assert other.partition(benchmark.END)[2] == page.partition(benchmark.END)[2]


def test_it_asks_for_every_size_and_scatter_that_is_promised(benchmark: ModuleType) -> None:
    asked = {(conversations, spread) for conversations, spread, _, _ in benchmark.SIZES}
    assert asked >= {(size, spread) for size in (10, 20, 50, 200) for spread in (0.10, 0.20)}
