"""Scenarios that pass by the history of their own scores (``strategy: statistical``), before and after a run."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import UTC

from ratiba_action.errors import InfrastructureError, LedgerError
from ratiba_action.llm.recordings.folder import recording_path
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.measurement import ScenarioResult, Score, Scored
from ratiba_action.model.note import Caveat, Note
from ratiba_action.model.own_history import Statistical
from ratiba_action.model.scenario import Scenario
from ratiba_action.run.earlier_runs import workflow_started
from ratiba_action.run.inputs import RunInputs
from ratiba_action.util.text import few

_NAMED = 5


def with_own_history(inputs: RunInputs, commit: str, *, in_shards: bool) -> RunInputs:
    """The inputs with what the history says of the scenarios that pass by it, read once, before anything is measured.

    Where it cannot be had, thresholds apply, and a note says why. Critical scenarios are exact: nothing is read.

    Args:
        commit: ``measured_commit`` of the run.
        in_shards: it is one of several shards, or merges them: all look at the history of the same moment.

    Raises:
        InfrastructureError: it could not be read in a run in shards, where others may have read it.
    """
    meant = {
        scenario.id: (scenario, scenario.strategy.statistical)
        for scenario in inputs.selection.scenarios
        if scenario.strategy.statistical is not None and not scenario.critical
    }
    why, repeated = _why_not(inputs, in_shards=in_shards), [name for name in meant if _may_repeat(inputs, name)]
    if why or not meant:
        return _with_note(inputs, meant, why)
    from ratiba_action.history.own_history import read_own_values, with_bounds  # with strategy: statistical alone
    from ratiba_action.history.store import Series

    inputs = _with_note(inputs, repeated, _REPEATED)
    meant = {name: found for name, found in meant.items() if name not in repeated}
    subject, settings, history = inputs.decided.change.subject, inputs.settings, inputs.history
    branch = subject.base_branch or subject.branch
    started = (workflow_started(inputs) if in_shards else None) or inputs.started_at
    series = Series(subject.repository, settings.name, branch, before=started.astimezone(UTC))
    digests = {name: inputs.digests.of(scenario) for name, (scenario, _) in meant.items()}
    judge = inputs.configuration.judge.model
    try:
        values = read_own_values(history, series, judge, commit, sorted(digests.values())) if meant and history else {}
    except LedgerError as error:
        if in_shards:
            raise _unread(error) from error
        return _with_note(inputs, meant, (_as_cause(error.problem), error.remedy))
    read = {
        name: with_bounds(wanted, values.get(digests[name], ()), branch, started) for name, (_, wanted) in meant.items()
    }
    scenarios = tuple(with_statistical(scenario, read.get(scenario.id)) for scenario in inputs.selection.scenarios)
    return replace(inputs, selection=replace(inputs.selection, scenarios=scenarios))


def _unread(error: LedgerError) -> InfrastructureError:
    """A shard and its merge must not judge by different limits, so neither goes on without the history."""
    return InfrastructureError(
        f"The history of the scenarios' own scores (strategy: statistical) could not be read: {error.problem}",
        f"{error.remedy} Then run this job again (on GitHub: Re-run failed jobs).".lstrip(),
    )


def with_statistical(scenario: Scenario, read: Statistical | None) -> Scenario:
    """The scenario with the bounds that were read for it; as it is where none were."""
    return scenario if read is None else replace(scenario, strategy=replace(scenario.strategy, statistical=read))


_REPEATED = (
    "recorded answers are repeated, so they do not vary as the history does",
    "Use live answers: --llm live (input llm).",
)


def _why_not(inputs: RunInputs, *, in_shards: bool) -> tuple[str, str] | None:
    """Why there is no history that this run can be judged by, and what helps; None where there may be one."""
    subject = inputs.decided.change.subject
    if inputs.llm in {Llm.REPLAY, Llm.RECORD}:
        return _REPEATED
    if inputs.variant:
        return "a variant of the system has none", "Run the system as it is, without --variant."
    if inputs.history is None:
        return (
            "there is no history",
            "Set RATIBA_LEDGER_URL (input ledger-url) or the configuration's history.branch.",
        )
    if in_shards and _may_differ(inputs):
        return (
            "shards may find different runs on a branch where no event says when they were started",
            "Run them in a workflow on GitHub, or set RATIBA_LEDGER_URL (input ledger-url).",
        )
    if not (subject.base_branch or subject.branch):
        return "this run has no base branch", "Run the gate in a pull request, or after a push."
    return None


def _may_differ(inputs: RunInputs) -> bool:
    """Whether the jobs of one run may find different runs: a branch has no moment but that of the workflow's event."""
    from ratiba_action.history.store import MetricsHistory  # with a history alone

    return not isinstance(inputs.history, MetricsHistory) and workflow_started(inputs) is None


def _may_repeat(inputs: RunInputs, name: str) -> bool:
    """Whether ``auto`` may take answers of a scenario from recordings: which ones fit is known afterwards only."""
    return inputs.llm == Llm.AUTO and recording_path(inputs.recordings, name).exists()


def _with_note(inputs: RunInputs, names: Collection[str], why: tuple[str, str] | None) -> RunInputs:
    """The inputs with a note that thresholds apply to scenarios, and why; as they are where that is none."""
    if not names or why is None:
        return inputs
    cause, remedy = why
    its = "its" if len(names) == 1 else "their"
    message = f"{its} thresholds apply, not the history of {its} scores (strategy: statistical), because {cause}."
    return replace(inputs, notes=(*inputs.notes, Note(f"{_listed(sorted(names))}: {message}", remedy)))


def _as_cause(problem: str) -> str:
    """A sentence, to follow "because"."""
    return f"{problem[:1].lower()}{problem[1:].removesuffix('.')}"


def notes_of_own_history(results: Sequence[ScenarioResult]) -> tuple[str, ...]:
    """What failed by the history, what passed by it below the threshold, and where it was too short to decide."""
    spared, failed, short = list[str](), list[str](), list[str]()
    for scenario, wanted, score, threshold in _judged(results):
        name, bound = f"{scenario.id} {score.metric}", wanted.bound_of(score.metric, score.version)
        if bound.low is None:
            short.append(f"{name} ({bound.values} of {wanted.needed} values)")
            continue
        shown = (
            f"{name} {score.value:.2f}{score.vote_note} (threshold {threshold:.2f}, own history {bound.low:.2f}: "
            f"{bound.values} values of {wanted.branch!r}, confidence {wanted.confidence_level:.1%})"
        )
        if not score.passed:
            failed.append(shown)
        elif not replace(score, threshold=threshold).passed:
            spared.append(shown)
    notes = (
        ("Below the scenario's own history, and failed: ", failed),
        ("The threshold applies, since the scenario's own history is too short: ", short),
    )
    by_history = Caveat(f"Below the threshold, and passed by the scenario's own history: {_listed(spared)}.")
    return (*([by_history] if spared else []), *(f"{what}{_listed(found)}." for what, found in notes if found))


def _judged(results: Sequence[ScenarioResult]) -> Iterator[tuple[Scenario, Statistical, Score, float]]:
    """Each score that the history was read for, with its strategy and the threshold of its assertion."""
    for result in results:
        scenario = result.trial.scenario
        wanted = scenario.strategy.statistical
        if not isinstance(result, Scored) or wanted is None or not wanted.branch:
            continue
        thresholds = {entry.label: entry.threshold for entry in scenario.assertions if not entry.of_rule}
        for score in result.scores:
            if score.judged and score.metric in thresholds and wanted.applies_to(score.metric):
                yield scenario, wanted, score, thresholds[score.metric]


def _listed(items: Sequence[str]) -> str:
    """Each item once, a bounded number of them."""
    return few(list(dict.fromkeys(items)), _NAMED)
