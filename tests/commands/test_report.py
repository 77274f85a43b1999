"""``ratiba report``: the last run's report, and the last step of a workflow."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ratiba_action.commands.report import EXAMPLE
from ratiba_action.main import run
from ratiba_action.model.verdict import Conclusion, Report
from ratiba_action.reporting.results_json import load_report, render_results
from ratiba_action.reporting.summary import summarise
from tests.support.git_repository import GitRepository
from tests.support.github_server import GithubState, github_server
from tests.support.pull_request_events import pull_request_event
from tests.support.sample_report import sample_report
from tests.support.step_outputs import read_outputs, step_environment

ENTRYPOINT = Path(__file__).parents[2] / "entrypoint.py"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "results.json"
    path.write_text(render_results(summarise(sample_report())))
    return path


@pytest.fixture
def step(tmp_path: Path) -> dict[str, str]:
    """The environment of the last step of a run whose change blocks."""
    repository = GitRepository(tmp_path / "checkout")
    base = repository.commit({"README.md": "1"})
    head = repository.commit({"prompts/greeting.md": "2"})
    (tmp_path / "event.json").write_text(json.dumps(pull_request_event(base, head, files=1)))
    return step_environment(tmp_path) | {"RATIBA_COMMENT": "false"}


def left(step: dict[str, str]) -> Report:
    """The report in the report directory."""
    return load_report((Path(step["RATIBA_REPORT_DIR"]) / "results.json").read_bytes())


def leave(step: dict[str, str], report: Report) -> bytes:
    """Put a report into the report directory; its bytes."""
    path = Path(step["RATIBA_REPORT_DIR"]) / "results.json"
    path.parent.mkdir()
    path.write_text(render_results(summarise(report)))
    return path.read_bytes()


def test_the_last_report_is_shown_as_the_gate_shows_it(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "--results", str(results)], {}) == 0
    shown = capsys.readouterr().out
    assert "> ## Failed: " in shown
    assert "barbershop_mpesa" in shown


def test_it_is_looked_for_in_the_report_directory(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "--json"], {"RATIBA_REPORT_DIR": str(results.parent)}) == 0
    outputs = json.loads(capsys.readouterr().out)
    assert (outputs["conclusion"], outputs["exit_code"]) == ("failed", 1)


@pytest.mark.parametrize("content", [None, "", "{}", '{"schema": 2}', '{"schema": 1, "report": {}}', "[" * 100_000])
def test_results_that_cannot_be_read_end_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None
) -> None:
    if content is not None:
        (tmp_path / "results.json").write_text(content)
    assert run(["report", "--results", str(tmp_path / "results.json")], {}) == 2
    assert capsys.readouterr().err.startswith("ratiba: ")


def test_the_tasks_exclude_each_other() -> None:
    with pytest.raises(SystemExit) as ended:
        run(["report", "--unfinished", "--workflow-run"], {})
    assert ended.value.code == 2


def test_every_task_stands_in_the_examples() -> None:
    assert all(task in EXAMPLE for task in ("--unfinished", "--workflow-run", "--json"))


def test_a_run_that_has_left_its_results_is_left_alone(
    step: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = leave(step, sample_report())
    assert run(["report", "--unfinished"], step) == 0
    assert (Path(step["RATIBA_REPORT_DIR"]) / "results.json").read_bytes() == before
    assert capsys.readouterr().out == ""
    assert not Path(step["GITHUB_OUTPUT"]).exists()


@pytest.mark.parametrize("variables", [{"GITHUB_RUN_ID": "1002"}, {"GITHUB_RUN_ATTEMPT": "2"}])
def test_results_of_another_run_or_attempt_are_replaced(step: dict[str, str], variables: dict[str, str]) -> None:
    leave(step, sample_report())
    assert run(["report", "--unfinished"], step | variables) == 3
    assert left(step).verdict.conclusion is Conclusion.INCOMPLETE
    assert left(step).results == ()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff"])
def test_half_written_results_are_replaced(step: dict[str, str], content: bytes) -> None:
    folder = Path(step["RATIBA_REPORT_DIR"])
    folder.mkdir()
    (folder / "results.json").write_bytes(content)
    assert run(["report", "--unfinished"], step) == 3
    assert left(step).verdict.conclusion is Conclusion.INCOMPLETE


def test_a_run_that_died_is_reported_everywhere(step: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    head = json.loads(Path(step["GITHUB_EVENT_PATH"]).read_text())["pull_request"]["head"]["sha"]
    state = GithubState(heads={7: head})
    with github_server(state) as address:
        more = {"GITHUB_API_URL": address, "RATIBA_GITHUB_TOKEN": "token", "RATIBA_COMMENT": "true"}
        assert run(["report", "--unfinished"], step | more) == 3
    text = "The run was cancelled or died before it could report."
    assert text in state.comments[0]["body"]
    assert "**What to do:**" in state.comments[0]["body"]
    assert text in Path(step["GITHUB_STEP_SUMMARY"]).read_text(encoding="utf-8")
    assert text in (Path(step["RATIBA_REPORT_DIR"]) / "comment.md").read_text(encoding="utf-8")
    assert f"::error title=Ratiba%3A ratiba::{text}" in capsys.readouterr().out
    outputs = read_outputs(Path(step["GITHUB_OUTPUT"]))
    assert (outputs["conclusion"], outputs["mode"]) == ("incomplete", "blocking")
    assert outputs["comment-url"].endswith("#issuecomment-1000")


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("cancelled", "The run was cancelled before"),
        ("image", "image could not be pulled or built"),
        ("memory", "used up its memory"),
        ("::error::", "cancelled or died"),
        ("failure", "cancelled or died"),
    ],
)
def test_the_step_before_may_say_by_a_known_word_how_it_ended(step: dict[str, str], word: str, text: str) -> None:
    assert run(["report", "--unfinished"], step | {"RATIBA_ENDED": word}) == 3
    assert text in left(step).verdict.reason


def test_a_trial_period_is_not_stopped(step: dict[str, str]) -> None:
    assert run(["report", "--unfinished"], step | {"RATIBA_ENFORCE": "false"}) == 0
    assert left(step).verdict.conclusion is Conclusion.INCOMPLETE


def test_wrong_inputs_are_reported_rather_than_the_end(step: dict[str, str]) -> None:
    assert run(["report", "--unfinished"], step | {"RATIBA_ENFORCE": "maybe"}) == 2
    assert left(step).verdict.misconfigured


def test_an_event_that_cannot_be_read_still_leaves_a_blocking_report(step: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "event.json").write_text("{")
    assert run(["report", "--unfinished"], step) == 3
    assert left(step).decision.mode.value == "blocking"


def test_a_defect_of_deciding_still_leaves_a_blocking_report(
    step: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def defect(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr("ratiba_action.decide.deciding.decide", defect)
    repository = GitRepository(tmp_path / "checkout")
    base = repository.git("rev-parse", "HEAD")
    head = repository.commit({"docs/guide.md": "2"})
    (tmp_path / "event.json").write_text(json.dumps(pull_request_event(base, head, files=1)))
    assert run(["report", "--unfinished"], step) == 3
    assert left(step).decision.reasons[0].why.startswith("the mode could not be decided")


def test_the_variables_of_the_actions_own_steps_are_no_misspelt_inputs(step: dict[str, str]) -> None:
    own = {"RATIBA_ENDED": "killed", "RATIBA_IMAGE": "x", "RATIBA_JOB_NETWORK": "y", "RATIBA_SEAL_KEY": "z"}
    own |= {"RATIBA_CONFIG_CHANGED": "true", "RATIBA_ENGINE": "/run/e", "RATIBA_ENGINE_KEY": "k"}
    assert run(["report", "--unfinished"], step | own | {"RATIBA_MOED": "blocking"}) == 3
    assert left(step).notes == ("The variable RATIBA_MOED is set, but no input reads it.",)


@pytest.mark.processes
def test_an_unfinished_run_is_reported_with_nothing_installed(step: dict[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(ENTRYPOINT), "report", "--unfinished"],
        env=step,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (3, "")
    assert left(step).verdict.conclusion is Conclusion.INCOMPLETE


def test_outside_a_workflow_no_run_can_be_unfinished(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "--unfinished"], {}) == 2
    assert "GITHUB_RUN_ID is not set" in capsys.readouterr().err


@pytest.mark.processes
@pytest.mark.parametrize("browser", [True, False])
def test_the_report_is_opened_in_the_browser_where_there_is_one(
    *, browser: bool, results: Path, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    page.write_text("<!doctype html>")
    fake, opened = tmp_path / "browser", tmp_path / "opened"
    if browser:
        fake.write_text(f'#!/bin/sh\nprintf %s "$1" > "{opened}"\n')
        fake.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "ratiba_action", "report", "--open", "--results", str(results)],
        env={"PATH": "/bin" if browser else "/nowhere", "BROWSER": str(fake)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert str(page) in done.stdout
    assert ("No browser was found" in done.stdout) is not browser
    assert (opened.read_text() if browser else opened.exists()) == (page.as_uri() if browser else False)


def test_a_report_that_is_not_there_cannot_be_opened(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "--open", "--results", str(results)], {}) == 2
    message = capsys.readouterr().err
    assert str(results.with_name("report.html")) in message
    assert "ratiba gate" in message
