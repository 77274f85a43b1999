"""``ratiba report --trends`` and ``--to-history``: what earlier runs came to, whoever wrote their texts."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from ratiba_action.history.keeping import keep_run, with_trends
from ratiba_action.history.store import MetricsHistory
from ratiba_action.main import run
from ratiba_action.model.case_file import CaseFileScores, CaseThreshold, CaseThresholdResult, CaseThresholdStatus
from ratiba_action.model.change import Subject
from ratiba_action.model.comparison import Agreement, CrossCheckStatus
from ratiba_action.model.verdict import Conclusion, CrossChecking, Report, Verdict
from ratiba_action.reporting.html import render_html
from ratiba_action.reporting.results_json import render_results
from ratiba_action.reporting.summary import summarise
from tests.support.command_run import CommandRun
from tests.support.run_history import write_history
from tests.support.sample_report import sample_cross_checking, sample_report, sample_score, sample_scored
from tests.support.sql import fetch

START = datetime(2026, 11, 1, 8, tzinfo=UTC)
MAIN = Subject(repository="ratiba/assistant", head="c" * 40, run_id=1, event="push", branch="main")


def run_of_main(day: int, value: float, **changes: Any) -> Report:
    scores = sample_score(value), sample_score(1.0, judged=False)
    report = sample_report(
        subject=replace(MAIN, run_id=day + 1),
        verdict=Verdict(Conclusion.PASSED, "All hold."),
        results=(sample_scored("spa", scores=scores),),
        started_at=START + timedelta(days=day),
    )
    return replace(report, **changes)


@pytest.fixture
def variables(database: str, tmp_path: Path) -> dict[str, str]:
    """The environment of a machine with a ledger."""
    return {"RATIBA_LEDGER_URL": database, "RATIBA_REPORT_DIR": str(tmp_path / "report")}


def leave(variables: dict[str, str], report: Report) -> None:
    """Put a report into the report directory."""
    path = Path(variables["RATIBA_REPORT_DIR"]) / "results.json"
    path.parent.mkdir()
    path.write_text(render_results(summarise(report)))


def test_each_metric_has_a_row_and_a_broken_line_its_reason(
    variables: dict[str, str], snapshot: SnapshotAssertion, ratiba: CommandRun
) -> None:
    for day, value in enumerate((0.81, 0.84, 0.9, 0.86)):
        judge = "claude-opus-5-5" if day < 3 else "claude-sonnet-5"
        keep_run(run_of_main(day, value, judge_model=judge), variables["RATIBA_LEDGER_URL"])
    leave(variables, run_of_main(4, 0.9))
    assert ratiba("report", "--trends", environment=variables) == snapshot
    output = ratiba.json("report", "--trends", "--last", "2", environment=variables)
    assert (output["repository"], output["gate"], output["branch"]) == ("ratiba/assistant", "ratiba", "main")
    means = {one["metric"]: [point["mean"] for part in one["segments"] for point in part["points"]]
             for one in output["trends"]}  # fmt: skip
    assert means == {"BookingSlotConsistencyMetric": [1.0, 1.0], "SwahiliFluencyMetric": [0.9, 0.86]}


def test_a_metric_that_only_a_threshold_of_cases_covers_shows_it_on_every_machine(
    variables: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    label = replace(sample_score(0.75, judged=False), metric="LabelMetric", threshold=0.0)
    gate = CaseThresholdResult(CaseThreshold("accuracy", 0.7), 0.75, 0.75, CaseThresholdStatus.PASSED)
    intents = CaseFileScores("intents", "scenarios/intents.jsonl", "d" * 64, 1, 1, 1, gates=(gate,))
    gated = {"results": (sample_scored("intents", scores=(label,)),), "data_sets": (intents,)}
    keep_run(run_of_main(0, 0.9, **gated), variables["RATIBA_LEDGER_URL"])
    of_main = ["report", "--trends", "--branch", "main"]
    assert run(of_main, variables | {"GITHUB_REPOSITORY": "ratiba/assistant"}) == 0
    assert "| accuracy 0.70 |" in row_of("LabelMetric", capsys), "no run is at hand, and the history keeps it"
    assert run([*of_main, "--json"], variables | {"GITHUB_REPOSITORY": "ratiba/assistant"}) == 0
    (trend,) = json.loads(capsys.readouterr().out)["trends"]
    assert trend["segments"][0]["points"][0]["required"] == "accuracy 0.70"
    shown = with_trends(run_of_main(1, 0.9, **gated), MetricsHistory(variables["RATIBA_LEDGER_URL"]))
    assert (
        '<td data-label="threshold" class="n">accuracy 0.70</td>'
        in render_html(summarise(shown)).partition(">Trends</h2>")[2]
    )


def row_of(metric: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The row of a metric in what was printed."""
    (row,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith(f"| {metric}")]
    return row


def test_a_branch_without_runs_is_reported(variables: dict[str, str], ratiba: CommandRun) -> None:
    assert "no complete, blocking run of this branch" in ratiba(
        "report", "--trends", "--branch", "main", environment=variables
    )


def test_results_are_written_once_however_often_they_are_sent(
    variables: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    leave(variables, run_of_main(0, 0.9))
    assert [run(["report", "--to-history"], variables) for _ in range(2)] == [0, 0]
    assert capsys.readouterr().out.splitlines() == ["The run was written.", "The run is in the history already."]
    counted = asyncio.run(fetch(variables["RATIBA_LEDGER_URL"], "SELECT count(*) FROM ratiba_history.run"))
    assert counted == [(1,)]


def test_without_a_run_only_the_tables_are_made(
    variables: dict[str, str], capsys: pytest.CaptureFixture[str], ratiba: CommandRun
) -> None:
    assert [run(["report", "--to-history"], variables) for _ in range(2)] == [0, 0]
    assert "The tables exist. There is no run in" in capsys.readouterr().out
    counted = asyncio.run(fetch(variables["RATIBA_LEDGER_URL"], "SELECT count(*) FROM ratiba_history.run"))
    assert counted == [(0,)]
    ratiba("report", "--to-history", "--results", "missing.json", code=2, environment=variables)
    assert "'missing.json'" in ratiba.err


def test_no_text_of_the_history_becomes_markdown_or_a_command_and_no_secret_reaches_it(
    variables: dict[str, str], ratiba: CommandRun
) -> None:
    hostile = "::error::x <script> | ![i](//e.example)\n\n# x\0"
    variables["RATIBA_OPENAI_API_KEY"] = "sk-planted-openai-key"
    text = f"{hostile} sk-planted-openai-key"
    results = (sample_scored("spa", scores=(sample_score(metric=text, version=text),)),)
    leave(variables, run_of_main(0, 0.9, results=results, judge_model=text))
    ratiba("report", "--to-history", environment=variables)
    shown = ratiba("report", "--trends", environment=variables)
    assert "script" in shown
    for raw in ("::error", "<script>", "![i]", "\n# x", "sk-planted"):
        assert raw not in shown
    stored = asyncio.run(fetch(variables["RATIBA_LEDGER_URL"], "SELECT metric, judge_model FROM ratiba_history.metric"))
    assert "sk-planted" not in str(stored)
    assert len(stored) == 1


@pytest.mark.parametrize("task", ["--trends", "--to-history"])
def test_without_a_ledger_there_is_no_history(task: str, ratiba: CommandRun) -> None:
    ratiba("report", task, code=2)
    assert "ledger-url is empty" in ratiba.err


def test_whose_trends_are_meant_must_be_known(tmp_path: Path, ratiba: CommandRun) -> None:
    away = {"RATIBA_LEDGER_URL": "postgresql://u:p@127.0.0.1:1/x", "RATIBA_REPORT_DIR": str(tmp_path)}
    ratiba("report", "--trends", code=2, environment=away)
    assert "Give --branch main" in ratiba.err
    ratiba("report", "--trends", "--branch", "main", "--last", "many", code=2, environment=away)
    assert "'many'" in ratiba.err


def test_a_server_that_is_away_ends_the_command_with_3_and_tells_no_password(
    tmp_path: Path, ratiba: CommandRun
) -> None:
    away = {"RATIBA_LEDGER_URL": "postgresql://u:hunter2hunter2@127.0.0.1:1/x", "RATIBA_REPORT_DIR": str(tmp_path)}
    ratiba("report", "--trends", "--branch", "main", code=3, environment=away)
    stderr = ratiba.err
    assert "cannot be used" in stderr
    assert "hunter2" not in stderr


def test_windows_count_the_comparable_runs_of_7_30_and_90_days_however_many_are_drawn(
    variables: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    runs: tuple[tuple[int, float, str], ...] = (
        (0, 0.1, "claude-opus-5-5"),
        (50, 0.5, "claude-opus-5-5"),
        (100, 0.7, "claude-opus-5-5"),
    )
    runs += ((118, 0.8, "claude-opus-5-5"), (120, 0.9, "claude-opus-5-5"))
    for day, value, judge in runs:
        keep_run(run_of_main(day, value, judge_model=judge), variables["RATIBA_LEDGER_URL"])
    options = ["report", "--trends", "--branch", "main", "--last", "1", "--json"]
    assert run(options, variables | {"GITHUB_REPOSITORY": "ratiba/assistant"}) == 0
    (judged,) = (
        trend for trend in json.loads(capsys.readouterr().out)["trends"] if trend["metric"] == "SwahiliFluencyMetric"
    )
    assert sum(len(segment["points"]) for segment in judged["segments"]) == 1
    windows = [(window["days"], window["runs"], round(window["mean"], 4)) for window in judged["windows"]]
    assert windows == [(7, 2, 0.85), (30, 3, 0.8), (90, 4, 0.725)]
    keep_run(run_of_main(121, 0.4, judge_model="gpt-5.6"), variables["RATIBA_LEDGER_URL"])
    assert run(options, variables | {"GITHUB_REPOSITORY": "ratiba/assistant"}) == 0
    output = json.loads(capsys.readouterr().out)["trends"]
    (judged,) = (trend for trend in output if trend["metric"] == "SwahiliFluencyMetric")
    assert {(window["runs"], window["mean"]) for window in judged["windows"]} == {(1, 0.4)}


def test_the_agreement_of_the_judges_is_shown_with_its_drift(variables: dict[str, str], ratiba: CommandRun) -> None:
    for day, kappa in enumerate((0.9, 0.6, 0.5)):
        checking = CrossChecking("gpt-5.6", CrossCheckStatus(0.1, 12, 12), Agreement(12, 0.75, kappa, kappa))
        run_of = run_of_main(day, 0.9, judge_model="claude-opus-5-5", cross_checking=checking)
        keep_run(run_of, variables["RATIBA_LEDGER_URL"])
    leave(variables, run_of_main(4, 0.9))
    output = ratiba.json("report", "--trends", environment=variables)["agreements"]
    assert [(point["kappa"], point["pairs"]) for point in output] == [(0.9, 12), (0.6, 12), (0.5, 12)]
    printed = " ".join(ratiba("report", "--trends", environment=variables).split())
    assert "Agreement of the judges" in printed
    assert "Judge drift: claude-opus-5-5 and gpt-5.6 agreed with a quadratic kappa of 0.60 and 0.50" in printed


def test_kept_runs_show_the_same_trends_without_a_database(
    variables: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reports = [
        *(run_of_main(day, 0.8 + day / 100, cross_checking=sample_cross_checking()) for day in range(6)),
        run_of_main(6, 0.9, judge_model="claude-sonnet-5"),
        run_of_main(7, 0.9, name="another"),
        sample_report(started_at=START + timedelta(days=8)),
    ]
    for report in reports:
        keep_run(report, variables["RATIBA_LEDGER_URL"])
    write_history(tmp_path / "runs", reports)
    found = []
    for source in ([], ["--from", str(tmp_path / "runs")]):
        command = ["report", "--trends", "--branch", "main", "--last", "4", "--json", *source]
        environment = variables if not source else {"RATIBA_REPORT_DIR": variables["RATIBA_REPORT_DIR"]}
        assert run(command, environment | {"GITHUB_REPOSITORY": "ratiba/assistant"}) == 0
        found.append(json.loads(capsys.readouterr().out, parse_float=lambda text: round(float(text), 9)))
    assert found[0] == found[1]
    assert [len(trend["segments"]) for trend in found[1]["trends"]] == [1, 2]


def test_a_kept_file_that_cannot_be_read_is_named(
    variables: dict[str, str], tmp_path: Path, ratiba: CommandRun
) -> None:
    write_history(tmp_path / "runs", [run_of_main(0, 0.9)])
    (tmp_path / "runs/bad.json").write_text("{")
    ratiba("report", "--trends", "--branch", "main", "--from", str(tmp_path / "runs"), environment=variables)
    assert "SwahiliFluencyMetric" in ratiba.out
    assert "ratiba: bad.json could not be read: " in ratiba.err
