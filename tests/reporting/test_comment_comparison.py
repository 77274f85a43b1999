"""The comment of a run that was compared with its base."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from syrupy.assertion import SnapshotAssertion

from ratiba_action.model.comparison import Comparison, NotComparable, OutcomeChange, ScenarioComparison, Tier
from ratiba_action.model.verdict import Conclusion, Report, Verdict
from ratiba_action.privacy.masking import Redactor
from ratiba_action.reporting.comment import render_comment
from ratiba_action.reporting.markdown import length, visible
from ratiba_action.reporting.summary import summarise
from tests.support.sample_comparison import (
    sample_baseline,
    sample_compared_report,
    sample_comparison,
    sample_passed_comparison,
)
from tests.support.sample_report import sample_results, sample_score, sample_scored


def flip(name: str, base: tuple[str, ...], head: tuple[str, ...]) -> OutcomeChange:
    return OutcomeChange(name, passes=False, base_replies=base, head_replies=head)


def regression() -> Report:
    return sample_compared_report()


def within_noise() -> Report:
    found = sample_passed_comparison()
    return sample_compared_report(
        found, verdict=Verdict(Conclusion.PASSED, f"All hold. {found.reason}", comparison=found)
    )


def unclear() -> Report:
    reason = "A drop of 10 points cannot be ruled out with so little data."
    found = sample_passed_comparison(tier=Tier.UNCLEAR, reason=reason, low=-0.14, high=0.12, detectable=0.132)
    action = "Add scenarios, or more trials of them, to see smaller drops."
    warning = f"{reason} With 12 scenarios this run can see drops of 13.2 points or more."
    verdict = Verdict(Conclusion.INCONCLUSIVE, f"All hold. {reason}", action, (warning,), comparison=found)
    return sample_compared_report(found, verdict=verdict, baseline=sample_baseline(stale=True, runs=1))


def not_comparable() -> Report:
    reason = "its judge is claude-opus-5-5 here and was claude-opus-5 on the base"
    left = tuple(NotComparable(f"spa_{n}", "SwahiliFluencyMetric", reason) for n in range(12))
    found = Comparison(Tier.NOT_COMPARABLE, (), left, "Nothing of the base can be compared with this change.")
    verdict = Verdict(Conclusion.PASSED, f"All hold. {found.reason}", comparison=found)
    return sample_compared_report(found, verdict=verdict)


def exact() -> Report:
    reason = "The mean score fell by 3 points, exactly: each side ran once, and the gateway saw no new model call."
    found = sample_passed_comparison(
        exact=True, difference=-0.03, low=-0.05, high=-0.01, detectable=None, reason=reason
    )
    verdict = Verdict(Conclusion.PASSED, f"All hold. {reason}", comparison=found)
    return sample_compared_report(found, verdict=verdict, baseline=None, llm="replay")


@pytest.mark.parametrize("report", [regression, within_noise, unclear, not_comparable, exact])
def test_the_comment_of_each_kind_of_comparison(report: object, snapshot: SnapshotAssertion) -> None:
    assert callable(report)
    assert render_comment(summarise(report())) == snapshot


def test_a_run_without_a_base_says_nothing_of_one() -> None:
    assert "Compared with the base" not in render_comment(
        summarise(sample_compared_report(verdict=Verdict(Conclusion.PASSED, "All hold."), baseline=None))
    )


def test_what_the_run_fails_by_comes_first() -> None:
    by_comparison = render_comment(summarise(sample_compared_report(results=sample_results())))
    assert by_comparison.index("### Compared with the base") < by_comparison.index("### Failing scenarios")
    compared = sample_passed_comparison()
    broken = Verdict(Conclusion.FAILED, "1 of 4 failed a deterministic assertion.", "Fix it.", comparison=compared)
    by_check = render_comment(summarise(sample_compared_report(compared, verdict=broken, results=sample_results())))
    assert by_check.index("### Failing scenarios") < by_check.index("**Compared with the base:**")


def test_an_interval_beside_an_exact_difference_is_said_to_be_of_other_conversations() -> None:
    text = "The interval is an estimate for other scenarios like these and does not decide."
    assert text in render_comment(summarise(exact()))
    assert text not in render_comment(summarise(within_noise()))
    same = sample_passed_comparison(exact=True, difference=0.0, low=0.0, high=0.0, metrics=())
    unchanged = render_comment(summarise(sample_compared_report(same)))
    assert text not in unchanged
    assert "| all scenarios |" not in unchanged


def test_nothing_that_cannot_be_compared_has_a_difference() -> None:
    body = render_comment(summarise(not_comparable()))
    assert "Δ" not in body
    assert "its judge is claude-opus-5-5 here and was claude-opus-5 on the base" in visible(body)


def test_a_scenario_in_doubt_says_why_it_does_not_block() -> None:
    doubtful = ScenarioComparison("spa_1", 0.9, 0.6, Tier.UNCLEAR)
    found = sample_passed_comparison(scenarios=(doubtful, *sample_passed_comparison().scenarios[1:]))
    assert "unclear: may be noise; two such drops or one of a critical scenario fail the run" in render_comment(
        summarise(sample_compared_report(found))
    )


@pytest.mark.parametrize(
    ("started", "age"),
    [
        (datetime(2026, 4, 25, 6, 30, tzinfo=UTC), "less than an hour old"),
        (datetime(2026, 4, 25, 2, tzinfo=UTC), "5 hours old"),
        (datetime(2026, 4, 24, 2, tzinfo=UTC), "1 day old"),
        (datetime(2026, 4, 10, 2, tzinfo=UTC), "15 days old"),
    ],
)
def test_the_age_of_the_baseline_is_reported(started: datetime, age: str) -> None:
    body = render_comment(summarise(sample_compared_report(baseline=sample_baseline(started_at=started, runs=1))))
    assert f"Base: main at `0f1e2d3c4b5a`, {age}." in body


@pytest.mark.parametrize("started", [datetime(2026, 4, 10, 2), datetime(2027, 1, 1, tzinfo=UTC)])  # noqa: DTZ001 - as somebody may have written it
def test_a_time_that_cannot_be_is_not_reported_as_an_age(started: datetime) -> None:
    body = render_comment(summarise(sample_compared_report(baseline=sample_baseline(started_at=started, runs=1))))
    assert "Base: main at `0f1e2d3c4b5a`. " in body


def test_numbers_that_are_none_are_reported_as_unknown() -> None:
    nan = float("nan")
    found = sample_comparison(
        difference=nan, low=nan, high=nan, scenarios=(ScenarioComparison("a", nan, nan, Tier.UNCLEAR),)
    )
    assert "unknown (unknown to unknown)" in render_comment(summarise(sample_compared_report(found)))


@pytest.mark.parametrize("limit", [60_000, 12_000, 4_000, 2_000])
def test_long_answers_and_lists_give_way_to_the_limit(limit: int) -> None:
    scenarios = tuple(ScenarioComparison(f"spa_{n:03}", 0.9, 0.5, Tier.REGRESSION) for n in range(300))
    flips = tuple(flip(one.scenario_id, ("Asante 🙂 " * 500,) * 9, ("No. " * 900,) * 30) for one in scenarios)
    text = render_comment(summarise(sample_compared_report(sample_comparison(scenarios=scenarios, flips=flips))), limit)
    assert length(text) <= limit
    for kept in ("## Failed: ", "What to do", "The mean score fell"):
        assert kept in text
    assert limit < 12_000 or "### Compared with the base" in text


def test_identifiers_in_the_answers_of_flips_are_masked() -> None:
    texts = ("Call me on +254 712 345 678",)
    found = sample_comparison(flips=(flip("spa_0", texts, texts),))
    report = Redactor(["s3cret"]).report(
        sample_compared_report(found, baseline=sample_baseline(source="branch-s3cret"))
    )
    body = render_comment(summarise(report))
    assert "712 345" not in body
    assert "s3cret" not in body
    assert "+254***678" in body


def hostile(text: str) -> Report:
    found = sample_comparison(
        scenarios=(ScenarioComparison(text, 0.9, 0.4, Tier.REGRESSION),),
        metrics=tuple(replace(one, metric=text) for one in sample_comparison().metrics[:1]),
        not_comparable=(NotComparable(text, text, text),),
        reason=text,
        flips=(flip(text, (text, text), (text,)),),
    )
    verdict = Verdict(Conclusion.FAILED, "It fell.", comparison=found)
    return sample_compared_report(found, verdict=verdict, baseline=sample_baseline(source=text, commit=text))


def structure(report: Report) -> list[str]:
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(render_comment(summarise(report)))
    texts = ("text", "code_inline", "softbreak")
    return [
        kind
        for token in tokens
        for kind in (token.type, *(c.type for c in token.children or [] if c.type not in texts))
    ]


PLAIN = structure(hostile("plain"))


@given(
    st.one_of(
        st.text(max_size=40),
        st.text(alphabet="`|\\<>![]()*_#@:/\n -=.1a&;", max_size=40),
        st.sampled_from(["</details>", "![i](//e.example/p)", "```\n</details>", "|\n|-|\n|", "\n\n# x", "::error::x"]),
    )
)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_no_text_changes_the_structure_of_the_comment(text: str) -> None:
    kinds = structure(hostile(text))
    for kind in ("td_open", "html_block", "html_inline", "fence", "heading_open", "link_open"):
        assert kinds.count(kind) == PLAIN.count(kind)
    assert "image" not in kinds


def test_a_trial_that_decides_is_not_said_to_be_one_of_those_that_had_to_pass() -> None:
    below = sample_scored("spa_0", scores=(sample_score(value=0.5),))
    further = tuple(
        replace(held, trial=replace(held.trial, number=number))
        for number, held in enumerate([sample_scored("spa_0", scores=(sample_score(),))] * 2, start=1)
    )
    body = visible(
        render_comment(summarise(sample_compared_report(within_noise().verdict.comparison, results=(below, *further))))
    )
    assert (
        "0 of 1 trial passed, at least 1 must pass; "
        "2 further trials ran only for the pass rate or the comparison with the base; shown: trial 1"
    ) in body
    assert "### Failing scenarios" in body
    passed = replace(within_noise(), results=(below, *further))
    assert "### Scenarios below a threshold" in visible(render_comment(summarise(passed)))


def test_titles_stand_beside_the_ids_that_are_compared() -> None:
    report = regression()
    first = report.verdict.comparison.scenarios[0].scenario_id if report.verdict.comparison else ""
    named = sample_scored(first, title="Asked for 14:00")
    kept = [result for result in report.results if result.trial.scenario.id != first]
    text = render_comment(summarise(replace(report, results=(named, *kept))))
    assert f"| `{first}` Asked for 14:00 | " in text
