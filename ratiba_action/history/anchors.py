"""The anchor of a run of the base branch: runs of an earlier version of it, as the metrics history has kept them."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby

from ratiba_action.history.files import newest_first
from ratiba_action.history.results import RECORDED_BY
from ratiba_action.history.run_history import RunHistory
from ratiba_action.history.store import Series
from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.comparison import Anchor, MeasuredRun, Rules
from ratiba_action.model.conversation import Transcript
from ratiba_action.model.history import KeptRun, KeptScore
from ratiba_action.model.measurement import Errored, NotRun, Phase, ScenarioResult, Score, Scored
from ratiba_action.model.plan import BASE, Arm, Trial
from ratiba_action.model.scenario import Scenario
from ratiba_action.verdict.decline import best_anchor, first_of_each_week

_MAX = 5_000


@dataclass(frozen=True, slots=True)
class AnchorWanted:
    """What an anchor is looked for by.

    Args:
        series: of the base branch, before the run that compares.
        own: commit of that run, which is no anchor of itself; empty where it has none.
        named: commit that was named; empty for the best of the last weeks.
        scenarios: that the run compares, by the digest of their content.
    """

    series: Series
    own: str
    named: str
    scenarios: Mapping[str, Scenario]


def read_anchor(history: RunHistory, wanted: AnchorWanted, rules: Rules) -> Anchor | None:
    """The anchor, with what the history has kept of its runs; None where it has no run that could be one.

    Raises:
        LedgerError: the history cannot be read.
    """
    return asyncio.run(_read(history, wanted, rules))


async def _read(history: RunHistory, wanted: AnchorWanted, rules: Rules) -> Anchor | None:
    now, decline = wanted.series.before, rules.decline
    if now is None:
        return None
    since = None if wanted.named else now - timedelta(weeks=decline.weeks)
    series = replace(wanted.series, last=_MAX, since=since)
    found = await history.candidates(series, wanted.named)
    runs = [run for run in found if run.commit != wanted.own and run.answers in RECORDED_BY]
    kept = {wanted.named: tuple(runs)} if wanted.named else first_of_each_week(runs, now, decline.weeks)
    chosen = [run for of_commit in kept.values() for run in newest_first(of_commit, rules.pooled_runs)]
    scores = await history.scores([run.id for run in chosen]) if chosen else ()
    reached = history.since if since is not None and history.since is not None and history.since > since else None
    return anchor_of(chosen, scores, wanted, decline.weeks, reached)


def anchor_of(
    runs: Sequence[KeptRun],
    scores: Iterable[KeptScore],
    wanted: AnchorWanted,
    weeks: int,
    reached: datetime | None = None,
) -> Anchor | None:
    """The anchor among some commits; None where none of them measured a scenario as it is today.

    Args:
        weeks: that were asked for.
        reached: when the oldest run began that was read, where that is less than the weeks; else None.
    """
    rows: dict[int, list[KeptScore]] = {}
    for row in scores:
        rows.setdefault(row.run, []).append(row)
    measured = sorted(
        (_measured(run, rows.get(run.id, ()), wanted.scenarios) for run in runs), key=lambda run: run.started_at
    )
    measured = [run for run in measured if any(isinstance(result, Scored) and result.scores for result in run.results)]
    if not measured:
        return None
    alike = [run for run in measured if _is_alike(run, measured[-1])]
    candidates: dict[str, list[MeasuredRun]] = {}
    for run in alike:
        candidates.setdefault(run.commit or "", []).append(run)
    commit = best_anchor(candidates)
    best = f"the best of the last {weeks} weeks" if reached is None else f"the best since {reached.date()}"
    name = "the anchor that is configured" if wanted.named else best
    return Anchor(name, commit, tuple(candidates[commit]), len(candidates))


def _measured(run: KeptRun, rows: Sequence[KeptScore], scenarios: Mapping[str, Scenario]) -> MeasuredRun:
    """A run with its results of scenarios that are today as they were then; their text was not kept."""
    found = [
        _result(scenarios[digest], number, tuple(of_trial))
        for (digest, number), of_trial in groupby(rows, key=lambda row: (row.digest, row.trial))
        if digest in scenarios
    ]
    digests = {scenario.id: digest for digest, scenario in scenarios.items()}
    return MeasuredRun(run.commit, run.started_at, run.judge_model, AnswerOrigin(run.answers), tuple(found), digests)


def _result(scenario: Scenario, number: int, rows: Sequence[KeptScore]) -> ScenarioResult:
    trial = Trial(scenario, Arm(BASE, ""), number)
    if rows[0].status == "errored":
        return Errored(trial, Phase.SYSTEM, "it errored")
    if rows[0].status == "not run":
        return NotRun(trial, "it was not run")
    scores = tuple(Score(row.metric, row.version, row.score, 0.0, judged=row.judged) for row in rows if row.metric)
    return Scored(trial, Transcript(scenario.id, ()), (), scores, 0.0)


def _is_alike(run: MeasuredRun, newest: MeasuredRun) -> bool:
    """Whether both were scored in the same way, so that their means may be compared."""
    if (run.judge_model, run.answers) != (newest.judge_model, newest.answers):
        return False
    ours, theirs = _versions(run), _versions(newest)
    return all(ours[name] == theirs[name] for name in ours.keys() & theirs.keys())


def _versions(run: MeasuredRun) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for result in run.results:
        for score in result.scores if isinstance(result, Scored) else ():
            found.setdefault(score.metric, set()).add(score.version)
    return found
