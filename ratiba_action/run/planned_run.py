"""A run with what came before it: the results that it is compared with, and its scenarios' own history."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ratiba_action.errors import InfrastructureError
from ratiba_action.model.comparison import Anchor
from ratiba_action.model.shard import Shard
from ratiba_action.run.earlier_runs import EarlierRuns, find_earlier_runs, measured_commit
from ratiba_action.run.inputs import RunInputs
from ratiba_action.run.own_history import with_own_history
from ratiba_action.run.provider_keys import require_key

if TYPE_CHECKING:
    from ratiba_action.run.shard_folders import FoundShard


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """A run with what came before it, and nothing of it started.

    Args:
        inputs: of the run, with the anchor as the base and bounds of its own history; of a shard, its share.
        earlier: runs that it may look at.
        commit: see ``measured_commit``.
        began: seconds of ``time.monotonic``.
    """

    inputs: RunInputs
    earlier: EarlierRuns
    commit: str
    began: float


def plan_run(inputs: RunInputs, shards: "Sequence[FoundShard] | None" = None) -> PlannedRun:
    """Look for what a run is compared with.

    Args:
        shards: what has measured the first plan already; None to run it.

    Raises:
        InfrastructureError: live answers are asked for, and there is no key; or shards are merged, and the base's
            results, by which they were divided, or the scenarios' own history could not be read.
    """
    require_key(inputs.settings, inputs.configuration, inputs.environment)
    if shards is None:
        return _with_history(inputs)
    from ratiba_action.run.shard_reports import measured_anew

    run = _with_history(inputs, in_shards=("The shards could not be merged", "Merge"))
    earlier = tuple(measured_anew(each, shards) for each in run.earlier.earlier)
    return replace(run, earlier=replace(run.earlier, earlier=earlier))


def _with_history(inputs: RunInputs, in_shards: tuple[str, str] | None = None) -> PlannedRun:
    """A run with its history; of shards, with what could not be done without it, and what to do again."""
    began, change, divided = time.monotonic(), inputs.decided.change, in_shards is not None
    commit, rules = measured_commit(change.git), inputs.configuration.comparison.rules
    earlier = find_earlier_runs(inputs, inputs.started_at, rules, commit, in_shards=divided)
    if in_shards is not None and earlier.unanswered:
        what, again = in_shards
        raise InfrastructureError(
            f"{what}, since the base's results could not be looked for.",
            f"{again} again (on GitHub: Re-run failed jobs). If that does not help, give all shards and the merge "
            "--baseline none (input baseline).",
        )
    inputs = with_own_history(_with_anchor(inputs, earlier.anchor), commit, in_shards=divided)
    return PlannedRun(inputs=inputs, earlier=earlier, commit=commit, began=began)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardRun(PlannedRun):
    """One shard of a run, before anything is started.

    Args:
        identity: see ``ShardReport``.
    """

    shard: Shard
    identity: Mapping[str, str]


def plan_shard(inputs: RunInputs, shard: Shard) -> ShardRun:
    """Plan the whole run, and take one shard's share of it.

    Raises:
        InfrastructureError: the base's results, by which the other shards may divide the suite, or the scenarios' own
            history could not be read.
    """
    from ratiba_action.run.shards import identity_of, share_inputs

    run = _with_history(inputs, in_shards=("The suite could not be divided among the shards", "Run this shard"))
    earlier, commit = run.earlier, run.commit
    history = earlier.baseline if earlier.anchor is None else (*earlier.baseline, *earlier.anchor.runs)
    return ShardRun(
        inputs=share_inputs(run.inputs, shard, history),
        earlier=earlier,
        commit=commit,
        began=run.began,
        shard=shard,
        identity=identity_of(inputs, commit),
    )


def _with_anchor(inputs: RunInputs, anchor: Anchor | None) -> RunInputs:
    """The inputs with the anchor as the base, which a confirmation runs beside today's version."""
    from ratiba_action.run.base_commit import read_anchor_inputs

    if anchor is None:
        return inputs
    measured = {result.trial.scenario.id for run in anchor.runs for result in run.results}
    scenarios = [scenario for scenario in inputs.selection.scenarios if scenario.id in measured]
    decided, configuration = inputs.decided, inputs.configuration
    base = read_anchor_inputs(inputs.settings, decided.change, configuration, scenarios, anchor.commit)
    return replace(inputs, base=base, anchored=True)
