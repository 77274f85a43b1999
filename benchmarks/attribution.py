"""How often attribution names the cause of a failure that varies by chance. Run: ``python -m benchmarks.attribution``.

Simulated: a scenario fails nine times in ten with its cause and once in twenty without it. Prints the table of
``docs/explain.md``.
"""

import argparse
from collections.abc import Mapping, Sequence

import numpy as np

from ratiba_action.diagnosis.bayesian_search import attribute_by_chance
from ratiba_action.diagnosis.delta_debugging import StepOutcome, Subset
from ratiba_action.model.attribution import Attribution, Finding

CAUSE, REST = 0.9, 0.05
KINDS: Mapping[str, Sequence[frozenset[int]]] = {
    "one part": (frozenset({4}),),
    "two parts, both needed": (frozenset({1, 4}),),
    "two parts, either suffices": (frozenset({1}), frozenset({4})),
    "no part": (),
}
CERTAIN = (Finding.FOUND, Finding.SEVERAL)


def simulate(parts: int, causes: Sequence[frozenset[int]], seed: int) -> Attribution:
    """The attribution of one simulated failure."""
    random = np.random.default_rng(seed)

    def outcome(subset: Subset) -> StepOutcome:
        fails = any(cause <= subset for cause in causes)
        return StepOutcome.FAILS if random.random() < (CAUSE if fails else REST) else StepOutcome.PASSES

    return attribute_by_chance(parts, outcome, seed)


def row(parts: int, kind: str, repeats: int) -> str:
    """A line of the table: share named exactly, share named wrongly, runs on average."""
    causes = KINDS[kind]
    found = [simulate(parts, causes, seed) for seed in range(repeats)]
    named = sum({frozenset(group) for group in each.causes} == set(causes) for each in found) / repeats
    guilty = frozenset[int]().union(*causes)
    wrong = sum(each.finding in CERTAIN and not guilty.issuperset(each.parts) for each in found)
    return f"| {parts} | {kind} | {named:.0%} | {wrong} | {sum(each.steps for each in found) / repeats:.0f} |"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=200)
    repeats = parser.parse_args().repeats
    print("| parts | cause | named exactly | harmless part named | runs on average |")
    print("| ---: | --- | ---: | ---: | ---: |")
    for parts in (6, 12):
        for kind in KINDS:
            print(row(parts, kind, repeats), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
