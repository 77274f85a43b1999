"""An imported assertion passes the replies that promptfoo itself passes: its verdicts, kept by a benchmark, are data.

``benchmarks/import_fidelity.py`` writes ``promptfoo_verdicts.json``: assertion, reply, whether promptfoo passed it.
"""

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from benchmarks.import_fidelity import FILES, VARIABLES
from ratiba_action.authoring.imports import Import, SourceFolder, Target, checks_file, scenario_files
from ratiba_action.authoring.promptfoo import read_promptfoo
from ratiba_action.checks.custom_code import evidence
from ratiba_action.checks.failure_rules import check_rule, validate_rule
from ratiba_action.checks.turn_checks import check_turn
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.model.conversation import Exchange, Reply, Transcript
from ratiba_action.model.measurement import Case
from ratiba_action.model.scenario import Scenario
from ratiba_action.suite.load import load_suite
from ratiba_action.util.instants import LocalTime

pytestmark = pytest.mark.processes
VERDICTS = json.loads((Path(__file__).parent / "promptfoo_verdicts.json").read_text())
KINDS = sorted({wanted["type"] for wanted, _, _ in VERDICTS})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the files of code that assertions name."""
    for name, content in {**FILES, "promptfoo_checks.py": checks_file().decode()}.items():
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def imported(folder: Path, wanted: Any, reply: str) -> Scenario:
    test = {"vars": {**VARIABLES, "reply": reply}, "assert": [wanted]}
    (folder / "a.json").write_text(json.dumps({"tests": [test]}))
    found = Import()
    read_promptfoo(SourceFolder(folder, "", folder), "a.json", found, "reply")
    files = scenario_files(found, Target("scenarios", "a", "en", "chatbot", "import"))
    (scenario,) = load_suite(files, metric_problems, validate_rule).scenarios
    return scenario


def passes(folder: Path, scenario: Scenario, reply: str) -> bool:
    (turn,) = scenario.turns
    transcript = Transcript(scenario.id, (Exchange(turn, Reply(reply)),))
    checks = list(check_turn(1, turn, Reply(reply), LocalTime(scenario.now)))
    for rule in scenario.rules:
        checks += check_rule(rule, transcript)
    scores = [
        measured(folder, each.metric, evidence(Case(scenario, transcript), each.parameters))
        for each in scenario.assertions
    ]
    assert checks or scores
    return all(check.passed for check in checks) and all(score == 1 for score in scores)


def measured(folder: Path, metric: str, given: Any) -> float:
    """The score of a metric of the written module; code that cannot judge fails the scenario, as it fails promptfoo."""
    spec = spec_from_file_location("promptfoo_checks", folder / "promptfoo_checks.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        score: dict[str, float] = getattr(module, metric.partition(":")[2])().measure(given)
    except (RuntimeError, ValueError):
        return 0
    return score["value"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_imported_assertion_passes_what_promptfoo_passes(kind: str, folder: Path) -> None:
    if "javascript" in kind and which("node") is None:
        pytest.skip("needs Node")
    rows = [(wanted, reply, passed) for wanted, reply, passed in VERDICTS if wanted["type"] == kind]
    here = [(wanted, reply, passes(folder, imported(folder, wanted, reply), reply)) for wanted, reply, _ in rows]
    assert here == rows
