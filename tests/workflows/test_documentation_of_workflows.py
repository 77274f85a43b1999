"""What people copy from the documentation is what is linted and tried."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from ratiba_action.settings.settings import INPUTS
from tests.support.workflow_files import workflow_files

PROJECT = Path(__file__).parents[2]
OWN = PROJECT / ".github" / "workflows" / "eval-on-prompt-change.yml"
FORMS = PROJECT / "docs" / "workflow-forms.md"
PAGES = [PROJECT / "README.md", PROJECT / "docs" / "workflows.md", FORMS, PROJECT / "docs" / "forks.md"]


def copied(path: Path) -> str:
    """The file as users have it: the action of a release, and the configuration in its usual place."""
    text = path.read_text("utf-8").replace("uses: ./\n", "uses: OWNER/ratiba-eval-gate@COMMIT\n")
    return text.replace(".github/ratiba.container.yml", ".github/ratiba.yml")


def blocks(page: Path) -> list[str]:
    return re.findall(r"```yaml\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


def whole_workflows(page: Path) -> list[str]:
    return [block for block in blocks(page) if "\njobs:\n" in block and "ratiba-eval-gate" in block]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_whole_workflow_of_the_documentation_is_a_file(page: Path) -> None:
    files = [copied(path) for path in workflow_files(PROJECT)]
    assert [block for block in whole_workflows(page) if "uses: OWNER" in block and block not in files] == []


def test_the_pages_show_each_form_whole() -> None:
    names = {yaml.safe_load(block)["name"] for page in PAGES for block in whole_workflows(page)}
    assert names == {"eval-on-prompt-change", "eval-three-jobs", "publish-fork-report"}


def test_action_and_configuration_are_the_only_differences_between_our_workflow_and_the_copied_one() -> None:
    ours, theirs = OWN.read_text("utf-8").splitlines(), copied(OWN).splitlines()
    assert [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]] == [
        ("        uses: ./", "        uses: OWNER/ratiba-eval-gate@COMMIT"),
        ("          config: .github/ratiba.container.yml", "          config: .github/ratiba.yml"),
    ]


def test_the_form_with_a_service_is_the_one_job_form_with_the_parts_that_the_guide_names() -> None:
    text = (PROJECT / "examples" / "workflows" / "eval-with-postgres.yml").read_text("utf-8")
    for part in blocks(FORMS):
        if "\njobs:\n" not in part:
            text = text.replace(part, "")
    assert text.partition("\nname:")[2] == copied(OWN).partition("\nname:")[2]


def test_the_workflows_give_the_action_only_inputs_that_it_has() -> None:
    action = yaml.safe_load((PROJECT / "action.yml").read_text("utf-8"))
    known = set(action["inputs"])
    assert {entry.name for entry in INPUTS} <= known
    for path in workflow_files(PROJECT):
        for job in yaml.safe_load(path.read_text("utf-8"))["jobs"].values():
            for step in job.get("steps", []):
                if re.fullmatch(r"\./|OWNER/ratiba-eval-gate@COMMIT", step.get("uses", "")):
                    assert set(step["with"]) <= known, path.name


def test_the_second_workflow_waits_for_the_first_and_takes_its_artifact() -> None:
    second = yaml.safe_load((PROJECT / "examples/workflows/publish-fork-report.yml").read_text("utf-8"))
    first = yaml.safe_load(OWN.read_text("utf-8"))
    (job,) = second["jobs"].values()
    uploads = [step["with"] for step in first["jobs"]["eval"]["steps"] if "upload-artifact" in step["uses"]]
    uploaded = [given["name"] for given in uploads if given.get("archive", True)]
    assert second[True]["workflow_run"]["workflows"] == [first["name"]]
    (taken,) = [step["with"]["name"] for step in job["steps"] if "download-artifact" in step["uses"]]
    assert uploaded == [taken, "ratiba-baseline"]
    assert not any("checkout" in step["uses"] for step in job["steps"])


def test_the_workflow_of_the_example_consumer_is_the_copied_one() -> None:
    consumer = PROJECT / "examples" / "consumer" / ".github" / "workflows" / OWN.name
    ours = re.compile(r"uses: OWNER/ratiba-eval-gate@.*")
    assert ours.sub("", consumer.read_text("utf-8")) == ours.sub("", copied(OWN))


def shard_of(line: str, **variables: str) -> str:
    """The share that a line of the guide gives to the gate."""
    printing = 'ratiba() { echo "$RATIBA_SHARD"; }\n'
    environment = {"PATH": os.environ["PATH"], **variables}
    done = subprocess.run(["bash", "-c", printing + line], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_forms_of_other_engines_give_each_job_its_share() -> None:
    page = (PROJECT / "docs" / "shards.md").read_text("utf-8")
    gitlab, kubernetes = re.findall(r"^ +- (RATIBA_SHARD=.*)$", page, re.MULTILINE)
    assert [shard_of(gitlab, CI_NODE_INDEX=str(index), CI_NODE_TOTAL="8") for index in (1, 8)] == ["1/8", "8/8"]
    assert [shard_of(kubernetes, JOB_COMPLETION_INDEX=str(index)) for index in (0, 3)] == ["1/4", "4/4"]
    for block in blocks(PROJECT / "docs" / "shards.md"):
        yaml.safe_load(block)
    merges = re.findall(r"ratiba merge [^`\n]+", page)
    assert "ratiba merge shard-*/" in merges
    assert "ratiba merge /reports/shard-*/" in merges


def test_the_folder_of_reports_that_a_workflow_gives_is_never_empty() -> None:
    given = [
        step["with"]["shards"]
        for path in workflow_files(PROJECT)
        for job in yaml.safe_load(path.read_text("utf-8"))["jobs"].values()
        for step in job.get("steps", [])
        if "shards" in step.get("with", {})
    ]
    assert given, "no workflow merges shards"
    for folder in given:
        assert re.sub(r"\$\{\{.*?\}\}", "", folder).strip("/"), f"{folder} may be empty: the merge would be a whole run"


def test_the_steps_that_keep_a_journal_are_those_of_the_matrix() -> None:
    (block,) = [each for each in blocks(PROJECT / "docs" / "money.md") if "ratiba-journal" in each]
    matrix = (PROJECT / "examples/workflows/eval-matrix.yml").read_text("utf-8")
    shard = yaml.safe_load(matrix.replace("ratiba-journal-${{ matrix.shard }}-", "ratiba-journal-"))["jobs"]["shard"]
    fetch, gate, keep = yaml.safe_load(block)
    for step in (fetch, keep):
        assert {**step, "name": ""} in [{**each, "name": ""} for each in shard["steps"]]
    assert f"journal-key: {gate['with']['journal-key']}" in matrix


def test_what_init_writes_is_the_short_form_and_the_long_one() -> None:
    starter = PROJECT / "ratiba_action" / "authoring" / "starter"
    assert (starter / "eval-on-prompt-change.yml").read_text("utf-8") == (
        PROJECT / "examples" / "workflows" / "eval-in-short.yml"
    ).read_text("utf-8")
    assert (starter / "eval-with-own-steps.yml").read_text("utf-8") == copied(OWN)


def test_the_called_workflow_has_the_steps_and_names_of_the_long_form() -> None:
    """What differs is where a manual run's answers stand, the action, and what is handed on."""
    called = yaml.safe_load((PROJECT / ".github/workflows/gate.yml").read_text("utf-8"))["jobs"]["eval"]
    long = yaml.safe_load(OWN.read_text("utf-8"))["jobs"]["eval"]
    for key in ("name", "timeout-minutes", "permissions"):
        assert called[key] == long[key]
    differing = {"uses", "with"}
    for theirs, ours in zip(called["steps"], long["steps"], strict=True):
        assert {k: v for k, v in theirs.items() if k not in differing} == {
            k: v for k, v in ours.items() if k not in differing
        }
        if ours.get("id") != "gate":
            text = json.dumps(ours).replace("inputs.", "github.event.inputs.")
            assert json.dumps(theirs).replace("${{ inputs.name }}", "ratiba") == text
