"""What votes do to the pass rate: simulated judges through the gate's own ``VotingRule`` and ``Score``.

Run it with ``--write`` to put the table into ``docs/judging.md``.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ratiba_action.metrics.judging.voting_rule import VotingRule, noise_band
from ratiba_action.model.measurement import Score

PAGE = Path(__file__).parents[1] / "docs" / "judging.md"
BEGIN, END = "<!-- votes -->\n", "<!-- /votes -->"
THRESHOLD, NOISE, SPREAD = 0.80, 0.08, 0.08
SCENARIOS = 40_000

Random = np.random.Generator
Calls = Callable[[float], bool]


def score(worth: float, calls: Calls, random: Random) -> Score:
    """One score: measured once, or three times where ``calls`` says so of the first."""
    first = float(random.normal(worth, NOISE))
    votes = (first, *map(float, random.normal(worth, NOISE, 2))) if calls(first) else ()
    return Score("Metric", "1", first, THRESHOLD, judged=True, votes=votes)


def simulate(mean: float, calls: Calls, random: Random) -> tuple[float, float, float, float]:
    """Pass rate, mean score, wrong outcomes and calls a score, of systems that are worth ``mean`` on average."""
    worths = random.normal(mean, SPREAD, SCENARIOS)
    scores = [score(worth, calls, random) for worth in worths]
    wrong = np.mean([each.passed != (worth >= THRESHOLD) for each, worth in zip(scores, worths, strict=True)])
    passed = np.mean([each.passed for each in scores])
    measured = np.mean([len(each.votes) or 1 for each in scores])
    return float(passed), float(np.mean([each.value for each in scores])), float(wrong), float(measured)


def rules() -> dict[str, Calls]:
    """The product's rule with the band that it would have measured, beside what it is compared with."""
    repeats = np.random.default_rng(7).normal(THRESHOLD, NOISE, (200, 2))
    band = noise_band([tuple(map(float, pair)) for pair in repeats]) or 0.0
    rule = VotingRule(band)
    return {
        "one score": lambda _: False,
        "band on both sides": lambda first: rule.calls_for_a_vote(first, THRESHOLD),
        "failures only, majority": lambda first: first < THRESHOLD,
    }


def failures_until_passed(mean: float, random: Random) -> float:
    """The pass rate where a failed score is replaced by a second one, as a re-run of red scenarios does."""
    worths = random.normal(mean, SPREAD, SCENARIOS)
    first, second = (random.normal(worths, NOISE) for _ in range(2))
    return float(np.mean((first >= THRESHOLD) | (second >= THRESHOLD)))


def table() -> str:
    """The table in Markdown."""
    lines = [
        "| mean worth | rule | pass rate | mean score | wrong outcomes | calls a score |",
        "|---|---|---|---|---|---|",
    ]
    for mean in (0.75, 0.80, 0.85):
        for name, calls in rules().items():
            passed, value, wrong, measured = simulate(mean, calls, np.random.default_rng(11))
            lines.append(f"| {mean:.2f} | {name} | {passed:.1%} | {value:.3f} | {wrong:.1%} | {measured:.2f} |")
        worths = np.random.default_rng(11).normal(mean, SPREAD, SCENARIOS)
        lines.append(f"| {mean:.2f} | without noise | {np.mean(worths >= THRESHOLD):.1%} | {np.mean(worths):.3f} | | |")
        again = failures_until_passed(mean, np.random.default_rng(11))
        lines.append(f"| {mean:.2f} | failures again, the better counts | {again:.1%} | | | |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/judging.md")
    shown = table()
    if not parser.parse_args().write:
        print(shown)
        return
    page = PAGE.read_text("utf-8")
    head, tail = page[: page.index(BEGIN) + len(BEGIN)], page[page.index(END) :]
    PAGE.write_text(f"{head}{shown}{tail}", "utf-8")


if __name__ == "__main__":
    main()
