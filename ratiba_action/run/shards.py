"""Runs that share a suite: which scenarios each shard runs, with how much of the time and the money."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from pathlib import Path

from ratiba_action.model.canonical import digest
from ratiba_action.model.comparison import MeasuredRun
from ratiba_action.model.measurement import ScenarioResult, Scored
from ratiba_action.model.scenario import Scenario
from ratiba_action.model.shard import Shard
from ratiba_action.model.values import mean
from ratiba_action.model.verdict import Report
from ratiba_action.money.budget import share_of_cap
from ratiba_action.run.inputs import RunInputs
from ratiba_action.run.paid_run import has_account
from ratiba_action.suite.load import files_digest
from ratiba_action.util.git import Git
from ratiba_action.util.work_tree import changes_digest
from ratiba_action.verdict.case_file_scores import reads_alike

NO_LEDGER = "none"
_SHOWN = 12
_CODE = frozenset({".py", ".j2", ".js", ".json"})


def shares(
    scenarios: Sequence[Scenario], count: int, history: Sequence[MeasuredRun] = ()
) -> tuple[frozenset[str], ...]:
    """The ids of the scenarios that each shard runs: disjoint, complete, and the same for the same input.

    The scenario that took longest goes to the shard that has least to do so far (longest processing time first;
    Graham 1969). Without any history the scenarios are dealt out by turns.

    Args:
        scenarios: that run, in any order.
        count: of shards, at least 1.
        history: runs of the base, which know how long a trial took.
    """
    seconds = _milliseconds(history)
    usual = sorted(seconds.values())[len(seconds) // 2] if seconds else 1
    weights = {scenario.id: seconds.get(scenario.id, usual) * scenario.strategy.trials for scenario in scenarios}
    longest_first = sorted(weights, key=lambda name: (-weights[name], name))
    found: list[set[str]] = [set() for _ in range(count)]
    load = [0] * count
    for turn, name in enumerate(longest_first if seconds else sorted(weights)):
        shard = min(range(count), key=lambda number: (load[number], len(found[number]), number))
        shard = shard if seconds else turn % count
        found[shard].add(name)
        load[shard] += weights[name]
    return tuple(map(frozenset, found))


def _milliseconds(history: Sequence[MeasuredRun]) -> dict[str, int]:
    """How long a trial of each scenario took, in whole milliseconds of at least 1."""
    times: dict[str, list[float]] = {}
    for result in (result for run in history for result in run.results):
        if isinstance(result, Scored) and isfinite(result.seconds):
            times.setdefault(result.trial.scenario.id, []).append(result.seconds)
    return {name: max(1, round(mean(found) * 1000)) for name, found in times.items()}


def share_inputs(inputs: RunInputs, shard: Shard, history: Sequence[MeasuredRun]) -> RunInputs:
    """What one shard runs: its scenarios, its part of the concurrency and, unless a ledger is shared, of the budget.

    Args:
        history: as in ``shares``.
    """
    own = shares(inputs.selection.scenarios, shard.count, history)[shard.number - 1]
    scenarios = tuple(scenario for scenario in inputs.selection.scenarios if scenario.id in own)
    each, rest = divmod(inputs.at_once, shard.count)
    budget = inputs.settings.budget_usd
    return replace(
        inputs,
        settings=inputs.settings
        if shares_ledger(inputs)
        else replace(inputs.settings, budget_usd=share_of_cap(budget, shard)),
        selection=replace(inputs.selection, scenarios=scenarios),
        concurrency=max(1, each + (shard.number <= rest)),
    )


def with_readable_answers(report: Report, masked: Callable[[ScenarioResult], ScenarioResult]) -> Report:
    """The report of a shard; with a problem where masking would change an answer that a case file is scored by.

    The merge has nothing but the masked report, in which all six-digit labels look alike.

    Args:
        report: before it is masked.
        masked: masks a result, as the report will be.
    """
    if report.shard is None or report.shard.problem:
        return report
    altered = [result for result in report.results if not reads_alike(result, masked(result))]
    if not altered:
        return report
    scenario = altered[0].trial.scenario
    more = f" and {len(altered) - 1} more" if len(altered) > 1 else ""
    problem = (
        f"Masking would change labels or documents of {scenario.id}{more}, so the case file {scenario.data_set!r} "
        "cannot be scored from reports of shards."
    )
    way_out = "Run this suite without shards."
    verdict = replace(report.verdict, reason=problem, action=way_out)
    return replace(report, verdict=verdict, shard=replace(report.shard, problem=problem, way_out=way_out))


def shares_ledger(inputs: RunInputs) -> bool:
    """Whether all shards of this run reserve from one account of the shared ledger."""
    return has_account(inputs.settings, inputs.decided.change.subject)


def identity_of(inputs: RunInputs, commit: str) -> dict[str, str]:
    """What all shards of a run share with their merge, by its name; digests stand for what is long.

    Args:
        commit: ``measured_commit`` of the run.
    """
    git, settings = inputs.decided.change.git, inputs.settings
    configuration = inputs.configuration.model_dump(mode="json")
    judge = configuration.pop("judge", None)
    suite = {scenario.id: inputs.digests.of(scenario) for scenario in inputs.selection.scenarios}
    return {
        "gate": settings.name,
        "version": _own_version(),
        "commit": commit or _changed_tree(git, inputs.decided.change.files.head or ""),
        "base": inputs.decided.change.files.base or "",
        "mode": inputs.decided.decision.mode.value,
        "configuration": digest(configuration)[:_SHOWN],
        "suite": digest([inputs.suite.digest, suite, sorted(inputs.selection.free)])[:_SHOWN],
        "judge": f"{inputs.configuration.judge.model} {digest(judge)[:_SHOWN]}",
        "answers": inputs.llm.value,
        "variant": inputs.variant,
        "budget": str(settings.budget_usd),
        "ledger": "shared" if shares_ledger(inputs) else NO_LEDGER,
    }


def _changed_tree(git: Git | None, head: str) -> str:
    """Names a work tree with changes of its own by their content: another edit is another run."""
    commit = git.commit("HEAD") if git is not None else None
    if git is None or commit is None:
        return f"{head} with uncommitted changes".strip()
    return f"{commit} with uncommitted changes {changes_digest(git, commit)[:_SHOWN]}"


def _own_version() -> str:
    """The number of the gate's version with a digest of its code: an image may be built of any commit of it."""
    try:
        number = version("ratiba-eval-gate")
    except PackageNotFoundError:
        number = "not installed"
    top = Path(__file__).parents[1]
    code = {str(path.relative_to(top)): path.read_bytes() for path in top.rglob("*") if path.suffix in _CODE}
    return f"{number} {files_digest(code)[:_SHOWN]}"
