"""Every workflow and action file, those that users copy too, keeps the same few rules."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ratiba_action.settings.settings import INPUTS
from tests.support.workflow_files import action_files, problems_of, workflow_files

PROJECT = Path(__file__).parents[2]
FILES = [*workflow_files(PROJECT), *action_files(PROJECT)]
REUSABLE = PROJECT / ".github/workflows/gate.yml"
SHORT = PROJECT / "examples/workflows/eval-in-short.yml"
EVALUATING = [
    REUSABLE,
    PROJECT / ".github/workflows/eval-on-prompt-change.yml",
    PROJECT / "examples/consumer/.github/workflows/eval-on-prompt-change.yml",
    PROJECT / "examples/workflows/eval-three-jobs.yml",
    PROJECT / "examples/workflows/eval-with-postgres.yml",
]
EDITED_TEXT = "github.event.action == 'edited' && !github.event.changes.base"
GOOD = """
on: pull_request
permissions: {}
concurrency: {group: a}
jobs:
  eval:
    timeout-minutes: 5
    permissions:
      contents: read  # check out
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1  # v7.0.1
        with:
          persist-credentials: false
      - run: echo "$NAME"
        env:
          NAME: ${{ github.head_ref }}
"""
MISTAKES = {
    "a branch's name in a script": (
        'echo "$NAME"',
        'echo "${{ github.head_ref }}"',
        "an expression stands in a script",
    ),
    "an action by tag": ("3d3c42e5aac5ba805825da76410c181273ba90b1", "v7", "is not pinned"),
    "a pin that does not say its version": ("  # v7.0.1", "", "is not pinned"),
    "permissions for every job": ("permissions: {}", "permissions: {contents: read}", "permissions are not empty"),
    "a job with the workflow's permissions": (
        "    permissions:\n      contents: read  # check out\n",
        "",
        "does not say its permissions",
    ),
    "a permission without a reason": ("  # check out", "", "is not justified"),
    "a job without an end": ("    timeout-minutes: 5\n", "", "has no timeout"),
    "credentials that stay": ("persist-credentials: false", "fetch-depth: 2", "leaves its credentials"),
    "a fork's code with secrets": ("on: pull_request", "on: {pull_request_target: }", "pull_request_target"),
    "runs that pile up": ("concurrency: {group: a}\n", "", "which of its runs replace each other"),
}


def workflow(name: str) -> Any:
    return yaml.safe_load((PROJECT / ".github" / "workflows" / name).read_text("utf-8"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PROJECT)))
def test_the_file_keeps_the_rules(path: Path) -> None:
    assert problems_of(path.read_text("utf-8")) == []


def test_the_files_are_there() -> None:
    assert {path.relative_to(PROJECT).as_posix() for path in FILES} >= {
        ".github/workflows/ci.yml",
        ".github/workflows/eval-on-prompt-change.yml",
        ".github/workflows/release.yml",
        "examples/workflows/eval-every-night.yml",
        "examples/workflows/eval-three-jobs.yml",
        "examples/workflows/eval-with-postgres.yml",
        "examples/workflows/promote-feedback.yml",
        "examples/workflows/publish-fork-report.yml",
        "action.yml",
    }


def test_a_file_without_a_mistake_has_no_problem() -> None:
    assert problems_of(GOOD) == []


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_planted_mistake_is_found(mistake: str) -> None:
    good, bad, expected = MISTAKES[mistake]
    assert GOOD.count(good) == 1
    (problem,) = problems_of(GOOD.replace(good, bad))
    assert expected in problem


def test_an_expression_in_a_script_of_an_action_is_found() -> None:
    text = "runs: {using: composite, steps: [{shell: bash, run: 'echo ${{ inputs.mode }}'}]}"
    assert "an expression stands in a script" in problems_of(text)[0]


def test_the_required_check_of_the_project_waits_for_every_other_job() -> None:
    found = workflow("ci.yml")["jobs"]
    assert set(found) - {"ci"} == set(found["ci"]["needs"])
    assert found["ci"]["if"] == "always()"


def test_the_evaluating_job_is_there_for_every_event() -> None:
    content = workflow("eval-on-prompt-change.yml")
    assert set(content["jobs"]) == {"eval"}
    assert "if" not in content["jobs"]["eval"]
    assert set(content[True]) == {"pull_request", "merge_group", "push", "workflow_dispatch"}
    assert not any("paths" in (trigger or {}) for trigger in content[True].values())


@pytest.mark.parametrize("path", workflow_files(PROJECT), ids=lambda path: path.name)
def test_only_a_push_to_a_pull_request_cancels_a_run(path: Path) -> None:
    content = yaml.safe_load(path.read_text("utf-8"))
    if all("uses" in job for job in content["jobs"].values()):
        return  # the called workflow says it
    concurrency = content["concurrency"]
    first = "github.event_name == 'pull_request' && github.run_attempt == 1"
    assert concurrency["cancel-in-progress"] in (
        False,
        f"${{{{ {first} }}}}",
        f"${{{{ {first} && !({EDITED_TEXT}) }}}}",
    )
    if concurrency["cancel-in-progress"]:
        # A group holds one waiting run only: whatever is not replaced on purpose needs a group of its own.
        assert concurrency["group"].endswith("&& github.event.pull_request.number || github.run_id }}")


@pytest.mark.parametrize("path", EVALUATING, ids=lambda path: path.name)
def test_a_run_for_an_edited_title_neither_cancels_nor_bears_the_required_name(path: Path) -> None:
    content = yaml.safe_load(path.read_text("utf-8"))
    if path != REUSABLE:
        assert content[True]["pull_request"]["types"] == ["opened", "synchronize", "reopened", "edited"]
    assert f"!({EDITED_TEXT})" in content["concurrency"]["group"]
    assert f"!({EDITED_TEXT})" in content["concurrency"]["cancel-in-progress"]
    assert f"{EDITED_TEXT} && 'eval not needed' || 'eval'" in content["jobs"]["eval"]["name"]


@pytest.mark.parametrize("path", [*EVALUATING, PROJECT / ".github/workflows/ci.yml"], ids=lambda path: path.name)
def test_an_upload_that_fails_is_no_verdict(path: Path) -> None:
    jobs = yaml.safe_load(path.read_text("utf-8"))["jobs"].values()
    uploads = [step for job in jobs for step in job["steps"] if "upload-artifact@" in step.get("uses", "")]
    assert [step.get("continue-on-error") for step in uploads] == [True] * len(uploads) != []


@pytest.mark.parametrize("path", EVALUATING, ids=lambda path: path.name)
def test_each_report_is_also_uploaded_as_the_page_that_a_browser_opens(path: Path) -> None:
    jobs = yaml.safe_load(path.read_text("utf-8"))["jobs"].values()
    uploads = [step for job in jobs for step in job["steps"] if "upload-artifact@" in step.get("uses", "")]
    reports = [step for step in uploads if step["name"] == "Keep the report"]
    pages = [step for step in uploads if step["with"].get("archive") is False]
    assert [step["with"]["path"] for step in pages] == ["ratiba-report/report.html"] * len(reports)
    assert [step["if"] for step in pages] == [step["if"] for step in reports]
    assert all("name" not in step["with"] for step in pages), "upload-artifact ignores it"


def test_the_short_form_is_short_and_gives_the_called_workflow_what_it_asks_for_and_no_more() -> None:
    text = SHORT.read_text("utf-8")
    assert len([line for line in text.splitlines() if not line.startswith("#")]) <= 17
    (job,) = yaml.safe_load(text)["jobs"].values()
    (called,) = yaml.safe_load(REUSABLE.read_text("utf-8"))["jobs"].values()
    assert job["permissions"] == called["permissions"]
    assert job["uses"] == "OWNER/ratiba-eval-gate/.github/workflows/gate.yml@COMMIT"
    assert re.findall(r"OWNER|COMMIT", text) == ["OWNER", "COMMIT"]


def test_the_called_workflow_offers_every_input_of_the_action_that_it_does_not_set_itself() -> None:
    action = yaml.safe_load((PROJECT / "action.yml").read_text("utf-8"))["inputs"]
    call = yaml.safe_load(REUSABLE.read_text("utf-8"))[True]["workflow_call"]
    left_out = {"pull-request", "github-token", "report-dir", "shard", "shards", "journal-key"}
    assert set(call["inputs"]) | set(call["secrets"]) == set(action) - left_out | {"runs-on"}
    for name, entry in call["inputs"].items():
        if name != "runs-on":
            assert entry["description"] == action[name]["description"]
            assert json.dumps(entry["default"]).strip('"') == action[name]["default"]
    secrets = {entry.name for entry in INPUTS if entry.secret}
    assert secrets - set(call["secrets"]) == {"github-token", "journal-key"}
    assert set(call["inputs"]) & secrets == set()


def test_the_called_workflow_runs_the_action_of_its_own_commit_with_nothing_of_the_checkout() -> None:
    (job,) = yaml.safe_load(REUSABLE.read_text("utf-8"))["jobs"].values()
    (gate,) = [step for step in job["steps"] if step.get("id") == "gate"]
    assert gate["uses"] == "$/."
    assert [step for step in job["steps"] if "run" in step] == []
