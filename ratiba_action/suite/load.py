"""Scenario files → ``Suite``; every mistake of every file at once."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from ratiba_action.core.model.scenario import Scenario, Suite
from ratiba_action.core.model.values import JsonObject
from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.plain_file import read_plain_file
from ratiba_action.strict_yaml import Document, read_yaml
from ratiba_action.suite.building import build_scenario
from ratiba_action.suite.scenario_schema import ScenarioBlock
from ratiba_action.validation import shorten, validate

NOT_SCENARIOS = ("recordings", "calibration")
"""Folders below the scenario folder that hold other data."""

RuleCheck = Callable[[str, Any], str | None]
"""What is wrong with a rule of this type and value, or None."""

MetricCheck = Callable[[str, JsonObject], Sequence[str]]
"""Everything that is wrong with a metric of this name and these parameters."""


def read_scenario_files(repository: Path, folder: str) -> Mapping[str, bytes]:
    """Every scenario file of a checkout by its path relative to it.

    Raises:
        SuiteError: the folder is missing, or a file cannot be read.
    """
    top = repository / folder
    if not top.is_dir():
        raise SuiteError([FileProblem(folder, 0, "there is no such folder; name it with --scenarios")])
    files: dict[str, bytes] = {}
    problems: list[FileProblem] = []
    for path in sorted([*top.rglob("*.yaml"), *top.rglob("*.yml")]):
        name = path.relative_to(repository).as_posix()
        if not is_scenario_file(name, folder) or (path.is_dir() and not path.is_symlink()):
            continue
        try:
            files[name] = read_plain_file(repository, name)
        except OSError as error:
            problems.append(FileProblem(name, 0, f"cannot be read: {error.strerror}"))
    if problems:
        raise SuiteError(problems)
    return files


def is_scenario_file(name: str, folder: str) -> bool:
    """Whether a repository path is a scenario: YAML below the folder, outside recordings and calibration."""
    path = PurePosixPath(name)
    if path.suffix not in {".yaml", ".yml"} or not path.is_relative_to(folder):
        return False
    below = path.relative_to(folder).parts
    return below[0] not in NOT_SCENARIOS


def load_suite(files: Mapping[str, bytes], metric_problems: MetricCheck, rule_problem: RuleCheck) -> Suite:
    """Read and check scenarios.

    Args:
        files: content by repository path.
        metric_problems: checks an assertion's metric and parameters.
        rule_problem: checks a failure rule's type and value.

    Raises:
        SuiteError: any file is wrong, or there is no scenario at all; holds every problem.
    """
    scenarios: list[Scenario] = []
    problems: list[FileProblem] = []
    for name in sorted(files):
        document, found = read_yaml(name, files[name])
        problems.extend(found)
        if document is not None:
            block, found = validate(ScenarioBlock, document)
            problems.extend(found)
            problems.extend(_reference_problems(document, metric_problems, rule_problem))
            if block is not None:
                scenarios.append(build_scenario(block, document))
    problems.extend(_duplicates(scenarios))
    if not scenarios and not problems:
        problems.append(FileProblem("scenarios", 0, "no scenario was found; write one, see docs/scenarios.md"))
    if problems:
        raise SuiteError(sorted(problems, key=lambda problem: (problem.path, problem.line, problem.message)))
    return Suite(tuple(sorted(scenarios, key=lambda scenario: scenario.id)), suite_digest(files))


def suite_digest(files: Mapping[str, bytes]) -> str:
    """SHA-256 over names and contents: the version of the test set."""
    total = hashlib.sha256()
    for name in sorted(files):
        total.update(hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest())
        total.update(hashlib.sha256(files[name]).digest())
    return total.hexdigest()


def _reference_problems(
    document: Document, metric_problems: MetricCheck, rule_problem: RuleCheck
) -> Iterable[FileProblem]:
    """What the shape cannot tell: names of metrics, rules that cannot work."""
    data = document.data if isinstance(document.data, dict) else {}
    seen: set[str] = set()
    for index, entry in enumerate(_entries(data.get("assertions"))):
        name = entry.get("metric")
        if isinstance(name, str) and name in seen:
            line = document.line(("assertions", index, "metric"))
            yield FileProblem(document.name, line, f"the metric {shorten(name)} stands twice; give one threshold")
        seen |= {name} if isinstance(name, str) else set()
        parameters = entry.get("with", {})
        if isinstance(name, str) and isinstance(parameters, dict):
            line = document.line(("assertions", index, "metric"))
            yield from (FileProblem(document.name, line, wrong) for wrong in metric_problems(name, parameters))
    for index, entry in enumerate(_entries(data.get("rules"))):
        kind = entry.get("type")
        wrong = rule_problem(kind, entry.get("value")) if isinstance(kind, str) and "value" in entry else None
        if wrong is not None:
            yield FileProblem(document.name, document.line(("rules", index)), wrong)


def _entries(value: Any) -> list[dict[str, Any]]:
    """The items of a list, each as a mapping, so that indices stay those of the file."""
    return [item if isinstance(item, dict) else {} for item in value] if isinstance(value, list) else []


def _duplicates(scenarios: Iterable[Scenario]) -> Iterable[FileProblem]:
    first: dict[str, Scenario] = {}
    for scenario in scenarios:
        earlier = first.setdefault(scenario.id, scenario)
        if earlier is not scenario:
            message = f"the id {scenario.id!r} is already used in {earlier.path}; ids are unique"
            yield FileProblem(scenario.path, scenario.line, message)
