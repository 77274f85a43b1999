"""Runs of many weeks, for tests of whatever reads a history."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.change import Subject
from ratiba_action.model.measurement import ScenarioResult, Scored
from ratiba_action.model.verdict import Conclusion, Report, Verdict
from ratiba_action.reporting.results_json import packed, render_results
from ratiba_action.reporting.summary import summarise
from tests.support.sample_report import sample_check, sample_cross_checking, sample_report, sample_score, sample_scored

START = datetime(2026, 8, 1, 6, 0, tzinfo=UTC)
BRANCH = "main"


def branch_run(number: int = 0, results: tuple[ScenarioResult, ...] | None = None, **changes: Any) -> Report:
    """A run of the branch itself, the ``number``-th of one every twelve hours."""
    commit = f"{number + 1:040x}"
    subject = Subject(
        repository="ratiba/assistant",
        head=commit,
        run_id=1000 + number,
        run_url=f"https://github.com/ratiba/assistant/actions/runs/{1000 + number}",
        event="push",
        branch=BRANCH,
    )
    found = (sample_scored("spa_booking", scores=(sample_score(),)),) if results is None else results
    failed = sum(isinstance(each, Scored) and not each.passed for each in found)
    verdict = Verdict(
        Conclusion.FAILED if failed else Conclusion.PASSED,
        f"{failed} of {len(found)} scenarios failed." if failed else f"All {len(found)} scenarios passed.",
    )
    report = sample_report(
        subject=subject,
        commit=commit,
        results=found,
        verdict=verdict,
        started_at=START + timedelta(hours=12 * number),
        llm=AnswerOrigin.LIVE,
    )
    return replace(report, **changes)


def long_history(runs: int = 200, scenarios: int = 12) -> list[Report]:
    """Runs in which Swahili fluency falls from the 120th on, and ``s03`` is flaky from the 100th on."""
    chance = Random(7)  # noqa: S311 - the same history in every test
    return [_of_history(number, scenarios, chance) for number in range(runs)]


def _of_history(number: int, scenarios: int, chance: Random) -> Report:
    fall = max(0, number - 120) * 0.001
    results = []
    for index in range(scenarios):
        fluency = min(1.0, max(0.0, 0.93 - fall + chance.gauss(0, 0.01)))
        passed = not (index == 3 and number >= 100 and chance.random() < 0.4)
        found = sample_scored(
            f"s{index:02}",
            (sample_check(passed=passed),),
            (sample_score(fluency), sample_score(1.0, judged=False)),
            title=f"Booking number {index}",
            language="sw" if index % 2 else "en",
            tags=frozenset({"smoke"} if index < 4 else {"booking"}),
        )
        exchange = replace(found.transcript.exchanges[0], usd=Decimal("0.01"), seconds=1.5)
        results.append(replace(found, transcript=replace(found.transcript, exchanges=(exchange,))))
    checking = sample_cross_checking() if number % 2 else None
    return branch_run(number, tuple(results), cross_checking=checking)


def write_history(folder: Path, reports: list[Report], *, compressed: bool = True) -> Path:
    """Each report as a file of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, report in enumerate(reports):
        text = render_results(summarise(report)).encode()
        name = f"{number:05}.json"
        (folder / (f"{name}.gz" if compressed else name)).write_bytes(packed(text) if compressed else text)
    return folder
