"""How a comparison with the base is put into words, the same in every form of the report."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ratiba_action.model.comparison import (
    BaselineFacts,
    Comparison,
    Flip,
    MetricComparison,
    ScenarioComparison,
    Tier,
)
from ratiba_action.model.data_set import DataSetScores
from ratiba_action.model.values import mean
from ratiba_action.model.verdict import Conclusion, Report
from ratiba_action.reporting.data_set_words import threshold_told
from ratiba_action.reporting.wording import number, plural
from ratiba_action.verdict.runs import metric_tier
from ratiba_action.verdict.tally import MetricSummary
from ratiba_action.verdict.weighing import sensitivity

COMPOSITE = "all scenarios"
"""What the row of the composite is called."""

_UNKNOWN = "unknown"
_COMMIT = 12
_HOURS_A_DAY = 24
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a comparison; texts are not escaped.

    Args:
        threshold: empty where there is none.
        difference: head minus base, in shares of 1.
    """

    name: str
    base: str
    head: str
    change: str
    threshold: str
    status: str
    tier: Tier
    difference: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One reason why something cannot be compared.

    Args:
        metrics: that it is about; empty where it is about whole scenarios.
    """

    reason: str
    metrics: tuple[str, ...]
    scenarios: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ComparedScenario:
    """One scenario on both sides; figures are texts.

    Args:
        moved: whether it changed by more than noise.
    """

    name: str
    base: str
    head: str
    change: str
    status: str
    tier: Tier
    moved: bool


@dataclass(frozen=True, slots=True)
class ComparisonSummary:
    """The comparison with the base; texts are not escaped.

    Args:
        heading: what it came to, in a word or a few.
        baseline: where the base's scores come from; untrusted.
        sensitivity: which drops it could have seen; empty where that is not known.
        interval_note: what an interval beside an exact difference is of; empty where there is none.
        not_comparable: how much cannot be compared; empty where everything can.
        rows: the composite's, then one for each metric.
        scenarios: the largest drop first.
        flips: scenarios that pass on one side only, each with its direction.
        obstacles: why something cannot be compared, that of most scenarios first.
    """

    found: Comparison
    heading: str
    baseline: str
    sensitivity: str
    interval_note: str
    not_comparable: str
    rows: tuple[Row, ...]
    scenarios: tuple[ComparedScenario, ...]
    flips: tuple[tuple[Flip, str], ...]
    obstacles: tuple[Obstacle, ...]


def summarise_comparison(report: Report, thresholds: Mapping[str, str]) -> ComparisonSummary | None:
    """The comparison of a report in words; None where there is nothing of the base.

    Args:
        report: of the run.
        thresholds: what each metric must reach, in words, by its name.
    """
    found = report.verdict.comparison
    if found is None:
        return None
    return ComparisonSummary(
        found=found,
        heading=_heading(found, report.verdict.conclusion),
        baseline=_baseline(report.baseline, report.started_at),
        sensitivity=sensitivity(found),
        interval_note=_interval_note(found),
        not_comparable=_not_comparable(found),
        rows=metric_rows(found, thresholds),
        scenarios=tuple(_scenario(one, found) for one in sorted(found.scenarios, key=lambda one: one.head - one.base)),
        flips=tuple((one, _direction(one)) for one in found.flips),
        obstacles=obstacles(found),
    )


def _scenario(one: ScenarioComparison, whole: Comparison) -> ComparedScenario:
    means, change = (mean_told(one.base), mean_told(one.head)), signed_points(one.head - one.base)
    status = _scenario_status(one, whole)
    return ComparedScenario(one.scenario_id, *means, change, status, one.tier, one.tier is not Tier.WITHIN_NOISE)


def _direction(flip: Flip) -> str:
    return ("newly passing" if flip.passes else "newly failing") + (" (critical)" if flip.critical else "")


def signed_points(difference: float) -> str:
    """A difference of scores from 0 to 1 in points of a hundred, with its sign and one digit."""
    if not math.isfinite(difference):
        return _UNKNOWN
    size = round(difference * 100, 1)
    return f"{size:+.1f}".replace("-", "\u2212") if size else "0.0"


def mean_told(mean: float) -> str:
    """A mean score with two digits: the difference beside it has more."""
    return f"{mean:.2f}"


def change_told(difference: float, low: float | None, high: float | None) -> str:
    """A difference in points with its interval where it has one of any width."""
    told = signed_points(difference)
    if low is None or high is None or high - low <= _ROUNDING:
        return told
    return f"{told} ({signed_points(low)} to {signed_points(high)})"


def metric_rows(comparison: Comparison, thresholds: Mapping[str, str]) -> tuple[Row, ...]:
    """The composite's row, then one for each metric.

    Args:
        comparison: of head and base.
        thresholds: in words, by metric.
    """
    rows = [_metric_row(one, comparison, thresholds.get(one.metric, "")) for one in comparison.metrics]
    return (*([_composite_row(comparison)] if comparison.scenarios else []), *rows)


def thresholds_told(
    summaries: Iterable[MetricSummary], data_sets: Sequence[DataSetScores], means: Mapping[str, float]
) -> dict[str, str]:
    """What each metric must reach, in words.

    Args:
        summaries: of the metrics of a run.
        data_sets: of the same run, with their gates.
        means: least mean of a metric, by metric.
    """
    told = {one.metric: threshold_told(one, data_sets) for one in summaries}
    limits = {name: f"mean {number(least)}" for name, least in means.items()}
    return {name: ", ".join(filter(None, (told.get(name), limits.get(name)))) for name in told | limits}


def tier_told(tier: Tier, difference: float, *, exact: bool) -> str:
    """A tier in words; where nothing varies by chance there is no noise either."""
    if not exact or tier is not Tier.WITHIN_NOISE:
        return tier.value
    if abs(difference) <= _ROUNDING:
        return "no change"
    return "a little higher" if difference > 0 else "a little lower"


def obstacles(comparison: Comparison) -> tuple[Obstacle, ...]:
    """What cannot be compared, one entry a reason, that of most scenarios first."""
    found: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for one in comparison.not_comparable:
        metrics, scenarios = found.setdefault(one.reason, ({}, {}))
        metrics |= {one.metric: None} if one.metric else {}
        scenarios[one.scenario_id] = None
    entries = (Obstacle(reason, tuple(sorted(names)), tuple(ids)) for reason, (names, ids) in found.items())
    return tuple(sorted(entries, key=lambda one: -len(one.scenarios)))


def _age(facts: BaselineFacts, now: datetime) -> str:
    if (facts.started_at.tzinfo is None) is not (now.tzinfo is None):
        return ""
    hours = int((now - facts.started_at).total_seconds() // 3600)
    if hours < 0:
        return ""
    days = hours // _HOURS_A_DAY
    age = f"{plural(days, 'day')} old" if days else f"{plural(hours, 'hour')} old"
    return (age if hours else "less than an hour old") + (" (stale)" if facts.stale else "")


def _composite_row(comparison: Comparison) -> Row:
    difference = comparison.difference if comparison.difference is not None else math.nan
    return Row(
        COMPOSITE,
        mean_told(mean([one.base for one in comparison.scenarios])),
        mean_told(mean([one.head for one in comparison.scenarios])),
        change_told(difference, comparison.low, comparison.high),
        _margin_told(comparison),
        tier_told(comparison.tier, difference, exact=comparison.exact),
        comparison.tier,
        difference,
        comparison.low,
        comparison.high,
    )


def _margin_told(comparison: Comparison) -> str:
    if comparison.margin is None:
        return ""
    return f"{'' if comparison.exact else 'lower end '}above {signed_points(-comparison.margin)}"


def _metric_row(one: MetricComparison, comparison: Comparison, threshold: str) -> Row:
    difference, tier = one.head - one.base, metric_tier(one, comparison)
    return Row(
        one.metric,
        mean_told(one.base),
        mean_told(one.head),
        change_told(difference, one.low, one.high),
        threshold,
        tier_told(tier, difference, exact=comparison.exact),
        tier,
        difference,
        one.low,
        one.high,
    )


def _single(one: ScenarioComparison, comparison: Comparison) -> bool:
    """Whether a scenario fell far in a comparison that blocks nothing."""
    return one.tier is Tier.UNCLEAR and comparison.tier is not Tier.REGRESSION and len(comparison.scenarios) > 1


def _scenario_status(one: ScenarioComparison, comparison: Comparison) -> str:
    told = tier_told(one.tier, one.head - one.base, exact=comparison.exact)
    told += ": further trials show the drop again" if one.dropped_again and not comparison.exact else ""
    told += ": may be chance, two such drops or a critical one count" if _single(one, comparison) else ""
    return told + (" (critical)" if one.critical else "")


def _heading(comparison: Comparison, conclusion: Conclusion) -> str:
    """What the comparison came to, in a word or a few; a run that failed never reads as one where nothing changed."""
    if conclusion is Conclusion.FAILED and comparison.tier is not Tier.REGRESSION:
        worse = sum(not one.passes for one in comparison.flips)
        return f"{plural(worse, 'scenario')} newly failing" if worse else "No scenario is newly failing"
    if comparison.tier is Tier.NOT_COMPARABLE and not comparison.not_comparable:
        return "Deterministic assertions only"
    return tier_told(comparison.tier, comparison.difference or 0.0, exact=comparison.exact).capitalize()


def _interval_note(comparison: Comparison) -> str:
    """What an interval beside an exact difference is of; empty where there is none, or where it needs no saying."""
    low, high = comparison.low, comparison.high
    if not comparison.exact or low is None or high is None or high - low <= _ROUNDING:
        return ""
    return "The interval is an estimate for other scenarios like these and does not decide."


def _not_comparable(comparison: Comparison) -> str:
    whole = {one.scenario_id for one in comparison.not_comparable if not one.metric}
    scores = [one for one in comparison.not_comparable if one.metric]
    parts = [plural(len(whole), "scenario")] if whole else []
    parts += [plural(len(scores), "score")] if scores else []
    return " and ".join(parts)


def _baseline(facts: BaselineFacts | None, now: datetime) -> str:
    """Where the base's scores come from: source, commit and age; None where they were measured in this run."""
    if facts is None:
        return "measured in this run"
    parts = [facts.source or "earlier results"]
    parts += [f"at {facts.commit[:_COMMIT]}"] if facts.commit else []
    told = [" ".join(parts), *([age] if (age := _age(facts, now)) else [])]
    told += [f"{facts.runs} runs pooled"] if facts.runs > 1 else []
    return ", ".join(told)
