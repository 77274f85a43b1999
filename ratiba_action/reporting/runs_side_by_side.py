"""Several runs side by side, as Markdown and as JSON."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ratiba_action.model.codec import encode
from ratiba_action.model.comparison import MeasuredRun
from ratiba_action.model.measurement import ScenarioResult, Scored
from ratiba_action.model.plan import HEAD
from ratiba_action.model.values import mean
from ratiba_action.reporting import comparison_summary as words
from ratiba_action.reporting.markdown import code, inline, table
from ratiba_action.reporting.wording import outcome
from ratiba_action.util.text import part_of
from ratiba_action.verdict.runs import RunPair
from ratiba_action.verdict.tally import MetricSummary, summarise_metrics
from ratiba_action.verdict.trials import ScenarioOutcome, Standing, outcomes_of
from ratiba_action.verdict.weighing import sensitivity

LETTERS = "ABCDEF"
"""Names of the runs in order; at most this many runs are shown side by side."""

_MINUS = "\u2212"
_COMMIT = 12
_NAMES = 5


@dataclass(frozen=True, slots=True)
class NamedRun:
    """A run and the path it was read from.

    Args:
        run: untrusted.
    """

    path: str
    run: MeasuredRun


def render_runs(runs: Sequence[NamedRun], pairs: Sequence[RunPair]) -> str:
    """The runs, their metrics, the differences of each pair, and every scenario.

    Args:
        runs: two to six.
        pairs: each run against each one before it.
    """
    metrics, differences = _metrics(runs), _differences(pairs)
    parts = [f"## {len(runs)} runs side by side", _runs(runs)]
    parts += [f"### Metrics\n\n{metrics}"] if metrics else []
    parts += ["### Differences", *([differences] if differences else []), _summaries(pairs)]
    obstacles = _obstacles(pairs)
    parts += [f"### Not comparable\n\n{obstacles}"] if obstacles else []
    parts.append(f"### Scenarios\n\n{_scenarios(runs, pairs)}")
    parts.append(
        "Scores are means over all scenarios of a run; differences are over the scenarios that both runs share."
    )
    return "\n\n".join(parts) + "\n"


def runs_json(runs: Sequence[NamedRun], pairs: Sequence[RunPair]) -> dict[str, Any]:
    """The same as JSON values; comparisons have the format of ``results.json``."""
    return {
        "runs": [
            {
                "name": letter,
                "path": run.path,
                "variant": _variant(run.run),
                "commit": run.run.commit,
                "started_at": encode(run.run.started_at),
                "judge_model": run.run.judge_model,
                "answers": run.run.answers,
                "conclusion": run.run.conclusion,
                "metrics": [encode(summary) for summary in summarise_metrics(run.run.results)],
                "gates": [
                    {"data_set": scores.id, "metric": result.gate.metric, "at_least": result.gate.at_least}
                    for scores in run.run.data_sets
                    for result in scores.gates
                ],
                "mean_thresholds": dict(run.run.mean_thresholds),
            }
            for letter, run in zip(LETTERS, runs, strict=False)
        ],
        "comparisons": [
            {"base": LETTERS[pair.base], "head": LETTERS[pair.head], "comparison": encode(pair.comparison)}
            for pair in pairs
        ],
    }


def _runs(runs: Sequence[NamedRun]) -> str:
    rows = [
        (
            f"{letter} ({inline(variant)})" if (variant := _variant(run.run)) else letter,
            code(run.path),
            code(run.run.commit[:_COMMIT]) if run.run.commit else "",
            run.run.started_at.isoformat(sep=" ", timespec="minutes"),
            _judge(run.run),
            inline(run.run.answers),
            _passing(run.run.results),
            inline(run.run.conclusion),
        )
        for letter, run in zip(LETTERS, runs, strict=False)
    ]
    return table(("run", "results", "commit", "started", "judge", "answers", "scenarios", "conclusion"), rows)


def _variant(run: MeasuredRun) -> str:
    """The variant that was run; empty for the system as it is."""
    return next((result.trial.arm.name for result in run.results if result.trial.arm.name != HEAD), "")


def _judge(run: MeasuredRun) -> str:
    """The judge if it scored anything: a configured judge that was not called is not named."""
    judged = any(score.judged for result in run.results if isinstance(result, Scored) for score in result.scores)
    return inline(run.judge_model) if judged and run.judge_model else "none"


def _passing(results: Sequence[ScenarioResult]) -> str:
    outcomes = outcomes_of(results)
    passed = sum(outcome.standing is Standing.PASSED for outcome in outcomes)
    return part_of(passed, len(outcomes), "scenario", "passed", "passed")


def _metrics(runs: Sequence[NamedRun]) -> str:
    found = [{(metric.metric, metric.version): metric for metric in summarise_metrics(run.run.results)} for run in runs]
    names = sorted({name for summaries in found for name in summaries})
    thresholds = [_thresholds(run.run, summaries.values()) for run, summaries in zip(runs, found, strict=True)]
    rows = [
        (
            inline(" ".join(name)),
            *(_mean(summaries.get(name)) for summaries in found),
            inline(
                " / ".join(
                    dict.fromkeys(metric[name[0]] for metric, has in zip(thresholds, found, strict=True) if name in has)
                )
            ),
        )
        for name in names
    ]
    return table(("metric", *(f"{letter}:" for letter in LETTERS[: len(runs)]), "threshold:"), rows) if rows else ""


def _thresholds(run: MeasuredRun, summaries: Iterable[MetricSummary]) -> Mapping[str, str]:
    """The thresholds of each metric, with those of the run's cases and its mean thresholds."""
    return words.describe_thresholds(summaries, run.data_sets, run.mean_thresholds)


def _mean(summary: MetricSummary | None) -> str:
    return "" if summary is None else f"{words.format_mean(summary.mean)} (n = {summary.count})"


def _differences(pairs: Sequence[RunPair]) -> str:
    rows = [row for pair in pairs for row in _pair_rows(pair)]
    return table(("runs", "metric", "Δ in points (90 % interval):", "status"), rows) if rows else ""


def _pair_rows(pair: RunPair) -> Iterator[tuple[str, ...]]:
    for row in words.metric_rows(pair.comparison, {}):
        yield _named(pair), inline(row.name), row.change, row.status
    whole = {metric.metric for metric in pair.comparison.metrics}
    for obstacle in words.obstacles(pair.comparison):
        # A metric that some scenarios share has its row above.
        missing = [name for name in obstacle.metrics if name not in whole]
        if missing or not pair.comparison.scenarios:
            about = ", ".join(map(inline, missing)) or words.COMPOSITE
            yield _named(pair), about, "", f"not comparable: {inline(obstacle.reason)}"


def _summaries(pairs: Sequence[RunPair]) -> str:
    lines = []
    for pair in pairs:
        sentences = " ".join(filter(None, (inline(pair.comparison.reason), sensitivity(pair.comparison))))
        lines.append(f"- {LETTERS[pair.head]} against {LETTERS[pair.base]}: {sentences}")
    return "\n".join(lines)


def _obstacles(pairs: Sequence[RunPair]) -> str:
    rows = []
    for pair in pairs:
        for obstacle in words.obstacles(pair.comparison):
            names = ", ".join(map(code, obstacle.scenarios[:_NAMES]))
            omitted = len(obstacle.scenarios) - _NAMES
            metrics = ", ".join(map(inline, obstacle.metrics)) or "all"
            more = f" and {omitted} more" if omitted > 0 else ""
            rows.append((_named(pair), inline(obstacle.reason), metrics, str(len(obstacle.scenarios)), names + more))
    return table(("runs", "reason", "metric", "n:", "scenarios"), rows) if rows else ""


def _named(pair: RunPair) -> str:
    return f"{LETTERS[pair.head]} {_MINUS} {LETTERS[pair.base]}"


def _scenarios(runs: Sequence[NamedRun], pairs: Sequence[RunPair]) -> str:
    found = [{outcome.scenario.id: outcome for outcome in outcomes_of(run.run.results)} for run in runs]
    against = [pair for pair in pairs if pair.base == 0]
    changes = [_changes(pair) for pair in against]
    columns = (*LETTERS[: len(runs)], *map(_named, against))
    rows = [
        (
            code(name),
            *(_score(outcomes.get(name)) for outcomes in found),
            *(change.get(name, "not comparable") for change in changes),
        )
        for name in sorted({name for outcomes in found for name in outcomes})
    ]
    return table(("scenario", *(f"{name}:" for name in columns)), rows)


def _changes(pair: RunPair) -> Mapping[str, str]:
    left = {entry.scenario_id: f"not comparable: {inline(entry.reason)}" for entry in pair.comparison.not_comparable}
    return left | {
        entry.scenario_id: words.signed_points(entry.head - entry.base) for entry in pair.comparison.scenarios
    }


def _score(scenario: ScenarioOutcome | None) -> str:
    if scenario is None:
        return "not run"
    values = [score.value for trial in scenario.trials if isinstance(trial, Scored) for score in trial.scores]
    ended = outcome(scenario.deciding)
    parts = [words.format_mean(mean(values))] if values else []
    return ", ".join([*parts, *([ended] if ended != "passed" or not parts else [])])
