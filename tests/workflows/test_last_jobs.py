"""The jobs that are required pass on success alone: their scripts, run with every result that GitHub may give."""

import itertools
import subprocess
from pathlib import Path

import pytest

from tests.support.workflow_files import run_block

PROJECT = Path(__file__).parents[2]
RESULTS = ("success", "failure", "cancelled", "skipped", "")
MODES = ("blocking", "advisory", "skip", "")


def passes(workflow: str, step: str, environment: dict[str, str]) -> bool:
    """Whether the step's script passes in the shell that GitHub runs it with."""
    script = run_block((PROJECT / workflow).read_text("utf-8"), step)
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.parametrize(
    ("workflow", "job", "done"), [("three-jobs", "EVALUATE", "evaluated"), ("matrix", "MERGE", "merged")]
)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("decide", RESULTS)
def test_jobs_are_green_only_when_skipped_by_decision_or_done(
    decide: str, mode: str, workflow: str, job: str, done: str
) -> None:
    step = f"Pass only what was skipped by decision, or {done} with success"
    file, decided = f"examples/workflows/eval-{workflow}.yml", {"DECIDE": decide, "MODE": mode}
    green = {result for result in RESULTS if passes(file, step, {**decided, job: result})}
    expected = {"success"} | ({"skipped"} if mode == "skip" else set())
    assert green == (expected if decide == "success" else set())


@pytest.mark.parametrize("results", list(itertools.product(RESULTS[:4], repeat=3)), ids=" ".join)
def test_the_projects_own_check_is_green_only_when_every_job_succeeded(results: tuple[str, ...]) -> None:
    green = passes(".github/workflows/ci.yml", "Every job has succeeded", {"RESULTS": " ".join(results)})
    assert green == (set(results) == {"success"})


def test_no_result_at_all_is_not_green() -> None:
    assert not passes(".github/workflows/ci.yml", "Every job has succeeded", {"RESULTS": ""})
