"""How often the verdict is wrong: simulated scores through the gate's own ``next_step``.

Run it with ``--write`` to put the table into ``docs/statistics.md``.
"""

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

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


def decide(world: World, scenarios: Sequence[Scenario], random: np.random.Generator) -> tuple[Verdict, int]:
    """The gate's verdict about one simulated change, and how many further trials it asked for."""
    change = Change(world, scenarios, random)

    def run(arm: Arm) -> tuple[ScenarioResult, ...]:
        return tuple(change.result(Trial(one, arm)) for one in scenarios)

    baseline = tuple(MeasuredRun("a1b2c3d", NOW, "judge", "live", run(BASE)) for _ in range(world.base_runs))
    evidence = Evidence(Mode.BLOCKING, run(HEAD), Limits(), judge_model="judge", answers="live", baseline=baseline)
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
    decided = [decide(world, scenarios, random) for _ in range(repeats)]
    conclusions = [verdict.conclusion for verdict, _ in decided]
    return Rates(
        conclusions.count(Conclusion.FAILED) / repeats,
        conclusions.count(Conclusion.INCONCLUSIVE) / repeats,
        sum(further for _, further in decided) / repeats,
        repeats,
    )


DROPS = ((0.0, False), (0.05, False), (0.10, False), (0.20, False), (0.05, True), (0.10, True))
SIZES = ((50, 0.10, 3), (50, 0.10, 1), (10, 0.10, 3), (20, 0.10, 3), (200, 0.10, 3), (50, 0.20, 3))


def table(repeats: int) -> Iterator[str]:
    """The table in Markdown, line by line, as it is worked out."""
    yield "| conversations | judge's scatter | runs of the base | no change | 5 points | 10 points | 20 points | 5 concentrated | 10 concentrated | further trials at 0 / 10 |"  # noqa: E501 - one line of a table
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for conversations, spread, base_runs in SIZES:
        rates = [
            simulate(World(conversations, spread, drop, concentrated, base_runs), repeats)
            for drop, concentrated in DROPS
        ]
        cells = [f"{rate.blocked:.1%} ± {rate.error:.1%}" for rate in rates]
        further = f"{rates[0].further:.0f} / {rates[2].further:.0f}"
        yield f"| {conversations} | {spread:.2f} | {base_runs} | {' | '.join(cells)} | {further} |"


def main() -> int:
    """Print the table; exit 1 when a rate at 50 conversations with three runs of the base is off its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=200, help="simulated changes a cell")
    parser.add_argument("--write", action="store_true", help="put the table into docs/statistics.md")
    arguments = parser.parse_args()
    lines = []
    for line in table(arguments.repeats):
        print(line, flush=True)
        lines.append(line)
    if arguments.write:
        before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        text = "\n".join([f"{arguments.repeats} changes a cell; ± is the standard error.", "", *lines])
        PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", "utf-8")
    return holds(arguments.repeats)


def holds(repeats: int) -> int:
    """0 when what is promised holds within three standard errors of the simulation."""
    promised = {
        (0.0, False): (0.0, 0.025),
        (0.05, False): (0.75, 1.0),
        (0.10, False): (0.99, 1.0),
        (0.05, True): (0.99, 1.0),
    }
    broken = []
    for (drop, concentrated), (least, most) in promised.items():
        rate = simulate(World(50, 0.10, drop, concentrated, 3), repeats, seed=2)
        allowed = 3 * max(rate.error, 1 / repeats)
        if not least - allowed <= rate.blocked <= most + allowed:
            broken.append(f"drop {drop}, concentrated {concentrated}: {rate.blocked:.1%} blocked")
    for line in broken:
        print(f"off its limit: {line}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
