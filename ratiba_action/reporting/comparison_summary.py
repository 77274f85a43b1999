"""The comparison with the base as text, the same in every report format."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.case_file import CaseFileScores
from ratiba_action.model.comparison import (
    BaselineFacts,
    Comparison,
    MetricComparison,
    OutcomeChange,
    ScenarioComparison,
    Tier,
)
from ratiba_action.model.measurement import Scored
from ratiba_action.model.plan import BASE, HEAD
from ratiba_action.model.values import Usd, mean
from ratiba_action.model.verdict import Conclusion, Report
from ratiba_action.reporting.cases_summary import describe_threshold
from ratiba_action.reporting.conversation_changes import ConversationChange, describe_changes
from ratiba_action.reporting.wording import dollars, number
from ratiba_action.util.text import plural
from ratiba_action.verdict.pairing import results_of
from ratiba_action.verdict.runs import metric_tier
from ratiba_action.verdict.tally import MetricSummary
from ratiba_action.verdict.weighing import sensitivity

COMPOSITE = "all scenarios"
"""Name of the composite's row."""

_UNKNOWN = "unknown"
_COMMIT = 12
_HOURS_A_DAY = 24
_ROUNDING = 1e-9
_NO_CHANGE = "no change"


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One line of a comparison; texts are not escaped.

    Args:
        threshold: empty if there is none.
        difference: head minus base, from -1 to 1.
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

    @property
    def changed(self) -> bool:
        """Whether there is more to it than noise."""
        return self.status not in (_NO_CHANGE, Tier.WITHIN_NOISE.value)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One reason why scores or scenarios cannot be compared.

    Args:
        metrics: affected metrics; empty if whole scenarios are affected.
    """

    reason: str
    metrics: tuple[str, ...]
    scenarios: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ComparedScenario:
    """One scenario on base and head; numbers are text.

    Args:
        title: empty for none.
        moved: whether it changed by more than noise.
    """

    name: str
    title: str
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
        baseline: where the base's scores come from; untrusted.
        sensitivity: which drops it could have detected, and how scores changed over time; empty if unknown.
        price: what its further trials cost at most; empty if they cost nothing, or are those of many scenarios.
        interval_note: what the interval of an exact difference means; empty if there is none.
        not_comparable: how much cannot be compared; empty if everything can.
        rows: the composite's row, then one for each metric.
        flips: newly failing and newly passing scenarios, each with its direction.
        changes: what changed in words, by scenario.
        obstacles: why something cannot be compared, the most frequent reason first.
        alike: nothing varies by chance, every scenario was compared, and nothing was said or done otherwise.
    """

    found: Comparison
    heading: str
    baseline: str
    sensitivity: str
    price: str
    interval_note: str
    not_comparable: str
    rows: tuple[ComparisonRow, ...]
    scenarios: tuple[ComparedScenario, ...]
    flips: tuple[tuple[OutcomeChange, str], ...]
    changes: Mapping[str, ConversationChange]
    obstacles: tuple[Obstacle, ...]
    alike: bool


def summarise_comparison(report: Report, thresholds: Mapping[str, str]) -> ComparisonSummary | None:
    """The comparison of a report; None if the run has none.

    Args:
        thresholds: each metric's thresholds as text, by metric.
    """
    found = report.verdict.comparison
    if found is None:
        return None
    titles = {result.trial.scenario.id: result.trial.scenario.title for result in report.results}
    return ComparisonSummary(
        found=found,
        heading=_heading(found, report.verdict.conclusion),
        baseline=_baseline(report.baseline, report.started_at),
        sensitivity=" ".join(filter(None, (sensitivity(found), found.trend))),
        price=_price(report, found),
        interval_note=_interval_note(found),
        not_comparable=_not_comparable(found),
        rows=metric_rows(found, thresholds),
        scenarios=tuple(
            _scenario(item, found, titles.get(item.scenario_id, ""))
            for item in sorted(found.scenarios, key=lambda item: item.head - item.base)
        ),
        flips=tuple((item, _direction(item)) for item in found.flips),
        changes={change.scenario_id: change for change in describe_changes(found)},
        obstacles=obstacles(found),
        alike=_alike(report, found),
    )


def _alike(report: Report, found: Comparison) -> bool:
    """Whether every conversation of the change is that of the base.

    Only what this run measured on both sides shows it: a base that was stored is masked, and kept without its
    conversations.
    """
    ours, theirs = ({result.trial.scenario.id for result in results_of(report.results, arm)} for arm in (HEAD, BASE))
    differs = found.flips or found.changed or found.not_comparable or report.edited_scenarios
    once = found.exact or not found.scenarios  # without scores there is nothing that could vary either
    return report.llm is AnswerOrigin.REPLAY and bool(ours) and ours == theirs and once and not differs


def _scenario(scenario: ScenarioComparison, whole: Comparison, title: str) -> ComparedScenario:
    means, change = (
        (format_mean(scenario.base), format_mean(scenario.head)),
        signed_points(scenario.head - scenario.base),
    )
    status = _scenario_status(scenario, whole)
    moved = scenario.tier is not Tier.WITHIN_NOISE
    return ComparedScenario(scenario.scenario_id, title, *means, change, status, scenario.tier, moved)


def _direction(flip: OutcomeChange) -> str:
    return ("newly passing" if flip.passes else "newly failing") + (" (critical)" if flip.critical else "")


def signed_points(difference: float) -> str:
    """A difference of scores in percentage points, with its sign and one decimal."""
    if not math.isfinite(difference):
        return _UNKNOWN
    size = round(difference * 100, 1)
    return f"{size:+.1f}".replace("-", "\u2212") if size else "0.0"


def format_mean(mean: float) -> str:
    """A mean score with two decimals."""
    return f"{mean:.2f}"


def format_change(difference: float, low: float | None, high: float | None) -> str:
    """A difference in percentage points, with its interval if that is not a single point."""
    text = signed_points(difference)
    if low is None or high is None or high - low <= _ROUNDING:
        return text
    return f"{text} ({signed_points(low)} to {signed_points(high)})"


def metric_rows(comparison: Comparison, thresholds: Mapping[str, str]) -> tuple[ComparisonRow, ...]:
    """The composite's row, then one for each metric.

    Args:
        thresholds: as text, by metric.
    """
    rows = [_metric_row(metric, comparison, thresholds.get(metric.metric, "")) for metric in comparison.metrics]
    return (*([_composite_row(comparison)] if comparison.scenarios else []), *rows)


def describe_thresholds(
    summaries: Iterable[MetricSummary], data_sets: Sequence[CaseFileScores], means: Mapping[str, float]
) -> dict[str, str]:
    """Each metric's thresholds as text.

    Args:
        data_sets: of the same run, with their thresholds.
        means: mean thresholds, by metric.
    """
    by_metric = {summary.metric: describe_threshold(summary, data_sets) for summary in summaries}
    limits = {name: f"mean {number(minimum)}" for name, minimum in means.items()}
    return {name: ", ".join(filter(None, (by_metric.get(name), limits.get(name)))) for name in by_metric | limits}


def describe_tier(tier: Tier, difference: float, *, exact: bool) -> str:
    """A tier as text; an exact comparison has no noise, so it says "no change" or "a little lower"."""
    if not exact or tier is not Tier.WITHIN_NOISE:
        return tier.value
    if abs(difference) <= _ROUNDING:
        return _NO_CHANGE
    return "a little higher" if difference > 0 else "a little lower"


def obstacles(comparison: Comparison) -> tuple[Obstacle, ...]:
    """What cannot be compared, one entry per reason, the most frequent first."""
    found: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for entry in comparison.not_comparable:
        metrics, scenarios = found.setdefault(entry.reason, ({}, {}))
        metrics |= {entry.metric: None} if entry.metric else {}
        scenarios[entry.scenario_id] = None
    entries = (Obstacle(reason, tuple(sorted(names)), tuple(ids)) for reason, (names, ids) in found.items())
    return tuple(sorted(entries, key=lambda entry: -len(entry.scenarios)))


def _age(facts: BaselineFacts, now: datetime) -> str:
    if (facts.started_at.tzinfo is None) is not (now.tzinfo is None):
        return ""
    hours = int((now - facts.started_at).total_seconds() // 3600)
    if hours < 0:
        return ""
    days = hours // _HOURS_A_DAY
    age = f"{plural(days, 'day')} old" if days else f"{plural(hours, 'hour')} old"
    return (age if hours else "less than an hour old") + (" (stale)" if facts.stale else "")


def _composite_row(comparison: Comparison) -> ComparisonRow:
    difference = comparison.difference if comparison.difference is not None else math.nan
    return ComparisonRow(
        COMPOSITE,
        format_mean(mean([scenario.base for scenario in comparison.scenarios])),
        format_mean(mean([scenario.head for scenario in comparison.scenarios])),
        format_change(difference, comparison.low, comparison.high),
        _describe_margin(comparison),
        describe_tier(comparison.tier, difference, exact=comparison.exact),
        comparison.tier,
        difference,
        comparison.low,
        comparison.high,
    )


def _describe_margin(comparison: Comparison) -> str:
    if comparison.margin is None:
        return ""
    return f"{'' if comparison.exact else 'lower end '}above {signed_points(-comparison.margin)}"


def _metric_row(metric: MetricComparison, comparison: Comparison, threshold: str) -> ComparisonRow:
    difference, tier = metric.head - metric.base, metric_tier(metric, comparison)
    return ComparisonRow(
        metric.metric,
        format_mean(metric.base),
        format_mean(metric.head),
        format_change(difference, metric.low, metric.high),
        threshold,
        describe_tier(tier, difference, exact=comparison.exact),
        tier,
        difference,
        metric.low,
        metric.high,
    )


def _single(scenario: ScenarioComparison, comparison: Comparison) -> bool:
    """Whether a single scenario dropped in a comparison that does not block."""
    return scenario.tier is Tier.UNCLEAR and comparison.tier is not Tier.REGRESSION and len(comparison.scenarios) > 1


def _scenario_status(scenario: ScenarioComparison, comparison: Comparison) -> str:
    text = describe_tier(scenario.tier, scenario.head - scenario.base, exact=comparison.exact)
    text += ": further trials show the drop again" if scenario.dropped_again and not comparison.exact else ""
    text += (
        ": may be noise; two such drops or one of a critical scenario fail the run"
        if _single(scenario, comparison)
        else ""
    )
    return text + (" (critical)" if scenario.critical else "")


def _heading(comparison: Comparison, conclusion: Conclusion) -> str:
    """The result in a few words; a failed run never reads as one where nothing changed."""
    if conclusion is Conclusion.FAILED and comparison.tier is not Tier.REGRESSION:
        worse = sum(not flip.passes for flip in comparison.flips)
        return f"{plural(worse, 'scenario')} newly failing" if worse else "No scenario is newly failing"
    if comparison.tier is Tier.NOT_COMPARABLE and not comparison.not_comparable:
        return "Deterministic assertions only"
    return describe_tier(comparison.tier, comparison.difference or 0.0, exact=comparison.exact).capitalize()


def _interval_note(comparison: Comparison) -> str:
    """What the interval of an exact difference means; empty if there is none."""
    low, high = comparison.low, comparison.high
    if not comparison.exact or low is None or high is None or high - low <= _ROUNDING:
        return ""
    return "The interval is an estimate for other scenarios like these and does not decide."


def _price(report: Report, comparison: Comparison) -> str:
    """What all further trials of few scenarios cost, at the mean price of those that ran in this run."""
    head = [result.trial for result in report.results if isinstance(result, Scored)]
    further = sum(trial.number >= trial.scenario.strategy.trials for trial in head)
    ran = len(head) + (further if report.baseline is not None else len(head))
    if not comparison.further_trials or not ran or not report.spending.list_price:
        return ""
    price = report.spending.list_price * comparison.further_trials / ran
    return f"{comparison.further_trials} trials cost about USD {dollars(Usd(price))} at the prices of this run."


def _not_comparable(comparison: Comparison) -> str:
    whole = {entry.scenario_id for entry in comparison.not_comparable if not entry.metric}
    scores = [entry for entry in comparison.not_comparable if entry.metric]
    parts = [plural(len(whole), "scenario")] if whole else []
    parts += [plural(len(scores), "score")] if scores else []
    return " and ".join(parts)


def _baseline(facts: BaselineFacts | None, now: datetime) -> str:
    """Where the base's scores come from: source, commit and age."""
    if facts is None:
        return "measured in this run"
    parts = [facts.source or "earlier results"]
    parts += [f"at {facts.commit[:_COMMIT]}"] if facts.commit else []
    details = [" ".join(parts), *([age] if (age := _age(facts, now)) else [])]
    details += [f"{facts.runs} runs pooled"] if facts.runs > 1 else []
    return ", ".join(details)
