"""The example systems as a newcomer runs them: by the commands of their pages, without a key, Docker or a database."""

import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.decide.deciding import DecideRequest, decide
from ratiba_action.model.change import Mode
from tests.support.git_repository import GitRepository
from tests.support.pictures import IMAGES, shown

PROJECT = Path(__file__).parents[2]
EXAMPLES = PROJECT / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/README.md") if "EXAMPLE=" in path.read_text("utf-8"))
COMMAND = re.compile(r"^make demo EXAMPLE=(\w+)(?: CHANGE=(\w+))?\b", re.MULTILINE)


def documented(*pages: Path) -> set[tuple[str, str]]:
    """Example and change of each command of the pages."""
    return {found for page in pages for found in COMMAND.findall(page.read_text(encoding="utf-8"))}


def python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, in an environment without any key."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """The command behind `make demo EXAMPLE=…`."""
    return python(PROJECT, "examples/run.py", *words)


@dataclass(frozen=True)
class Ended:
    """How a run of an example ended."""

    code: int
    printed: str
    report: Path

    @property
    def results(self) -> Mapping[str, Any]:
        """What `results.json` holds."""
        content: Mapping[str, Any] = json.loads((self.report / "results.json").read_text(encoding="utf-8"))
        return content

    @property
    def conversations(self) -> dict[str, Mapping[str, Any]]:
        """The result of each conversation by the scenario's id."""
        return {one["trial"]["scenario"]["id"]: one for one in self.results["report"]["results"]}

    @property
    def gates(self) -> dict[tuple[str, str], str]:
        """How each gate of each data set ended."""
        return {
            (one["id"], gate["gate"]["metric"]): gate["status"]
            for one in self.results["report"]["data_sets"]
            for gate in one["gates"]
        }


RunExample = Callable[..., Ended]


@pytest.fixture(scope="module")
def run_example(tmp_path_factory: pytest.TempPathFactory) -> RunExample:
    """Runs an example, each change of it once for all tests."""

    @functools.cache
    def run_once(name: str, change: str = "") -> Ended:
        report = tmp_path_factory.mktemp(name)
        done = run(name, "--report-dir", str(report), *(["--change", change] if change else []))
        return Ended(done.returncode, done.stdout + done.stderr, report)

    return run_once


def failed_checks(result: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Kind and turn of each check that does not hold."""
    return [(check["kind"], check["turn"]) for check in result["checks"] if not check["passed"]]


def test_every_example_has_a_command_in_its_own_page_and_a_row_in_the_list_of_examples() -> None:
    assert len(NAMES) == 4
    for name in NAMES:
        assert (name, "") in documented(EXAMPLES / name / "README.md")
        assert f"| `{name}` |" in (PROJECT / "docs/examples.md").read_text(encoding="utf-8")
    assert documented(PROJECT / "docs/examples.md") <= {(name, "") for name in NAMES}


def test_the_command_of_the_pages_is_the_one_that_the_tests_run() -> None:
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    assert "examples/run.py $(EXAMPLE) $(addprefix --change=,$(CHANGE))" in makefile


@pytest.mark.parametrize("name", NAMES)
def test_the_example_passes_without_a_key(run_example: RunExample, name: str) -> None:
    ended = run_example(name)
    assert ended.code == 0, ended.printed
    outputs = ended.results["outputs"]
    assert (outputs["conclusion"], outputs["failed"], outputs["spent_usd"]) == ("passed", 0, "0")
    assert outputs["passed"] > 0
    assert set(ended.gates.values()) <= {"passed"}


@pytest.mark.parametrize(
    ("name", "change"), sorted(found for found in documented(*EXAMPLES.glob("*/README.md")) if found[1])
)
def test_the_bundled_edit_of_an_example_fails(run_example: RunExample, name: str, change: str) -> None:
    ended = run_example(name, change)
    assert ended.code == 1, ended.printed
    assert ended.results["outputs"]["conclusion"] == "failed"


def test_the_picture_of_the_readme_shows_the_comment_that_the_code_writes_today(run_example: RunExample) -> None:
    comment = (run_example("tool_agent", "regression").report / "comment.md").read_text(encoding="utf-8")
    assert shown(comment) == (IMAGES / "comment.txt").read_text(encoding="utf-8"), "run 'make pictures'"


def test_a_search_engine_that_searches_titles_only_fails_each_gate(run_example: RunExample) -> None:
    gates = run_example("search_engine", "regression").gates
    assert gates == {("queries", metric): "failed" for metric in ("ndcg@5", "map@5", "mrr", "recall@5")}


def test_the_router_has_three_files_of_cases_with_their_own_thresholds(run_example: RunExample) -> None:
    reported = {
        (one["id"], gate["gate"]["metric"]): gate["gate"]["at_least"]
        for one in run_example("intent_router").results["report"]["data_sets"]
        for gate in one["gates"]
    }
    assert reported == {
        ("intents", "macro_f1"): 0.80,
        ("intents", "min_class_f1"): 0.60,
        ("answers", "KeyPhraseMetric"): 0.70,
        ("skills", "skill_recall"): 0.90,
    }


def test_an_agent_that_forgets_whose_parcel_it_is_fails_where_the_model_is_scripted(run_example: RunExample) -> None:
    conversations = run_example("tool_agent", "regression").conversations
    assert failed_checks(conversations["fsm_found_then_moved"]) == [("state", 2), ("transitions", 2)]
    assert conversations["parcel_of_somebody_else"]["phase"] == "recording"


def test_a_simulated_customer_goes_on_after_the_written_turn_until_the_parcel_is_moved(run_example: RunExample) -> None:
    result = run_example("tool_agent").conversations["simulated_move"]
    assert [one["turn"]["user"] for one in result["transcript"]["exchanges"]] == [
        "Hi, where is KE-4471?",
        "I'm away tomorrow, is Saturday possible?",
        "Yes please, Saturday",
    ]
    assert failed_checks(result) == []


@pytest.mark.parametrize(
    ("scenario", "metric"),
    [
        ("vague_query", "KeyPhraseMetric"),
        ("rival_term_injection", "TerminologyMetric"),
        ("multi_document_synthesis", "AnswerCorrectnessMetric"),
        ("hallucination_bait", "RefusalMetric"),
    ],
)
def test_each_hard_question_has_a_metric_of_its_own(run_example: RunExample, scenario: str, metric: str) -> None:
    measured = {score["metric"] for score in run_example("rag_answerer").conversations[scenario]["scores"]}
    assert {metric, "FaithfulnessByClaimMetric"} <= measured


def test_a_change_that_an_example_does_not_have_is_refused_with_those_that_it_has() -> None:
    done = run("search_engine", "--change", "nothing")
    assert done.returncode == 2
    assert "search_engine has no change 'nothing'; it has ['regression']" in done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_validate_finds_no_mistake_and_has_no_advice(name: str) -> None:
    done = python(EXAMPLES / name, "-m", "ratiba_action", "validate")
    assert (done.returncode, done.stderr) == (0, "")
    assert "no mistake found" in done.stdout


@pytest.mark.parametrize("name", ["rag_answerer", "tool_agent"])
def test_every_recorded_answer_of_an_example_says_that_it_was_written_by_hand(name: str) -> None:
    lines = [
        json.loads(line)
        for path in (EXAMPLES / name).glob("scenarios/recordings/*.jsonl")
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert {line["source"] for line in lines if line["kind"] != "reads"} == {"authored"}
    assert {line["kind"] for line in lines} == {"reads", "model", "judge"}


@pytest.mark.parametrize(
    ("path", "recorded", "named", "neither"),
    [
        ("house_rules/refunds.md", Mode.BLOCKING, Mode.BLOCKING, Mode.SKIP),
        ("house_rules/parking.md", Mode.BLOCKING, Mode.BLOCKING, Mode.SKIP),
        ("house_rules/late_arrival.md", Mode.ADVISORY, Mode.BLOCKING, Mode.SKIP),
        ("README.md", Mode.SKIP, Mode.SKIP, Mode.SKIP),
    ],
)
def test_a_change_of_a_document_is_decided_as_the_page_says(
    tmp_path: Path, path: str, recorded: Mode, named: Mode, neither: Mode
) -> None:
    found = []
    for number, (prompts, recordings) in enumerate([(False, True), (True, False), (False, False)]):
        example = EXAMPLES / "rag_answerer"
        texts = (each for each in example.rglob("*") if each.suffix in {".md", ".yml", ".yaml", ".py", ".jsonl"})
        files = {each.relative_to(example).as_posix(): each.read_text("utf-8") for each in texts}
        configuration = files[".github/ratiba.yml"]
        files[".github/ratiba.yml"] = (
            configuration.replace(', "house_rules/*.md"', "") if not prompts else configuration
        )
        kept = {name: text for name, text in files.items() if recordings or "/recordings/" not in name}
        repository = GitRepository(tmp_path / str(number), os.environ["PATH"])
        repository.commit(kept)
        (repository.folder / path).write_text("Another text.\n", "utf-8")
        found.append(decide(DecideRequest(repository.folder), {}).decision.mode)
    assert found == [recorded, named, neither]
