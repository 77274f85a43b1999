"""What the workflows hand to their actions, and which jobs run: by act, with actions that only say what they got."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.act import act_command, runner_image, why_not

pytestmark = pytest.mark.docker
PROJECT = Path(__file__).parents[2]
ONE_JOB = PROJECT / ".github" / "workflows" / "eval-on-prompt-change.yml"
THREE_JOBS = PROJECT / "examples" / "workflows" / "eval-three-jobs.yml"
INPUTS = (
    *("ref", "fetch-depth", "persist-credentials", "config", "mode", "pull-request", "github-token", "database-url"),
    *("name", "path", "retention-days"),
)
COMMIT = "0123456789abcdef0123456789abcdef01234567"
DESCRIPTION = """
name: says what it got
inputs: {INPUTS}
outputs:
  mode: {value: MODE}
runs:
  using: composite
  steps:
    - shell: bash
      run: |
        printf '%s\\n' "$GIVEN"
        CODE
      env:
        GIVEN: ${{ toJSON(inputs) }}
"""


@dataclass(frozen=True, slots=True)
class Saying:
    """How every action of a run answers.

    Args:
        mode: its output.
        code: its last command.
    """

    mode: str = "blocking"
    code: str = "exit 0"


@dataclass(frozen=True, slots=True)
class Seen:
    """What a run came to.

    Args:
        given: by the step's name, the inputs that are not empty; absent where the step did not run.
        results: of each job that ran, by its name.
    """

    given: Mapping[str, Mapping[str, str]]
    results: Mapping[str, str]


def run(workflow: Path, event: str, place: Path, payload: Mapping[str, Any], saying: Saying | None = None) -> Seen:
    """Run a workflow in a repository that holds nothing else."""
    if reason := why_not():
        pytest.skip(reason)
    text = workflow.read_text("utf-8").replace("uses: ./\n", "uses: OWNER/ratiba-eval-gate@COMMIT\n")
    repository = introduce(place, text, saying or Saying())
    (place / "event.json").write_text(json.dumps(payload))
    used = {line.split()[1].replace("/decide@", "@") for line in text.splitlines() if line.strip().startswith("uses: ")}
    command = [
        *(act_command() or "act", event, "--json", "--directory", str(repository), "--rm", "--no-cache-server"),
        *("--eventpath", str(place / "event.json"), "--platform", f"ubuntu-latest={runner_image()}", "--pull=false"),
        *("--action-offline-mode", "--action-cache-path", str(place / "cache"), "--secret", "GITHUB_TOKEN=a-token"),
        *(word for action in sorted(used) for word in ("--local-repository", f"{action}={place / 'saying'}")),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return seen([json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")])


def introduce(place: Path, workflow: str, saying: Saying) -> Path:
    """Write the actions and the repository; returns the latter."""
    described = DESCRIPTION.replace("INPUTS", ", ".join(f"{name}: {{default: ''}}" for name in INPUTS))
    described = described.replace("MODE", saying.mode).replace("CODE", saying.code)
    repository = place / "repository"
    files = {
        place / "saying" / "action.yml": described,
        place / "saying" / "decide" / "action.yml": described,
        repository / ".github" / "workflows" / "eval.yml": workflow,
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git = ("git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@example.invalid")
    subprocess.run([*git, "init", "--quiet", "--initial-branch=main"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "Empty"], check=True)
    return repository


def seen(log: list[dict[str, Any]]) -> Seen:
    """Read act's log."""
    printed: dict[str, str] = {}
    for line in log:
        if line.get("raw_output") and str(line["msg"]).strip()[:1] in tuple('{}"'):
            printed[line["step"]] = printed.get(line["step"], "") + line["msg"]
    given = {step: {k: v for k, v in json.loads(text).items() if v} for step, text in printed.items()}
    results = {line["job"].partition("/")[2].strip(): line["jobResult"] for line in log if "jobResult" in line}
    return Seen(given, results)


def by_hand(**inputs: str) -> dict[str, Any]:
    return {"inputs": inputs, "ref": "refs/heads/main", "repository": {"full_name": "o/n", "default_branch": "main"}}


MANUAL_CHECKOUT = "Check out the pull request, or the branch, of a manual run"
PULL_REQUEST = {"number": 7, "pull_request": {"number": 7, "head": {"ref": "change"}, "base": {"ref": "main"}}}


@pytest.mark.parametrize(
    ("inputs", "ref"),
    [
        ({}, "refs/heads/main"),
        ({"pull-request": "7", "mode": "blocking"}, "refs/pull/7/merge"),
        ({"pull-request": "7", "mode": "auto", "commit": COMMIT}, COMMIT),
    ],
    ids=["nothing named", "a pull request", "a pull request and the commit that was read"],
)
def test_a_manual_run_checks_out_what_was_named_and_never_bears_the_required_name(
    tmp_path: Path, inputs: dict[str, str], ref: str
) -> None:
    found = run(ONE_JOB, "workflow_dispatch", tmp_path, by_hand(**inputs))
    assert found.results == {"eval by hand": "success"}
    checkout = found.given[MANUAL_CHECKOUT]
    assert (checkout["ref"], checkout["fetch-depth"], checkout["persist-credentials"]) == (ref, "0", "false")
    evaluated = found.given["Evaluate"]
    assert evaluated.get("mode") == inputs.get("mode", "auto")
    assert evaluated.get("pull-request") == inputs.get("pull-request")


def test_a_pull_request_bears_the_required_name_and_is_checked_out_as_it_would_merge(tmp_path: Path) -> None:
    found = run(ONE_JOB, "pull_request", tmp_path, PULL_REQUEST)
    assert found.results == {"eval": "success"}
    assert MANUAL_CHECKOUT not in found.given
    assert found.given["Evaluate"]["mode"] == "auto"
    assert found.given["Keep the report"] == {"name": "ratiba-report", "path": "ratiba-report", "retention-days": "90"}


@pytest.mark.parametrize("workflow", [ONE_JOB, THREE_JOBS], ids=["one job", "three jobs"])
def test_an_edited_title_evaluates_nothing_and_never_bears_the_required_name(tmp_path: Path, workflow: Path) -> None:
    event = {**PULL_REQUEST, "action": "edited", "changes": {"title": {"from": "Old"}, "body": {"from": ""}}}
    found = run(workflow, "pull_request", tmp_path, event, Saying(code="exit 1"))
    ended = {name: result for name, result in found.results.items() if name != "evaluate"}
    assert ended.pop("eval not needed") == "success"
    assert set(ended) <= {"decide"}
    assert set(found.given) & {"Decide", "Evaluate", "Keep the report"} == set()


@pytest.mark.parametrize("workflow", [ONE_JOB, THREE_JOBS], ids=["one job", "three jobs"])
def test_a_pull_request_with_another_base_is_evaluated_under_the_required_name(tmp_path: Path, workflow: Path) -> None:
    base = {"ref": {"from": "release"}, "sha": {"from": COMMIT}}
    event = {**PULL_REQUEST, "action": "edited", "changes": {"title": {"from": "Old"}, "base": base}}
    found = run(workflow, "pull_request", tmp_path, event, Saying(code="exit 1"))
    assert found.results["eval"] == "failure"
    assert set(found.given) & {"Decide", "Evaluate"}


def test_an_upload_that_fails_does_not_make_a_passed_change_red(tmp_path: Path) -> None:
    found = run(ONE_JOB, "pull_request", tmp_path, PULL_REQUEST, Saying(code="[[ $GIVEN != *retention-days*90* ]]"))
    assert found.given["Keep the report"]["name"] == "ratiba-report"
    assert found.results == {"eval": "success"}


def test_a_skip_leaves_its_report_too(tmp_path: Path) -> None:
    found = run(ONE_JOB, "pull_request", tmp_path, PULL_REQUEST, Saying("skip"))
    assert found.results == {"eval": "success"}
    assert found.given["Keep the report"]["name"] == "ratiba-report"


def test_a_failed_evaluation_is_red_and_its_report_is_kept(tmp_path: Path) -> None:
    found = run(ONE_JOB, "pull_request", tmp_path, PULL_REQUEST, Saying(code="[[ $GIVEN != *ratiba.container.yml* ]]"))
    assert found.results == {"eval": "failure"}
    assert "Keep the report" in found.given


def test_three_jobs_with_a_skip_start_no_service_and_are_green(tmp_path: Path) -> None:
    found = run(THREE_JOBS, "pull_request", tmp_path, PULL_REQUEST, Saying("skip"))
    assert {"decide", "eval"} == {name for name, result in found.results.items() if result == "success"}
    assert "Evaluate" not in found.given
    assert found.given["Keep the report of a skip, or of a wrong start"]["name"] == "ratiba-report"


@pytest.mark.parametrize("mode", ["skip", "blocking"])
def test_three_jobs_whose_decision_failed_are_red_whatever_it_said(tmp_path: Path, mode: str) -> None:
    found = run(THREE_JOBS, "pull_request", tmp_path, PULL_REQUEST, Saying(mode, "exit 1"))
    assert found.results["decide"] == "failure"
    assert found.results["eval"] == "failure"
    assert "Evaluate" not in found.given
