"""A report with one conversation of each outcome, for tests of whatever shows or stores one."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.case_file import (
    CaseFileScores,
    CaseThreshold,
    CaseThresholdResult,
    CaseThresholdStatus,
    ClassScores,
)
from ratiba_action.model.change import DependencyChange, Mode, ModeDecision, Reason, Subject
from ratiba_action.model.comparison import Agreement, CrossCheckStatus
from ratiba_action.model.conversation import Exchange, Reply, SystemEvent, ToolCall, Transcript
from ratiba_action.model.measurement import Check, Errored, Invariant, NotRun, Phase, Score, Scored
from ratiba_action.model.plan import Arm, Trial
from ratiba_action.model.scenario import Customer, Expectation, ExpectedTool, Scenario, Turn
from ratiba_action.model.verdict import (
    Conclusion,
    CrossChecking,
    Limits,
    Report,
    SharedSpending,
    Spending,
    Verdict,
)

_NAIROBI = timezone(timedelta(hours=3))


def sample_scenario(scenario_id: str = "spa_booking", **changes: Any) -> Scenario:
    """A Swahili spa booking of one turn; ``changes`` replaces fields."""
    turn = Turn(
        user="Habari, naomba massage kesho saa nane mchana",
        expect=Expectation(state="CONFIRMING_SLOT", tools=(ExpectedTool("check_availability"),)),
        line=14,
    )
    scenario = Scenario(
        id=scenario_id,
        language="sw",
        turns=(turn,),
        now=datetime(2026, 4, 25, 10, tzinfo=_NAIROBI),
        customer=Customer("Wanjiku", "+254 712 345 432"),
        vertical="spa",
        tags=frozenset({"smoke", "booking"}),
        path=f"scenarios/{scenario_id}.yaml",
        line=1,
    )
    return replace(scenario, **changes)


def sample_trial(scenario_id: str = "spa_booking", **changes: Any) -> Trial:
    """The first trial of a scenario on the head; ``changes`` replaces fields of the scenario."""
    return Trial(sample_scenario(scenario_id, **changes), Arm("head", "checkout", "a1b2c3d"))


def sample_check(*, passed: bool = True, **changes: Any) -> Check:
    """A comparison of the state after the first turn."""
    got = "CONFIRMING_SLOT" if passed else "COLLECTING"
    check = Check("state", 1, "the state after the turn", "CONFIRMING_SLOT", got, passed, 15)
    return replace(check, **changes)


def sample_score(value: float = 0.9, *, judged: bool = True, **changes: Any) -> Score:
    """A judged fluency score, or an exact score of the booking's consistency."""
    if judged:
        return replace(Score("SwahiliFluencyMetric", "1.0.0", value, 0.8, judged=True, reason="Natural."), **changes)
    invariants = (Invariant("slot is the one confirmed", value >= 1, "14:00 confirmed, 15:00 stored"),)
    score = Score("BookingSlotConsistencyMetric", "1.0.0", value, 1.0, judged=False, invariants=invariants)
    return replace(score, **changes)


def sample_scored(
    scenario_id: str = "spa_booking",
    checks: tuple[Check, ...] = (sample_check(),),
    scores: tuple[Score, ...] = (),
    reply: str = "Nafasi ipo saa nane mchana. Nithibitishe?",
    **changes: Any,
) -> Scored:
    """A conversation that ran to its end; ``changes`` replaces fields of the scenario."""
    trial = sample_trial(scenario_id, **changes)
    answer = Reply(
        text=reply,
        state="CONFIRMING_SLOT",
        tool_calls=(ToolCall("check_availability", {"service": "massage"}, {"free": True}),),
        events=(SystemEvent("state_transition", {"from": "GREETING", "to": "CONFIRMING_SLOT"}),),
    )
    transcript = Transcript(
        scenario_id,
        (Exchange(trial.scenario.turns[0], answer),),
        rows={"bookings": ({"id": 1, "service": "massage"},)},
        prompt_versions=("booking_orchestrator@a1b2c3d",),
        models=("claude-sonnet-5",),
    )
    return Scored(trial, transcript, checks, scores, 1.25)


def sample_results() -> tuple[Scored | Errored | NotRun, ...]:
    """One conversation of each outcome."""
    return (
        sample_scored("spa_booking", scores=(sample_score(), sample_score(1.0, judged=False))),
        sample_scored(
            "salon_reschedule",
            checks=(sample_check(), sample_check(passed=False)),
            scores=(sample_score(0.62, reason="Mixes registers."), sample_score(0.5, judged=False)),
            critical=True,
        ),
        Errored(sample_trial("barbershop_mpesa"), Phase.RECORDING, "The prompt changed since it was recorded.", None),
        NotRun(sample_trial("spa_handoff"), "The budget was used up."),
    )


def sample_report(**changes: Any) -> Report:
    """A failed, blocking run of four conversations; ``changes`` replaces fields of the report."""
    report = Report(
        name="ratiba",
        subject=Subject(
            repository="ratiba/assistant",
            pull_request=7,
            head="a1b2c3d4e5f60718293a4b5c6d7e8f9012345678",
            base="0f1e2d3c4b5a69788796a5b4c3d2e1f001234567",
            title="Warmer greeting",
            author="wanjiku",
            run_id=1001,
            run_url="https://github.com/ratiba/assistant/actions/runs/1001",
            event="pull_request",
        ),
        decision=ModeDecision(
            Mode.BLOCKING,
            (Reason("prompts/booking_orchestrator.md", "prompts/**", Mode.BLOCKING, "A prompt changed."),),
            (DependencyChange("langgraph", "0.6.1", "1.2.0", "major", "requirements.txt"),),
        ),
        verdict=Verdict(
            Conclusion.FAILED,
            "1 of 4 scenarios failed a deterministic assertion: salon_reschedule; 2 scenarios could not be measured.",
            "Compare expected with got for salon_reschedule, then fix the change or update the scenario.",
        ),
        results=sample_results(),
        spending=Spending(
            cap=Decimal(20),
            spent=Decimal("1.25"),
            list_price=Decimal("1.67"),
            live_calls=12,
            replayed_calls=4,
            cache_hits=2,
            by_party={"system": Decimal("0.85"), "judge": Decimal("0.40")},
            by_model={"claude-sonnet-5": Decimal("0.85"), "claude-opus-5-5": Decimal("0.40")},
        ),
        limits=Limits(),
        started_at=datetime(2026, 4, 25, 7, 0, tzinfo=UTC),
        seconds=18.5,
        llm=AnswerOrigin.MIXED,
        judge_model="claude-opus-5-5",
        suite_digest="5f" * 32,
    )
    return replace(report, **changes)


def sample_replayed_spending(**changes: Any) -> Spending:
    """Money of a run that asked no model; ``changes`` replaces fields."""
    spending = Spending(
        cap=Decimal(20), spent=Decimal(0), list_price=Decimal("1.67"), live_calls=0, replayed_calls=16, cache_hits=0
    )
    return replace(spending, **changes)


def sample_cross_checking(**changes: Any) -> CrossChecking:
    """Four of four sampled scores compared, three of them on the same side; ``changes`` replaces fields."""
    agreement = Agreement(pairs=4, same_side=0.75, unweighted=0.5, quadratic=0.7234)
    return replace(CrossChecking("gpt-5.6", CrossCheckStatus(0.10, 4, 4), agreement), **changes)


def sample_data_set(**changes: Any) -> CaseFileScores:
    """A classifier's data set of three cases with a gate of each status; ``changes`` replaces fields."""
    scores = CaseFileScores(
        id="intents",
        path="scenarios/intents.jsonl",
        digest="5fa0" * 16,
        cases=3,
        selected=3,
        measured=2,
        values={"accuracy": 0.5, "macro_f1": 0.6667},
        gates=(
            CaseThresholdResult(CaseThreshold("accuracy", 0.9), 0.5, 0.6667, CaseThresholdStatus.FAILED),
            CaseThresholdResult(CaseThreshold("macro_f1", 0.7), 0.6667, 0.8, CaseThresholdStatus.UNKNOWN),
            CaseThresholdResult(CaseThreshold("min_class_f1", 0.6), 0.6667, 0.8, CaseThresholdStatus.PASSED),
        ),
        classes=(ClassScores("ANSWER", 1.0, 0.5, 0.6667, 2, 1), ClassScores("BOOKING", 0.5, 1.0, 0.6667, 1, 2)),
    )
    return replace(scores, **changes)


def sample_data_set_report(**changes: Any) -> Report:
    """A failed run of that data set, one of whose cases was answered wrongly; ``changes`` replaces fields."""
    wrong = Score("LabelMetric", "1.0.0", 0.0, 0.0, judged=False, reason="turn 1: got BOOKING, expected ANSWER")
    results = (
        sample_scored("intents__right", scores=(replace(wrong, value=1.0),), data_set="intents"),
        sample_scored("intents__wrong", scores=(wrong,), data_set="intents"),
        NotRun(sample_trial("intents__late", data_set="intents"), "The budget was used up."),
    )
    verdict = Verdict(Conclusion.FAILED, "1 threshold of cases failed: intents: accuracy 0.5 is below 0.9.")
    report = sample_report(results=results, verdict=verdict, data_sets=(sample_data_set(),))
    return replace(report, **changes)


def sample_live_report(**changes: Any) -> Report:
    """A passed run that paid for every answer, with a shared ledger, a vote and a cross-check."""
    voted = sample_score(0.81, votes=(0.78, 0.81, 0.84), reason="Median of three.")
    results = (sample_scored("spa_booking", scores=(voted,)), sample_scored("spa_thanks", scores=(sample_score(),)))
    report = sample_report(
        verdict=Verdict(Conclusion.PASSED, "All 2 scenarios passed."),
        results=results,
        spending=Spending(
            cap=Decimal(20),
            spent=Decimal("1.31"),
            list_price=Decimal("1.31"),
            live_calls=14,
            replayed_calls=0,
            cache_hits=3,
            by_party={"system": Decimal("0.85"), "judge": Decimal("0.40"), "cross-check": Decimal("0.06")},
            by_model={
                "claude-sonnet-5": Decimal("0.85"),
                "claude-opus-5-5": Decimal("0.40"),
                "gpt-5.6": Decimal("0.06"),
            },
        ),
        llm="live",
        cross_checking=sample_cross_checking(),
        shared_spending=(
            SharedSpending("the budget of the month 2026-04", Decimal("41.20"), Decimal(300)),
            SharedSpending("the budget of the pull request ratiba/assistant#7", Decimal("3.93"), Decimal(20)),
        ),
    )
    return replace(report, **changes)
