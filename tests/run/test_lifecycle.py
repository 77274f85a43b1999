"""Whatever ends a run, its report is published, and its exit code is never better than what was measured."""

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ratiba_action.errors import ConfigurationError, UsageError
from ratiba_action.model.verdict import Conclusion, Report
from ratiba_action.publish.full_publication import full_publication
from ratiba_action.reporting.results_json import load_report
from ratiba_action.reporting.summary import ReportSummary
from ratiba_action.run.event_logging import tracer_of
from ratiba_action.run.inputs import RunLog
from ratiba_action.run.lifecycle import Lifecycle
from tests.support.in_process_gate import InProcessGate
from tests.support.progress import RecordedProgress
from tests.support.sample_report import sample_report


def unchanged(report: Report) -> Report:
    return report


def conclude(
    folder: Path,
    evaluate: Callable[[], Report | None],
    *,
    in_job: bool = True,
    add: Callable[[Report], Report] = unchanged,
) -> tuple[int, list[ReportSummary]]:
    """The exit code of a run, and what the command was shown."""
    inputs = InProcessGate(folder=folder, scenarios=(), head={}).inputs()
    settings = replace(inputs.settings, report_dir=str(folder / "report"), comment=False)
    environment = {"HOME": str(folder), **({"GITHUB_ACTIONS": "true"} if in_job else {})}
    request = replace(inputs, settings=settings, environment=environment)
    publication = full_publication(settings, environment, io.StringIO())
    shown: list[ReportSummary] = []
    run = Lifecycle(request, RunLog(RecordedProgress()), publication, tracer_of)
    return run.conclude(evaluate, add, shown.append), shown


def failing(error: Exception) -> Callable[[], Report]:
    def evaluate() -> Report:
        raise error

    return evaluate


def test_a_bug_of_the_gate_leaves_an_incomplete_report(tmp_path: Path) -> None:
    code, (shown,) = conclude(tmp_path, failing(ZeroDivisionError("division by zero")))
    assert code == shown.exit_code == 3
    written = load_report((tmp_path / "report" / "results.json").read_bytes())
    assert written.verdict.conclusion is Conclusion.INCOMPLETE
    assert "The gate itself failed at test_lifecycle.py" in written.verdict.reason


def test_a_mistake_at_the_terminal_leaves_the_last_report_as_it_is(tmp_path: Path) -> None:
    for error, in_job in ((UsageError("no"), True), (ConfigurationError("no"), False)):
        with pytest.raises(type(error)):
            conclude(tmp_path, failing(error), in_job=in_job)
    assert not (tmp_path / "report").exists()
    code, _ = conclude(tmp_path, failing(ConfigurationError("no")))
    assert code == 2, "in a job the report has to say it"


def test_a_dry_run_publishes_nothing(tmp_path: Path) -> None:
    assert conclude(tmp_path, lambda: None) == (0, [])
    assert not (tmp_path / "report").exists()


def test_what_is_added_to_a_report_is_published(tmp_path: Path) -> None:
    report = sample_report()
    _, (shown,) = conclude(tmp_path, lambda: report, add=lambda given: replace(given, notes=("added",)))
    assert shown.report.notes == ("added",)
