"""The comparison of measured runs: each metric, each scenario, and what newly fails or newly passes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.comparison import (
    ComparedTurn,
    Comparison,
    MeasuredRun,
    MetricComparison,
    OutcomeChange,
    Pair,
    Rules,
    ScenarioComparison,
    Tier,
)
from ratiba_action.model.conversation import Exchange
from ratiba_action.model.measurement import Errored, ScenarioResult, Scored
from ratiba_action.model.values import mean
from ratiba_action.verdict.comparison import Wanted, examine
from ratiba_action.verdict.interval import t_interval
from ratiba_action.verdict.pairing import common_trials, content_digest, pair_up
from ratiba_action.verdict.trials import Standing, standing


@dataclass(frozen=True, slots=True)
class PassedOnBoth:
    """How many scenarios pass on base and on head, by their first trials.

    Args:
        total: scenarios with the same content and a result on both.
        head: passed with the change.
    """

    total: int
    base: int
    head: int


def count_passed(head: Sequence[MeasuredRun], base: Sequence[MeasuredRun]) -> PassedOnBoth:
    """Count the scenarios that passed; of several runs of an arm the last one counts."""
    ours, theirs = first_trials(head), first_trials(base)
    same = [name for name in ours.keys() & theirs.keys() if ours[name][0] == theirs[name][0]]
    return PassedOnBoth(len(same), _count(theirs[name][1] for name in same), _count(ours[name][1] for name in same))


def passed_on(runs: Sequence[MeasuredRun], scenario_id: str, digest: str) -> bool:
    """Whether a scenario of the same content ran, and all that was measured of it passed.

    Args:
        runs: of one arm; the last one counts.
    """
    content, result = first_trials(runs).get(scenario_id, ("", None))
    return result is not None and content == digest and _all_passed(result)


def first_trials(runs: Sequence[MeasuredRun]) -> Mapping[str, tuple[str, ScenarioResult]]:
    """Content and result of each scenario's first trial, by id; of several runs the last one counts."""
    return {
        (scenario := result.trial.scenario).id: (
            run.scenario_digests.get(scenario.id) or content_digest(scenario),
            result,
        )
        for run in runs
        for result in run.results
        if result.trial.number == 0
    }


def _count(results: Iterable[ScenarioResult]) -> int:
    return sum(map(_passes, results))


def _all_passed(result: ScenarioResult) -> bool:
    return isinstance(result, Scored) and standing(result) is Standing.PASSED


_CONFIDENCE = 0.90
_ROUNDING = 1e-9


def compare_metrics(pairs: Sequence[Pair]) -> tuple[MetricComparison, ...]:
    """A row for each metric, in order of name.

    Args:
        pairs: all scenarios that can be compared.
    """
    names = sorted({name for pair in pairs for name in pair.metrics})
    return tuple(_row(name, [pair.metrics[name] for pair in pairs if name in pair.metrics]) for name in names)


def _row(name: str, means: Sequence[tuple[float, float]]) -> MetricComparison:
    changes = [head - base for base, head in means]
    interval = t_interval(changes, _CONFIDENCE) if len(changes) > 1 else None
    return MetricComparison(
        name,
        len(means),
        base=mean([base for base, _ in means]),
        head=mean([head for _, head in means]),
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
    )


def metric_tier(row: MetricComparison, whole: Comparison) -> Tier:
    """Where one metric stands, by the rules of the whole; shown, and nothing is decided by it.

    A metric is a regression only where the whole is one and the metric fell with it.

    Args:
        whole: the comparison that it is part of.
    """
    change = row.head - row.base
    fell = change < -_ROUNDING if whole.exact or row.high is None else row.high < 0
    rose = change > _ROUNDING if whole.exact or row.low is None else row.low > 0
    if fell and whole.tier is Tier.REGRESSION:
        return Tier.REGRESSION
    if whole.exact:
        return Tier.IMPROVED if rose else Tier.WITHIN_NOISE
    if row.low is None or fell or (whole.margin is not None and row.low <= -whole.margin):
        return Tier.UNCLEAR
    return Tier.IMPROVED if rose else Tier.WITHIN_NOISE


def find_outcome_changes(head: Sequence[MeasuredRun], base: Sequence[MeasuredRun]) -> tuple[OutcomeChange, ...]:
    """Changed outcomes of the first trials of equal scenarios: newly failing before newly passing, critical first.

    A trial that errored counts where something deterministic failed in it.

    Args:
        head: runs of the change; the last one counts.
        base: runs of the base; the last one counts.
    """
    pairs = _same_scenarios(head, base)
    changes = [_change(ours, theirs) for ours, theirs in pairs if _passes(ours) != _passes(theirs)]
    return _within_size(sorted(changes, key=lambda change: (change.passes, not change.critical)))


def find_changed_conversations(
    head: Sequence[MeasuredRun], base: Sequence[MeasuredRun], compared: Sequence[ScenarioComparison]
) -> tuple[OutcomeChange, ...]:
    """Scenarios with the same outcome in which something else was said or done, failing ones first.

    Live answers vary by chance, so one that passes counts only if its score moved. Recorded ones do not: each
    difference counts, if this run measured both sides. A base that was stored is masked, and differs by that alone.

    Args:
        head: runs of the change; the last one counts.
        base: runs of the base; the last one counts.
    """
    moved = {row.scenario_id for row in compared if row.tier is not Tier.WITHIN_NOISE}
    exact = all(run.answers == AnswerOrigin.REPLAY and run.this_run for run in base)
    changes = [
        _change(ours, theirs)
        for ours, theirs in _same_scenarios(head, base)
        if _passes(ours) == _passes(theirs)
        and (exact or not _passes(ours) or ours.trial.scenario.id in moved)
        and (_replies(ours), _turns(ours)) != (_replies(theirs), _turns(theirs))
    ]
    return _within_size(sorted(changes, key=lambda change: (change.passes, not change.critical)))[:MAX_CHANGED]


MAX_CHANGED = 100
"""Conversations with the same outcome that a report keeps of the base."""

MAX_CHARACTERS = 500_000
"""Of tool calls, states and messages that a report keeps for such a list; beyond it only the replies are kept."""


def _same_scenarios(
    head: Sequence[MeasuredRun], base: Sequence[MeasuredRun]
) -> list[tuple[ScenarioResult, ScenarioResult]]:
    """The first trials of scenarios with the same content, of head and base, in order of id."""
    ours, theirs = _decided(head), _decided(base)
    names = [name for name in sorted(ours.keys() & theirs.keys()) if ours[name][0] == theirs[name][0]]
    return [(ours[name][1], theirs[name][1]) for name in names]


def _change(head: ScenarioResult, base: ScenarioResult) -> OutcomeChange:
    scenario = head.trial.scenario
    replies, turns = (_replies(base), _replies(head)), (_turns(base), _turns(head))
    return OutcomeChange(scenario.id, _passes(head), *replies, scenario.critical, *turns)


def _within_size(changes: Sequence[OutcomeChange]) -> tuple[OutcomeChange, ...]:
    """The changes, without the turns of those that no longer fit; nothing is cut before it is masked."""
    left, kept = MAX_CHARACTERS, list[OutcomeChange]()
    for change in changes:
        size = sum(len(str(turn)) for turn in (*change.base_turns, *change.head_turns))
        kept.append(change if size <= left else replace(change, base_turns=(), head_turns=()))
        left -= size if size <= left else 0
    return tuple(kept)


def _decided(runs: Sequence[MeasuredRun]) -> Mapping[str, tuple[str, ScenarioResult]]:
    """Content and result of each first trial that passed or failed, by scenario id."""
    return {
        name: (content, result)
        for name, (content, result) in first_trials(runs).items()
        if isinstance(result, Scored) or standing(result) is Standing.FAILED
    }


def _passes(result: ScenarioResult) -> bool:
    return isinstance(result, Scored) and result.passed


def _replies(result: ScenarioResult) -> tuple[str, ...]:
    return tuple(exchange.reply.text for exchange in _exchanges(result))


def _turns(result: ScenarioResult) -> tuple[ComparedTurn, ...]:
    return tuple(
        ComparedTurn(turn.user, turn.event, reply.state, reply.payment, reply.tool_calls, reply.output)
        for turn, reply in ((exchange.turn, exchange.reply) for exchange in _exchanges(result))
    )


def _exchanges(result: ScenarioResult) -> tuple[Exchange, ...]:
    transcript = result.transcript if isinstance(result, Scored | Errored) else None
    return transcript.exchanges if transcript else ()


@dataclass(frozen=True, slots=True)
class RunPair:
    """Two of several runs.

    Args:
        base: index of the run that is compared with.
    """

    base: int
    head: int
    comparison: Comparison


def compare_runs(head: Sequence[MeasuredRun], base: Sequence[MeasuredRun], rules: Rules) -> Comparison | Wanted:
    """Head against base, with each metric by itself and which outcomes changed.

    Args:
        head: runs of the change, whose data is added.
        base: runs of the base, which are pooled.
        rules: frozen when the run that asks began.
    """
    pairs, left = pair_up(head, base)
    replayed = all(run.answers == AnswerOrigin.REPLAY for run in head)
    exact = replayed and not any(pair.fresh_base or pair.fresh_head for pair in pairs)
    looked_at = _looks_of_recordings(rules, pairs) if replayed else rules
    found = examine(pairs, left, looked_at, exact=exact, replayed=replayed)
    rows = compare_metrics(pairs)
    flips = find_outcome_changes(head, base)
    if isinstance(found, Wanted):
        changed = find_changed_conversations(head, base, found.so_far.scenarios)
        return replace(found, so_far=replace(found.so_far, metrics=rows, flips=flips, changed=changed))
    changed = find_changed_conversations(head, base, found.scenarios)
    if not pairs and not left and (passes := count_passed(head, base)).total:
        return replace(found, reason=_by_checks(passes), flips=flips, changed=changed)
    return replace(found, metrics=rows, flips=flips, changed=changed)


def _by_checks(passes: PassedOnBoth) -> str:
    counted = f"{passes.base} of {passes.total} scenario{'' if passes.total == 1 else 's'}"
    here = f"{passes.head} of {passes.total} in this PR"
    return f"No metric to compare; deterministic assertions: {counted} passed on the base, {here}."


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
    trials = common_trials(pairs)
    if not trials:
        return rules
    return replace(rules, confirming_trials=1, suspect_trials=min(trials, rules.suspect_trials))
