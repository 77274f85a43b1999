"""How often the verdict is wrong: simulated scores through the gate's own ``next_step``.

Run it with ``--write`` to put the table into ``docs/statistics.md``.
"""

import argparse
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from ratiba_action.core.comparison.scenario_content import content_digest
from ratiba_action.core.decision import next_step
from ratiba_action.core.model.change import Mode
from ratiba_action.core.model.comparison import MeasuredRun
from ratiba_action.core.model.conversation import Transcript
from ratiba_action.core.model.measurement import ScenarioResult, Score, Scored
from ratiba_action.core.model.plan import Arm, Plan, Trial
from ratiba_action.core.model.scenario import Customer, Scenario, Turn
from ratiba_action.core.model.verdict import Conclusion, Evidence, Limits, Verdict

PAGE = Path(__file__).parents[1] / "docs" / "statistics.md"
BEGIN, END = "<!-- operating characteristics -->", "<!-- end -->"
SYSTEM_SPREAD = 0.08
FALL = 0.50
NOW = datetime(2026, 4, 25, tzinfo=UTC)
HEAD, BASE = Arm("head", "head"), Arm("base", "base")


@dataclass(frozen=True, slots=True)
class World:
    """What is simulated.

    Args:
        drop: of the mean, in points of the score.
        concentrated: the drop falls on few conversations, 50 points each.
        base_runs: earlier runs of the base that are pooled.
    """

    conversations: int
    judge_spread: float
    drop: float
    concentrated: bool
    base_runs: int


@dataclass(frozen=True, slots=True)
class Rates:
    """Shares of the simulated changes, and the mean number of further trials."""

    blocked: float
    inconclusive: float
    further: float
    repeats: int

    @property
    def error(self) -> float:
        """Standard error of the share that was blocked."""
        return math.sqrt(self.blocked * (1 - self.blocked) / self.repeats)


def scenario(number: int) -> Scenario:
    """A conversation that asserts nothing but its score."""
    return Scenario(f"s{number:03}", "fr", (Turn("Bonjour"),), NOW, Customer("Wanjiku", "+254 712 345 432"))


class Change:
    """One simulated change: what each conversation is truly worth, and scores that scatter around it."""

    def __init__(self, world: World, scenarios: Sequence[Scenario], random: np.random.Generator) -> None:
        self._random = random
        self._spread = math.hypot(world.judge_spread, SYSTEM_SPREAD)
        worth = random.uniform(0.70, 0.95, world.conversations)
        drops = np.full(world.conversations, world.drop)
        if world.concentrated:
            hit = random.choice(
                world.conversations, max(1, round(world.conversations * world.drop / FALL)), replace=False
            )
            drops = np.zeros(world.conversations)
            drops[hit] = world.drop * world.conversations / len(hit)
        names = [one.id for one in scenarios]
        self._worth = {"base": dict(zip(names, worth, strict=True))}
        self._worth["head"] = dict(zip(names, worth - drops, strict=True))

    def result(self, trial: Trial) -> ScenarioResult:
        """One trial's score."""
        value = self._random.normal(self._worth[trial.arm.name][trial.scenario.id], self._spread)
        score = Score("Quality", "1.0.0", float(np.clip(value, 0, 1)), 0.0, judged=True)
        return Scored(trial, Transcript(trial.scenario.id, ()), (), (score,), 0.0)


def decide(
    world: World, scenarios: Sequence[Scenario], digests: Mapping[str, str], random: np.random.Generator
) -> tuple[Verdict, int]:
    """The gate's verdict about one simulated change, and how many further trials it asked for.

    Args:
        world: what is simulated.
        scenarios: the conversations.
        digests: of the scenarios, by their ids, as a ``results.json`` of the base holds them.
        random: draws the change and its scores.
    """
    change = Change(world, scenarios, random)

    def run(arm: Arm) -> tuple[ScenarioResult, ...]:
        return tuple(change.result(Trial(one, arm)) for one in scenarios)

    baseline = tuple(MeasuredRun("a1b2c3d", NOW, "judge", "live", run(BASE), digests) for _ in range(world.base_runs))
    evidence = Evidence(
        Mode.BLOCKING,
        run(HEAD),
        Limits(),
        judge_model="judge",
        answers="live",
        baseline=baseline,
        scenario_digests=digests,
    )
    step, further = next_step(evidence), 0
    while isinstance(step, Plan):
        further += len(step.trials)
        more = tuple(change.result(trial) for trial in step.trials)
        evidence = replace(evidence, results=(*evidence.results, *more), confirmed=True)
        step = next_step(evidence)
    return step, further


def simulate(world: World, repeats: int, seed: int = 1) -> Rates:
    """Rates over many simulated changes."""
    random = np.random.default_rng(seed)
    scenarios = [scenario(number) for number in range(world.conversations)]
    digests = {one.id: content_digest(one) for one in scenarios}
    decided = [decide(world, scenarios, digests, random) for _ in range(repeats)]
    conclusions = [verdict.conclusion for verdict, _ in decided]
    return Rates(
        conclusions.count(Conclusion.FAILED) / repeats,
        conclusions.count(Conclusion.INCONCLUSIVE) / repeats,
        sum(further for _, further in decided) / repeats,
        repeats,
    )


@dataclass(frozen=True, slots=True)
class Drop:
    """One column of the table.

    Args:
        repeats: of the cell, in shares of what is asked for: a rate near 0 or 1 is known sooner.
        promised: least and most that may be blocked at 50 conversations and the judge's usual scatter.
    """

    title: str
    size: float
    concentrated: bool
    repeats: float
    promised: tuple[float, float]


DROPS = (
    Drop("no change", 0.0, concentrated=False, repeats=1.2, promised=(0.0, 0.025)),
    Drop("5 points", 0.05, concentrated=False, repeats=1.0, promised=(0.75, 1.0)),
    Drop("10 points", 0.10, concentrated=False, repeats=0.5, promised=(0.99, 1.0)),
    Drop("20 points", 0.20, concentrated=False, repeats=0.3, promised=(0.99, 1.0)),
    Drop("5 concentrated", 0.05, concentrated=True, repeats=0.5, promised=(0.99, 1.0)),
    Drop("10 concentrated", 0.10, concentrated=True, repeats=0.3, promised=(0.99, 1.0)),
)
PROMISED = (50, 0.10)
SIZES = (
    (50, 0.10, 3, 1.0),
    (50, 0.10, 1, 1.0),
    (50, 0.20, 3, 1.4),
    (20, 0.10, 3, 1.4),
    (10, 0.10, 3, 1.4),
    (200, 0.10, 3, 0.6),
    (10, 0.20, 3, 1.4),
    (20, 0.20, 3, 1.4),
    (200, 0.20, 3, 0.3),
)
"""Conversations, the judge's scatter, runs of the base, and repeats as for a column."""


def table(repeats: int, broken: list[str], sizes: Sequence[tuple[int, float, int, float]] = SIZES) -> Iterator[str]:
    """The table in Markdown, line by line, as it is worked out.

    Args:
        repeats: of a cell, less or more by the column.
        broken: filled with promises that do not hold.
        sizes: the rows; see ``SIZES``.
    """
    titles = ["conversations", "judge's scatter", "runs of the base", *(one.title for one in DROPS)]
    yield f"| {' | '.join(titles)} | further trials at 0 / 10 |"
    yield "|---" * (len(titles) + 1) + "|"
    for conversations, spread, base_runs, share in sizes:
        rates = [
            simulate(
                World(conversations, spread, drop.size, drop.concentrated, base_runs),
                max(1, round(repeats * drop.repeats * share)),
            )
            for drop in DROPS
        ]
        cells = [f"{rate.blocked:.1%} ± {rate.error:.1%}" for rate in rates]
        further = f"{rates[0].further:.0f} / {rates[2].further:.0f}"
        yield f"| {conversations} | {spread:.2f} | {base_runs} | {' | '.join(cells)} | {further} |"
        if (conversations, spread) == PROMISED:
            broken += [f"{base_runs} of the base, {why}" for why in misses(rates)]


def with_table(page: str, lines: Sequence[str]) -> str:
    """The page with these lines in the place of its table."""
    before, _, rest = page.partition(BEGIN)
    text = "\n".join(["± is the standard error.", "", *lines])
    return f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}"


def misses(rates: Sequence[Rates]) -> Iterator[str]:
    """What does not hold within three standard errors of the simulation."""
    for drop, rate in zip(DROPS, rates, strict=True):
        least, most = drop.promised
        allowed = 3 * max(rate.error, 1 / rate.repeats)
        if not least - allowed <= rate.blocked <= most + allowed:
            yield f"{drop.title}: {rate.blocked:.1%} blocked"


def main() -> int:
    """Print the table; exit 1 when a rate at 50 conversations is off its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=200, help="simulated changes with a drop of 5 points")
    parser.add_argument("--write", action="store_true", help="put the table into docs/statistics.md")
    arguments = parser.parse_args()
    lines: list[str] = []
    broken: list[str] = []
    for line in table(arguments.repeats, broken):
        print(line, flush=True)
        lines.append(line)
    if arguments.write:
        PAGE.write_text(with_table(PAGE.read_text("utf-8"), lines), "utf-8")
    for line in broken:
        print(f"off its limit: {line}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
