"""An import passes the replies that Inspect, OpenAI evals and DeepEval themselves pass: their verdicts are data.

``benchmarks/scorer_verdicts.py`` writes ``scorer_verdicts.json``: scorer, parameters, its value of each reply;
``benchmarks/deepeval_verdicts.py`` writes ``deepeval_verdicts.json``: metric, what the case expects, reply, tools
called and verdict.
"""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ratiba_action.authoring.deepeval_tests import read_test_file
from ratiba_action.authoring.imported_suite import Target, scenario_files, scorers_file
from ratiba_action.authoring.imports import Import
from ratiba_action.authoring.source_folder import SourceFolder
from ratiba_action.checks.failure_rules import check_rule, validate_rule
from ratiba_action.checks.turn_checks import check_turn
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.model.conversation import Exchange, Reply, ToolCall, Transcript
from ratiba_action.model.scenario import Scenario
from ratiba_action.suite.load import load_suite
from ratiba_action.util.instants import LocalTime

MADE = json.loads((Path(__file__).parent / "scorer_verdicts.json").read_text())
ROWS = MADE["verdicts"]


@pytest.fixture(scope="module")
def written() -> ModuleType:
    """The module that an import writes."""
    module = ModuleType("scorer_checks")
    exec(compile(scorers_file(), "scorer_checks.py", "exec"), module.__dict__)  # noqa: S102 - the module is ours
    return module


def evidence(parameters: Any, reply: str) -> Any:
    return {"parameters": parameters, "turns": [{"user": "?", "reply": {"text": reply}}]}


@pytest.mark.parametrize("name", sorted({name for name, _, _ in ROWS}))
def test_a_reply_gets_the_value_that_the_scorer_itself_gives(name: str, written: ModuleType) -> None:
    measure = getattr(written, name)
    rows = [
        (given, reply, value)
        for each, given, values in ROWS
        if each == name
        for reply, value in zip(MADE["replies"], values, strict=True)
    ]
    here = [(given, reply, measure(evidence(given, reply))["value"]) for given, reply, _ in rows]
    assert len(rows) >= 200
    assert {value for _, _, value in rows} >= {0.0, 1.0}
    assert here == rows


DEEPEVAL = json.loads((Path(__file__).parent / "deepeval_verdicts.json").read_text())["verdicts"]
METRICS = ("ExactMatchMetric", "PatternMatchMetric", "ToolCorrectnessMetric")


def imported(folder: Path, metric: str, expects: Any) -> Scenario | None:
    """The scenario of a test file; None if its metric is left to a person."""
    tools = [f"ToolCall(name={name!r})" for name in expects.get("expected_tools", [])]
    answer = expects.get("expected_output")
    case = f"LLMTestCase(input='?', actual_output='', expected_output={answer!r}, expected_tools=[{', '.join(tools)}])"
    (folder / "test_a.py").write_text(f"assert_test({case}, [{metric}])\n")
    found = Import()
    read_test_file(SourceFolder(folder, ""), "test_a.py", found)
    files = scenario_files(found, Target("scenarios", "a", "en", "chatbot", "import"))
    listed = load_suite(files, metric_problems, validate_rule).scenarios if files else ()
    assert listed or any(each.outcome == "manual" for each in found.findings)
    return listed[0] if listed else None


def passes(scenario: Scenario, reply: Reply) -> bool:
    (turn,) = scenario.turns
    checks = list(check_turn(1, turn, reply, LocalTime(scenario.now)))
    for rule in scenario.rules:
        checks += check_rule(rule, Transcript(scenario.id, (Exchange(turn, reply),)))
    assert checks
    return all(check.passed for check in checks)


@pytest.mark.parametrize("name", METRICS)
def test_a_case_passes_here_if_deepeval_itself_passes_it(name: str, tmp_path: Path) -> None:
    rows = [row for row in DEEPEVAL if row[0].startswith(name)]
    known = {json.dumps(row[:2]): imported(tmp_path, row[0], row[1]) for row in rows}
    compared = [(row, known[json.dumps(row[:2])]) for row in rows]
    here = [
        [*row[:-1], passes(scenario, Reply(row[2], tool_calls=tuple(ToolCall(each, {}) for each in row[3])))]
        for row, scenario in compared
        if scenario is not None
    ]
    assert len(here) >= len(rows) / 2
    assert here == [row for row, scenario in compared if scenario is not None]
