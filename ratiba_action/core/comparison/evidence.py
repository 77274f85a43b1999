"""The comparison that a run's evidence allows."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from ratiba_action.core.comparison.arms import results_of
from ratiba_action.core.comparison.examination import Wanted, examine
from ratiba_action.core.comparison.flips import find_flips
from ratiba_action.core.comparison.metric_rows import compare_metrics
from ratiba_action.core.comparison.pairing import pair_up
from ratiba_action.core.model.comparison import Comparison, MeasuredRun, Pair, Rules
from ratiba_action.core.model.plan import BASE, HEAD
from ratiba_action.core.model.verdict import Evidence
from ratiba_action.core.quarantine import quarantine_in_force

REPLAY = "replay"
_UNTIMED = datetime.min.replace(tzinfo=UTC)


def compare(evidence: Evidence) -> Comparison | Wanted | None:
    """Head against base; None where there is nothing of the base.

    Earlier runs of the base and a base arm that was run now are pooled, and so are earlier attempts of the head.
    Scenarios in quarantine are left out.
    """
    base = (*evidence.baseline, *_run(evidence, BASE))
    if not base:
        return None
    head = (*evidence.earlier, *_run(evidence, HEAD))
    pairs, left = pair_up(head, base)
    exact = _is_exact(pairs, head)
    found = examine(pairs, left, _rules(evidence, pairs), exact=exact)
    compared = [pair.scenario_id for pair in pairs]
    rows, flips = compare_metrics(pairs, exact=exact), find_flips(head, base, compared)
    if isinstance(found, Wanted):
        return replace(found, so_far=replace(found.so_far, metrics=rows, flips=flips))
    return replace(found, metrics=rows, flips=flips)


def _run(evidence: Evidence, arm: str) -> tuple[MeasuredRun, ...]:
    day = evidence.day
    results = tuple(
        one for one in results_of(evidence.results, arm) if not quarantine_in_force(one.trial.scenario, day)
    )
    return (MeasuredRun(None, _UNTIMED, evidence.judge_model, evidence.answers, results),) if results else ()


def _is_exact(pairs: Sequence[Pair], head: Sequence[MeasuredRun]) -> bool:
    replayed = all(run.answers == REPLAY for run in head)
    return replayed and not any(pair.fresh_base or pair.fresh_head for pair in pairs)


def _rules(evidence: Evidence, pairs: Sequence[Pair]) -> Rules:
    """Recordings hold as many trials as they hold: enough to confirm the mean is enough for single scenarios too."""
    rules = evidence.rules
    enough = all(min(len(pair.fresh_base), len(pair.fresh_head)) >= rules.confirming_trials for pair in pairs)
    replayed = evidence.answers == REPLAY and enough
    return replace(rules, suspect_trials=rules.confirming_trials) if replayed else rules
