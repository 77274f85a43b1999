"""What a run does and says where scenarios pass by the history of their own scores."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.change import Mode, ModeDecision, Subject
from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.model.own_history import HistoryBound, Statistical
from ratiba_action.model.plan import Selection
from ratiba_action.model.scenario import Assertion, Strategy
from ratiba_action.run.own_history import notes_of_own_history, with_own_history
from ratiba_action.verdict.pairing import ContentDigests
from tests.support.sample_report import sample_scenario, sample_score, sample_scored

OWN = Strategy(statistical=Statistical())
READ = Statistical(
    branch="main", bounds=(HistoryBound("EnglishFluencyMetric", "2.0.0", 20, 0.62), HistoryBound("GEval", "1", 12))
)
SERVER_AWAY = "postgresql://u:hunter2hunter2@127.0.0.1:1/x"


@dataclass(frozen=True)
class Inputs:
    """The part of a run's inputs that is looked at."""

    selection: Selection
    llm: Llm = Llm.LIVE
    variant: str = ""
    ledger_url: str = SERVER_AWAY
    subject: Subject = field(default_factory=lambda: Subject("salon/assistant", 7, base_branch="main"))
    notes: tuple[str, ...] = ()
    started_at: datetime = datetime(2026, 11, 25, tzinfo=UTC)
    digests: ContentDigests = field(default_factory=ContentDigests)

    @property
    def settings(self) -> Any:
        return SimpleNamespace(ledger_url=self.ledger_url, name="ratiba")

    @property
    def decided(self) -> Any:
        return SimpleNamespace(change=SimpleNamespace(subject=self.subject))

    @property
    def configuration(self) -> Any:
        return SimpleNamespace(judge=SimpleNamespace(model="opus"))


def inputs(strategy: Strategy = OWN, *, critical: bool = False, **given: Any) -> Any:
    scenarios = (sample_scenario("spa", critical=critical, strategy=strategy), sample_scenario("salon"))
    return Inputs(Selection(ModeDecision(Mode.BLOCKING, ()), scenarios), **given)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"llm": Llm.REPLAY}, "recorded answers are repeated, so they do not vary as the history does"),
        ({"llm": Llm.RECORD}, "recorded answers are repeated, so they do not vary as the history does"),
        ({"variant": "cheap"}, "a variant of the system has none"),
        ({"ledger_url": ""}, "without ledger-url none is kept"),
        ({"subject": Subject("salon/assistant")}, "this run has no base branch"),
        ({}, "The shared ledger cannot be used: "),
    ],
)
def test_where_the_history_cannot_be_had_thresholds_apply_and_a_note_says_why(given: Any, why: str) -> None:
    before = inputs(**given)
    found = with_own_history(before, "", in_shards=False)
    assert found.selection == before.selection
    (note,) = found.notes
    assert note.startswith(f"The thresholds of spa apply instead of their own history (strategy): {why}")
    assert "hunter2" not in note


@pytest.mark.parametrize("given", [{"strategy": Strategy()}, {"critical": True}], ids=["no strategy", "critical"])
def test_nothing_is_read_for_scenarios_that_do_not_pass_by_it(given: Any) -> None:
    before = inputs(**given)
    assert with_own_history(before, "", in_shards=False) is before


def result(value: float, threshold: float, metric: str = "EnglishFluencyMetric", **scenario: Any) -> ScenarioResult:
    score = replace(sample_score(value, metric=metric), version="2.0.0", threshold=threshold)
    asserted = (Assertion("EnglishFluencyMetric", 0.8), Assertion("GEval", 0.8))
    given = {"assertions": asserted, "strategy": Strategy(statistical=READ), **scenario}
    return sample_scored("spa", scores=(score,), **given)


SHOWN = "(threshold 0.80, own history 0.62: 20 values of 'main', confidence 95.0%)"


@pytest.mark.parametrize(
    ("results", "note"),
    [
        ([result(0.7, 0.62)], f"Below the threshold, and passed by the scenario's own history: spa {{}} 0.70 {SHOWN}."),
        ([result(0.6, 0.62)], f"Below the scenario's own history, and failed: spa {{}} 0.60 {SHOWN}."),
        ([result(0.8, 0.62)], None),
        (
            [result(0.7, 0.8, "GEval"), result(0.7, 0.8, "GEval")],
            "The threshold applies, since the scenario's own history is too short: spa GEval (0 of 20 values).",
        ),
        ([result(0.7, 0.8, strategy=OWN)], None),
        ([result(0.7, 0.8, assertions=(Assertion("EnglishFluencyMetric", 0.8, of_rule=True),))], None),
    ],
    ids=["passed by it", "failed by it", "passed by both", "another version", "not read", "a rule"],
)
def test_a_report_says_what_the_history_decided(results: list[ScenarioResult], note: str | None) -> None:
    said = notes_of_own_history(results)
    assert said == (() if note is None else (note.format("EnglishFluencyMetric"),))


def test_a_short_history_is_told_with_its_numbers() -> None:
    short = result(
        0.7, 0.8, "GEval", strategy=Strategy(statistical=replace(READ, bounds=(HistoryBound("GEval", "2.0.0", 12),)))
    )
    (note,) = notes_of_own_history([short])
    assert note.endswith("too short: spa GEval (12 of 20 values).")
