"""False roll-backs, power and false promotions of ``ratiba canary`` with a look an hour, through the product's code.

Run it with ``--write`` to put the tables into ``docs/canary.md``. It takes ten minutes.
"""

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np

from ratiba_action.production.canary import FAILURES, OPINIONS, CanaryAnswer, CanaryRules, Watched, look
from ratiba_action.production.drift import SeriesVersion

PAGE = Path(__file__).parents[1] / "docs" / "canary.md"
BEGIN, END = "<!-- simulations -->\n", "<!-- /simulations -->"
START = datetime(2026, 11, 22, tzinfo=UTC)
SHARE, HOURS = 0.05, 26
MIN, QUANTILE = 10, 2.498
"""Of the z-test: values of a sample, and the quantile of 0.025 / 4."""
NEVER, WORKERS = 10**9, 2
ANSWERS = (CanaryAnswer.ROLL_BACK, CanaryAnswer.PROMOTE, CanaryAnswer.WAIT)
ASKED, LIKED, FAILING = 0.1, 0.8, 0.02
"""Shares of conversations with feedback, of positive among them, and of failures."""
SERIES = tuple((name, SeriesVersion("1", "judge")) for name in ("fluency", "tone"))
FAILED, FEEDBACK = (FAILURES, SeriesVersion("")), (OPINIONS, SeriesVersion(""))
RULES = CanaryRules("stable", "canary", START - timedelta(hours=1), START)
MARKS = {False: frozenset({"stable"}), True: frozenset({"canary"})}

Random = np.random.Generator
Numbers = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class World:
    """What production is like.

    Args:
        daily: conversations of the canary a day.
        loss: how much lower the canary's first metric is, 0 to 1.
        noise: standard deviation of a score between conversations.
        failing: how much more often the canary fails, 0 to 1; some fail anyway.
        ceiling: most scores are 1, as of a metric that seldom fails.
        swing: by how much all scores rise and fall in a day, 0 to 1.
        metrics: that count; empty for all.
    """

    name: str
    daily: int = 100
    loss: float = 0.0
    noise: float = 0.2
    failing: float = 0.0
    ceiling: bool = False
    swing: float = 0.0
    metrics: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """Whether the canary is as good; then rare false answers are counted."""
        return not self.loss and not self.failing and not self.metrics


def conversations(world: World, random: Random) -> list[Watched]:
    """Everything that begins in ``HOURS``."""
    count = random.poisson(world.daily / SHARE * HOURS / 24)
    hours = np.sort(random.uniform(0, HOURS, count))
    canary = random.random(count) < SHARE
    level = 0.8 + world.swing * np.sin(hours / 24 * 2 * np.pi)
    scores = [_scores(level - world.loss * canary * (number == 0), world, random) for number in range(len(SERIES))]
    failed = random.random(count) < FAILING + world.failing * canary
    asked, liked = random.random(count) < ASKED, random.random(count) < LIKED
    found: list[Watched] = []
    for number in range(count):
        values = {series: float(each[number]) for series, each in zip(SERIES, scores, strict=True)}
        values[FAILED] = float(not failed[number])
        if asked[number]:
            values[FEEDBACK] = float(liked[number])
        at = START + timedelta(hours=float(hours[number]))
        found.append(Watched(str(number), at, MARKS[bool(canary[number])], values))
    return found


def _scores(means: Numbers, world: World, random: Random) -> Numbers:
    """Scores in tenths, as judges give them; beta-distributed, or 1 or a half."""
    if world.ceiling:
        return np.where(random.random(len(means)) < 2 * means - 1, 1.0, 0.5)
    spread = np.maximum(means * (1 - means) / world.noise**2 - 1, 0.1)
    return np.round(random.beta(means * spread, (1 - means) * spread), 1)


@dataclass(frozen=True, slots=True)
class Played:
    """How one canary went: the first answer but wait, after how many of its conversations, and a peeked z-test's."""

    answer: CanaryAnswer
    canaries: int
    peeked: bool


def play(world: World, random: Random) -> Played:
    """Look every hour until an answer."""
    waiting = conversations(world, random)
    rules = replace(RULES, metrics=world.metrics)
    for hour in range(1, HOURS + 1):
        until = START + timedelta(hours=hour)
        found = look((each for each in waiting if each.at < until), replace(rules, until=until))
        if found.answer is not CanaryAnswer.WAIT:
            break
    return Played(found.answer, found.canary, _peeked(waiting))


def _numbered(world: World, row: int, number: int) -> Played:
    return play(world, np.random.default_rng([row, number]))


def _peeked(waiting: Sequence[Watched]) -> bool:
    """Whether a one-sided z-test of any metric at 2.5 % is significant at a look, corrected for metrics, not looks."""
    for series in (*SERIES, FAILED, FEEDBACK):
        rows = [
            ((each.at - START) / timedelta(hours=1), each.marks == MARKS[True], each.values[series])
            for each in waiting
            if series in each.values
        ]
        table = np.asarray(rows, dtype=float)
        if any(_significant(table[table[:, 0] < hour]) for hour in range(1, HOURS + 1)):
            return True
    return False


def _significant(rows: Numbers) -> bool:
    canary, stable = rows[rows[:, 1] == 1, 2], rows[rows[:, 1] == 0, 2]
    if min(len(canary), len(stable)) < MIN:
        return False
    error = float(np.sqrt(stable.var(ddof=1) / len(stable) + canary.var(ddof=1) / len(canary)))
    return bool(error and (stable.mean() - canary.mean()) / error > QUANTILE)


ALONE = ("fluency", "tone", FAILURES)
WORLDS = (
    World("no difference, noise 0.20"),
    World("no difference, noise 0.30", noise=0.3),
    World("no difference, scores of 1 and 0.5", ceiling=True),
    World("no difference, all scores swing by 10 points in a day", swing=0.1),
    World("loss of 5 points, noise 0.20", daily=300, loss=0.05),
    World("loss of 10 points, noise 0.10", daily=300, loss=0.1, noise=0.1),
    World("loss of 10 points, noise 0.20", daily=300, loss=0.1),
    World("loss of 10 points, noise 0.30", daily=300, loss=0.1, noise=0.3),
    World("loss of 20 points, noise 0.20", daily=300, loss=0.2),
    World("10 points more failures", daily=300, failing=0.1),
    World("no difference, noise 0.20, without feedback", daily=300, metrics=ALONE),
)


def table(repeats: int) -> str:
    """The table in Markdown."""
    heading = (
        f"| production | canaries | conversations of each in {HOURS} hours | rolled back | promoted | waiting "
        "| z-test at each look | conversations until rolled back: half, 80 % |"
    )
    lines = [heading, "|---|---|---|---|---|---|---|---|"]
    for row, world in enumerate(WORLDS):
        tried = repeats if world.same else repeats // 3
        with ProcessPoolExecutor(WORKERS) as pool:
            played = [*pool.map(partial(_numbered, world, row), range(tried), chunksize=10)]
        shares = [f"{np.mean([each.answer is answer for each in played]):.1%}" for answer in ANSWERS]
        stopped = sorted(each.canaries if each.answer is CanaryAnswer.ROLL_BACK else NEVER for each in played)
        reached = [stopped[int(len(stopped) * part)] for part in (0.5, 0.8)]
        needed = ", ".join("-" if number == NEVER else str(number) for number in reached)
        peeked = f"{np.mean([each.peeked for each in played]):.1%}"
        count = round(world.daily * HOURS / 24)
        lines.append(f"| {world.name} | {tried} | {count} | {' | '.join(shares)} | {peeked} | {needed} |")
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--repeats", type=int, default=300, help="canaries without a difference, a third of it of others (default: 300)"
    )
    parser.add_argument("--write", action="store_true", help="put the table into docs/canary.md")
    arguments = parser.parse_args()
    found = table(arguments.repeats)
    if arguments.write:
        text = PAGE.read_text(encoding="utf-8")
        before, rest = text.split(BEGIN)
        PAGE.write_text(before + BEGIN + found + END + rest.split(END)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
