"""Which scores of two arms may be compared, and why the others may not."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from ratiba_action.core.comparison.scenario_content import content_digest
from ratiba_action.core.model.comparison import MeasuredRun, NotComparable, Pair
from ratiba_action.core.model.measurement import ScenarioResult, Score, Scored
from ratiba_action.core.model.scenario import Scenario


@dataclass(frozen=True, slots=True)
class _Arm:
    """One arm's trials of one scenario."""

    scenario: Scenario
    contents: frozenset[str]
    judge_models: frozenset[str]
    answers: frozenset[str]
    first: tuple[Scored, ...]
    fresh: tuple[Scored, ...]
    metrics: Mapping[str, frozenset[str]] = field(default_factory=dict)


def pair_up(
    head: Sequence[MeasuredRun], base: Sequence[MeasuredRun]
) -> tuple[tuple[Pair, ...], tuple[NotComparable, ...]]:
    """Pairs of composite scores, in order of scenario.

    A trial's composite is the mean of those of its scores that both arms have by the same metric, version and, where
    it is judged, the same judge. A scenario must be the same on both arms, and its answers come from the same kind
    of source. A difference is never given for anything else.

    Args:
        head: runs of the change; several when a run was repeated.
        base: runs of the base branch, pooled.

    Returns:
        What can be compared, and what cannot, each with the reason.
    """
    ours, theirs = _arms(head), _arms(base)
    pairs: list[Pair] = []
    problems: list[NotComparable] = []
    for name in sorted(ours.keys() | theirs.keys()):
        pair, found = _pair(name, ours.get(name), theirs.get(name))
        problems += found
        if pair is not None:
            pairs.append(pair)
    return tuple(pairs), tuple(problems)


def _arms(runs: Sequence[MeasuredRun]) -> dict[str, _Arm]:
    grouped: dict[str, list[tuple[MeasuredRun, Scored]]] = {}
    for run in runs:
        for result in _measured(run.results):
            grouped.setdefault(result.trial.scenario.id, []).append((run, result))
    return {name: _arm(found) for name, found in grouped.items()}


def _measured(results: Iterable[ScenarioResult]) -> Iterable[Scored]:
    return (result for result in results if isinstance(result, Scored) and result.scores)


def _arm(found: Sequence[tuple[MeasuredRun, Scored]]) -> _Arm:
    results = [result for _, result in found]
    # Trials share their scenario: the same object is digested once.
    scenarios = {(id(run), id(one.trial.scenario)): (run, one.trial.scenario) for run, one in found}
    versions: dict[str, set[str]] = {}
    for result in results:
        for score in result.scores:
            versions.setdefault(score.metric, set()).add(score.version)
    return _Arm(
        scenario=results[-1].trial.scenario,
        contents=frozenset(_content(run, scenario) for run, scenario in scenarios.values()),
        judge_models=frozenset(run.judge_model for run, _ in found),
        answers=frozenset(run.answers for run, _ in found),
        first=tuple(result for result in results if result.trial.number == 0),
        fresh=tuple(result for result in results if result.trial.number > 0),
        metrics={name: frozenset(seen) for name, seen in versions.items()},
    )


def _content(run: MeasuredRun, scenario: Scenario) -> str:
    return run.scenario_digests.get(scenario.id) or content_digest(scenario)


def _pair(name: str, head: _Arm | None, base: _Arm | None) -> tuple[Pair | None, list[NotComparable]]:
    reason = _obstacle(head, base)
    if head is None or base is None or reason:
        return None, [NotComparable(name, "", reason)]
    judged = _judged(head) | _judged(base)
    problems = [
        NotComparable(name, metric, why)
        for metric in sorted(head.metrics.keys() | base.metrics.keys())
        if (why := _metric_obstacle(metric, head, base, judged=metric in judged))
    ]
    usable = sorted(head.metrics.keys() - {problem.metric for problem in problems})
    if not usable or not head.first or not base.first:
        return None, problems or [NotComparable(name, "", "its first trial was not measured on both arms")]
    pair = Pair(
        name,
        head.scenario.critical,
        base=_composites(base.first, usable),
        head=_composites(head.first, usable),
        fresh_base=_composites(base.fresh, usable),
        fresh_head=_composites(head.fresh, usable),
        metrics={metric: (_mean(base, metric), _mean(head, metric)) for metric in usable},
    )
    return pair, problems


def _obstacle(head: _Arm | None, base: _Arm | None) -> str:
    if base is None:
        return "the base has no scores of it"
    if head is None:
        return "this change has no scores of it"
    if len(head.contents | base.contents) > 1:
        return "the scenario is another one than the base's"
    if head.answers != base.answers:
        return f"answers are {_names(head.answers)} here and were {_names(base.answers)} on the base"
    return ""


def _metric_obstacle(metric: str, head: _Arm, base: _Arm, *, judged: bool) -> str:
    ours, theirs = head.metrics.get(metric), base.metrics.get(metric)
    if not ours or not theirs:
        return "only one of both arms has it"
    if ours != theirs or len(ours) > 1:
        return f"its version is {_names(ours)} here and was {_names(theirs)} on the base"
    if judged and (head.judge_models != base.judge_models or len(head.judge_models) > 1):
        return f"its judge is {_names(head.judge_models)} here and was {_names(base.judge_models)} on the base"
    return ""


def _judged(arm: _Arm) -> set[str]:
    scores: Iterable[Score] = (score for result in (*arm.first, *arm.fresh) for score in result.scores)
    return {score.metric for score in scores if score.judged}


def _composites(results: Sequence[Scored], metrics: Sequence[str]) -> tuple[float, ...]:
    """The mean of the metrics of each trial that has all of them."""
    values = ({score.metric: score.value for score in result.scores} for result in results)
    return tuple(fmean(found[name] for name in metrics) for found in values if all(name in found for name in metrics))


def _mean(arm: _Arm, metric: str) -> float:
    scores = (score for result in (*arm.first, *arm.fresh) for score in result.scores)
    return fmean(score.value for score in scores if score.metric == metric)


def _names(values: Iterable[str]) -> str:
    return ", ".join(sorted(values)) or "unknown"
