"""Which scores of two arms may be compared, and why the others may not."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.answering_model import is_another_model
from ratiba_action.model.canonical import digest
from ratiba_action.model.comparison import MeasuredRun, NotComparable, Pair
from ratiba_action.model.measurement import Errored, ScenarioResult, Score, Scored
from ratiba_action.model.plan import BASE
from ratiba_action.model.renamed_keys import FORMER
from ratiba_action.model.scenario import Assertion, Scenario
from ratiba_action.model.values import mean

_WITHOUT_MEANING = frozenset({"line", "path", "tags", "touches", "quarantine", "fluency", "of_rule", "title", "family"})
"""Where it stands, when it runs, whether it decides, what adds or wrote metrics: a score means the same for all."""


def content_digest(scenario: Scenario) -> str:
    """SHA-256 of everything in a scenario that a score depends on.

    What is left at its default does not count, so that a field of a later version changes no older scenario; nor does
    a later name of a key: results of the version before are compared with.
    """
    if scenario.strategy.statistical is not None:  # what scores pass by changes none
        scenario = replace(scenario, strategy=replace(scenario.strategy, statistical=None))
    return digest(_plain(scenario))


class ContentDigests:
    """``content_digest`` of the scenarios of a run, each computed once."""

    def __init__(self) -> None:
        # The scenario is kept beside its digest: its id is then nobody else's.
        self._known: dict[int, tuple[Scenario, str]] = {}

    def of(self, scenario: Scenario) -> str:
        """The digest of a scenario; that of this very object is looked up."""
        known = self._known.get(id(scenario))
        if known is None:
            known = self._known[id(scenario)] = scenario, content_digest(scenario)
        return known[1]


def _plain(value: Any) -> Any:
    if isinstance(value, Assertion) and value.metric == "EnglishFluencyMetric":
        # The house style is a part of the metric's version, which is compared for itself.
        value = replace(value, parameters={key: item for key, item in value.parameters.items() if key != "audience"})
    if isinstance(value, Assertion) and value.metric == "ReplyLanguageMetric":
        value = replace(value, parameters={FORMER.get(key, key): item for key, item in value.parameters.items()})
    if isinstance(value, str | int | float | bool | type(None)):
        return value
    kind: Any = type(value)
    defaults = _defaults(kind)
    if defaults is not None:
        found = ((name, getattr(value, name), default) for name, default in defaults)
        return {
            FORMER.get(name, name): _plain(item)
            for name, item, default in found
            if default is MISSING or item != default
        }
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, frozenset):
        # The order of a set is another one in each process. This is how Python writes one, which digests have had.
        names = sorted(repr(FORMER.get(item, item)) for item in value)
        return f"frozenset({{{', '.join(names)}}})" if value else "frozenset()"
    return str(value)


@cache
def _defaults(kind: Any) -> tuple[tuple[str, Any], ...] | None:
    """The fields of a dataclass on which a score depends, with their defaults; None for any other type."""
    if not is_dataclass(kind):
        return None
    return tuple(
        (item.name, item.default_factory() if item.default_factory is not MISSING else item.default)
        for item in fields(kind)
        if item.name not in _WITHOUT_MEANING
    )


def results_of(results: Iterable[ScenarioResult], arm: str) -> tuple[ScenarioResult, ...]:
    """The results of one arm."""
    return tuple(result for result in results if result.trial.arm.name == arm)


def results_of_change(results: Iterable[ScenarioResult]) -> tuple[ScenarioResult, ...]:
    """The results of the change itself, or of the variant of its system that ran: all but the base's."""
    return tuple(result for result in results if result.trial.arm.name != BASE)


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _ArmTrials:
    """One arm's trials of one scenario.

    Args:
        first: the planned trials of every run.
        runs: which run each of these is of.
        fresh: further ones, which ran beside those of the other arm.
        metrics: versions of each.
        answered_by: the models that answered for the judge of each, where they name themselves otherwise.
    """

    scenario: Scenario
    contents: frozenset[str]
    judge_models: frozenset[str]
    answers: frozenset[str]
    first: tuple[Scored, ...]
    fresh: tuple[Scored, ...]
    runs: tuple[int, ...]
    metrics: Mapping[str, frozenset[str]] = field(default_factory=dict)
    answered_by: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def compared(self, common: int) -> tuple[Scored, ...]:
        """The trials that every scenario has; see ``compared_trials``."""
        return compared_trials(self.first, self.fresh, common, replayed=self.answers == {AnswerOrigin.REPLAY})


def pair_up(
    head: Sequence[MeasuredRun], base: Sequence[MeasuredRun]
) -> tuple[tuple[Pair, ...], tuple[NotComparable, ...]]:
    """Pairs of composite scores, in order of scenario.

    A trial's composite is the mean of those of its scores that both arms have by the same metric, version and, where
    it is judged, the same judge. A scenario must be the same on both arms, and its answers come from the same kind
    of source. A difference is never given for anything else. A scenario that errored in a run of the base is left out:
    what is known of it there lacks the worst of it.

    Args:
        head: runs of the change; several when a run was repeated.

    Returns:
        What can be compared, and what cannot, each with the reason.
    """
    ours, theirs = _arms(head), _arms(base)
    errored = _errored(base)
    pairs: list[Pair] = []
    problems: list[NotComparable] = []
    for name in sorted(ours.keys() | theirs.keys()):
        pair, found = _pair(name, ours.get(name), theirs.get(name), errored=name in errored)
        problems += found
        if pair is not None:
            pairs.append(_with_added(pair, head))
    common = common_trials(pairs)
    return tuple(_with_metrics(pair, ours, theirs, common) for pair in pairs), tuple(problems)


def common_trials(pairs: Iterable[Pair]) -> int:
    """How many further trials every scenario has on both arms."""
    return min((min(len(pair.fresh_base), len(pair.fresh_head)) for pair in pairs), default=0)


def compared_trials(first: Sequence[_T], fresh: Sequence[_T], common: int, *, replayed: bool) -> tuple[_T, ...]:
    """What a mean is taken over: as many trials of one scenario as of any other.

    A scenario that fell by chance has more trials than the others, so that all of them together would say too much of
    it. Where all have further trials, which ran beside those of the other arm, these count alone: the planned ones of
    the base were run earlier, perhaps by a provider that has changed since. Recordings do not change.

    Args:
        first: planned trials of one arm of a scenario.
        fresh: further ones.
        common: how many further trials every scenario has on both arms.
    """
    if not common:
        return tuple(first)
    return (*(first if replayed else ()), *fresh[:common])


def _errored(runs: Sequence[MeasuredRun]) -> set[str]:
    return {
        result.trial.scenario.id
        for run in runs
        for result in run.results
        if isinstance(result, Errored) and result.trial.number < _planned(run, result)
    }


def _planned(run: MeasuredRun, result: ScenarioResult) -> int:
    """How many trials of a scenario a run begins with; of recordings the first one is looked at before the others."""
    return 1 if run.answers == AnswerOrigin.REPLAY else result.trial.scenario.strategy.trials


def _with_added(pair: Pair, head: Sequence[MeasuredRun]) -> Pair:
    """The pair with what earlier attempts have measured to confirm a drop."""
    added = [run.confirming[pair.scenario_id] for run in head if pair.scenario_id in run.confirming]
    base = tuple(value for values, _ in added for value in values)
    return replace(pair, added_base=base, added_head=tuple(value for _, values in added for value in values))


def _with_metrics(pair: Pair, ours: Mapping[str, _ArmTrials], theirs: Mapping[str, _ArmTrials], common: int) -> Pair:
    base, head = theirs[pair.scenario_id].compared(common), ours[pair.scenario_id].compared(common)
    return replace(pair, metrics={name: (_mean(base, name), _mean(head, name)) for name in pair.metrics})


def _arms(runs: Sequence[MeasuredRun]) -> dict[str, _ArmTrials]:
    grouped: dict[str, list[tuple[MeasuredRun, Scored]]] = {}
    for run in runs:
        for result in _measured(run.results):
            grouped.setdefault(result.trial.scenario.id, []).append((run, result))
    numbers = {id(run): number for number, run in enumerate(runs)}
    return {name: _arm(found, numbers) for name, found in grouped.items()}


def _measured(results: Iterable[ScenarioResult]) -> Iterable[Scored]:
    return (result for result in results if isinstance(result, Scored) and result.scores)


def _arm(measured: Sequence[tuple[MeasuredRun, Scored]], numbers: Mapping[int, int]) -> _ArmTrials:
    found = _without_repeats(measured)
    planned = [(run, result) for run, result in found if result.trial.number < _planned(run, result)]
    results = [result for _, result in found]
    # Trials share their scenario: the same object is digested once.
    scenarios = {(id(run), id(result.trial.scenario)): (run, result.trial.scenario) for run, result in found}
    versions: dict[str, set[str]] = {}
    answered: dict[str, set[str]] = {}
    for result in results:
        for score in result.scores:
            versions.setdefault(score.metric, set()).add(score.version)
            answered.setdefault(score.metric, set()).update(score.answered_by)
    return _ArmTrials(
        scenario=results[-1].trial.scenario,
        contents=frozenset(_content(run, scenario) for run, scenario in scenarios.values()),
        judge_models=frozenset(run.judge_model for run, _ in found),
        answers=frozenset(run.answers for run, _ in found),
        first=tuple(result for _, result in planned),
        runs=tuple(numbers[id(run)] for run, _ in planned),
        fresh=tuple(
            result for run, result in found if result.trial.number >= _planned(run, result) and _is_beside(run)
        ),
        metrics={name: frozenset(seen) for name, seen in versions.items()},
        answered_by={name: frozenset(seen) for name, seen in answered.items()},
    )


def _without_repeats(measured: Sequence[tuple[MeasuredRun, Scored]]) -> Sequence[tuple[MeasuredRun, Scored]]:
    """The results, of which a recording that several runs replayed counts once: it is one measurement."""
    kept: dict[object, tuple[MeasuredRun, Scored]] = {}
    for place, (run, result) in enumerate(measured):
        replayed = run.answers == AnswerOrigin.REPLAY
        kept[("recorded", result.trial.number) if replayed else place] = run, result
    return tuple(kept.values())


def _is_beside(run: MeasuredRun) -> bool:
    return run.this_run or run.answers == AnswerOrigin.REPLAY


def _content(run: MeasuredRun, scenario: Scenario) -> str:
    return run.scenario_digests.get(scenario.id) or content_digest(scenario)


def _pair(
    name: str, head: _ArmTrials | None, base: _ArmTrials | None, *, errored: bool
) -> tuple[Pair | None, list[NotComparable]]:
    reason = "it errored in a run of the base" if errored else _obstacle(head, base)
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
        return None, problems or [NotComparable(name, "", "its first trial was not measured on both base and head")]
    pair = Pair(
        name,
        head.scenario.critical,
        base=_composites(base.first, usable),
        head=_composites(head.first, usable),
        fresh_base=_composites(base.fresh, usable),
        fresh_head=_composites(head.fresh, usable),
        base_runs=_runs_of_composites(base, usable),
        head_runs=_runs_of_composites(head, usable),
        metrics=dict.fromkeys(usable, (0.0, 0.0)),
        family=head.scenario.family,
    )
    return pair, problems


def _obstacle(head: _ArmTrials | None, base: _ArmTrials | None) -> str:
    if base is None:
        return "the base has no scores of it"
    if head is None:
        return "this change has no scores of it"
    if len(head.contents | base.contents) > 1:
        return "the scenario is another one than the base's"
    if head.answers != base.answers:
        return f"answers are {_names(head.answers)} here and were {_names(base.answers)} on the base"
    return ""


def _metric_obstacle(metric: str, head: _ArmTrials, base: _ArmTrials, *, judged: bool) -> str:
    ours, theirs = head.metrics.get(metric), base.metrics.get(metric)
    if not ours or not theirs:
        return "only one of base and head has it"
    if ours != theirs or len(ours) > 1:
        return f"its version is {_names(ours)} here and was {_names(theirs)} on the base"
    if judged and (head.judge_models != base.judge_models or len(head.judge_models) > 1):
        return f"its judge is {_names(head.judge_models)} here and was {_names(base.judge_models)} on the base"
    here, there = (arm.answered_by.get(metric) or arm.judge_models for arm in (head, base))
    if judged and any(is_another_model(ours, theirs) for ours in here for theirs in there):
        return f"its judge's answers are from {_names(here)} here and were from {_names(there)} on the base"
    return ""


def _judged(arm: _ArmTrials) -> set[str]:
    scores: Iterable[Score] = (score for result in (*arm.first, *arm.fresh) for score in result.scores)
    return {score.metric for score in scores if score.judged}


def _composites(results: Sequence[Scored], metrics: Sequence[str]) -> tuple[float, ...]:
    """The mean of the metrics of each trial that has all of them."""
    values = (_values(result) for result in results if _has_all(result, metrics))
    return tuple(mean([found[name] for name in metrics]) for found in values)


def _runs_of_composites(arm: _ArmTrials, metrics: Sequence[str]) -> tuple[int, ...]:
    """Which run each composite of the planned trials is of."""
    return tuple(run for run, result in zip(arm.runs, arm.first, strict=True) if _has_all(result, metrics))


def _values(result: Scored) -> dict[str, float]:
    return {score.metric: score.value for score in result.scores}


def _has_all(result: Scored, metrics: Sequence[str]) -> bool:
    return _values(result).keys() >= set(metrics)


def _mean(results: Iterable[Scored], metric: str) -> float:
    return mean([score.value for result in results for score in result.scores if score.metric == metric])


def _names(values: Iterable[str]) -> str:
    return ", ".join(sorted(values)) or "unknown"
