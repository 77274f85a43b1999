"""How often the verdict is wrong: simulated scores through the gate's own comparison, step by step.

Each part of a run (``--part 3/7``) simulates other changes, and ``--counts FILE`` adds them to those of the parts
before, so that several make a page: ``--counts FILE --repeats 0 --write`` puts it into ``docs/statistics.md``. A night
(``--night 2026-11-30``) is the part of its day: seven in a row give each cell as many changes as ``--repeats`` says.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.change import Mode
from ratiba_action.model.comparison import Comparison, Pair, Rules, Tier
from ratiba_action.model.conversation import Transcript
from ratiba_action.model.measurement import ScenarioResult, Score, Scored
from ratiba_action.model.plan import Arm, Plan, Trial
from ratiba_action.model.scenario import Customer, Scenario, Turn
from ratiba_action.model.verdict import Conclusion, Evidence, Limits, PassRateRule, Verdict
from ratiba_action.verdict.blocks import in_blocks
from ratiba_action.verdict.comparison import examine
from ratiba_action.verdict.decision import next_step
from ratiba_action.verdict.interval import wilson_interval

PAGE = Path(__file__).parents[1] / "docs" / "statistics.md"
SYSTEM_SPREAD = 0.08
FALL = 0.50
NOW = datetime(2026, 4, 25, tzinfo=UTC)
BLOCK = 8
"""Pairs of a block: two of each conversation that runs at once by default."""
HEAD, BASE = Arm("head", "head"), Arm("base", "base")

Random = np.random.Generator
Judge = Callable[[Any, float, Random], Any]
"""Scores of scenarios' true worth, one or an array, with a standard deviation where the judge has one."""


def _grid(steps: int) -> Judge:
    return lambda worth, spread, random: np.round(np.clip(random.normal(worth, spread), 0, 1) * steps) / steps


JUDGES: Mapping[str, Judge] = {
    "normal": lambda worth, spread, random: random.normal(worth, spread),
    "scale of 11 levels": _grid(10),
    "scale of 5 levels": _grid(4),
    "bimodal": lambda worth, _, random: np.where(random.random(np.shape(worth)) < worth, 1.0, 0.0),
    "ceiling": lambda worth, spread, random: random.normal(worth + 0.15, spread),
    "heteroscedastic": lambda worth, spread, random: random.normal(worth, spread * 2.5 * (1 - worth) / 0.3),
    "skewed": lambda worth, spread, random: worth + spread * (1 - random.exponential(size=np.shape(worth))),
}
"""Kinds of judges: how their scores vary around what a scenario is worth."""


@dataclass(frozen=True, slots=True)
class World:
    """What is simulated.

    Args:
        drop: of the mean, 0 to 1.
        concentrated: the drop falls on few scenarios, 0.50 each.
        base_runs: earlier runs of the base that are pooled.
        judge: one of ``JUDGES``.
        run_effect: standard deviation of what all scores of one run share.
        drift: what all scores of the present run have lost since the base was measured, in both arms.
        family_effect: standard deviation of what the scores of a family share in one trial of one arm.
        family_size: scenarios of a family.
        undeclared: whether the suite does not say which scenarios are families.
        errors: the worst outcomes of the base's runs errored instead.
        minute_effect: standard deviation of what conversations share that run at one time, on whichever arm: it
            changes over time, with a correlation of 1/e after ``minute`` conversations.
        minute: conversations.
        arms_by_turns: base and head run in blocks, as the gate runs them; else one whole arm after the other.
        arm_effect: standard deviation of what the trials of one arm in one round share, and the other arm's do not.
        every_run: the same effect is in every run of the base and in the planned run of the change.
        votes: calls of the judge whose mean is a score, where the noise is the judge's.
    """

    scenarios: int = 50
    judge_spread: float = 0.10
    drop: float = 0.0
    concentrated: bool = False
    base_runs: int = 3
    judge: str = "normal"
    run_effect: float = 0.0
    drift: float = 0.0
    family_effect: float = 0.0
    family_size: int = 5
    undeclared: bool = False
    errors: bool = False
    minute_effect: float = 0.0
    minute: int = 100
    arms_by_turns: bool = True
    arm_effect: float = 0.0
    every_run: bool = False
    votes: int = 1


@dataclass(frozen=True, slots=True)
class Rates:
    """Shares of the simulated changes, and the mean number of further trials."""

    blocked: float
    inconclusive: float
    further: float
    repeats: int

    @property
    def error(self) -> float:
        """A standard error of the share that was blocked, never 0: a quarter of Wilson's interval."""
        low, high = self.interval
        return (high - low) / 4

    def __add__(self, other: "Rates") -> "Rates":
        """Both together."""
        number = self.repeats + other.repeats
        blocked, inconclusive, further = (
            (getattr(self, name) * self.repeats + getattr(other, name) * other.repeats) / number
            for name in ("blocked", "inconclusive", "further")
        )
        return Rates(blocked, inconclusive, further, number)

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of the share that was blocked, at 95 %: no events are no certainty."""
        found = wilson_interval(round(self.blocked * self.repeats), self.repeats)
        return found.low, found.high

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.blocked:.1%} ({low:.1%} to {high:.1%})"


def scenario(number: int, family: str = "") -> Scenario:
    """A scenario that asserts nothing but its score."""
    plain = Scenario(f"s{number:03}", "fr", (Turn("Bonjour"),), NOW, Customer("Wanjiku", "+254 712 345 432"))
    return replace(plain, family=family)


def suite_of(world: World) -> list[Scenario]:
    """The scenarios of a world, with their families where the suite declares them."""
    declared = world.family_effect and not world.undeclared
    return [
        scenario(number, f"f{number // world.family_size}" if declared else "") for number in range(world.scenarios)
    ]


class Minutes:
    """What conversations share that run at one time: a stationary process of Ornstein and Uhlenbeck."""

    def __init__(self, world: World, random: Random) -> None:
        self._random, self._spread = random, world.minute_effect
        self._kept = math.exp(-1 / world.minute)
        self._now = random.normal(0, self._spread) if self._spread else 0.0

    def following(self) -> float:
        """The effect on the next conversation."""
        if self._spread:
            fresh = self._random.normal(0, self._spread * math.sqrt(1 - self._kept**2))
            self._now = self._kept * self._now + fresh
        return self._now


Numbers = NDArray[np.float64]


@dataclass
class Change:
    """One simulated change: what each scenario is truly worth, and scores that vary around it."""

    world: World
    scenarios: Sequence[Scenario]
    random: Random
    worth: dict[str, Numbers] = field(init=False)

    def __post_init__(self) -> None:
        number = self.world.scenarios
        worth = self.random.uniform(0.70, 0.95, number)
        drops = np.full(number, self.world.drop)
        if self.world.concentrated:
            hit = self.random.choice(number, max(1, round(number * self.world.drop / FALL)), replace=False)
            drops = np.zeros(number)
            drops[hit] = self.world.drop * number / len(hit)
        self.worth = {"base": worth, "head": worth - drops}

    def planned(self, arm: str, shift: float) -> Numbers:
        """A score of each scenario in one run of an arm; not a number where the scenario errored."""
        own = self.random.normal(0, self.world.arm_effect) if self.world.every_run else 0.0
        minutes = Minutes(self.world, self.random)
        shifts = np.array([shift + own + minutes.following() for _ in self.scenarios])
        return self._scores(arm, np.arange(len(self.scenarios)), shifts)

    def further(self, wanted: Sequence[int], shift: float) -> dict[str, list[Numbers]]:
        """Scores of further trials of each arm, round by round, those that a round does not have not a number.

        Args:
            wanted: how many trials of each scenario on either arm.
            shift: of all of them.
        """
        rounds = [np.flatnonzero(np.array(wanted) > number) for number in range(max(wanted))]
        effects = {arm: self.random.normal(0, self.world.arm_effect) for arm in ("base", "head")}
        shared = self._minutes(rounds)
        found: dict[str, list[Numbers]] = {"base": [], "head": []}
        for number, places in enumerate(rounds):
            for arm, scores in found.items():
                shifts = np.array(
                    [shift + effects[arm] + shared.get((arm, number, int(place)), 0.0) for place in places]
                )
                scores.append(np.full(len(wanted), np.nan))
                scores[-1][places] = self._scores(arm, places, shifts)
        return found

    def _minutes(self, rounds: Sequence[NDArray[np.int64]]) -> dict[tuple[str, int, int], float]:
        """What the minute does to each trial, in the order in which the gate runs them."""
        if not self.world.minute_effect:
            return {}
        both = [
            Trial(self.scenarios[place], arm, number)
            for number, places in enumerate(rounds)
            for place in places
            for arm in (HEAD, BASE)
        ]
        if self.world.arms_by_turns:
            parts = in_blocks(Plan(tuple(both)), BLOCK, str(self.random.integers(1 << 30)))
            both = [trial for part in parts for trial in part.trials]
        else:
            both.sort(key=lambda trial: trial.arm.name)
        minutes = Minutes(self.world, self.random)
        return {(trial.arm.name, trial.number, int(trial.scenario.id[1:])): minutes.following() for trial in both}

    def _scores(self, arm: str, places: NDArray[np.int64], shifts: Numbers) -> Numbers:
        worth, random = self.worth[arm][places], self.random
        spread, judge = math.hypot(self.world.judge_spread, SYSTEM_SPREAD), JUDGES[self.world.judge]
        scores = np.mean([judge(worth, spread, random) for _ in range(self.world.votes)], axis=0) + shifts
        if self.world.family_effect:
            families = places // self.world.family_size
            scores += random.normal(0, self.world.family_effect, self.world.scenarios)[families]
        clipped: Numbers = np.clip(scores, 0, 1)
        return clipped

    def errored(self, scores: Numbers) -> NDArray[np.bool_]:
        """Which scores of the base were so low that the scenario errored instead."""
        limit = self.worth["base"] - math.hypot(self.world.judge_spread, SYSTEM_SPREAD)
        return (scores < limit) & self.world.errors


def decide(world: World, scenarios: Sequence[Scenario], random: Random) -> tuple[Comparison, int]:
    """The gate's comparison of one simulated change, and how many further trials it asked for.

    Args:
        world: what is simulated.
        scenarios: all of them.
        random: draws the change and its scores.
    """
    change = Change(world, scenarios, random)

    def shift() -> float:
        return float(random.normal(0, world.run_effect)) if world.run_effect else 0.0

    base = [change.planned("base", shift()) for _ in range(world.base_runs)]
    lost = np.any([change.errored(run) for run in base], axis=0)
    present = shift() + world.drift
    head = change.planned("head", present)
    fresh: dict[str, list[Numbers]] = {"base": [], "head": []}
    further = 0
    while True:
        pairs = [
            Pair(
                entry.id,
                critical=False,
                base=tuple(float(run[place]) for run in base),
                head=(float(head[place]),),
                fresh_base=tuple(float(run[place]) for run in fresh["base"] if not math.isnan(run[place])),
                fresh_head=tuple(float(run[place]) for run in fresh["head"] if not math.isnan(run[place])),
                family=entry.family,
            )
            for place, entry in enumerate(scenarios)
            if not lost[place]
        ]
        step = examine(pairs, (), Rules(), exact=False)
        if isinstance(step, Comparison):
            return step, further
        further += 2 * sum(step.trials.values())
        more = change.further([step.trials.get(entry.id, 0) for entry in scenarios], present)
        fresh = {arm: [*runs, *more[arm]] for arm, runs in fresh.items()}


def simulate(world: World, repeats: int, seed: int = 1) -> Rates:
    """Rates over many simulated changes."""
    random = np.random.default_rng(seed)
    scenarios = suite_of(world)
    decided = [decide(world, scenarios, random) for _ in range(repeats)]
    tiers = [found.tier for found, _ in decided]
    return Rates(
        tiers.count(Tier.REGRESSION) / repeats,
        tiers.count(Tier.UNCLEAR) / repeats,
        sum(further for _, further in decided) / repeats,
        repeats,
    )


@dataclass(frozen=True, slots=True)
class Cell:
    """One rate of a table.

    Args:
        minimum: share that must be blocked; a cell that misses it by more than three standard errors fails the script.
        maximum: share that may be blocked.
        weight: of the repeats that are asked for: a rate near 0 or 1 is known sooner.
    """

    world: World
    minimum: float = 0.0
    maximum: float = 1.0
    weight: float = 1.0

    def miss(self, rates: Rates) -> str:
        """What is off its limit, empty where nothing is."""
        allowed = 3 * max(rates.error, 1 / rates.repeats)
        if self.minimum - allowed <= rates.blocked <= self.maximum + allowed:
            return ""
        return f"{self.world}: {rates} blocked, and {self.minimum:.1%} to {self.maximum:.1%} is the limit"


SIZES = ((50, 0.10, 3), (50, 0.10, 1), (10, 0.10, 3), (20, 0.10, 3), (200, 0.10, 3), (50, 0.20, 3))
"""Scenarios, standard deviation of the judge, runs of the base."""

DROPS = (("no change", 0.0, False), ("5 points", 0.05, False), ("10 points", 0.10, False), ("20 points", 0.20, False))
CONCENTRATED = (("5 concentrated", 0.05, True), ("10 concentrated", 0.10, True))
FALSE_BLOCKS, DEPENDENT_BLOCKS = 0.025, 0.04
POWER: Mapping[float, float] = {0.05: 0.75, 0.10: 0.99, 0.20: 0.99}
"""Least share of blocked changes at 50 scenarios and a normal judge with 0.10, by the drop."""


def _size_row(scenarios: int, spread: float, runs: int) -> tuple[str, list[Cell]]:
    promised = POWER if (scenarios, spread) == (50, 0.10) else {}
    cells = [
        Cell(
            World(scenarios, spread, drop, concentrated, runs),
            promised.get(drop, 0.0) if not concentrated or not promised else 0.99,
            1.0 if drop else FALSE_BLOCKS,
            min(1.0, 50 / scenarios) * (1.5 if not drop else 1.0 if drop == 0.05 else 0.4),  # noqa: PLR2004 - a column
        )
        for _, drop, concentrated in (*DROPS, *CONCENTRATED)
    ]
    return f"{scenarios} | {spread:.2f} | {runs}", cells


FEW_DROPS = ((0.0, 0.0, FALSE_BLOCKS, 4.0), (0.10, 0.0, 1.0, 0.5), (0.20, 0.80, 1.0, 1.0), (0.30, 0.95, 1.0, 1.0))
"""Of fewer scenarios than ``min_scenarios``: the drop, what it must and may be blocked in, and the weight."""

FEW: Sequence[tuple[str, int, Mapping[str, float | int | str]]] = (
    *(("", size, {"base_runs": runs}) for size in (1, 3, 5, 9) for runs in (3, 1)),
    ("provider drift of -5 points", 1, {"drift": -0.05}),
    ("provider drift of -5 points", 5, {"drift": -0.05}),
    ("judge with a scale of 5 levels", 3, {"judge": "scale of 5 levels"}),
    ("judge that answers 0 or 1", 5, {"judge": "bimodal"}),
)


def _few_row(title: str, scenarios: int, changes: Mapping[str, float | int | str]) -> tuple[str, list[Cell]]:
    world = replace(World(scenarios), **changes)  # type: ignore[arg-type] # names and types are those of World
    promised = not title
    cells = [
        Cell(replace(world, drop=drop), minimum if promised else 0.0, maximum, weight)
        for drop, minimum, maximum, weight in FEW_DROPS
    ]
    return f"{scenarios} | {world.base_runs} | {title or 'normal judge'}", cells


def _judge_row(judge: str, runs: int) -> tuple[str, list[Cell]]:
    cells = [
        Cell(World(drop=drop, judge=judge, base_runs=runs), 0.0, 1.0 if drop else FALSE_BLOCKS, weight)
        for drop, weight in ((0.0, 1.5), (0.05, 1.0), (0.10, 0.4))
    ]
    return f"{judge} | {runs}", cells


MISSED = 1.0
"""Of rows that nothing keeps within a limit: they are shown all the same."""

DEPENDENCES: Sequence[tuple[str, float, Mapping[str, float | int | str | bool]]] = (
    ("run effect, sd 0.02", FALSE_BLOCKS, {"run_effect": 0.02}),
    ("run effect, sd 0.02, 200 scenarios", FALSE_BLOCKS, {"run_effect": 0.02, "scenarios": 200}),
    ("minutes with sd 0.02, base and head by turns", FALSE_BLOCKS, {"minute_effect": 0.02}),
    (
        "minutes with sd 0.02, base and head by turns, 200 scenarios",
        FALSE_BLOCKS,
        {"minute_effect": 0.02, "scenarios": 200},
    ),
    (
        "minutes with sd 0.02, one after the other, 200 scenarios",
        MISSED,
        {"minute_effect": 0.02, "scenarios": 200, "arms_by_turns": False},
    ),
    ("effect of base and of head in each round, whenever they run, sd 0.02", FALSE_BLOCKS, {"arm_effect": 0.02}),
    (
        "effect of base and of head in each round, whenever they run, sd 0.02, 200 scenarios",
        FALSE_BLOCKS,
        {"arm_effect": 0.02, "scenarios": 200},
    ),
    ("effect of every run, planned ones too, sd 0.02", FALSE_BLOCKS, {"arm_effect": 0.02, "every_run": True}),
    (
        "effect of every run, planned ones too, sd 0.02, 200 scenarios",
        FALSE_BLOCKS,
        {"arm_effect": 0.02, "every_run": True, "scenarios": 200},
    ),
    (
        "effect of every run, sd 0.02, 200 scenarios, one run of the base",
        FALSE_BLOCKS,
        {"arm_effect": 0.02, "every_run": True, "scenarios": 200, "base_runs": 1},
    ),
    ("provider drift of -5 points since the base was measured", DEPENDENT_BLOCKS, {"drift": -0.05}),
    ("provider drift of -5 points, 200 scenarios", DEPENDENT_BLOCKS, {"drift": -0.05, "scenarios": 200}),
    ("families of 5 that share noise, sd 0.08", FALSE_BLOCKS, {"family_effect": 0.08}),
    ("families of 10", FALSE_BLOCKS, {"family_effect": 0.08, "family_size": 10}),
    ("families of 5, 200 scenarios", FALSE_BLOCKS, {"family_effect": 0.08, "scenarios": 200}),
    ("families of 5 that no scenario declares", MISSED, {"family_effect": 0.08, "undeclared": True}),
    (
        "families of 10 that no scenario declares",
        MISSED,
        {"family_effect": 0.08, "family_size": 10, "undeclared": True},
    ),
    ("drift of -5 points and families of 5", DEPENDENT_BLOCKS, {"family_effect": 0.08, "drift": -0.05}),
    (
        "drift of -5 points and families of 10",
        DEPENDENT_BLOCKS,
        {"family_effect": 0.08, "family_size": 10, "drift": -0.05},
    ),
    (
        "drift of -5 points, families of 5, minutes with sd 0.02",
        DEPENDENT_BLOCKS,
        {"family_effect": 0.08, "drift": -0.05, "minute_effect": 0.02},
    ),
    ("families of 3 among 9 scenarios", FALSE_BLOCKS, {"family_effect": 0.08, "family_size": 3, "scenarios": 9}),
    ("the base's worst outcomes errored instead", DEPENDENT_BLOCKS, {"errors": True}),
)


def _dependence_row(
    title: str, maximum: float, changes: Mapping[str, float | int | str | bool]
) -> tuple[str, list[Cell]]:
    plain = replace(World(), **changes)  # type: ignore[arg-type] # names and types are those of World
    weight = 3.0 if plain.scenarios <= 50 else 2.0  # noqa: PLR2004 - a large suite takes three times as long
    return title, [Cell(plain, 0.0, maximum, weight), Cell(replace(plain, drop=0.05), weight=0.2 * weight)]


def _samples_row(votes: int) -> tuple[str, list[Cell]]:
    cells = [
        Cell(World(drop=drop, judge="bimodal", votes=votes), 0.0, 1.0 if drop else FALSE_BLOCKS, weight)
        for drop, weight in ((0.0, 1.0), (0.05, 0.5), (0.10, 0.5))
    ]
    return str(votes), cells


@dataclass(frozen=True, slots=True)
class Table:
    """One table of the page, between two comments that carry its name."""

    name: str
    titles: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Cell]]]


TABLES = (
    Table(
        "sizes",
        (
            "scenarios",
            "sd of the judge",
            "base runs",
            *(entry[0] for entry in (*DROPS, *CONCENTRATED)),
            "trials at 0 / 10",
            "USD for a right decision at 0 / 10",
        ),
        [_size_row(*size) for size in SIZES],
    ),
    Table(
        "few",
        (
            "scenarios",
            "base runs",
            "world",
            "no change",
            "10 points",
            "20 points",
            "30 points",
            "trials at 0 / 20",
            "USD for a right decision at 0 / 20",
        ),
        [_few_row(*row) for row in FEW],
    ),
    Table(
        "judges",
        (
            "judge",
            "base runs",
            "no change",
            "5 points",
            "10 points",
            "trials at 0 / 10",
            "USD for a right decision at 0 / 10",
        ),
        [_judge_row(judge, runs) for judge in JUDGES for runs in (3, 1)],
    ),
    Table(
        "dependence",
        ("what is not independent", "no change", "5 points", "trials at 0 / 5", "USD for a right decision at 0 / 5"),
        [_dependence_row(*row) for row in DEPENDENCES],
    ),
    Table(
        "samples",
        (
            "judge.samples",
            "no change",
            "5 points",
            "10 points",
            "trials at 0 / 10",
            "USD for a right decision at 0 / 10",
        ),
        [_samples_row(votes) for votes in (1, 3, 5)],
    ),
)


def code_digest() -> str:
    """SHA-256 of the gate's code that this process has loaded, and of this file."""
    modules = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "ratiba_action"}
    files = {name: Path(module.__file__) for name, module in modules.items() if module.__file__}
    files[""] = Path(__file__)
    return sha256("\0".join(files[name].read_text("utf-8") for name in sorted(files)).encode()).hexdigest()


class Counts:
    """What the parts of a run have counted so far, by cell.

    Args:
        path: of the file that they are kept in; None keeps nothing.
        code: that is simulated; what was counted of other code is left out, and overwritten.
    """

    def __init__(self, path: Path | None, code: str = "") -> None:
        self._path, self._code = path, code
        kept = json.loads(path.read_text("utf-8")) if path is not None and path.exists() else {}
        kept = kept["cells"] if kept.get("code") == code else {}
        self._found: dict[str, dict[str, Rates]] = {
            world: {part: Rates(*figures) for part, figures in parts.items()} for world, parts in kept.items()
        }

    @property
    def empty(self) -> bool:
        """Whether nothing of this code was counted."""
        return not self._found

    def has(self, world: World, part: str) -> bool:
        """Whether a part has counted this cell: it would only count the same changes again."""
        return part in self._found.get(str(world), {})

    def add(self, world: World, part: str, rates: Rates) -> None:
        """Keep what a part has counted, at once: a run that is cut short loses one cell."""
        self._found.setdefault(str(world), {})[part] = rates
        if self._path is not None:
            plain = {
                name: {part: [one.blocked, one.inconclusive, one.further, one.repeats] for part, one in parts.items()}
                for name, parts in self._found.items()
            }
            self._path.write_text(json.dumps({"code": self._code, "cells": plain}, indent=1), "utf-8")

    def of(self, world: World) -> Rates | None:
        """All parts together; None where none has counted the cell."""
        parts = list(self._found.get(str(world), {}).values())
        return sum(parts[1:], parts[0]) if parts else None


NIGHTS = 7
"""Parts by date after which each cell has all of its repeats."""


@dataclass(frozen=True, slots=True)
class Part:
    """One of several runs that simulate other changes each.

    Args:
        number: from 1; no other run has it.
        repeats: of a cell, less or more by its weight; 0 counts nothing.
        processes: that simulate at the same time; None for one a processor.
        at_least: no cell has fewer repeats, whatever its weight.
    """

    number: int
    repeats: int
    processes: int | None = None
    at_least: bool = False

    @classmethod
    def of_night(cls, day: date, repeats: int, processes: int | None = None) -> "Part":
        """The part of a day; any seven days in a row give each cell ``repeats`` or more."""
        return cls(day.toordinal(), -(-repeats // NIGHTS), processes, at_least=True)

    def count(self, cells: Sequence[Cell], counts: Counts) -> None:
        """Simulate the cells that this part has not yet counted."""
        left = [cell for cell in cells if self.repeats and not counts.has(cell.world, str(self.number))]
        worlds = [cell.world for cell in left]
        weights = [max(cell.weight, 1.0) if self.at_least else cell.weight for cell in left]
        repeats = [max(20, round(self.repeats * weight)) for weight in weights]
        seeds = [self.number] * len(left)
        if self.processes == 1:
            found: Iterator[Rates] = map(simulate, worlds, repeats, seeds)
            self._keep(worlds, found, counts)
            return
        with ProcessPoolExecutor(self.processes) as pool:
            self._keep(worlds, pool.map(simulate, worlds, repeats, seeds), counts)

    def _keep(self, worlds: Sequence[World], found: Iterable[Rates], counts: Counts) -> None:
        for world, rates in zip(worlds, found, strict=True):
            counts.add(world, str(self.number), rates)


def lines_of(table: Table, counts: Counts, misses: list[str]) -> Iterator[str]:
    """A table in Markdown, line by line.

    Args:
        table: whose cells have been counted.
        counts: of all parts so far.
        misses: filled with the cells that are off their limits.
    """
    yield f"| {' | '.join(table.titles)} |"
    yield "|---" * len(table.titles) + "|"
    for title, row in table.rows:
        known = [(cell, counts.of(cell.world)) for cell in row]
        misses += [why for cell, rates in known if rates is not None and (why := cell.miss(rates))]
        further = [None if rates is None else rates.further for _, rates in known]
        shown = [0, 2] if len(further) > 2 else [0, 1][: len(known)]  # noqa: PLR2004
        trials = " / ".join("-" if (each := further[place]) is None else f"{each:.0f}" for place in shown)
        dollars = " / ".join(_dollars(*known[place]) for place in shown)
        cells = ("not measured" if rates is None else str(rates) for _, rates in known)
        yield f"| {title} | {' | '.join(cells)} | {trials} | {dollars} |"


SYSTEM_USD, JUDGE_USD = 0.01, 0.01
"""Price of a conversation, and of one call of the judge about it."""


def _dollars(cell: Cell, rates: Rates | None) -> str:
    """What the gate spends until one decision is right: nothing blocked without a drop, a drop blocked."""
    if rates is None:
        return "-"
    right = rates.blocked if cell.world.drop > 0 else 1 - rates.blocked
    spent = (cell.world.scenarios + rates.further) * (SYSTEM_USD + JUDGE_USD * cell.world.votes)
    return f"{spent / right:.2f}" if right else "never"


RATES = (0.65, 0.75, 0.80, 0.85, 0.90)


def pass_rate_blocks(truth: float, scenarios: int, rule: PassRateRule, repeats: int, seed: int = 1) -> Rates:
    """How often a run without a base is blocked whose scenarios pass with a chance of ``truth`` on average.

    Some scenarios are harder than others: their worth follows a normal distribution (sd 0.05), the same in every run,
    and each trial adds the noise of system and judge (0.128 together) to it; the threshold is 0.80.
    """
    from scipy import optimize, stats  # here only

    random = np.random.default_rng(seed)
    noise = math.hypot(0.10, SYSTEM_SPREAD)
    plain = [scenario(number) for number in range(scenarios)]
    spread = stats.norm.ppf((np.arange(scenarios) + 0.5) / scenarios) * 0.05
    middle = optimize.brentq(lambda mean: stats.norm.sf(0.80, mean + spread, noise).mean() - truth, 0, 2)
    worth = {entry.id: middle + own for entry, own in zip(plain, spread, strict=True)}
    conclusions, further = [], 0

    def result(trial: Trial) -> ScenarioResult:
        value = random.normal(worth[trial.scenario.id], noise)
        score = Score("Quality", "1.0.0", float(np.clip(value, 0, 1)), 0.80, judged=True)
        return Scored(trial, Transcript(trial.scenario.id, ()), (), (score,), 0.0)

    for _ in range(repeats):
        limits = Limits(0.80, rule)
        results = tuple(result(Trial(entry, HEAD)) for entry in plain)
        step = next_step(Evidence(Mode.BLOCKING, results, limits, answers=AnswerOrigin.LIVE))
        if isinstance(step, Plan):
            further += len(step.trials)
            results = (*results, *map(result, step.trials))
            step = next_step(Evidence(Mode.BLOCKING, results, limits, answers=AnswerOrigin.LIVE))
        conclusions.append(step.conclusion if isinstance(step, Verdict) else Conclusion.INCOMPLETE)
    blocked, unclear = conclusions.count(Conclusion.FAILED), conclusions.count(Conclusion.INCONCLUSIVE)
    return Rates(blocked / repeats, unclear / repeats, further / repeats, repeats)


def pass_rate_lines(repeats: int) -> Iterator[str]:
    """The table of the pass rate of a run that has no base to compare with."""
    yield f"| scenarios | rule | {' | '.join(f'{rate:.0%}' for rate in RATES)} | further trials at 80% |"
    yield "|---" * (len(RATES) + 3) + "|"
    for scenarios in (20, 50):
        for rule in PassRateRule:
            rates = [pass_rate_blocks(truth, scenarios, rule, repeats) for truth in RATES]
            yield f"| {scenarios} | {rule} | {' | '.join(map(str, rates))} | {rates[2].further:.0f} |"


def with_table(page: str, name: str, lines: Sequence[str]) -> str:
    """The page with these lines instead of its table of that name."""
    begin, end = f"<!-- table: {name} -->", f"<!-- end: {name} -->"
    before, found, rest = page.partition(begin)
    if not found or end not in rest:
        raise ValueError(f"The page has no table {name!r}.")
    return "\n".join([f"{before}{begin}", *lines, f"{end}{rest.partition(end)[2]}"])


def main() -> int:
    """Print the tables; exit 1 when a rate is off its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=400, help="simulated changes of a cell, in all parts together")
    parser.add_argument("--table", choices=[*(table.name for table in TABLES), "pass rate"], help="only this one")
    split = parser.add_mutually_exclusive_group()
    split.add_argument("--part", default="1/1", metavar="I/N", help="the I-th of N runs that share the repeats")
    split.add_argument(
        "--night", type=date.fromisoformat, metavar="DAY", help="the day's part of seven that share them"
    )
    parser.add_argument("--counts", type=Path, help="JSON file that the parts add to")
    parser.add_argument("--processes", type=int, default=None, help="one a processor if it is not given")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/statistics.md")
    arguments = parser.parse_args()
    number, parts = map(int, arguments.part.split("/"))
    if not 1 <= number <= parts:
        parser.error(f"--part {arguments.part}: give a number from 1 to {parts} before the stroke")
    counts = Counts(arguments.counts, code_digest())
    if not arguments.repeats and counts.empty:
        parser.error(f"--counts {arguments.counts}: it has no counts of this code, so there is nothing to show")
    part = Part(number, -(-arguments.repeats // parts), arguments.processes)
    if arguments.night:
        part = Part.of_night(arguments.night, arguments.repeats, arguments.processes)
    misses: list[str] = []
    for name, lines in _made(
        part, counts, misses, arguments.table, rate_repeats=0 if arguments.night else arguments.repeats
    ):
        print(f"\n{name}:")
        shown = []
        for line in lines:
            print(line, flush=True)
            shown.append(line)
        if arguments.write:
            PAGE.write_text(with_table(PAGE.read_text("utf-8"), name, shown), "utf-8")
    for line in misses:
        print(f"off its limit: {line}")
    return 1 if misses else 0


def _made(
    part: Part, counts: Counts, misses: list[str], only: str | None, *, rate_repeats: int
) -> Iterator[tuple[str, Iterable[str]]]:
    for table in TABLES:
        if only in (None, table.name):
            part.count([cell for _, row in table.rows for cell in row], counts)
            yield table.name, lines_of(table, counts, misses)
    if only in (None, "pass rate") and rate_repeats:
        yield "pass rate", pass_rate_lines(rate_repeats)


if __name__ == "__main__":
    sys.exit(main())
