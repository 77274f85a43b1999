"""Pull requests in a repository that uses the action: its own packages, its own table, its own workflow."""

import json
import subprocess
import time
from collections.abc import Mapping
from typing import NamedTuple

import pytest

from tests.support.act import TOKEN, Act
from tests.support.act_run import ActRun
from tests.support.consumer_repository import ConsumerRepository, Repositories
from tests.support.github_server import GithubState, github_server
from tests.support.workflow_for_act import Adjustments

pytestmark = pytest.mark.docker
PROMPT, REPORT = "prompts/order_taker.md", "ratiba-report/"


class Ran(NamedTuple):
    """A run, the repository that it ran in, and what GitHub knows afterwards."""

    run: ActRun
    repository: ConsumerRepository
    github: GithubState

    @property
    def comment(self) -> str:
        (comment,) = self.github.comments
        return str(comment["body"])


def proposed(act: Act, repository: ConsumerRepository, changed: Mapping[str, str]) -> Ran:
    repository.propose(changed)
    github = GithubState(heads={7: repository.head})
    with github_server(github) as api:
        run = act.run(repository, "pull_request", repository.pull_request_event(), api)
    return Ran(run, repository, github)


@pytest.fixture(scope="module")
def tone(act: Act, repositories: Repositories) -> Ran:
    """A note to the prompt's editors changes: everything runs, and nothing that the model is sent differs."""
    repository = repositories.consumer()
    return proposed(act, repository, {PROMPT: repository.text(PROMPT).replace("For editors", "For all editors")})


@pytest.fixture(scope="module")
def lost_state(act: Act, repositories: Repositories) -> Ran:
    """The small system ends in another state: no packages are installed for each part of the change that is tried."""
    repository = repositories.small()
    adapter = repository.text("adapter.py").replace('"state": "SAID"', '"state": "LOST"')
    return proposed(act, repository, {"adapter.py": adapter, "prompts/greeting.md": "Say Bonjour, warmly.\n"})


def test_a_prompt_edit_passes_and_its_outputs_say_so(tone: Ran) -> None:
    assert tone.run.code == 0, tone.run.printed
    outputs = tone.run.outputs
    assert (outputs["mode"], outputs["conclusion"], outputs["regression-detected"]) == ("blocking", "passed", "false")
    assert (outputs["passed"], outputs["failed"], outputs["spent-usd"]) == ("2", "0", "0")
    assert {reason["path"] for reason in json.loads(outputs["reasons"])} == {PROMPT}


def test_one_comment_says_what_was_measured(tone: Ran) -> None:
    assert "## Passed" in tone.comment
    assert f"head={tone.repository.head}" in tone.comment.splitlines()[0]
    assert tone.run.outputs["comment-url"].startswith("https://github.com/salon/assistant/pull/7")


def test_the_summary_and_the_report_directory_hold_the_same(tone: Ran) -> None:
    assert "## Passed" in tone.run.summary
    files = tone.run.files()
    names = {name.removeprefix(REPORT) for name in files if name.startswith(REPORT)}
    assert {"results.json", "comment.md", "report.html", "junit.xml", "results.csv"} <= names
    assert json.loads(files[f"{REPORT}results.json"])["outputs"]["conclusion"] == "passed"


@pytest.mark.parametrize("name", ["tone", "lost_state"])
def test_the_workspace_is_as_it_was_but_for_the_report(name: str, request: pytest.FixtureRequest) -> None:
    ran: Ran = request.getfixturevalue(name)
    kept = {path: content for path, content in ran.run.files().items() if not path.startswith(REPORT)}
    assert kept == ran.repository.files()
    assert ran.run.owners() == {(0, 0)}  # act checks out as root


def test_a_regression_fails_the_step_with_the_exit_code_of_the_gate(lost_state: Ran) -> None:
    assert lost_state.run.code == 1
    assert lost_state.run.exit_codes["conclude"] == 1, lost_state.run.printed
    outputs = lost_state.run.outputs
    assert (outputs["conclusion"], outputs["regression-detected"], outputs["failed"]) == ("failed", "true", "1")
    assert "## Failed" in lost_state.comment
    assert "greeting" in lost_state.comment


def test_a_regression_is_annotated_at_the_line_of_the_scenario(lost_state: Ran) -> None:
    scenario = "scenarios/greeting.yaml"
    errors = [note for note in lost_state.run.annotations if note.level == "error"]
    (at_scenario,) = [note for note in errors if note.properties.get("file") == scenario]
    line = lost_state.repository.text(scenario).splitlines()[int(at_scenario.properties["line"]) - 1]
    assert "say Bonjour" in line
    assert "LOST" in at_scenario.message


def test_the_token_is_nowhere_in_what_a_run_leaves(tone: Ran) -> None:
    assert TOKEN not in tone.run.printed + tone.comment + tone.run.summary
    assert not [name for name, content in tone.run.files().items() if TOKEN.encode() in content]


def test_a_change_of_documentation_is_skipped_with_no_container_and_marks_the_comment(
    act: Act, repositories: Repositories
) -> None:
    repository = repositories.consumer()
    repository.propose({"README.md": "# A bakery\n"})
    github = GithubState(heads={7: repository.head})
    marker = f"<!-- ratiba-eval-gate name=ratiba head={repository.base} run=1 attempt=1 -->"
    github.add_comment(f"{marker}\n## Passed: ratiba\n", "github-actions[bot]")
    begun = int(time.time())
    image = f"{act.image}-that-is-not-there"
    with github_server(github) as api:
        adjustments = Adjustments({"image": image})
        event = repository.pull_request_event()
        run = act.run(repository, "pull_request", event, api, adjustments=adjustments, variables={"GITHUB_RUN_ID": "2"})
    assert run.code == 0, run.printed
    assert (run.outputs["mode"], run.outputs["conclusion"]) == ("skip", "skipped")
    (comment,) = github.comments
    assert "skipped" in comment["body"].lower()
    assert f"head={repository.head} run=2 " in comment["body"]
    assert "skipped" in run.summary.lower()
    assert containers(begun, image) == []
    assert {path: content for path, content in run.files().items() if not path.startswith(REPORT)} == repository.files()


def containers(begun: int, image: str) -> list[str]:
    """The containers that were made of an image since then."""
    command = ["docker", "events", "--since", str(begun), "--until", str(int(time.time()) + 1)]
    command += ["--filter", "type=container", "--filter", "event=create", "--format", "{{.Actor.Attributes.image}}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if line == image]
