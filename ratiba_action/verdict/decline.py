"""Has the base branch declined over many changes, each of which was too small to be noticed?

Its own new runs are compared with an anchor: a named version, or the best of the last weeks. The best of several was
partly lucky, so its stored scores only raise the alarm, at a level that is divided by the number it was chosen from;
what confirms it are trials of both versions side by side, which no choice has favoured. Each run confirms at a tenth
of the level, so that ten of them raise a false alarm at most at the level together, whatever raised the first look
(Bonferroni). The error rates are in ``docs/history-of-scores.md``; ``benchmarks/slow_decline.py`` measures this code.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.comparison import Anchor, Decline, MeasuredRun, Pair, Rules
from ratiba_action.model.history import KeptDecline, KeptRun
from ratiba_action.model.measurement import Scored
from ratiba_action.model.note import Note
from ratiba_action.model.values import mean
from ratiba_action.util.text import short_commit
from ratiba_action.verdict.comparison import points
from ratiba_action.verdict.families import Cluster, cluster_interval, clusters_of, effective_number
from ratiba_action.verdict.pairing import pair_up
from ratiba_action.verdict.sign_flip import sign_flip_p

TRIALS = 2
"""Of every scenario on both sides, which run side by side and confirm together."""
_RUNS = 10
"""Of the branch, over which the level bounds the false alarms: each confirms at this fraction of it."""
_CONFIDENCE = 0.90


def first_of_each_week(runs: Iterable[KeptRun], now: datetime, weeks: int) -> dict[str, tuple[KeptRun, ...]]:
    """The commits that an anchor is chosen from, each with its runs: of every week before now, the first one.

    One a week, because each further candidate makes the best of them luckier.

    Args:
        runs: of one branch, in any order.
        now: when the run that compares began.
    """
    ordered = sorted((run for run in runs if run.started_at < now), key=lambda run: run.started_at)
    first: dict[int, str] = {}
    for run in ordered:
        week = (now - run.started_at) // timedelta(weeks=1)
        if week < weeks:
            first.setdefault(week, run.commit)
    return {commit: tuple(run for run in ordered if run.commit == commit) for commit in first.values()}


def best_anchor(candidates: Mapping[str, Sequence[MeasuredRun]]) -> str:
    """The commit whose scores are highest, of those that can be compared with the newest.

    Commits may have measured different scenarios. So a scenario's scores count as differences to its mean over the
    commits that have it: an easy scenario makes no commit good.

    Args:
        candidates: runs of each commit, the newest commit last; at least one.
    """
    means = {commit: _composites(runs) for commit, runs in candidates.items()}
    values: dict[str, list[float]] = {}
    for found in means.values():
        for scenario, value in found.items():
            values.setdefault(scenario, []).append(value)
    usual = {scenario: mean(given) for scenario, given in values.items()}
    return max(means, key=lambda commit: mean([v - usual[name] for name, v in means[commit].items()] or [-1.0]))


def _composites(runs: Sequence[MeasuredRun]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for run in runs:
        for result in run.results:
            planned = result.trial.number < result.trial.scenario.strategy.trials
            if isinstance(result, Scored) and result.scores and planned:
                found.setdefault(result.trial.scenario.id, []).append(mean([score.value for score in result.scores]))
    return {name: mean(values) for name, values in found.items()}


def find_decline(
    head: Sequence[MeasuredRun], anchor: Anchor, beside: Sequence[MeasuredRun], rules: Rules
) -> tuple[Decline, Mapping[str, int]]:
    """How far the branch has fallen below its anchor, as far as the data goes.

    Only scenarios with the same content are compared, by metrics of the same version, scored by the same judge.

    Args:
        beside: trials of the anchor that this run has run beside its own.
        rules: frozen when the run started.

    Returns:
        The decline, and the further trials of each scenario that must confirm it; none where nothing is open.
    """
    pairs, left = pair_up(head, (*anchor.runs, *beside))
    newest = max(run.started_at for run in anchor.runs)
    found = Decline(anchor.name, anchor.commit, newest, anchor.candidates, len(pairs))
    level = rules.decline.level / _RUNS
    # Not even a fall of every scenario would be beyond chance with fewer, so no trial is paid for.
    minimum = max(rules.min_scenarios, math.ceil(-math.log2(level)))
    recorded = all(run.answers == AnswerOrigin.REPLAY for run in head)
    pairs = tuple(replace(pair, family="") for pair in pairs) if recorded else pairs
    changes = clusters_of(pairs, [mean(pair.head) - mean(pair.base) for pair in pairs])
    number = effective_number(changes) if changes else 0.0
    if number < minimum:
        why = f", such as: {left[0].reason}" if left else ""
        families = f" in effectively {number:.1f} families" if number < len(pairs) else ""
        problem = f"{len(pairs)} scenarios{families} can be compared, and {minimum} are the least{why}"
        return replace(found, problem=problem), {}
    screen_p = min(sign_flip_p([cluster.total for cluster in changes]) * anchor.candidates, 1.0)
    found = _with_difference(replace(found, screen_p=screen_p), changes)
    if recorded:
        return replace(found, confirmed=screen_p <= level), {}
    return _confirm(found, pairs, level) if screen_p <= rules.decline.level else (found, {})


def _confirm(found: Decline, pairs: Sequence[Pair], level: float) -> tuple[Decline, Mapping[str, int]]:
    missing = {pair.scenario_id: TRIALS - min(len(pair.fresh_base), len(pair.fresh_head)) for pair in pairs}
    if any(count > 0 for count in missing.values()):
        return found, {name: count for name, count in missing.items() if count > 0}
    fresh = clusters_of(pairs, [mean(pair.fresh_head[:TRIALS]) - mean(pair.fresh_base[:TRIALS]) for pair in pairs])
    confirm_p = sign_flip_p([cluster.total for cluster in fresh])
    return _with_difference(replace(found, confirm_p=confirm_p, confirmed=confirm_p <= level), fresh), {}


def _with_difference(found: Decline, changes: Sequence[Cluster]) -> Decline:
    interval = cluster_interval(changes, _CONFIDENCE)
    difference = sum(cluster.total for cluster in changes) / sum(cluster.size for cluster in changes)
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return replace(found, difference=difference, low=low, high=high)


def note_of_decline(decline: Decline) -> Note | None:
    """What is said of a decline in the run that looked for it; None where there is nothing to say."""
    if decline.difference is None or not (decline.confirmed or decline.problem):
        return None
    since = f"{short_commit(decline.commit)} ({decline.anchor}, measured on {decline.measured_at:%Y-%m-%d})"
    fell = f"the mean score of {decline.scenarios} scenarios is {points(decline.difference)} below that of {since}"
    if not decline.confirmed:
        return Note(f"There may be a slow decline: {fell}. It could not be confirmed: {decline.problem}.", _HELP)
    how = (
        "by recorded answers" if decline.confirm_p is None else f"in trials side by side (p = {decline.confirm_p:.4f})"
    )
    return Note(f"Slow decline: {fell}, {how}.", _look_at(decline.commit))


_HELP = "Remove the cause, then run the gate on this branch again."


def _look_at(commit: str) -> str:
    return f"Look at what was merged since then: git log --oneline {short_commit(commit)}.."


def note_for_changes(branch: str, latest: KeptDecline) -> Note | None:
    """What a pull request hears of its base branch; None where that has not declined.

    Args:
        branch: its name; untrusted text.
        latest: what the branch's latest run that was compared with an anchor came to.
    """
    if latest.decline is None:
        return None
    run, anchor = short_commit(latest.commit), short_commit(latest.anchor)
    return Note(
        f"Slow decline: the run of {branch} on {latest.started_at:%Y-%m-%d} ({run}) confirmed that its mean score is "
        f"{points(latest.decline)} below that of {anchor}. This pull request is not its cause.",
        _look_at(latest.anchor),
    )
