"""What a run does and says where scenarios pass by the history of their own scores."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ratiba_action.errors import InfrastructureError
from ratiba_action.history.keeping import keep_run
from ratiba_action.history.store import MetricsHistory
from ratiba_action.llm.recordings.folder import recording_path
from ratiba_action.model.answer_origin import AnswerOrigin, Llm
from ratiba_action.model.change import Mode, ModeDecision, Subject
from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.model.note import Note
from ratiba_action.model.own_history import HistoryBound, Statistical
from ratiba_action.model.plan import Selection
from ratiba_action.model.scenario import Assertion, Strategy
from ratiba_action.run.own_history import notes_of_own_history, with_own_history
from ratiba_action.verdict.pairing import ContentDigests
from tests.support.sample_report import sample_report, sample_scenario, sample_score, sample_scored

OWN = Strategy(statistical=Statistical())
READ = Statistical(
    branch="main", bounds=(HistoryBound("EnglishFluencyMetric", "2.0.0", 20, 0.62), HistoryBound("GEval", "1", 12))
)
REPEATED = "recorded answers are repeated, so they do not vary as the history does"
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
    recordings: Path = Path("none")
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def history(self) -> MetricsHistory | None:
        return MetricsHistory(self.ledger_url) if self.ledger_url else None

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
        ({"llm": Llm.REPLAY}, f"{REPEATED}. Use live answers: --llm live (input llm)."),
        ({"llm": Llm.RECORD}, f"{REPEATED}. Use live answers: --llm live (input llm)."),
        ({"variant": "cheap"}, "a variant of the system has none. Run the system as it is, without --variant."),
        (
            {"ledger_url": ""},
            "there is no history. Set RATIBA_LEDGER_URL (input ledger-url) or the configuration's history.branch.",
        ),
        ({"subject": Subject("salon/assistant")}, "this run has no base branch. Run the gate in a pull request, or "),
        ({}, "the shared ledger cannot be used: "),
    ],
)
def test_where_the_history_cannot_be_had_thresholds_apply_and_a_note_says_why(given: Any, why: str) -> None:
    before = inputs(**given)
    found = with_own_history(before, "", in_shards=False)
    assert found.selection == before.selection
    (note,) = found.notes
    text = "spa: its thresholds apply, not the history of its scores (strategy: statistical), because "
    assert note.startswith(f"{text}{why}")
    assert isinstance(note, Note), "the reader can do something"
    assert "hunter2" not in note


def test_one_note_names_all_scenarios() -> None:
    before = inputs(ledger_url="")
    spas = tuple(sample_scenario(name, strategy=OWN) for name in ("spa", "bar"))
    found = with_own_history(replace(before, selection=replace(before.selection, scenarios=spas)), "", in_shards=False)
    assert found.notes[0].startswith("bar, spa: their thresholds apply, not the history of their scores (")


def test_in_shards_a_history_that_cannot_be_read_ends_the_run_since_the_others_may_have_read_it() -> None:
    with pytest.raises(InfrastructureError, match="history of the scenarios' own scores") as raised:
        with_own_history(inputs(), "", in_shards=True)
    assert "RATIBA_LEDGER_URL" in raised.value.remedy
    assert raised.value.remedy.endswith("Then run this job again (on GitHub: Re-run failed jobs).")
    assert "hunter2" not in str(raised.value)


def test_auto_reads_the_history_of_scenarios_only_that_have_no_recording(tmp_path: Path) -> None:
    before = inputs(llm=Llm.AUTO, recordings=tmp_path)
    (note,) = with_own_history(before, "", in_shards=False).notes
    assert "cannot be used" in note, "there is no recording, so the ledger is asked"
    recording_path(tmp_path, "spa").touch()
    found = with_own_history(before, "", in_shards=True)
    assert found.selection == before.selection
    assert REPEATED in found.notes[0]


async def test_all_jobs_of_a_workflow_run_read_what_was_there_when_it_was_triggered(
    database: str, tmp_path: Path
) -> None:
    score = replace(sample_score(0.7), version="2.0.0")
    before = inputs(Strategy(statistical=Statistical(1, None, 0.5)), ledger_url=database)
    spa, _ = before.selection.scenarios
    run = sample_report(
        subject=Subject("salon/assistant", head="1" * 40, run_id=1, event="push", branch="main"),
        results=(sample_scored("spa", scores=(score,)),),
        started_at=before.started_at,
        llm=AnswerOrigin.LIVE,
        judge_model="opus",
        scenario_digests={"spa": before.digests.of(spa)},
    )
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"updated_at": datetime.now(UTC).isoformat()}}))
    assert await asyncio.to_thread(keep_run, run, database), "written after the event"
    later = replace(before, environment={"GITHUB_EVENT_PATH": str(event)}, started_at=datetime.now(UTC))
    read = {
        in_shards: await asyncio.to_thread(with_own_history, later, "", in_shards=in_shards)
        for in_shards in (True, False)
    }
    strategies = {in_shards: found.selection.scenarios[0].strategy for in_shards, found in read.items()}
    wanted = Statistical(1, None, 0.5, branch="main")
    assert strategies == {
        True: Strategy(statistical=wanted),
        False: Strategy(statistical=replace(wanted, bounds=(HistoryBound(score.metric, "2.0.0", 1, 0.7),))),
    }


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
    notes = notes_of_own_history(results)
    assert notes == (() if note is None else (note.format("EnglishFluencyMetric"),))


def test_a_short_history_is_reported_with_its_numbers() -> None:
    short = result(
        0.7, 0.8, "GEval", strategy=Strategy(statistical=replace(READ, bounds=(HistoryBound("GEval", "2.0.0", 12),)))
    )
    (note,) = notes_of_own_history([short])
    assert note.endswith("too short: spa GEval (12 of 20 values).")
