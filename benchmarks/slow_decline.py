"""How often a slow decline is found, and raised where there is none: simulated scores through the gate's own code.

One simulated history is eight weeks of a branch that nothing has changed, then ten merges; after each, the gate chooses
its anchor from the history and compares the branch with it. Run it with ``--write`` to put the table into
``docs/history-of-scores.md``.
"""

import argparse
import itertools
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from benchmarks.operating_characteristics import (
    HEAD,
    JUDGES,
    NOW,
    SYSTEM_SPREAD,
    Rates,
    scenario,
    with_table,
)
from ratiba_action.history.anchors import AnchorWanted, anchor_of
from ratiba_action.history.store import Series
from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.change import Mode
from ratiba_action.model.comparison import Anchor
from ratiba_action.model.conversation import Transcript
from ratiba_action.model.history import KeptRun, KeptScore
from ratiba_action.model.measurement import Score, Scored
from ratiba_action.model.plan import Plan, Trial
from ratiba_action.model.scenario import Scenario
from ratiba_action.model.verdict import Conclusion, Evidence, Limits, Verdict
from ratiba_action.verdict.decline import first_of_each_week
from ratiba_action.verdict.pairing import content_digest
from ratiba_action.verdict.weighing import with_decline

MERGES, WEEKS = 10, 8
FALSE_ALARMS, FOUND = 0.01, 0.80
"""Most and least shares of histories of ten merges, without a change and with two points lost in each."""

PASSED = Verdict(Conclusion.PASSED, "Nothing else speaks against the run.")
Random = np.random.Generator


@dataclass(frozen=True, slots=True)
class World:
    """What is simulated.

    Args:
        step: what each of the ten merges loses, 0 to 1.
        named: the anchor is a tag on the first commit, not the best of the last weeks.
        corrected: the level is divided by the number of commits that the best was chosen from, as the gate does it.
        run_effect: standard deviation of what all scores of one run share.
        drift: what the provider loses before the first merge, in every version that is run from then on.
        changed: share of the scenarios that are edited between the fifth and the sixth merge.
        replayed: the answers of every commit were recorded once.
    """

    scenarios: int = 50
    judge: str = "normal"
    step: float = 0.0
    named: bool = False
    corrected: bool = True
    run_effect: float = 0.0
    drift: float = 0.0
    changed: float = 0.0
    replayed: bool = False


@dataclass
class History:
    """One simulated branch, whose commits are numbered."""

    world: World
    scenarios: Sequence[Scenario]
    digests: Mapping[str, str]
    random: Random
    worth: dict[str, float] = field(init=False)
    runs: list[KeptRun] = field(default_factory=list)
    scores: list[KeptScore] = field(default_factory=list)
    edited: set[str] = field(default_factory=set)
    further: int = 0
    anchors: dict[tuple[int, ...], Anchor | None] = field(default_factory=dict)
    """By the runs that they are chosen from: most merges have the same ones as the merge before."""

    def __post_init__(self) -> None:
        values = self.random.uniform(0.70, 0.95, len(self.scenarios))
        self.worth = {entry.id: float(value) for entry, value in zip(self.scenarios, values, strict=True)}

    def found_at(self) -> int | None:
        """After how many merges a decline is confirmed; None if it is not."""
        for week in range(WEEKS):
            self._keep(self.measure(0, 0.0), week, NOW - timedelta(weeks=WEEKS - week, hours=-1))
        for merge in range(1, MERGES + 1):
            if merge == MERGES // 2 + 1:
                number = round(self.world.changed * len(self.scenarios))
                self.edited = {entry.id for entry in self.scenarios[:number]}
            now = NOW + timedelta(days=merge)
            head = self.measure(merge, self.world.drift)
            verdict = self._decide(head, merge, now)
            if verdict.decline is not None and verdict.decline.confirmed:
                return merge
            self._keep(head, WEEKS + merge, now)
        return None

    def measure(self, merge: int, drift: float) -> dict[str, float]:
        """A score of each scenario by one run of a commit."""
        shift = float(self.random.normal(0, self.world.run_effect)) if self.world.run_effect else 0.0
        return {entry.id: self._value(entry.id, merge, drift + shift) for entry in self.scenarios}

    def _value(self, name: str, merge: int, shift: float) -> float:
        spread = float(np.hypot(0.10, SYSTEM_SPREAD))
        value = JUDGES[self.world.judge](self.worth[name] - merge * self.world.step, spread, self.random) + shift
        return float(np.clip(value, 0, 1))

    def _keep(self, values: Mapping[str, float], number: int, at: datetime) -> None:
        self.runs.append(KeptRun(number, f"{number:040}", at, "judge", self._answers))
        self.scores += [
            KeptScore(number, name, 0, "passed", self._digest(name), "Quality", "1.0.0", judged=True, score=value)
            for name, value in values.items()
        ]

    @property
    def _answers(self) -> AnswerOrigin:
        return AnswerOrigin.REPLAY if self.world.replayed else AnswerOrigin.LIVE

    def _digest(self, name: str) -> str:
        return f"{self.digests[name]} edited" if name in self.edited else self.digests[name]

    def _anchor(self, now: datetime) -> Anchor:
        scenarios = {self._digest(entry.id): entry for entry in self.scenarios}
        named = f"{0:040}" if self.world.named else ""
        wanted = AnchorWanted(Series("ratiba/assistant", "ratiba", "main", before=now), "", named, scenarios)
        kept = first_of_each_week(self.runs, now, WEEKS)
        runs = self.runs[:1] if named else [run for found in kept.values() for run in found]
        chosen = (len(self.edited), *(run.id for run in runs))
        if chosen not in self.anchors:
            self.anchors[chosen] = anchor_of(runs, [row for row in self.scores if row.run in chosen[1:]], wanted, WEEKS)
        anchor = self.anchors[chosen]
        if anchor is None:
            raise ValueError("The simulated history has no anchor.")
        return anchor if self.world.corrected else replace(anchor, candidates=1)

    def _decide(self, head: Mapping[str, float], merge: int, now: datetime) -> Verdict:
        anchor = self._anchor(now)
        then = max(int(anchor.commit) - WEEKS, 0)
        evidence = Evidence(
            Mode.BLOCKING,
            tuple(scored(Trial(entry, HEAD), head[entry.id]) for entry in self.scenarios),
            Limits(),
            judge_model="judge",
            answers=self._answers,
            scenario_digests={entry.id: self._digest(entry.id) for entry in self.scenarios},
            anchor=anchor,
        )
        shift = self.world.drift + (float(self.random.normal(0, self.world.run_effect)) if self.world.run_effect else 0)
        step = with_decline(evidence, PASSED)
        while isinstance(step, Plan):
            evidence = replace(evidence, results=(*evidence.results, *self._further(step, merge, then, shift)))
            step = with_decline(evidence, PASSED)
        return step

    def _further(self, plan: Plan, merge: int, then: int, shift: float) -> Iterator[Scored]:
        self.further += len(plan.trials)
        for trial in plan.trials:
            version = merge if trial.arm == HEAD else then
            yield scored(trial, self._value(trial.scenario.id, version, shift))


def scored(trial: Trial, value: float) -> Scored:
    """A trial with one judged score that asserts nothing."""
    score = Score("Quality", "1.0.0", value, 0.0, judged=True)
    return Scored(trial, Transcript(trial.scenario.id, ()), (), (score,), 0.0)


@dataclass(frozen=True, slots=True)
class Found:
    """Of many simulated histories: shares, and means."""

    rates: Rates
    merges: float

    def __str__(self) -> str:
        rate = self.rates.blocked
        return f"{rate:.1%} ± {math.sqrt(rate * (1 - rate) / self.rates.repeats):.1%}"


def simulate(world: World, repeats: int, seed: int = 1) -> Found:
    """How often a decline is confirmed within ten merges, after how many, and by how many further trials in all."""
    random = np.random.default_rng(seed)
    scenarios = [scenario(number) for number in range(world.scenarios)]
    digests = {entry.id: content_digest(entry) for entry in scenarios}
    found: list[int] = []
    further = 0
    for _ in range(repeats):
        history = History(world, scenarios, digests, random)
        at = history.found_at()
        found += [] if at is None else [at]
        further += history.further
    rates = Rates(len(found) / repeats, 0.0, further / repeats, repeats)
    return Found(rates, sum(found) / len(found) if found else 0.0)


ROWS: Mapping[str, tuple[World, float]] = {
    "best of 8 weeks": (World(), 2.0),
    "best of 8 weeks, 20 scenarios": (World(scenarios=20), 1.0),
    "best of 8 weeks, 10 scenarios": (World(scenarios=10), 1.0),
    "a tag": (World(named=True), 1.0),
    "best of 8 weeks, level not divided": (World(corrected=False), 0.5),
    "judge with a scale of 5 levels": (World(judge="scale of 5 levels"), 0.5),
    "judge that says 0 or 1": (World(judge="bimodal"), 0.5),
    "run effect, sd 0.02": (World(run_effect=0.02), 1.0),
    "provider drift of -5 points before the first merge": (World(drift=-0.05), 1.0),
    "half of the scenarios edited after five merges": (World(changed=0.5), 0.5),
    "recorded answers, each merge records all anew": (World(replayed=True), 0.5),
}
"""What is simulated, and how many of the repeats that are asked for."""
NOT_FOUND = frozenset({"best of 8 weeks, 10 scenarios", "judge that says 0 or 1"})
"""Rows with too little data to find two points a merge in ``FOUND`` of the histories."""
TITLES = ("anchor", "no change", "1 point a merge", "2 points a merge", "merges until found at 2", "trials at 0")
PAGE = Path(__file__).parents[1] / "docs" / "history-of-scores.md"
_NO_CHANGE = 4
"""Times as many repeats without a change, whose rate is small."""


def lines_of(repeats: int, misses: list[str], *, seed: int = 1, processes: int | None = None) -> Iterator[str]:
    """The table in Markdown, line by line.

    Args:
        repeats: of each cell, more of the first row and of the first column.
        misses: filled with the cells that are off their limits.
        seed: of the first cell; each has its own.
        processes: that simulate at the same time.
    """
    yield f"| {' | '.join(TITLES)} |"
    yield "|---" * len(TITLES) + "|"
    cells = [(replace(world, step=step), weight) for world, weight in ROWS.values() for step in (0.0, 0.01, 0.02)]
    worlds = [world for world, _ in cells]
    with ProcessPoolExecutor(processes) as pool:
        counts = [round(repeats * weight * (1 if world.step else _NO_CHANGE)) for world, weight in cells]
        results = pool.map(simulate, worlds, counts, itertools.count(seed * len(cells)))
        yield from (_row(title, *itertools.islice(results, 3), misses=misses) for title in ROWS)


def _row(title: str, still: Found, one: Found, two: Found, *, misses: list[str]) -> str:
    allowed = 3 * max(still.rates.error, 1 / still.rates.repeats)
    if still.rates.blocked > FALSE_ALARMS + allowed:
        misses.append(f"{title}: {still} without a change, and {FALSE_ALARMS:.0%} is the limit")
    if two.rates.blocked < FOUND and title not in NOT_FOUND:
        misses.append(f"{title}: {two} found, and {FOUND:.0%} is the limit")
    return f"| {title} | {still} | {one} | {two} | {two.merges:.1f} | {still.rates.further:.0f} |"


def main() -> int:
    """Print the table; exit 1 when a rate is off its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=100, help="simulated histories of a cell")
    parser.add_argument("--seed", type=int, default=1, help="of the simulated scores")
    parser.add_argument("--processes", type=int, default=None, help="one a processor if it is not given")
    parser.add_argument("--write", action="store_true", help="put the table into docs/history-of-scores.md")
    arguments = parser.parse_args()
    misses: list[str] = []
    shown = []
    for line in lines_of(arguments.repeats, misses, seed=arguments.seed, processes=arguments.processes):
        print(line, flush=True)
        shown.append(line)
    if arguments.write:
        PAGE.write_text(with_table(PAGE.read_text("utf-8"), "slow decline", shown), "utf-8")
    for line in misses:
        print(f"off its limit: {line}")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
