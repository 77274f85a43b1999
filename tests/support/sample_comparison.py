"""Reports that were compared with a base, for tests of whatever shows them."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from ratiba_action.model.comparison import (
    BaselineFacts,
    Comparison,
    MetricComparison,
    NotComparable,
    OutcomeChange,
    ScenarioComparison,
    Tier,
)
from ratiba_action.model.verdict import Conclusion, Report, Verdict
from tests.support.sample_report import sample_replayed_spending, sample_report, sample_score, sample_scored


def sample_baseline(**changes: Any) -> BaselineFacts:
    """Two runs of the branch ``main``, three days before the sample report; ``changes`` replaces fields."""
    commit = "0f1e2d3c4b5a69788796a5b4c3d2e1f001234567"
    facts = BaselineFacts("main", commit, datetime(2026, 4, 22, 6, 30, tzinfo=UTC), runs=2, stale=False)
    return replace(facts, **changes)


def sample_comparison(**changes: Any) -> Comparison:
    """A confirmed drop of twelve conversations, with two flips; ``changes`` replaces fields."""
    fallen = ScenarioComparison("spa_0", 0.92, 0.48, Tier.REGRESSION, critical=True, dropped_again=True)
    risen = ScenarioComparison("spa_2", 0.55, 0.85, Tier.IMPROVED)
    doubtful = ScenarioComparison("spa_1", 0.9, 0.63, Tier.UNCLEAR)
    others = (ScenarioComparison(f"spa_{n}", 0.9, 0.84, Tier.WITHIN_NOISE) for n in range(3, 12))
    judge = "its judge is claude-opus-5-5 here and was claude-opus-5 on the base"
    comparison = Comparison(
        tier=Tier.REGRESSION,
        scenarios=(fallen, doubtful, risen, *others),
        not_comparable=(
            NotComparable("spa_late", "", "the base has no scores of it"),
            NotComparable("spa_3", "EnglishFluencyMetric", judge),
            NotComparable("spa_4", "EnglishFluencyMetric", judge),
        ),
        reason="The mean score fell by 8 points, and further trials on base and head confirm it.",
        difference=-0.079,
        low=-0.112,
        high=-0.046,
        screen_p=0.041,
        confirm_p=0.006,
        mean_fell=True,
        margin=0.10,
        detectable=0.065,
        metrics=(
            MetricComparison("BookingSlotConsistencyMetric", 12, 1.0, 0.99, -0.03, 0.01),
            MetricComparison("SwahiliFluencyMetric", 12, 0.86, 0.75, -0.15, -0.07),
        ),
        flips=(
            OutcomeChange(
                "spa_0", passes=False, base_replies=("Nafasi ipo saa nane.",), head_replies=("Slot is available.",)
            ),
            OutcomeChange("spa_2", passes=True, base_replies=("Sijui.", "Samahani."), head_replies=("Ndio, karibu.",)),
        ),
    )
    return replace(comparison, **changes)


def sample_compared_report(comparison: Comparison | None = None, **changes: Any) -> Report:
    """A run of twelve conversations that fails by its comparison; ``changes`` replaces fields of the report."""
    found = sample_comparison() if comparison is None else comparison
    results = tuple(sample_scored(f"spa_{n}", scores=(sample_score(),)) for n in range(12))
    action = "Compare both answers of spa_0, spa_1 and spa_3, then fix the change."
    report = sample_report(
        verdict=Verdict(Conclusion.FAILED, found.reason, action, comparison=found),
        results=results,
        spending=sample_replayed_spending(),
        llm="live",
        baseline=sample_baseline(),
    )
    return replace(report, **changes)


def sample_passed_comparison(**changes: Any) -> Comparison:
    """Twelve conversations within noise; ``changes`` replaces fields."""
    scenarios = tuple(ScenarioComparison(f"spa_{n}", 0.88, 0.87, Tier.WITHIN_NOISE) for n in range(12))
    comparison = Comparison(
        Tier.WITHIN_NOISE,
        scenarios,
        (),
        "No drop beyond chance, and a drop of 10 points is ruled out.",
        difference=-0.01,
        low=-0.031,
        high=0.011,
        screen_p=0.31,
        margin=0.10,
        detectable=0.065,
        metrics=(MetricComparison("SwahiliFluencyMetric", 12, 0.88, 0.87, -0.031, 0.011),),
    )
    return replace(comparison, **changes)
