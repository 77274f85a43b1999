"""The example systems as a newcomer runs them: by the commands of their pages, without a key, Docker or a database."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).parents[2]
EXAMPLES = PROJECT / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/README.md") if "EXAMPLE=" in path.read_text("utf-8"))
COMMAND = re.compile(r"^make demo EXAMPLE=(\w+)(?: CHANGE=(\w+))?\b", re.MULTILINE)


def documented(*pages: Path) -> set[tuple[str, str]]:
    """Example and change of each command of the pages."""
    return {found for page in pages for found in COMMAND.findall(page.read_text(encoding="utf-8"))}


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """The command behind `make demo EXAMPLE=…`, in an environment without any key."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return subprocess.run(
        [sys.executable, str(EXAMPLES / "run.py"), *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def results(report: Path) -> Mapping[str, Any]:
    """What `results.json` holds."""
    content: Mapping[str, Any] = json.loads((report / "results.json").read_text(encoding="utf-8"))
    return content


def gates(report: Path) -> dict[tuple[str, str], str]:
    """How each gate of each data set ended."""
    return {
        (one["id"], gate["gate"]["metric"]): gate["status"]
        for one in results(report)["report"]["data_sets"]
        for gate in one["gates"]
    }


def test_every_example_has_a_command_in_its_own_page_and_a_row_in_the_readme() -> None:
    assert NAMES
    for name in NAMES:
        assert (name, "") in documented(EXAMPLES / name / "README.md")
        assert f"`{name}`" in (PROJECT / "README.md").read_text(encoding="utf-8")
    assert documented(PROJECT / "README.md") <= {(name, "") for name in NAMES}


def test_the_command_of_the_pages_is_the_one_that_the_tests_run() -> None:
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    assert "examples/run.py $(EXAMPLE) $(addprefix --change=,$(CHANGE))" in makefile


@pytest.mark.parametrize("name", NAMES)
def test_the_example_passes(name: str, tmp_path: Path) -> None:
    done = run(name, "--report-dir", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    outputs = results(tmp_path)["outputs"]
    assert (outputs["conclusion"], outputs["failed"], outputs["spent_usd"]) == ("passed", 0, "0")
    assert outputs["passed"] > 0
    assert set(gates(tmp_path).values()) <= {"passed"}


@pytest.mark.parametrize(
    ("name", "change"), sorted(found for found in documented(*EXAMPLES.glob("*/README.md")) if found[1])
)
def test_the_bundled_edit_of_an_example_fails(name: str, change: str, tmp_path: Path) -> None:
    done = run(name, "--change", change, "--report-dir", str(tmp_path))
    assert done.returncode == 1, done.stdout + done.stderr
    assert results(tmp_path)["outputs"]["conclusion"] == "failed"


def test_a_search_engine_that_searches_titles_only_fails_each_gate(tmp_path: Path) -> None:
    run("search_engine", "--change", "regression", "--report-dir", str(tmp_path))
    assert gates(tmp_path) == {("queries", metric): "failed" for metric in ("ndcg@5", "map@5", "mrr", "recall@5")}


def test_an_agent_that_forgets_whose_parcel_it_is_fails_the_conversation_with_a_scripted_model(tmp_path: Path) -> None:
    run("tool_agent", "--change", "regression", "--report-dir", str(tmp_path))
    ended = {one["trial"]["scenario"]["id"]: one["outcome"] for one in results(tmp_path)["report"]["results"]}
    assert ended["parcel_of_somebody_else"] == "errored"
    assert "breaks an exact check: fsm" in (tmp_path / "comment.md").read_text(encoding="utf-8").replace("\\", "")


def test_every_question_that_tries_the_answerer_is_measured_by_its_own_metric(tmp_path: Path) -> None:
    run("rag_answerer", "--report-dir", str(tmp_path))
    measured = {
        one["trial"]["scenario"]["id"]: {score["metric"]: score["value"] for score in one["scores"]}
        for one in results(tmp_path)["report"]["results"]
    }
    expected = {
        "vague_query": "KeyPhraseMetric",
        "rival_term_injection": "TerminologyMetric",
        "multi_document_synthesis": "AnswerCorrectnessMetric",
        "hallucination_bait": "RefusalMetric",
    }
    assert {name: metric for name, metric in expected.items() if metric not in measured[name]} == {}
    assert all("FaithfulnessByClaimMetric" in scores for scores in measured.values())


def test_a_change_that_an_example_does_not_have_is_refused_with_those_that_it_has() -> None:
    done = run("search_engine", "--change", "nothing")
    assert done.returncode == 2
    assert "search_engine has no change 'nothing'; it has ['regression']" in done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_every_recorded_answer_of_an_example_says_that_it_was_written_by_hand(name: str) -> None:
    lines = [
        json.loads(line)
        for path in (EXAMPLES / name).glob("scenarios/recordings/*.jsonl")
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert {line["source"] for line in lines} <= {"authored"}
