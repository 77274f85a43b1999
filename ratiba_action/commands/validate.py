"""``ratiba validate``: every mistake of configuration, scenarios and recordings at once."""

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from ratiba_action.authoring.schema_files import schema_file
from ratiba_action.configuration import read_configuration
from ratiba_action.core.failure_rules import validate_rule
from ratiba_action.core.model.scenario import Suite
from ratiba_action.core.printable import printable
from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.plain_file import read_plain_file
from ratiba_action.recordings.identifiers import Finding, find_forbidden
from ratiba_action.recordings.reader import read_recordings
from ratiba_action.reporting.wording import plural
from ratiba_action.settings import INPUTS, Settings, read_settings
from ratiba_action.suite.load import load_suite, read_scenario_files

DESCRIPTION = """Check the configuration, the scenarios and their recordings, and say every mistake with its line.
Nothing is run. Exit 2 when there is a mistake."""
EXAMPLE = """example:
  ratiba validate
  ratiba validate --repo . --scenarios scenarios --json"""

_INPUTS = ("config", "scenarios")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    for entry in INPUTS:
        if entry.name in _INPUTS:
            parser.add_argument(f"--{entry.name}", metavar="PATH", help=f"{entry.help} ({entry.environment_variable})")
    parser.add_argument("--repo", metavar="DIR", help="the checkout (default: GITHUB_WORKSPACE or this folder)")
    parser.add_argument("--schema", choices=("scenario", "configuration"), help="print the JSON Schema of these files")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Check, print, and answer 0 without a mistake, else 2.

    Raises:
        ConfigurationError: an input is wrong.
    """
    if arguments.schema:
        sys.stdout.write(schema_file(f"{arguments.schema}.schema.json").decode())
        return 0
    settings = read_settings(environment, {name: getattr(arguments, name) for name in _INPUTS})
    repository = Path(arguments.repo or environment.get("GITHUB_WORKSPACE") or ".").resolve()
    suite, problems, unused = inspect(repository, settings)
    if arguments.json:
        sys.stdout.write(json.dumps(_as_json(suite, problems, unused), indent=2) + "\n")
    else:
        _print(suite, problems, unused)
    return 2 if problems else 0


def inspect(repository: Path, settings: Settings) -> tuple[Suite | None, tuple[FileProblem, ...], tuple[str, ...]]:
    """Everything that is wrong with a repository's files.

    Returns:
        The suite if it could be read, the mistakes in order of file and line, and recordings that no scenario uses.
    """
    problems: list[FileProblem] = []
    try:
        read_configuration(settings.config, read_plain_file(repository, settings.config))
    except SuiteError as error:
        problems.extend(error.problems)
    except OSError as error:
        problems.append(FileProblem(settings.config, 0, f"cannot be read: {error.strerror}"))
    suite = None
    try:
        suite = load_suite(read_scenario_files(repository, settings.scenarios), metric_problems, validate_rule)
    except SuiteError as error:
        problems.extend(error.problems)
    wrong, unused = _inspect_recordings(repository, settings, suite)
    problems += wrong
    return suite, tuple(sorted(problems, key=lambda one: (one.path, one.line, one.message))), unused


def _inspect_recordings(
    repository: Path, settings: Settings, suite: Suite | None
) -> tuple[list[FileProblem], tuple[str, ...]]:
    """What is wrong with the recordings, and those that no scenario uses.

    Without a suite it is not known what a recording may hold, so it is only read.
    """
    problems: list[FileProblem] = []
    scenarios = {scenario.id: scenario for scenario in suite.scenarios} if suite is not None else {}
    unused: list[str] = []
    for path in sorted((repository / settings.scenarios / "recordings").glob("*.jsonl")):
        name = path.relative_to(repository).as_posix()
        try:
            lines = read_recordings(path)
        except SuiteError as error:
            problems.extend(FileProblem(name, problem.line, problem.message) for problem in error.problems)
            continue
        finally:
            if suite is not None and path.stem not in scenarios:
                unused.append(name)
        if suite is not None:
            problems += _forbidden(name, find_forbidden(lines, scenarios.get(path.stem), settings.secrets))
    return problems, tuple(unused)


def _forbidden(name: str, findings: Iterable[Finding]) -> list[FileProblem]:
    return [
        FileProblem(name, one.line, f"{one.field}: {one.kind} ({one.shown}) must not be recorded") for one in findings
    ]


def _as_json(suite: Suite | None, problems: tuple[FileProblem, ...], unused: tuple[str, ...]) -> dict[str, object]:
    return {
        "scenarios": len(suite.scenarios) if suite is not None else None,
        "problems": [{"path": one.path, "line": one.line, "message": one.message} for one in problems],
        "unused_recordings": list(unused),
    }


def _print(suite: Suite | None, problems: tuple[FileProblem, ...], unused: tuple[str, ...]) -> None:
    lines = [str(problem) for problem in problems]
    lines += [f"warning: {name}: no scenario has this id" for name in unused]
    if not problems and suite is not None:
        turns = sum(len(scenario.turns) for scenario in suite.scenarios)
        lines.append(f"{plural(len(suite.scenarios), 'scenario')}, {plural(turns, 'turn')}: no mistake found.")
    sys.stdout.write("".join(f"{printable(line)}\n" for line in lines))
