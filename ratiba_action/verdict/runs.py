"""The comparison of runs that were measured."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from ratiba_action.model.comparison import REPLAY, Comparison, MeasuredRun, Pair, Rules
from ratiba_action.verdict.exact_checks import HeldOnBoth, count_held
from ratiba_action.verdict.examination import Wanted, examine
from ratiba_action.verdict.flips import find_flips
from ratiba_action.verdict.metric_rows import compare_metrics
from ratiba_action.verdict.pairing import common_trials, pair_up


@dataclass(frozen=True, slots=True)
class RunPair:
    """Two of several runs.

    Args:
        base: index of the run that is compared with.
        head: index of the run that is compared.
    """

    base: int
    head: int
    comparison: Comparison


def compare_runs(head: Sequence[MeasuredRun], base: Sequence[MeasuredRun], rules: Rules) -> Comparison | Wanted:
    """Head against base, with each metric by itself and what flipped.

    Args:
        head: runs of the change, whose data is added.
        base: runs of the base, which are pooled.
        rules: frozen when the run that asks began.
    """
    pairs, left = pair_up(head, base)
    replayed = all(run.answers == REPLAY for run in head)
    exact = replayed and not any(pair.fresh_base or pair.fresh_head for pair in pairs)
    looked_at = _looks_of_recordings(rules, pairs) if replayed else rules
    found = examine(pairs, left, looked_at, exact=exact, replayed=replayed)
    rows = compare_metrics(pairs)
    flips = find_flips(head, base)
    if isinstance(found, Wanted):
        return replace(found, so_far=replace(found.so_far, metrics=rows, flips=flips))
    if not pairs and not left and (held := count_held(head, base)).total:
        return replace(found, reason=_by_checks(held), flips=flips)
    return replace(found, metrics=rows, flips=flips)


def _by_checks(held: HeldOnBoth) -> str:
    counted = f"{held.base} of {held.total} conversation{'' if held.total == 1 else 's'}"
    return f"No metric to compare; exact checks: the base holds {counted}, this change {held.head} of {held.total}."


def compare_as_measured(head: MeasuredRun, base: MeasuredRun, rules: Rules) -> Comparison:
    """Two runs as far as their data goes: what further trials would have to confirm stays unclear."""
    found = compare_runs((head,), (base,), rules)
    return found.so_far if isinstance(found, Wanted) else found


def compare_each(runs: Sequence[MeasuredRun], rules: Rules) -> tuple[RunPair, ...]:
    """Every run against each one before it."""
    pairs = combinations(range(len(runs)), 2)
    return tuple(RunPair(base, head, compare_as_measured(runs[head], runs[base], rules)) for base, head in pairs)


def _looks_of_recordings(rules: Rules, pairs: Sequence[Pair]) -> Rules:
    """Recordings hold as many trials as they hold: one look at all of them, where all scenarios have some."""
    held = common_trials(pairs)
    if not held:
        return rules
    return replace(rules, confirming_trials=1, suspect_trials=min(held, rules.suspect_trials))
