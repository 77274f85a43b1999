"""The reports of shards enter the container of their merge, which names them by a place of its own."""

import subprocess
from pathlib import Path

import pytest

from tests.support.act import ACTION, Act
from tests.support.consumer_repository import Repositories
from tests.support.github_server import GithubState, github_server
from tests.support.small_repository import SCENARIO

SCRIPT = Path(__file__).parents[2] / "action" / "container.sh"
CREATE = """
. "$1"
docker() { printf '%s\\n' "$@" >>"$LOG"; }
mounts_work() { return 0; }
ENDED="" CANCELLED="" IMAGE=gate REPORT=/report VOLUMES=()
prepare_boxes "$WORK"
create_container "$WORK" gate
"""


def created(folder: Path, shards: str) -> tuple[list[str], Path]:
    """The words that a container is made with, and its inbox."""
    work, log = folder / "work", folder / "log"
    environment = {
        "PATH": "/usr/bin:/bin",
        "GITHUB_WORKSPACE": str(folder),
        "WORK": str(work),
        "LOG": str(log),
        "RATIBA_SHARDS": shards,
        "RUNNER_TEMP": str(folder),
    }
    subprocess.run(["bash", "-euc", CREATE, "create", str(SCRIPT)], env=environment, check=True, capture_output=True)
    return log.read_text().splitlines(), work / "inbox"


def test_a_merge_gets_the_reports_of_the_shards_read_only(tmp_path: Path) -> None:
    report = tmp_path / "artifacts" / "ratiba-shard-1-attempt-1" / "results.json"
    report.parent.mkdir(parents=True)
    report.write_text("{}")
    words, inbox = created(tmp_path, str(tmp_path / "artifacts"))
    given = [word for word in words if word.startswith("RATIBA_SHARDS")]
    assert given[-1] == "RATIBA_SHARDS=/run/ratiba/shards", "Docker takes the last one"
    assert (inbox / "shards" / "ratiba-shard-1-attempt-1" / "results.json").read_text() == "{}"
    assert f"type=bind,source={inbox},target=/run/ratiba,readonly" in words


def test_a_merge_without_any_artifact_is_a_merge_all_the_same(tmp_path: Path) -> None:
    words, inbox = created(tmp_path, str(tmp_path / "nothing-was-downloaded"))
    assert "RATIBA_SHARDS=/run/ratiba/shards" in words
    assert not (inbox / "shards").exists()


def test_every_other_run_merges_nothing(tmp_path: Path) -> None:
    words, _ = created(tmp_path, "")
    assert not [word for word in words if word.startswith("RATIBA_SHARDS")]


WORKFLOW = f"""
name: shards
on: pull_request
permissions: {{}}
jobs:
  shards:
    name: shards
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1  # v7.0.1
      - uses: {ACTION}
        with: {{shard: 1/2, report-dir: shards/first}}
      - uses: {ACTION}
        with: {{shard: 2/2, report-dir: shards/second}}
      - id: gate
        uses: {ACTION}
        with: {{shards: shards}}
"""


@pytest.mark.docker
def test_the_action_runs_shards_and_merges_them_into_one_comment(act: Act, repositories: Repositories) -> None:
    turn = "  - user: say Bonjour\n    expect: {state: ELSEWHERE}"
    files = {
        "scenarios/other.yaml": SCENARIO.format(name="other", turns=turn),
        ".github/workflows/shards.yml": WORKFLOW,
    }
    repository = repositories.small(more=files)
    repository.propose({"prompts/greeting.md": "Say Bonjour to everybody.\n"})
    github = GithubState(heads={7: repository.head})
    with github_server(github) as api:
        event = repository.pull_request_event()
        run = act.run(repository, "pull_request", event, api, workflow=".github/workflows/shards.yml")
    assert run.code != 0, run.printed
    assert set(run.exit_codes.values()) == {1}, "no shard fails, the merge does"
    outputs = run.outputs
    assert (outputs["conclusion"], outputs["passed"], outputs["failed"]) == ("failed", "1", "1"), run.printed
    (comment,) = github.comments
    assert "1 of 2 scenarios failed a deterministic assertion: other" in str(comment["body"])
