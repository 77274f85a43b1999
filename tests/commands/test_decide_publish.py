"""The action's first step: a run that is skipped, or must not start, is concluded on the runner's bare Python."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ratiba_action.main import run
from ratiba_action.model.verdict import Conclusion
from ratiba_action.publish.publishing import OUTPUTS
from ratiba_action.reporting.results_json import load_report, render_results
from ratiba_action.reporting.summary import summarise
from tests.support.git_repository import GitRepository
from tests.support.github_server import GithubState, github_server
from tests.support.pull_request_events import pull_request_event
from tests.support.sample_report import sample_report
from tests.support.step_outputs import NOWHERE, read_outputs, step_environment

pytestmark = pytest.mark.usefixtures("short_waits")

ENTRYPOINT = Path(__file__).parents[2] / "entrypoint.py"
TOKEN = "planted-github-token"
TITLE = "::set-output name=a::b\n##[set-output name=c]`$(touch x)`"


class Step:
    """A checkout of a pull request, and the environment of a step in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.head = ""
        given = {"GITHUB_RUN_ID": "77", "GITHUB_SERVER_URL": "https://github.com", "RATIBA_GITHUB_TOKEN": TOKEN}
        self.environment = step_environment(folder) | given

    def change(self, *files: str, title: str = "Warmer greeting") -> None:
        """Check out the merge of a pull request that adds these files."""
        repository = GitRepository(self.folder / "checkout")
        base = repository.commit({"README.md": "1"})
        repository.git("checkout", "--quiet", "-b", "feature")
        self.head = repository.commit(dict.fromkeys(files, "2"))
        repository.git("checkout", "--quiet", "--detach", "main")
        repository.merge("feature")
        event = pull_request_event(base, self.head, files=len(files))
        event["pull_request"]["title"] = title
        (self.folder / "event.json").write_text(json.dumps(event))

    def publish(self, **variables: str) -> int:
        """Run the step; its exit code."""
        return run(["decide", "--publish"], self.environment | variables)

    @property
    def outputs(self) -> dict[str, str]:
        """What the step hands on."""
        return read_outputs(self.folder / "outputs")

    @property
    def summary(self) -> str:
        """What the run's page shows."""
        return (self.folder / "summary.md").read_text(encoding="utf-8")


@pytest.fixture
def step(tmp_path: Path) -> Step:
    return Step(tmp_path)


def commands(log: str) -> list[str]:
    """The commands that the runner obeys in a log, but those that only this command means to write."""
    obeyed, resume = [], ""
    for line in log.splitlines():
        if resume:
            resume = "" if line.strip() == f"::{resume}::" else resume
        elif line.strip().startswith("::stop-commands::"):
            resume = line.strip().removeprefix("::stop-commands::")
        elif line.strip().startswith("::") or "##[" in line:
            obeyed.append(line)
        assert "##[" not in line
    return obeyed


def test_a_skipped_run_is_concluded_with_every_output_and_a_report_of_plain_files(step: Step) -> None:
    step.change("docs/guide.md")

    assert step.publish(RATIBA_COMMENT="false") == 0

    assert tuple(step.outputs) == OUTPUTS
    reported = {name: step.outputs[name] for name in ("mode", "conclusion", "passed", "failed", "spent-usd", "report")}
    assert reported == {
        "mode": "skip",
        "conclusion": "skipped",
        "passed": "0",
        "failed": "0",
        "spent-usd": "0",
        "report": str(step.folder / "report"),
    }
    assert "## Skipped: ratiba" in step.summary
    assert {path.name for path in (step.folder / "report").iterdir()} == {"results.json", "comment.md", ".gitignore"}
    report = load_report((step.folder / "report/results.json").read_bytes())
    assert (report.verdict.conclusion, report.subject.run_id) == (Conclusion.SKIPPED, 77)


def test_an_earlier_comment_is_marked_as_skipped_and_none_is_made(step: Step) -> None:
    step.change("docs/guide.md")
    state = GithubState(heads={7: step.head})
    with github_server(state) as address:
        assert step.publish(GITHUB_API_URL=address) == 0
        assert state.comments == []
        earlier = state.add_comment("<!-- ratiba-eval-gate name=ratiba head=0a run=1 attempt=1 -->\nold", state.login)
        assert step.publish(GITHUB_API_URL=address) == 0
    assert "## Skipped: ratiba" in earlier["body"]


@pytest.mark.parametrize("network", ["alive", "dead"])
def test_a_forks_token_and_a_dead_network_are_warnings(
    step: Step, capsys: pytest.CaptureFixture[str], network: str
) -> None:
    step.change("docs/guide.md")
    state = GithubState(heads={7: step.head}, writable=False)
    state.add_comment("<!-- ratiba-eval-gate name=ratiba head=0a run=1 attempt=1 -->\nold", state.login)
    with github_server(state) as address:
        assert step.publish(GITHUB_API_URL=address if network == "alive" else NOWHERE) == 0
    warnings = [line for line in capsys.readouterr().out.splitlines() if line.startswith("::warning")]
    assert len(warnings) == 1
    assert "The comment could not be posted" in warnings[0]
    assert step.outputs["conclusion"] == "skipped"


def test_a_run_that_goes_on_only_hands_on_its_mode_and_reasons(step: Step) -> None:
    step.change("app.py")

    assert step.publish() == 0

    assert (tuple(step.outputs), step.outputs["mode"]) == (("mode", "reasons"), "advisory")
    assert not (step.folder / "report").exists()
    assert not (step.folder / "summary.md").exists()


@pytest.mark.parametrize("file", ["docs/guide.md", "app.py"])
def test_wrong_inputs_end_with_2_in_every_mode_and_each_is_an_error(
    step: Step, capsys: pytest.CaptureFixture[str], file: str
) -> None:
    step.change(file)
    state = GithubState(heads={7: step.head})
    with github_server(state) as address:
        assert step.publish(GITHUB_API_URL=address, RATIBA_MODE="off", RATIBA_ENFORCE="maybe") == 2
    errors = [line for line in capsys.readouterr().out.splitlines() if line.startswith("::error")]
    assert [re.findall(r"RATIBA_\w+", line) for line in errors] == [["RATIBA_MODE"], ["RATIBA_ENFORCE"]]
    assert "## Misconfigured: ratiba" in step.summary
    assert "'maybe' is not allowed" in state.comments[0]["body"]
    assert (step.outputs["conclusion"], tuple(step.outputs)) == ("incomplete", OUTPUTS)
    assert "report.html" not in state.comments[0]["body"]


def test_a_deadline_that_is_none_is_named_before_anything_is_built(
    step: Step, capsys: pytest.CaptureFixture[str]
) -> None:
    step.change("app.py")
    assert step.publish(RATIBA_DEADLINE="25 minutes", RATIBA_COMMENT="false") == 2
    (error,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("::error")]
    assert "RATIBA_DEADLINE: '25 minutes' is not allowed: give seconds" in error


@pytest.mark.parametrize("name", ["events.jsonl", "events.jsonl/planted"], ids=["a file", "a folder"])
def test_events_that_the_checkout_brings_do_not_stand_for_the_run(step: Step, name: str) -> None:
    step.change("docs/readme.md")
    planted = step.folder / "report" / name
    planted.parent.mkdir(parents=True)
    planted.write_text("forged")
    assert step.publish(RATIBA_COMMENT="false") == 0
    assert not (step.folder / "report/events.jsonl").exists()


@pytest.mark.parametrize("name", ["results.json", "results.json/planted"], ids=["a file", "a folder"])
def test_results_that_the_checkout_brings_do_not_stand_for_the_run(step: Step, name: str) -> None:
    step.change("prompts/greeting.md")
    planted = step.folder / "report" / name
    planted.parent.mkdir(parents=True)
    report = sample_report()
    planted.write_text(
        render_results(summarise(replace(report, subject=replace(report.subject, run_id=77, run_attempt=1))))
    )

    assert step.publish(RATIBA_COMMENT="false") == 0
    assert run(["report", "--unfinished"], step.environment | {"RATIBA_COMMENT": "false"}) == 3

    report = load_report((step.folder / "report/results.json").read_bytes())
    assert (report.verdict.conclusion, report.results) == (Conclusion.INCOMPLETE, ())


def test_results_behind_a_link_are_not_touched_and_the_run_does_not_start(
    step: Step, capsys: pytest.CaptureFixture[str]
) -> None:
    step.change("app.py")
    elsewhere = step.folder / "elsewhere" / "results.json"
    elsewhere.parent.mkdir()
    elsewhere.write_text("kept")
    (step.folder / "report").symlink_to(elsewhere.parent)

    assert step.publish(RATIBA_COMMENT="false") == 2

    assert elsewhere.read_text() == "kept"
    assert "a symbolic link leads it elsewhere" in capsys.readouterr().out


def test_a_defect_of_deciding_makes_the_run_blocking_and_lets_it_go_on(
    step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    def defect(*_: object) -> None:
        raise RecursionError

    step.change("docs/guide.md")
    monkeypatch.setattr("ratiba_action.decide.deciding.decide", defect)

    assert step.publish() == 0

    assert step.outputs["mode"] == "blocking"
    assert "the mode could not be decided" in step.outputs["reasons"]
    assert "conclusion" not in step.outputs


def test_pull_request_target_is_refused(step: Step, capsys: pytest.CaptureFixture[str]) -> None:
    step.change("app.py")

    assert step.publish(GITHUB_EVENT_NAME="pull_request_target") == 2

    assert "::error title=Ratiba%3A ratiba::The event 'pull_request_target' is refused" in capsys.readouterr().out
    assert step.outputs["conclusion"] == "incomplete"


@pytest.mark.parametrize("variables", [{}, {"RATIBA_SCENARIOS": "a" * 5_000}], ids=["no network", "a defect"])
def test_a_manual_run_does_not_start_while_nobody_knows_whose_code_it_is(
    step: Step, capsys: pytest.CaptureFixture[str], variables: dict[str, str]
) -> None:
    step.change("app.py")
    by_hand = {"inputs": {"pull-request": "7", "commit": step.head}, "repository": {"full_name": "salon/assistant"}}
    (step.folder / "event.json").write_text(json.dumps(by_hand))

    assert step.publish(GITHUB_EVENT_NAME="workflow_dispatch", **variables) == 2

    assert "A manual run is refused while its pull request cannot be read" in capsys.readouterr().out
    assert (step.outputs["mode"], step.outputs["conclusion"]) == ("blocking", "incomplete")


@pytest.mark.parametrize("file", ["docs/`id`::error::x.md", "::error::x##[error]\n.py"])
def test_titles_and_paths_are_no_commands(step: Step, capsys: pytest.CaptureFixture[str], file: str) -> None:
    step.change(file, title=TITLE)

    assert step.publish(RATIBA_COMMENT="false") == 0

    log = capsys.readouterr().out
    assert "set-output name=a" in log
    assert [line for line in commands(log) if line != f"::add-mask::{TOKEN}"] == []


def test_many_reasons_are_folded(step: Step, capsys: pytest.CaptureFixture[str]) -> None:
    step.change(*(f"app_{number}.py" for number in range(20)))

    assert step.publish() == 0

    assert commands(capsys.readouterr().out)[1:] == ["::group::Why (20)", "::endgroup::"]


def test_json_stays_alone_on_the_standard_output(step: Step, capsys: pytest.CaptureFixture[str]) -> None:
    step.change("docs/guide.md")

    assert run(["decide", "--publish", "--json"], step.environment | {"RATIBA_COMMENT": "false"}) == 0

    assert json.loads(capsys.readouterr().out)["mode"] == "skip"


def test_the_runner_is_reported_to_hide_the_token_before_anything_is_printed(
    step: Step, capsys: pytest.CaptureFixture[str]
) -> None:
    step.change("docs/guide.md", title=f"leak {TOKEN}")
    with github_server(GithubState(heads={7: step.head})) as address:
        assert step.publish(GITHUB_API_URL=address) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if TOKEN in line]
    assert lines[0] == f"::add-mask::{TOKEN}"
    assert [line for line in lines[1:] if not line.startswith("Pull request 7")] == []
    assert [path for path in (step.folder / "report").iterdir() if TOKEN in path.read_text(encoding="utf-8")] == []


@pytest.mark.processes
@pytest.mark.parametrize("mode", ["auto", "off"])
def test_nothing_but_the_standard_library_is_imported(step: Step, mode: str) -> None:
    step.change("docs/guide.md")
    script = (
        "import os, sys; sys.path.insert(0, sys.argv[1])\n"
        "from ratiba_action.main import run\n"
        "code = run(['decide', '--publish'], os.environ)\n"
        "names = {name.partition('.')[0] for name in sys.modules}\n"
        "print(code, sorted(names - set(sys.stdlib_module_names) - {'__main__', 'ratiba_action', '__mp_main__'}))\n"
    )
    with github_server(GithubState(heads={7: step.head})) as address:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", script, str(ENTRYPOINT.parent)],
            env=step.environment | {"RATIBA_MODE": mode, "GITHUB_API_URL": address},
            capture_output=True,
            text=True,
            check=True,
            cwd=step.folder,
        )
    assert done.stdout.splitlines()[-1] == f"{0 if mode == 'auto' else 2} []"
    assert (step.folder / "report/results.json").exists()
