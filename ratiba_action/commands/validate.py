"""``ratiba validate``: report all mistakes in configuration, scenarios and recordings at once."""

import argparse
import contextlib
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from ratiba_action.authoring.advice import (
    Attach,
    advisory_advice,
    missing_score_advice,
    recording_advice,
    scenario_advice,
    scored_metrics,
    undecided_refusal_advice,
)
from ratiba_action.authoring.observed_prompts import observed_prompts
from ratiba_action.authoring.schema_files import schema_file
from ratiba_action.commands.options import add_json, add_repo, print_json, repository_of
from ratiba_action.config.configuration import Configuration, read_configuration
from ratiba_action.config.metrics_block import MetricsBlock, attach_metrics, metrics_without_truth
from ratiba_action.config.renamed_keys import former_keys
from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.llm.recordings.folder import read_reads
from ratiba_action.llm.recordings.lines import ForbiddenText, JudgeRecording, ModelRecording, find_forbidden
from ratiba_action.llm.recordings.reader import read_recordings
from ratiba_action.metrics.judging.cache_key import metric_version
from ratiba_action.model.scenario import Assertion, Scenario, Suite
from ratiba_action.run.configuration_checks import located, unknown_code, unmatched_prompts, unreadable_set_up_files
from ratiba_action.run.evaluation_inputs import configuration_problems, read_suite, tests_of
from ratiba_action.settings.settings import INPUTS, Settings, read_settings
from ratiba_action.suite.cases import unused_columns
from ratiba_action.suite.team_tests import FoundTests, with_tests
from ratiba_action.suite.thresholds import thresholds_below
from ratiba_action.util.folder_tree import paths_below
from ratiba_action.util.locked_folder import read_plain_file
from ratiba_action.util.text import plural, printable
from ratiba_action.verdict.judge_levels import coarse_judges

DESCRIPTION = """Check the configuration, the scenarios and their recordings, and report each mistake with its line.
Warn about settings that are valid but probably unintended. Name prompts in code, and documents that the system reads
according to its recordings. Nothing is run. The exit code is 2 if there is a mistake."""
EXAMPLE = """example:
  ratiba validate
  ratiba validate --repo . --scenarios scenarios --json"""

_INPUTS = ("config", "scenarios")
_MAX_NOTES = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    for entry in INPUTS:
        if entry.name in _INPUTS:
            parser.add_argument(f"--{entry.name}", metavar="PATH", help=entry.option_help)
    add_repo(parser)
    parser.add_argument(
        "--schema",
        choices=("scenario", "configuration"),
        help="print the JSON Schema of scenario or configuration files",
    )
    add_json(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Check and print; returns 0 without mistakes, else 2.

    Raises:
        ConfigurationError: an input is invalid.
    """
    if arguments.schema:
        sys.stdout.write(schema_file(f"{arguments.schema}.schema.json").decode())
        return 0
    settings = read_settings(environment, {name: getattr(arguments, name) for name in _INPUTS})
    repository = repository_of(arguments, environment)
    found = inspect(repository, settings, datetime.now(UTC).date())
    if arguments.json:
        print_json(_as_json(found))
    else:
        _print(found)
    return 2 if found.problems else 0


@dataclass(frozen=True, slots=True)
class Inspected:
    """The result of checking a repository's files.

    Args:
        suite: None if it could not be read.
        tests: how many of its scenarios are tests of pytest.
        problems: the mistakes, in order of file and line.
        warnings: what is valid but probably unintended, in the same order.
        unused: recordings that no scenario uses.
        observed: files that the system reads or sends to a model, though their names do not say so.
    """

    suite: Suite | None
    tests: int
    problems: Sequence[FileProblem]
    warnings: Sequence[FileProblem]
    unused: Sequence[str]
    observed: Sequence[FileProblem] = ()


def inspect(repository: Path, settings: Settings, today: date) -> Inspected:
    """Every problem of a repository's files, and what is probably unintended.

    Args:
        settings: paths of the files, and secrets.
        today: decides which quarantines have expired.
    """
    configuration, problems = _inspect_configuration(repository, settings)
    metrics = configuration.metrics if configuration is not None else MetricsBlock()
    files: Mapping[str, bytes] = {}
    suite = None
    try:
        files, suite = read_suite(repository, settings, configuration)
    except SuiteError as error:
        problems.extend(error.problems)
    found = tests_of(configuration, repository, settings.config) if configuration is not None else FoundTests()
    problems += found.problems

    if configuration is not None and suite is not None:
        problems += _unresolved(repository, settings, configuration, suite)

    def attach(scenario: Scenario) -> tuple[Assertion, ...]:
        return attach_metrics(scenario, metrics)

    warnings: list[FileProblem] = []
    names = [scenario.id for scenario in suite.scenarios] if suite is not None else []
    reads = read_reads(repository / settings.scenarios / "recordings", names)
    if suite is not None:
        warnings += scenario_advice(suite.scenarios, attach, repository, today, reads)
        warnings += unused_columns(files)
        warnings += former_keys({**_configuration_file(repository, settings), **files})
        warnings += (FileProblem(settings.config, 0, text) for text in metrics_without_truth(metrics, suite))
        gates = configuration.suite.gates if configuration is not None else {}
        warnings += (FileProblem(settings.config, 0, text) for text in thresholds_below(suite.data_sets, gates))
    tests = found.scenarios
    if suite is not None:
        suite, twice = with_tests(suite, found)
        problems += twice
        if configuration is not None and not _costs_nothing(configuration):
            recorded = {path.stem for path in _recordings(repository, settings)}
            found_advice = advisory_advice(suite.scenarios, recorded)
            warnings += (FileProblem(settings.scenarios, 0, text) for text in found_advice)
    wrong, more, unused = _inspect_recordings(repository, settings, suite, attach)
    seen = [FileProblem(each.path, each.line, str(each)) for each in observed_prompts(reads, repository, settings)]
    if configuration is not None and suite is not None:
        coarse = _coarse_judges(repository, settings, suite, attach, configuration.judge.samples)
        seen += (FileProblem(settings.config, 0, text) for text in coarse)
    return Inspected(suite, len(tests), _in_order([*problems, *wrong]), _in_order([*warnings, *more]), unused, seen)


def _costs_nothing(configuration: Configuration) -> bool:
    """Whether the system calls no model, so that every scenario without a judge is part of an advisory run."""
    return configuration.system.replay is not None or configuration.system.price_per_turn_usd == 0


def _unresolved(
    repository: Path, settings: Settings, configuration: Configuration, suite: Suite
) -> Iterable[FileProblem]:
    """References that cannot be resolved: judges without a price, code, prompt files."""
    yield from configuration_problems(settings, repository, configuration, suite)
    content = read_plain_file(repository, settings.config)
    named = [*unmatched_prompts(configuration, repository), *unreadable_set_up_files(configuration, repository)]
    yield from located(settings.config, content, named)
    yield from unknown_code(configuration, suite.scenarios, repository, settings.config)


def _configuration_file(repository: Path, settings: Settings) -> Mapping[str, bytes]:
    """Its content by its path; nothing where it cannot be read, which is a problem of its own."""
    try:
        return {settings.config: read_plain_file(repository, settings.config)}
    except OSError:
        return {}


def _inspect_configuration(repository: Path, settings: Settings) -> tuple[Configuration | None, list[FileProblem]]:
    try:
        return read_configuration(settings.config, read_plain_file(repository, settings.config)), []
    except SuiteError as error:
        return None, list(error.problems)
    except FileNotFoundError:
        return None, [FileProblem(settings.config, 0, "there is no such file. Run: ratiba init")]
    except OSError as error:
        return None, [FileProblem(settings.config, 0, f"cannot be read: {error.strerror}")]


def _in_order(problems: Iterable[FileProblem]) -> tuple[FileProblem, ...]:
    return tuple(sorted(problems, key=lambda problem: (problem.path, problem.line, problem.message)))


def _recordings(repository: Path, settings: Settings) -> list[Path]:
    below = paths_below(repository / settings.scenarios / "recordings")
    return sorted(path for path in below if path.suffix == ".jsonl")


def _inspect_recordings(
    repository: Path, settings: Settings, suite: Suite | None, attach: Attach
) -> tuple[list[FileProblem], list[FileProblem], tuple[str, ...]]:
    """Problems of the recordings, warnings, and recordings that no scenario uses.

    Without a suite it is unknown which identifiers a recording may contain, so it is only read.
    """
    problems, warnings, unused = list[FileProblem](), list[FileProblem](), list[str]()
    judged, texts = dict[str, set[str]](), dict[str, list[str]]()
    unreadable: set[str] = set()
    scenarios = {scenario.id: scenario for scenario in suite.scenarios} if suite is not None else {}
    owners = {name: (scenario,) for name, scenario in scenarios.items()}
    for path in _recordings(repository, settings):
        name = path.relative_to(repository).as_posix()
        unused += [name] if suite is not None and path.stem not in scenarios else []
        try:
            lines = read_recordings(path)
        except SuiteError as error:
            problems.extend(FileProblem(name, problem.line, problem.message) for problem in error.problems)
            unreadable.add(path.stem)
            continue
        judged.setdefault(path.stem, set()).update(scored_metrics(lines))
        texts[path.stem] = [text for line in lines if isinstance(line, ModelRecording) for text in line.texts()]
        if suite is not None:
            problems += _forbidden(name, find_forbidden(lines, scenarios.get(path.stem), settings.secrets))
            warnings += recording_advice(name, lines, owners, attach)
    readable = [scenario for name, scenario in scenarios.items() if name not in unreadable]
    warnings += missing_score_advice(readable, judged, attach)
    warnings += undecided_refusal_advice(readable, judged, texts)
    return problems, warnings, tuple(unused)


def _coarse_judges(repository: Path, settings: Settings, suite: Suite, attach: Attach, samples: int) -> tuple[str, ...]:
    """What judges cost whose recorded scores have two levels; files that cannot be read are problems of their own."""
    names: dict[str, str] = {}
    scenarios: Counter[str] = Counter()
    for scenario in suite.scenarios:
        asserted = {entry.metric for entry in (*scenario.assertions, *attach(scenario))}
        scenarios.update(asserted)
        names |= {metric_version(metric, "").partition(":")[0]: metric for metric in asserted}
    scores: dict[str, list[float]] = {}
    for path in _recordings(repository, settings):
        with contextlib.suppress(SuiteError):
            for line in read_recordings(path):
                if isinstance(line, JudgeRecording) and line.score is not None:
                    stem = line.metric.partition(":")[0]
                    scores.setdefault(names.get(stem, stem), []).append(line.score)
    return coarse_judges(scores, scenarios, samples)


def _forbidden(name: str, findings: Iterable[ForbiddenText]) -> list[FileProblem]:
    return [
        FileProblem(name, finding.line, f"{finding.field}: {finding.kind} ({finding.shown}) must not be recorded")
        for finding in findings
    ]


def _as_json(found: Inspected) -> dict[str, object]:
    return {
        "scenarios": len(found.suite.scenarios) - found.tests if found.suite is not None else None,
        "tests": found.tests,
        "problems": [_problem_values(problem) for problem in found.problems],
        "warnings": [_problem_values(problem) for problem in found.warnings],
        "unused_recordings": list(found.unused),
        "observed": [_problem_values(each) for each in found.observed],
    }


def _problem_values(problem: FileProblem) -> dict[str, object]:
    return {"path": problem.path, "line": problem.line, "message": problem.message}


def _print(found: Inspected) -> None:
    lines = [str(problem) for problem in found.problems]
    lines += [f"warning: {warning}" for warning in found.warnings]
    lines += [f"note: {each}" for each in found.observed[:_MAX_NOTES]]
    if (omitted := len(found.observed) - _MAX_NOTES) > 0:
        lines.append(f"note: {omitted} more files are read or sent; print all with --json")
    if not found.problems and found.suite is not None:
        scenarios = [scenario for scenario in found.suite.scenarios if scenario.test is None]
        turns = sum(len(scenario.turns) for scenario in scenarios)
        tests = f", {plural(found.tests, 'test')}" if found.tests else ""
        lines.append(f"{plural(len(scenarios), 'scenario')}, {plural(turns, 'turn')}{tests}: no mistake found.")
    sys.stdout.write("".join(f"{printable(line)}\n" for line in lines))
