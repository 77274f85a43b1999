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


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("decide", RESULTS)
def test_three_jobs_are_green_only_when_skipped_by_decision_or_evaluated(decide: str, mode: str) -> None:
    step = "Pass only what was skipped by decision, or evaluated with success"
    green = {
        result
        for result in RESULTS
        if passes("examples/workflows/eval-three-jobs.yml", step, {"DECIDE": decide, "MODE": mode, "EVALUATE": result})
    }
    expected = {"success"} | ({"skipped"} if mode == "skip" else set())
    assert green == (expected if decide == "success" else set())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("decide", RESULTS)
def test_a_matrix_is_green_only_when_skipped_by_decision_or_merged(decide: str, mode: str) -> None:
    step = "Pass only what was skipped by decision, or merged with success"
    green = {
        result
        for result in RESULTS
        if passes("examples/workflows/eval-matrix.yml", step, {"DECIDE": decide, "MODE": mode, "MERGE": result})
    }
    expected = {"success"} | ({"skipped"} if mode == "skip" else set())
    assert green == (expected if decide == "success" else set())


@pytest.mark.parametrize("results", list(itertools.product(RESULTS[:4], repeat=3)), ids=" ".join)
def test_the_projects_own_check_is_green_only_when_every_job_succeeded(results: tuple[str, ...]) -> None:
    green = passes(".github/workflows/ci.yml", "Every job has succeeded", {"RESULTS": " ".join(results)})
    assert green == (set(results) == {"success"})


def test_no_result_at_all_is_not_green() -> None:
    assert not passes(".github/workflows/ci.yml", "Every job has succeeded", {"RESULTS": ""})
