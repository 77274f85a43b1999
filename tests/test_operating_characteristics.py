"""The tables in docs/statistics.md are those of their benchmark; their numbers take minutes, their form does not."""

import re
import sys
from collections.abc import Iterator
from datetime import date
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

PROJECT = Path(__file__).parent.parent
PAGE = PROJECT / "docs/statistics.md"
SCORES_OVER_TIME = PROJECT / "docs/history-of-scores.md"
RATE = re.compile(r"\d+\.\d% \(\d+\.\d% to \d+\.\d%\)|not measured")
DOLLARS = re.compile(r"(\d+\.\d\d|never|-)( / (\d+\.\d\d|never|-))?")
NAMES = ["sizes", "few", "judges", "dependence", "samples"]


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(PROJECT / "benchmarks"))
    yield import_module("operating_characteristics")
    sys.modules.pop("operating_characteristics", None)


def published(name: str, page: Path = PAGE) -> list[list[str]]:
    """The cells of a table on a page, line by line."""
    text = page.read_text("utf-8").partition(f"<!-- table: {name} -->")[2].partition(f"<!-- end: {name} -->")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line]


@pytest.mark.parametrize("name", NAMES)
def test_the_page_has_the_rows_and_columns_of_the_benchmark(benchmark: ModuleType, name: str) -> None:
    (table,) = (one for one in benchmark.TABLES if one.name == name)
    header, _, *rows = published(name)
    assert header == list(table.titles)
    assert [" | ".join(row[: -len(cells) - 2]) for row, (_, cells) in zip(rows, table.rows, strict=True)] == [
        title for title, _ in table.rows
    ]
    for row, (_, cells) in zip(rows, table.rows, strict=True):
        assert all(RATE.fullmatch(cell) for cell in row[-len(cells) - 2 : -2])
        assert DOLLARS.fullmatch(row[-1])


@pytest.mark.parametrize("name", NAMES)
def test_what_the_page_shows_is_within_the_limits_that_the_benchmark_holds(benchmark: ModuleType, name: str) -> None:
    (table,) = (one for one in benchmark.TABLES if one.name == name)
    for row, (_, cells) in zip(published(name)[2:], table.rows, strict=True):
        for shown, cell in zip(row[-len(cells) - 2 : -2], cells, strict=True):
            if shown == "not measured":
                continue
            blocked, low, high = (float(number) / 100 for number in re.findall(r"\d+\.\d", shown))
            allowed = 3 * max((high - low) / 4, 0.004)
            assert cell.minimum - allowed <= blocked <= cell.maximum + allowed, (row, cell)


def test_the_table_of_the_pass_rate_is_the_benchmarks(benchmark: ModuleType) -> None:
    header, _, *rows = published("pass rate")
    assert header[2:-1] == [f"{rate:.0%}" for rate in benchmark.RATES]
    assert [row[:2] for row in rows] == [[size, rule] for size in ("20", "50") for rule in ("interval", "strict")]
    assert all(RATE.fullmatch(cell) for row in rows for cell in row[2:-1])


def test_a_cell_is_simulated_by_the_gates_own_verdict(benchmark: ModuleType) -> None:
    rates = benchmark.simulate(benchmark.World(scenarios=12, drop=0.5), 2)
    assert (rates.blocked, rates.repeats) == (1.0, 2)
    assert benchmark.simulate(benchmark.World(scenarios=12, judge_spread=0.0, drop=-0.2), 2).blocked == 0.0
    assert benchmark.pass_rate_blocks(0.2, 20, benchmark.PassRateRule.INTERVAL, 2).blocked == 1.0


def test_no_events_are_no_certainty(benchmark: ModuleType) -> None:
    none = benchmark.Rates(0.0, 0.0, 0.0, 100)
    assert str(none) == "0.0% (0.0% to 3.7%)"
    assert none.error > 0
    assert benchmark.Rates(0.5, 0.0, 10.0, 20) + benchmark.Rates(0.0, 0.2, 20.0, 20) == benchmark.Rates(
        0.25, 0.1, 15.0, 40
    )


def test_the_parts_of_a_run_add_up_and_none_counts_twice(benchmark: ModuleType, tmp_path: Path) -> None:
    cell = benchmark.Cell(benchmark.World(scenarios=12, drop=0.5))
    for number in (1, 2, 2):
        counts = benchmark.Counts(tmp_path / "counts.json")
        benchmark.Part(number, 20, 1).count([cell], counts)
    counted = benchmark.Counts(tmp_path / "counts.json").of(cell.world)
    assert (counted.blocked, counted.repeats) == (1.0, 40)
    table = benchmark.Table(
        "a", ("b", "c", "trials", "USD"), [("row", [cell]), ("other", [benchmark.Cell(benchmark.World())])]
    )
    dollars = (12 + counted.further) * 0.02
    assert list(benchmark.lines_of(table, counts, []))[2:] == [
        f"| row | 100.0% (91.2% to 100.0%) | {counted.further:.0f} | {dollars:.2f} |",
        "| other | not measured | - | - |",
    ]


def test_seven_nights_give_each_cell_a_thousand_changes_of_which_none_is_simulated_twice(
    benchmark: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    simulated: list[tuple[object, int]] = []

    def simulate(world: object, repeats: int, seed: int) -> object:
        simulated.append((world, seed))
        return benchmark.Rates(0.0, 0.0, 0.0, repeats)

    monkeypatch.setattr(benchmark, "simulate", simulate)
    cells = [cell for table in benchmark.TABLES for _, row in table.rows for cell in row]
    for day in (*range(24, 31), 27):  # one of them again
        for table in benchmark.TABLES:
            part = benchmark.Part.of_night(date(2026, 11, day), 1000, processes=1)
            own = [cell for _, row in table.rows for cell in row]
            part.count(own, benchmark.Counts(tmp_path / "counts.json"))
    counts = benchmark.Counts(tmp_path / "counts.json")
    assert all(counts.of(cell.world).repeats >= 1000 for cell in cells)
    assert len(set(simulated)) == len(simulated) == 7 * len({cell.world for cell in cells})


def test_counts_of_other_code_begin_anew(benchmark: ModuleType, tmp_path: Path) -> None:
    world, rates, path = benchmark.World(), benchmark.Rates(0.5, 0.0, 0.0, 40), tmp_path / "counts.json"
    benchmark.Counts(path, "a").add(world, "1", rates)
    assert benchmark.Counts(path, "a").of(world) == rates
    changed = benchmark.Counts(path, "b")
    assert changed.empty
    assert not changed.has(world, "1")
    assert len(benchmark.code_digest()) == 64
    path.write_text('{"World()": {"1": [0.5, 0.0, 0.0, 40]}}')
    assert benchmark.Counts(path, "a").empty, "a file of the version before, which did not say of what code it was"


def test_a_right_decision_costs_more_the_fewer_there_are_and_nothing_buys_one_that_never_comes(
    benchmark: ModuleType,
) -> None:
    def shown(drop: float, blocked: float, votes: int = 1) -> str:
        cell = benchmark.Cell(benchmark.World(drop=drop, votes=votes))
        table = benchmark.Table("a", ("b",), [("row", [cell])])
        counts = benchmark.Counts(None)
        counts.add(cell.world, "1", benchmark.Rates(blocked, 0.0, 50.0, 40))
        return str(list(benchmark.lines_of(table, counts, []))[-1].split("|")[-2].strip())

    assert [shown(0.05, 1.0), shown(0.05, 0.5), shown(0.05, 0.0)] == ["2.00", "4.00", "never"]
    assert [shown(0.0, 0.0), shown(0.0, 0.5)] == ["2.00", "4.00"], "without a drop, a block is wrong"
    assert shown(0.05, 1.0, votes=3) == "4.00"


def test_arms_that_run_by_turns_share_what_a_minute_does(benchmark: ModuleType) -> None:
    world = benchmark.World(scenarios=40, minute_effect=0.1, minute=400, judge_spread=0.0)
    apart = benchmark.replace(world, arms_by_turns=False)

    def distance(given: object) -> float:
        change = benchmark.Change(given, benchmark.suite_of(given), benchmark.np.random.default_rng(1))
        found = (change.further([1] * 40, 0.0) for _ in range(60))
        return float(benchmark.np.std([(one["head"][0] - one["base"][0]).mean() for one in found]))

    assert distance(world) < 0.8 * distance(apart)


def test_what_every_run_shares_moves_planned_runs_too(benchmark: ModuleType) -> None:
    world = benchmark.World(scenarios=40, arm_effect=0.1)

    def varies(given: object) -> float:
        change = benchmark.Change(given, benchmark.suite_of(given), benchmark.np.random.default_rng(1))
        return float(benchmark.np.std([change.planned("base", 0.0).mean() for _ in range(20)]))

    assert varies(benchmark.replace(world, every_run=True)) > 2 * varies(world)


def test_what_it_writes_into_the_page_leaves_the_rest_as_it_is(benchmark: ModuleType) -> None:
    page = PAGE.read_text("utf-8")
    other = benchmark.with_table(page, "sizes", ["| a |", "|---|"])
    begin, end = "<!-- table: sizes -->", "<!-- end: sizes -->"
    assert f"{begin}\n| a |\n|---|\n{end}" in other
    assert other.partition(begin)[0] == page.partition(begin)[0]
    assert other.partition(end)[2] == page.partition(end)[2]
    with pytest.raises(ValueError, match="has no table 'other'"):
        benchmark.with_table(page, "other", [])


def test_the_table_of_the_slow_decline_is_within_its_limits_and_its_histories_go_through_the_gates_code() -> None:
    decline = import_module("benchmarks.slow_decline")
    header, _, *rows = published("slow decline", SCORES_OVER_TIME)
    assert header == list(decline.TITLES)
    assert [row[0] for row in rows] == list(decline.ROWS)
    for row in rows:
        still, found = ([float(number) for number in re.findall(r"\d+\.\d", row[column])] for column in (1, 3))
        assert still[0] <= 100 * decline.FALSE_ALARMS + 3 * max(still[1], 0.4), row
        assert (found[0] >= 100 * decline.FOUND) == (row[0] not in decline.NOT_FOUND), row
    falling = decline.simulate(decline.World(scenarios=12, step=0.05), 1)
    assert (falling.rates.blocked, falling.rates.further > 0) == (1.0, True)
    assert decline.simulate(decline.World(scenarios=12, step=-0.02), 1).rates.blocked == 0.0
