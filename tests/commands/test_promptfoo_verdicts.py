"""An imported configuration passes the replies that promptfoo itself passes: a benchmark keeps its verdicts.

``benchmarks/import_fidelity.py`` writes ``promptfoo_verdicts.json``: by the number of a test in
``benchmarks/promptfoo_corpus.py``, whether promptfoo passed each of its results. The benchmark runs the gate, too; here
the same scenarios are measured without a run.
"""

import json
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from benchmarks.promptfoo_corpus import configurations
from benchmarks.promptfoo_runs import answer_of
from ratiba_action.authoring.imported_suite import Target, checks_file, scenario_files
from ratiba_action.authoring.imports import Import, ImportOutcome
from ratiba_action.authoring.promptfoo.configuration import read_promptfoo
from ratiba_action.authoring.source_folder import SourceFolder
from ratiba_action.checks.custom_code import evidence
from ratiba_action.checks.failure_rules import check_rule, validate_rule
from ratiba_action.checks.turn_checks import check_turn
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.model.conversation import Exchange, Reply, ToolCall, Transcript
from ratiba_action.model.measurement import Case
from ratiba_action.model.scenario import Scenario
from ratiba_action.suite.load import load_suite
from ratiba_action.util.instants import LocalTime

pytestmark = pytest.mark.processes
VERDICTS = json.loads((Path(__file__).parent / "promptfoo_verdicts.json").read_text())
CORPUS = configurations()
PACKAGES = ("is_sql", "is_sql_allowed", "contains_sql")
"""Configurations that need packages of Node; only the benchmark runs them."""
LIMITS = ("cost", "latency")
"""Configurations whose limits only a run measures."""
NODE = re.compile("javascript|transform")
NUMBER = re.compile(r"t\d{4}")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the module that an import writes."""
    (tmp_path / "promptfoo_checks.py").write_bytes(checks_file())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def imported(folder: Path, name: str) -> tuple[Import, tuple[Scenario, ...]]:
    """What the import of a configuration found, and its scenarios."""
    for path, content in CORPUS[name].items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    (config,) = folder.glob("promptfooconfig.*")
    found = Import()
    read_promptfoo(SourceFolder(folder, "", folder), config.name, found, "reply")
    files = scenario_files(found, Target("scenarios", "a", "en", "chatbot", "import"))
    return found, tuple(load_suite(files, metric_problems, validate_rule).scenarios)


def passes(folder: Path, scenario: Scenario) -> bool:
    (turn,) = scenario.turns
    reason, message = answer_of(f"<<<{scenario.inputs['reply']}>>>")
    functions = [call["function"] for call in message.get("tool_calls", ())]
    calls = tuple(ToolCall(each["name"], json.loads(each["arguments"])) for each in functions)
    reply = Reply(message["content"] or "", tool_calls=calls)
    cut = "the reply was cut at its output limit" if reason == "length" else ""
    transcript = Transcript(scenario.id, (Exchange(turn, reply, cut=cut),))
    checks = list(check_turn(1, turn, reply, LocalTime(scenario.now)))
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
    except (RuntimeError, ValueError, KeyError):
        return 0
    return score["value"]


@pytest.mark.parametrize("name", [name for name in CORPUS if name not in {*PACKAGES, *LIMITS}])
def test_an_imported_configuration_passes_what_promptfoo_passes(name: str, folder: Path) -> None:
    if NODE.search("".join(CORPUS[name].values())) and which("node") is None:
        pytest.skip("needs Node")
    found, scenarios = imported(folder, name)
    here: dict[str, list[bool]] = {}
    for scenario in scenarios:
        here.setdefault(NUMBER.findall(scenario.id)[-1], []).append(passes(folder, scenario))
    wanted = sorted(set(NUMBER.findall("".join(CORPUS[name].values()))))
    assert {test: sorted(verdicts) for test, verdicts in here.items()} == {test: VERDICTS[test] for test in wanted}
    left = [each for each in found.findings if each.outcome is ImportOutcome.MANUAL]
    assert [each for each in left if each.what.startswith("assert ")] == []
