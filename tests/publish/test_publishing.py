import io
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from ratiba_action.model.change import Mode, ModeDecision, Subject
from ratiba_action.model.conversation import Party
from ratiba_action.model.plan import Selection
from ratiba_action.model.verdict import Conclusion, Report, Verdict
from ratiba_action.money.budget import Limit
from ratiba_action.money.forecast import Expected, Forecast
from ratiba_action.publish.full_publication import full_publication
from ratiba_action.publish.publishing import OUTPUTS, Publication
from ratiba_action.settings.settings import read_settings
from tests.support.github_server import GithubState, github_server
from tests.support.sample_report import sample_report, sample_scenario
from tests.support.step_outputs import read_outputs

TOKEN = "planted-github-token"


def publish(report: Report, folder: Path, **environment: str) -> str:
    """What is printed while a report is published to a folder."""
    stream = io.StringIO()
    variables = {"RATIBA_REPORT_DIR": str(folder / "report"), "RATIBA_GITHUB_TOKEN": TOKEN} | environment
    publication = full_publication(read_settings(variables, {}), variables, stream)
    publication.hide_secrets()
    publication.publish(report)
    return stream.getvalue()


def current(report: Report) -> GithubState:
    return GithubState(heads={7: report.subject.head})


def test_a_report_goes_to_the_directory_the_summary_the_outputs_and_one_comment(tmp_path: Path) -> None:
    report = sample_report()
    state = current(report)
    with github_server(state) as address:
        publish(
            report,
            tmp_path,
            GITHUB_API_URL=address,
            GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"),
            GITHUB_OUTPUT=str(tmp_path / "outputs"),
        )
    (comment,) = state.comments
    assert comment["body"] == (tmp_path / "report/comment.md").read_text()
    assert "> ## Failed: " in (tmp_path / "summary.md").read_text()
    written = read_outputs(tmp_path / "outputs")
    assert tuple(written) == OUTPUTS
    assert (written["conclusion"], written["mode"], written["spent-usd"]) == ("failed", "blocking", "1.25")
    assert written["regression-detected"] == "false", "it was compared with no base"
    assert json.loads(written["reasons"])[0]["path"] == "prompts/booking_orchestrator.md"
    assert written["comment-url"].startswith("http")


def test_a_second_run_updates_the_comment_of_the_first(tmp_path: Path) -> None:
    report = sample_report()
    state = current(report)
    with github_server(state) as address:
        publish(report, tmp_path, GITHUB_API_URL=address)
        passed = replace(report, verdict=Verdict(Conclusion.PASSED, "All scenarios passed."))
        publish(replace(passed, subject=replace(report.subject, run_attempt=2)), tmp_path, GITHUB_API_URL=address)
    (comment,) = state.comments
    assert "## Passed" in comment["body"]


def test_a_rerun_lists_the_attempt_before_it(tmp_path: Path) -> None:
    report = sample_report()
    state = current(report)
    with github_server(state) as address:
        publish(report, tmp_path, GITHUB_API_URL=address)
        publish(replace(report, subject=replace(report.subject, run_attempt=2)), tmp_path, GITHUB_API_URL=address)
    (comment,) = state.comments
    assert "The last 2 runs on this pull request" in comment["body"]
    assert "1001, attempt 1" in comment["body"]


def by_hand(report: Report) -> Report:
    return replace(report, subject=replace(report.subject, event="workflow_dispatch"))


@pytest.mark.parametrize("comment", ["true", "false"])
def test_a_run_started_by_hand_sets_the_status_of_the_pull_requests_head(tmp_path: Path, comment: str) -> None:
    report = by_hand(sample_report())
    state = current(report)
    with github_server(state) as address:
        publish(report, tmp_path, GITHUB_API_URL=address, RATIBA_COMMENT=comment)
    (status,) = state.statuses
    assert (status["sha"], status["state"], status["context"]) == (report.subject.head, "failure", "ratiba / ratiba")
    assert state.requests[-1] == ("POST", f"/repos/ratiba/assistant/statuses/{report.subject.head}")


def test_a_run_of_a_pull_request_has_a_check_of_its_own_and_sets_no_status(tmp_path: Path) -> None:
    report = sample_report()
    state = current(report)
    with github_server(state) as address:
        publish(report, tmp_path, GITHUB_API_URL=address)
    assert state.statuses == []


def test_a_run_that_cannot_leave_its_seal_says_nothing_on_github_where_the_step_after_it_has_spoken(
    tmp_path: Path,
) -> None:
    report = by_hand(sample_report())
    state = current(report)
    (tmp_path / "step").mkdir()
    sealed = {"RATIBA_SEAL": str(tmp_path / "step/seal"), "RATIBA_SEAL_KEY": "5ea1" * 16}
    with github_server(state) as address:
        publish(report, tmp_path, GITHUB_API_URL=address, **sealed)
        (tmp_path / "step/seal").unlink()
        (tmp_path / "step").rmdir()  # as the action's steps do when the Docker daemon is gone
        printed = publish(report, tmp_path, GITHUB_API_URL=address, **sealed)
    assert (len(state.comments), len(state.statuses)) == (1, 1)
    assert [method for method, _ in state.requests if method in {"PATCH", "POST"}] == ["POST", "POST"]
    assert printed.count("seal could not be written") == 1
    assert "so it writes no comment and no commit status" in printed


def test_a_gate_that_outlived_its_step_leaves_the_comment_and_the_status_of_the_step_after_it(tmp_path: Path) -> None:
    passed, missing = Verdict(Conclusion.PASSED, "26 of 26."), Verdict(Conclusion.INCOMPLETE, "The daemon stopped.")
    report = by_hand(sample_report(verdict=passed))
    state = current(report)
    (tmp_path / "step").mkdir()
    sealed = {"RATIBA_SEAL": str(tmp_path / "step/seal"), "RATIBA_SEAL_KEY": "5ea1" * 16}
    with github_server(state) as address:
        publish(replace(report, verdict=missing), tmp_path, GITHUB_API_URL=address)
        # Its folder is a volume, which the step after it could not take away without a daemon.
        printed = publish(report, tmp_path, GITHUB_API_URL=address, **sealed)
        assert "The daemon stopped." in state.comments[0]["body"]
        publish(
            replace(report, subject=replace(report.subject, run_attempt=2)), tmp_path, GITHUB_API_URL=address, **sealed
        )
        assert "## Passed" in state.comments[0]["body"]
    assert [status["state"] for status in state.statuses] == ["error", "success"]
    assert "the step after the gate's has called this attempt incomplete" in printed


def test_a_status_that_is_refused_is_a_warning_that_names_the_permission(tmp_path: Path) -> None:
    report = by_hand(sample_report())
    state = current(report)
    state.writable = False
    with github_server(state) as address:
        printed = publish(report, tmp_path, GITHUB_API_URL=address, GITHUB_OUTPUT=str(tmp_path / "outputs"))
    assert "warning: The commit status could not be set: GitHub answered 403" in printed
    assert "statuses: write" in printed
    assert read_outputs(tmp_path / "outputs")["conclusion"] == "failed"


def test_a_read_only_token_is_a_warning_and_everything_else_is_written(tmp_path: Path) -> None:
    report = sample_report()
    state = GithubState(failure=(403, "Resource not accessible by integration"))
    with github_server(state) as address:
        printed = publish(report, tmp_path, GITHUB_API_URL=address, GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"))
    assert "warning: The comment could not be posted: GitHub answered 403" in printed
    assert "## Failed" in (tmp_path / "summary.md").read_text()
    assert (tmp_path / "report/results.json").exists()


def test_without_a_pull_request_no_comment_is_tried(tmp_path: Path) -> None:
    state = GithubState()
    with github_server(state) as address:
        printed = publish(sample_report(subject=Subject()), tmp_path, GITHUB_API_URL=address)
    assert state.requests == []
    assert "warning" not in printed


def test_a_comment_that_is_switched_off_is_not_tried(tmp_path: Path) -> None:
    state = GithubState()
    with github_server(state) as address:
        publish(sample_report(), tmp_path, GITHUB_API_URL=address, RATIBA_COMMENT="false")
    assert state.requests == []


def test_a_skipped_run_marks_an_earlier_comment_and_makes_none(tmp_path: Path) -> None:
    report = sample_report(
        decision=ModeDecision(Mode.SKIP, ()), verdict=Verdict(Conclusion.SKIPPED, "Nothing changed."), results=()
    )
    state = current(report)
    with github_server(state) as address:
        publish(report, tmp_path, GITHUB_API_URL=address)
        assert state.comments == []
        publish(replace(sample_report(), subject=report.subject), tmp_path, GITHUB_API_URL=address)
        publish(replace(report, subject=replace(report.subject, run_attempt=2)), tmp_path, GITHUB_API_URL=address)
    (comment,) = state.comments
    assert "## Skipped" in comment["body"]


def test_a_report_directory_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "report").write_text("a file is in the way")
    printed = publish(sample_report(subject=Subject()), tmp_path)
    assert "warning: The report could not be written" in printed
    assert "Failed: " in printed


def test_in_a_workflow_secrets_are_masked_before_anything_else_and_text_is_no_command(tmp_path: Path) -> None:
    report = sample_report(subject=Subject(), notes=("::error::planted",))
    printed = publish(report, tmp_path, GITHUB_ACTIONS="true", CI="true")
    lines = printed.splitlines()
    assert lines[0] == f"::add-mask::{TOKEN}"
    stopped = next(index for index, line in enumerate(lines) if line.startswith("::stop-commands::"))
    resumed = lines.index(f"::{lines[stopped].rpartition('::')[2]}::")
    reported = [index for index, line in enumerate(lines) if "planted" in line and "add-mask" not in line]
    assert reported
    assert all(stopped < index < resumed for index in reported)
    assert any(line.startswith("::error file=scenarios/") for line in lines[resumed:])


def test_the_token_stands_in_nothing_that_is_written(tmp_path: Path) -> None:
    report = sample_report()
    state = current(report)
    with github_server(state) as address:
        printed = publish(report, tmp_path, GITHUB_API_URL=address, GITHUB_OUTPUT=str(tmp_path / "outputs"))
    everything = [printed, *(path.read_text() for path in tmp_path.rglob("*") if path.is_file())]
    assert [text for text in everything if TOKEN in text] == []


@pytest.mark.parametrize("notes", [(), ("Something was relaxed.",)])
def test_a_dry_run_is_announced_with_its_notes(notes: tuple[str, ...]) -> None:
    stream = io.StringIO()
    decision = ModeDecision(Mode.BLOCKING, ())
    Publication(read_settings({}, {}), {}, stream).announce(decision, Selection(decision, (sample_scenario(),)), notes)
    reported = stream.getvalue()
    assert reported.startswith("Mode: blocking\n")
    assert "- spa_booking\n" in reported
    assert all(f"Note: {note}" in reported for note in notes)


def test_a_dry_run_of_live_models_says_what_they_are_expected_to_cost() -> None:
    stream = io.StringIO()
    decision = ModeDecision(Mode.BLOCKING, ())
    budget = Limit("the budget of this run", Decimal("0.30"), Decimal(0))
    conversations = (Expected("spa_booking", {Party.SYSTEM: Decimal("0.10")}, Decimal("0.40")),)
    Publication(read_settings({}, {}), {}, stream).announce(
        decision,
        Selection(decision, (sample_scenario(),)),
        (),
        Forecast((budget,), conversations),
    )
    reported = stream.getvalue().splitlines()
    assert reported[1:4] == [
        "Would run 1 scenario with 1 turn.",
        "The budget of this run (USD 0.30) should cover 0 of 1 scenario; it may not cover spa_booking.",
        "Expected to cost USD 0.10 (system 0.10), at most USD 0.40, of the budget of this run (USD 0.30).",
    ]


def _stopped() -> tuple[Report, str]:
    problems = ("scenarios/b.yaml:7: unknown key", "scenarios/c.yaml:9: no turns")
    verdict = Verdict(Conclusion.INCOMPLETE, "2 mistakes must be fixed.", "", problems, misconfigured=True)
    return sample_report(results=(), verdict=verdict, notes=("planted note",)), "\n".join(problems)


def test_a_person_is_reported_each_mistake_of_a_stopped_run_once_and_sees_no_empty_table(tmp_path: Path) -> None:
    report, complaint = _stopped()
    stream = io.StringIO()
    variables = {"RATIBA_REPORT_DIR": str(tmp_path), "RATIBA_COMMENT": "false"}
    full_publication(read_settings(variables, {}), variables, stream).publish(report, complaint=complaint)
    assert stream.getvalue().splitlines() == [
        "Misconfigured. 2 mistakes must be fixed.",
        "ratiba: scenarios/b.yaml:7: unknown key",
        "ratiba: scenarios/c.yaml:9: no turns",
        "Note: planted note",
        f"Report: {tmp_path}",
    ]


def test_a_person_can_copy_the_paths_that_the_terminal_shows(tmp_path: Path) -> None:
    report, _ = _stopped()
    assert "scenarios/b.yaml:7: unknown key" in publish(report, tmp_path)


def test_a_quiet_publication_prints_the_verdict_and_nothing_on_the_way_to_it(tmp_path: Path) -> None:
    variables, stream = {"RATIBA_REPORT_DIR": str(tmp_path / "report")}, io.StringIO()
    publication = full_publication(read_settings(variables, {}), variables, stream, verbosity=-1)
    publication.print_line("Mode: blocking")
    publication.publish(sample_report())
    assert stream.getvalue().startswith("✗ Failed: ")
    assert (tmp_path / "report/comment.md").exists()
