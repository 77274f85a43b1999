"""What a conversation takes on base and head, and the limits of its increase."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.change import Mode
from ratiba_action.model.comparison import ConversationCost, Figure, FigureChange, MeasuredRun
from ratiba_action.model.conversation import Exchange, Usage
from ratiba_action.model.measurement import Scored
from ratiba_action.model.plan import Arm
from ratiba_action.model.verdict import Conclusion, Evidence, Limits, Verdict
from ratiba_action.reporting.cost_summary import summarise_cost
from ratiba_action.verdict.conversation_cost import conversation_cost
from ratiba_action.verdict.decision import next_step
from tests.support.sample_report import sample_scored

NOW = datetime(2026, 4, 25, tzinfo=UTC)


def costing(name: str, usd: str, calls: int = 2, *, seconds: float = 1.0, **changes: Any) -> Scored:
    """A conversation of two turns that cost as much together."""
    result = sample_scored(name)
    exchange: Exchange = replace(
        result.transcript.exchanges[0],
        usd=Decimal(usd) / 2,
        calls=calls,
        usage=Usage(100 * calls, 10 * calls, 5, 1),
        seconds=seconds,
        replayed=changes.pop("replayed", True),
    )
    exchange = replace(exchange, **changes)
    return replace(result, transcript=replace(result.transcript, exchanges=(exchange, exchange)))


def run(*results: Scored, answers: AnswerOrigin = AnswerOrigin.REPLAY) -> MeasuredRun:
    return MeasuredRun("a1b2c3d", NOW, "judge", answers, results)


def compared(head: MeasuredRun, base: MeasuredRun, **limits: float) -> dict[Figure, FigureChange]:
    found = conversation_cost([head], [base], limits)
    assert found is not None
    return {change.figure: change for change in found.figures}


def test_a_case_worked_out_by_hand() -> None:
    base = run(costing("spa_a", "0.02", 2), costing("spa_b", "0.04", 3))
    head = run(costing("spa_a", "0.03", 2), costing("spa_b", "0.06", 4))
    found = compared(head, base)
    assert (found[Figure.USD].base, found[Figure.USD].head) == pytest.approx((0.03, 0.045))
    assert (found[Figure.CALLS].base, found[Figure.CALLS].head) == pytest.approx((5.0, 6.0))
    assert found[Figure.INPUT_TOKENS].base == pytest.approx((2 * 206 + 2 * 306) / 2), "cached tokens are input too"
    assert found[Figure.OUTPUT_TOKENS].head == pytest.approx((2 * 20 + 2 * 40) / 2)
    assert Figure.SECONDS not in found, "a recorded answer takes no time"
    assert found[Figure.USD].low is None, "recorded answers do not vary by chance"
    summary = summarise_cost(conversation_cost([head], [base], {}))
    assert summary is not None
    assert summary.line == (
        "A conversation costs USD 0.0300 → 0.0450 (+50%), 5.0 → 6.0 model calls; mean of 2 scenarios, base → this PR."
    )
    assert [(row.name, row.change) for row in summary.scenarios] == [
        ("spa_b", "+0.0200 (+50%)"),
        ("spa_a", "+0.0100 (+50%)"),
    ]


def test_live_answers_have_an_interval_of_the_paired_differences_and_the_time_to_a_reply() -> None:
    names = [f"spa_{number}" for number in range(5)]
    base = run(*(costing(name, "0.02", replayed=False) for name in names), answers=AnswerOrigin.LIVE)
    rises = ("0.00", "0.01", "0.02", "0.03", "0.04")
    dearer = (str(Decimal("0.02") + Decimal(rise)) for rise in rises)
    head = run(
        *(
            costing(name, usd, replayed=False, seconds=2.0 + number)
            for number, (name, usd) in enumerate(zip(names, dearer, strict=True))
        ),
        answers=AnswerOrigin.LIVE,
    )
    found = compared(head, base)
    # Mean 0.02, standard error 0.01581/√5, t(4, 97.5 %) = 2.776.
    low, high = found[Figure.USD].low, found[Figure.USD].high
    assert (low, high) == pytest.approx((0.02 - 0.019632, 0.02 + 0.019632), abs=1e-5)
    assert found[Figure.SECONDS].median == (1.0, 4.0)
    assert found[Figure.SECONDS].p95 == (1.0, 6.0)


def test_a_rise_that_chance_explains_does_not_exceed_a_limit_and_a_sure_one_does() -> None:
    names = [f"spa_{number}" for number in range(4)]
    base = run(*(costing(name, "0.02", replayed=False) for name in names), answers=AnswerOrigin.LIVE)

    def head(*amounts: str) -> MeasuredRun:
        found = (costing(name, usd, replayed=False) for name, usd in zip(names, amounts, strict=True))
        return run(*found, answers=AnswerOrigin.LIVE)

    assert not compared(head("0.02", "0.02", "0.02", "0.08"), base, usd=0.2)[Figure.USD].exceeded
    assert compared(head("0.040", "0.041", "0.039", "0.040"), base, usd=0.2)[Figure.USD].exceeded


@pytest.mark.parametrize(
    ("head", "base"),
    [
        (run(costing("spa_a", "0.03")), run(costing("spa_b", "0.02"))),
        (run(costing("spa_a", "0.03")), run(costing("spa_a", "0.02"), answers=AnswerOrigin.LIVE)),
        (run(costing("spa_a", "0.03")), run(sample_scored("spa_a"))),
        (run(costing("spa_a", "0", 0)), run(costing("spa_a", "0", 0))),
    ],
    ids=["another scenario", "other answers", "a report that does not know the calls", "no model"],
)
def test_what_cannot_be_compared_is_not(head: MeasuredRun, base: MeasuredRun) -> None:
    assert conversation_cost([head], [base], {"usd": 0.1}) is None


def test_a_scenario_with_another_content_is_not_compared() -> None:
    edited = costing("spa_a", "0.03")
    edited = replace(edited, trial=replace(edited.trial, scenario=replace(edited.trial.scenario, vertical="salon")))
    assert conversation_cost([run(edited)], [run(costing("spa_a", "0.02"))], {}) is None


def step(limits: Limits, head: str = "0.03", **changes: Any) -> Verdict:
    base = replace(costing("spa_a", "0.02"), trial=replace(costing("spa_a", "0.02").trial, arm=Arm("base", "base")))
    found = next_step(Evidence(Mode.BLOCKING, (costing("spa_a", head), base), limits, **changes))
    assert isinstance(found, Verdict)
    return found


def test_an_increase_over_its_limit_warns_and_fails_only_where_the_configuration_says_so() -> None:
    warned = step(Limits(increases={"usd": 0.2}))
    assert warned.conclusion is Conclusion.PASSED
    assert warned.warnings == ("A conversation takes more than the limits allow: cost +50%, limit +20%.",)
    blocked = step(Limits(increases={"usd": 0.2}, increases_block=True))
    assert blocked.conclusion is Conclusion.FAILED
    assert "cost +50%, limit +20%" in blocked.reason
    allowed = step(Limits(increases={"usd": 0.5}, increases_block=True))
    assert (allowed.conclusion, allowed.warnings) == (Conclusion.PASSED, ())


def test_a_limit_lifts_no_other_verdict() -> None:
    interrupted = step(Limits(increases={"usd": 0.2}, increases_block=True), interruption="cancelled by SIGTERM")
    assert interrupted.conclusion is Conclusion.INCOMPLETE
    assert interrupted.warnings[-1].startswith("A conversation takes more")


def test_a_cost_from_nothing_exceeds_every_limit() -> None:
    head, base = run(costing("spa_a", "0.01", 1)), run(costing("spa_a", "0", 0))
    assert compared(head, base, usd=5.0)[Figure.USD].exceeded


amounts = st.decimals("0.0001", "1", places=4)


@given(st.lists(amounts, min_size=1, max_size=8), st.floats(0, 2))
def test_the_same_cost_on_both_sides_exceeds_no_limit(usd: list[Decimal], limit: float) -> None:
    side = run(*(costing(f"spa_{number}", str(each)) for number, each in enumerate(usd)))
    found: ConversationCost | None = conversation_cost([side], [side], dict.fromkeys(Figure, limit))
    assert found is not None
    assert not any(change.exceeded for change in found.figures)
    summary = summarise_cost(found)
    assert summary is not None
    assert (summary.line, summary.scenarios, summary.unchanged) == ("", (), len(usd))
