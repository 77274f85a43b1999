"""``ratiba import``: make scenarios of the tests that other tools have."""

import argparse
import ast
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from ratiba_action.authoring import inspect_tasks, openai_evals
from ratiba_action.authoring.deepeval_tests import read_test_file
from ratiba_action.authoring.evaluator_files import read_evaluators
from ratiba_action.authoring.goldens import DEFAULT_METRIC, FIELDS, FORMATS, Mapped, read_goldens
from ratiba_action.authoring.import_report import finding_lines, import_report, in_order, total_line
from ratiba_action.authoring.imported_files import ImportedFiles, Written
from ratiba_action.authoring.imported_suite import (
    INSPECT_MODEL,
    Target,
    checks_file,
    common_metrics,
    configuration_file,
    scenario_files,
    scorers_file,
    task_tests,
)
from ratiba_action.authoring.imports import SCORERS, TEST, Import, ImportOutcome, NotImportedError, slug
from ratiba_action.authoring.inspect_tasks import read_tasks
from ratiba_action.authoring.openai_evals import read_registry
from ratiba_action.authoring.promptfoo.configuration import read_promptfoo
from ratiba_action.authoring.promptfoo.left_assertions import LEFT, left_file
from ratiba_action.authoring.promptfoo.project_code import CODE, OPTION, ProjectCode
from ratiba_action.authoring.promptfoo.written_checks import CHECKS
from ratiba_action.authoring.ragas_files import read_evaluation
from ratiba_action.authoring.scorers import INSPECT_SCORERS, OPENAI_SCORERS, Scorer, Scoring, read_scorer
from ratiba_action.authoring.source_folder import SourceFolder
from ratiba_action.authoring.starter_answers import one_of, parse_language
from ratiba_action.commands.options import add_json, add_repo, parse_option, print_json, repository_of
from ratiba_action.config.configuration import Configuration, optional_configuration
from ratiba_action.errors import ConfigurationError, FileProblem, SuiteError, UsageError
from ratiba_action.metrics.metric_table import METRICS
from ratiba_action.model.scenario import SystemType
from ratiba_action.settings.settings import read_settings
from ratiba_action.suite.load import is_scenario_file
from ratiba_action.util.locked_folder import change_files, read_plain_file
from ratiba_action.util.strict_yaml import read_yaml
from ratiba_action.util.text import plural, printable, printable_lines
from ratiba_action.util.validation import shorten

_Read: TypeAlias = Callable[[SourceFolder, str, Import], None]
_ReadSamples: TypeAlias = Callable[[SourceFolder, str, Import, Scoring | None], None]
SOURCES: Mapping[str, str] = {
    "promptfoo": "a configuration or a file of tests: YAML, JSON, JSON Lines or CSV",
    "deepeval": "goldens or test cases as JSON, JSON Lines or CSV, and pytest files",
    "ragas": "samples or a test set as JSON, JSON Lines or CSV, and Python files",
    "inspect": "Python files with tasks, or samples with --scorer",
    "openai-evals": "a registry's YAML, or samples with --scorer",
    "langsmith": "a dataset as JSON, JSON Lines or CSV, and Python files",
    "langfuse": "a dataset as JSON, JSON Lines or CSV, and Python files",
    "csv": "rows, with --map or --format",
    "jsonl": "rows as JSON Lines or a JSON list, with --map or --format",
}
_PYTHON: Mapping[str, Callable[[SourceFolder, str, Import], list[dict[str, Any]]]] = {
    "deepeval": read_test_file,
    "ragas": read_evaluation,
    "langsmith": read_evaluators,
    "langfuse": read_evaluators,
}
"""Sources with Python files, which give assertions of cases that are not in them."""
_SCORED: Mapping[str, tuple[Mapping[str, Scorer], _Read, _ReadSamples, tuple[str, ...]]] = {
    "inspect": (INSPECT_SCORERS, read_tasks, inspect_tasks.read_samples, (".py",)),
    "openai-evals": (OPENAI_SCORERS, read_registry, openai_evals.read_samples, (".yaml", ".yml")),
}
"""Sources with scorers: these, what reads tasks, what reads samples, and the suffixes of tasks."""
DESCRIPTION = """Make scenarios from the tests of other tools. Nothing in the files is executed, unless you give
--run-code. The command reports what it mapped, what it approximated and what you must do. A second import updates what
the first one wrote, and keeps your changes."""
EXAMPLE = """example:
  ratiba import promptfoo .
  ratiba import deepeval goldens.json tests/test_answers.py --prefix support
  ratiba import csv questions.csv --map input=question --map contains=must_say --language sw
  ratiba import inspect tasks.py
  ratiba import langsmith export.jsonl --dry-run --json"""

_MODULES: Mapping[str, Callable[[], bytes]] = {CHECKS: checks_file, SCORERS: scorers_file}
"""Modules that an import writes where its assertions use them."""
REPORT = "import-report.md"
"""The report, in the folder of the scenarios."""
_ADD_METRICS = (
    "Every imported scenario lists these metrics. To give them to new scenarios too, add to the configuration:"
)
_ADD_SYSTEM = (
    "The configuration stays as it is. To run the imported system, and to give new scenarios its metrics, add:"
)
_ADD_TESTS = "The configuration stays as it is. To run the tasks of Inspect as tests, add to it:"
_SHELL = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH", "NODE_PATH")
"""Variables of the shell that the code of an import sees: none is a key."""
_PREFIX = re.compile(r"[a-z0-9][a-z0-9_-]{0,23}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "source",
        metavar="SOURCE",
        choices=list(SOURCES),
        help="; ".join(f"{name}: {what}" for name, what in SOURCES.items()),
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="files to import; for promptfoo also its folder")
    parser.add_argument(
        "--map",
        metavar="FIELD=COLUMN",
        action="append",
        default=[],
        help=f"what a column becomes; FIELD is one of {', '.join(FIELDS)}; COLUMN may be a JMESPath. "
        "For promptfoo: input=VARIABLE, the user's message",
    )
    parser.add_argument(
        "--format", choices=list(FORMATS), help="columns of a tool's export (default: plain, or deepeval)"
    )
    metric, threshold = DEFAULT_METRIC
    parser.add_argument(
        "--metric", metavar="NAME=THRESHOLD", help=f"compares with `answer` (default: {metric}={threshold:g})"
    )
    parser.add_argument(
        "--scorer",
        metavar="SCORER",
        help="how samples of inspect or openai-evals are compared, such as 'match(location=\"any\")' or Includes",
    )
    parser.add_argument(
        OPTION,
        action="store_true",
        help="for promptfoo: run the code that makes tests, variables or the configuration, now and without keys",
    )
    parser.add_argument("--prefix", metavar="NAME", help="begins the ids (default: the first file's name)")
    parser.add_argument("--language", metavar="CODE", default="en", help="language of the tests (default: en)")
    parser.add_argument(
        "--system-type", choices=[each.value for each in SystemType], default="chatbot", help="default: chatbot"
    )
    add_repo(parser, "this folder's repository")
    parser.add_argument("--scenarios", metavar="PATH", help="scenarios folder (default: scenarios; RATIBA_SCENARIOS)")
    parser.add_argument("--dry-run", action="store_true", help="write nothing")
    add_json(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Read the files, write scenarios and report; returns 2 if nothing could be imported.

    Raises:
        UsageError: an option is invalid, or a file exists with other content.
        SuiteError: files to import are malformed; every problem.
    """
    repository = repository_of(arguments, {})
    if not repository.is_dir():
        raise UsageError(f"There is no folder {str(repository)!r}.", "Give the checkout with --repo.")
    settings = read_settings(environment, {"scenarios": arguments.scenarios})
    if arguments.source == "promptfoo":
        arguments.files = [promptfoo_file(Path(file), runs_code=arguments.run_code) for file in arguments.files]
    first = Path(arguments.files[0])
    target = Target(
        settings.scenarios,
        parse_option(
            "--prefix", arguments.prefix or slug(first.stem.removesuffix("config"), 24) or "imported", parse_prefix
        ),
        parse_option("--language", arguments.language, parse_language),
        arguments.system_type,
        f"import {arguments.source} {' '.join(Path(file).name for file in arguments.files)}",
    )
    ours = ImportedFiles(repository, f"{target.folder}/{target.prefix}", target.origin)
    if stranger := _no_scenario(repository, target.folder, ours.folder):
        again = f"ratiba import {arguments.source} {' '.join(arguments.files)} --scenarios gate/scenarios"
        raise UsageError(
            f"{stranger!r} is no scenario, and the gate reads every file of {target.folder!r} as one.",
            f"Choose another folder: {printable(again)}, then ratiba gate --scenarios gate/scenarios",
        )
    found = _read(arguments, repository, target.prefix, environment)
    files, block = _files(found, target, ours, settings.config)
    written = ours.write(files, dry_run=arguments.dry_run)
    report = f"{ours.folder}/{REPORT}" if files and not arguments.dry_run else ""
    if report:
        change_files(repository, {report: import_report(found, written, target.origin).encode("utf-8", "replace")})
    shown = _Shown(found, written, block, report, dry_run=arguments.dry_run)
    if arguments.json:
        print_json(shown.as_json())
    else:
        sys.stdout.write(printable_lines(shown.as_text()))
    return 0 if files else 2


def _no_scenario(repository: Path, folder: str, ours: str) -> str:
    """A YAML file in the scenarios' folder that cannot be a scenario, such as one of promptfoo's own; empty if none is.

    Args:
        ours: the folder that the import writes.
    """
    for path in sorted((repository / folder).glob("**/*.y*ml")):
        name = path.relative_to(repository).as_posix()
        if is_scenario_file(name, folder) and not name.startswith(f"{ours}/"):
            try:
                document, _ = read_yaml(name, read_plain_file(repository, name), aliases=True)
            except OSError:  # the gate says what is wrong with it
                continue
            if document is not None and not (isinstance(document.data, Mapping) and "id" in document.data):
                return name
    return ""


def _files(
    found: Import, target: Target, ours: ImportedFiles, configuration: str
) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The files of the import, and what to add to a configuration of somebody else.

    Args:
        configuration: path of the gate's configuration.

    Raises:
        SuiteError: the imported files have problems.
    """
    configured = _configured(ours, configuration)
    root = _root(configured)
    if root:
        _move_code(found, root)
    is_free = not (ours.repository / configuration).exists() or ours.is_ours(configuration)
    if not is_free:
        _without_unknown_variants(found, configured)
    files = scenario_files(found, target)
    test_file = f"{root}test_inspect_{target.prefix.replace('-', '_')}.py"
    tests = task_tests(test_file, root, found, models=_has_model(configured))
    files |= {test_file: tests} if tests else {}
    metrics = [each for each in common_metrics(found.cases) if each["metric"].partition(":")[0] not in _MODULES]
    block: dict[str, Any] = {"metrics": {target.system_type: metrics}} if files and metrics else {}
    listed = configured.tests if configured is not None else []
    if tests and not any(PurePosixPath(test_file).is_relative_to(each) for each in listed):
        block["tests"] = [*listed, test_file]
    if files and found.system is not None:
        files |= found.system.files
        if found.system.block and is_free:
            files[configuration] = configuration_file(found.system, target, found.pass_rate)
        elif found.system.block:
            block = {"system": dict(found.system.block), **found.system.more, **block}
    used = {entry["metric"].partition(":")[0] for case in found.cases for entry in case.assertions}
    files |= {f"{root}{name}.py": content() for name, content in _MODULES.items() if files and name in used}
    if files and found.left:
        files[f"{root}{LEFT}"] = left_file(found.left)
    return files, block


def _configured(ours: ImportedFiles, configuration: str) -> Configuration | None:
    try:
        return optional_configuration(ours.repository, configuration, required=False)
    except ConfigurationError:  # `ratiba validate` says what is wrong with it
        return None


def _root(configured: Configuration | None) -> str:
    """The folder of the system, which the gate imports metrics from: empty, or with a slash at its end."""
    root = configured.system.root.strip("/") if configured is not None else "."
    return "" if root in {"", "."} else f"{root}/"


def _without_unknown_variants(found: Import, configured: Configuration | None) -> None:
    """Keep no scenario of a variant that the configuration of somebody else has not."""
    known = {"", *(configured.system.variants if configured is not None else ())}
    kept = [case for case in found.cases if case.variant in known]
    if number := len(found.cases) - len(kept):
        first = next(case for case in found.cases if case.variant not in known)
        result = (
            f"{plural(number, 'test')} {'is' if number == 1 else 'are'} not written for them: add the `system` below"
        )
        result += " to the configuration, and import again"
        found.note((first.file, 1), ImportOutcome.MANUAL, "system.variants", result)
        found.cases[:] = kept


def _has_model(configured: Configuration | None) -> bool:
    """Whether the configuration names a model for the tasks of Inspect."""
    return configured is not None and bool(configured.system.environment.get(INSPECT_MODEL))


def _move_code(found: Import, root: str) -> None:
    """Name files of code as they are seen from the system's folder, which is all that metrics see."""

    def moved(value: Any, place: tuple[str, int]) -> Any:
        if isinstance(value, Mapping):
            return {key: moved(item, place) for key, item in value.items()}
        if isinstance(value, list):
            return [moved(item, place) for item in value]
        if not isinstance(value, str) or not value.startswith("file://"):
            return value
        path = value.removeprefix("file://")
        if path.startswith(root):
            return f"file://{path.removeprefix(root)}"
        result = f"{path} is outside {root!r}, the system's folder, which is all that metrics see: move it there"
        found.note(place, ImportOutcome.MANUAL, "code", result)
        return value

    for case in found.cases:
        for entry in case.assertions:
            if entry["metric"].startswith(f"{CHECKS}:"):
                entry["with"] = moved(entry.get("with", {}), (case.file, case.line))


def promptfoo_file(path: Path, *, runs_code: bool = False) -> str:
    """The configuration in a folder; a file itself.

    Raises:
        UsageError: the folder has none, or it is code that nobody asked to run.
    """
    named = [path / f"promptfooconfig.{suffix}" for suffix in ("yaml", "yml", "json")]
    modules = [path / f"promptfooconfig{suffix}" for suffix in CODE]
    found = next((each for each in (*named, *modules) if each.is_file()), None) if path.is_dir() else path
    if found is not None and found.suffix in CODE and not runs_code:
        raise UsageError(
            f"{printable(str(found))!r} is code, and an import runs none unless you ask for it.",
            f"Read the file, then run: ratiba import promptfoo {printable(str(path))} {OPTION}",
        )
    if found is None:
        names = ", ".join(each.name for each in named)
        below = sorted(each for each in path.glob("**/promptfooconfig*.y*ml") if "node_modules" not in each.parts)
        example = printable(str(below[0] if below else "evals/config.yaml"))
        raise UsageError(
            f"The folder {printable(str(path))!r} has no {names}.",
            f"Give the configuration's file, such as: ratiba import promptfoo {example}",
        )
    return str(found)


def parse_prefix(text: str) -> str:
    """The beginning of ids.

    Raises:
        ValueError: it is none; says what is allowed.
    """
    if not _PREFIX.fullmatch(text):
        raise ValueError("up to 24 lower-case letters, digits, _ and -")
    return text


def parse_field(fields: Sequence[str], text: str) -> tuple[str, str]:
    """A field and the column that it is made of.

    Raises:
        ValueError: another form, or an unknown field; says what is allowed.
    """
    name, found, column = text.partition("=")
    if not (found and column):
        raise ValueError("FIELD=COLUMN, such as input=question")
    one_of(fields, name)
    return name, column


def parse_metric(text: str) -> tuple[str, float]:
    """A metric that compares a reply with ``expect.answer``, and its threshold.

    Raises:
        ValueError: another form, or another metric; says what is allowed.
    """
    name, _, threshold = text.partition("=")
    if name not in METRICS or METRICS[name].needs != "expect.answer":
        names = ", ".join(each for each, entry in METRICS.items() if entry.needs == "expect.answer")
        raise ValueError(f"NAME=THRESHOLD with one of {names}")
    if not re.fullmatch(r"0(\.[0-9]+)?|1(\.0+)?", threshold):
        raise ValueError(f"a threshold from 0 to 1, such as {name}=0.5")
    return name, float(threshold)


def _read(arguments: argparse.Namespace, repository: Path, prefix: str, environment: Mapping[str, str]) -> Import:
    """Read all files; the problems of all are reported at once."""
    found = Import()
    read = _reader(arguments, prefix, environment)
    # Python files come first: their metrics apply to the goldens of the other files.
    for name in sorted(arguments.files, key=lambda name: not name.endswith(".py")):
        path = Path(name)
        shown = "" if str(path.parent) == "." else str(path.parent)
        folder = SourceFolder(path.parent.resolve(), shown, repository.resolve())
        try:
            read(folder, path.name, found)
        except SuiteError as error:
            found.problems += error.problems
    if found.problems:
        raise SuiteError(list(dict.fromkeys(found.problems)))
    return found


def _reader(
    arguments: argparse.Namespace, prefix: str, environment: Mapping[str, str]
) -> Callable[[SourceFolder, str, Import], None]:
    """What reads a file of the source.

    Raises:
        UsageError: an option is invalid.
    """
    source = arguments.source
    ways = {"map"} if source == "promptfoo" else {"scorer"} if source in _SCORED else {"map", "format", "metric"}
    unused = [name for name in ("map", "format", "metric", "scorer") if getattr(arguments, name) and name not in ways]
    if unused:
        raise UsageError(
            f"--{' and --'.join(unused)} do nothing for {source}.",
            f"Leave them out; {source} has --{', --'.join(sorted(ways))}.",
        )
    if arguments.run_code and source != "promptfoo":
        raise UsageError(f"{OPTION} does nothing for {source}.", "Leave it out.")
    fields = ["input"] if source == "promptfoo" else list(FIELDS)
    columns = dict(parse_option("--map", text, partial(parse_field, fields)) for text in arguments.map)
    if source == "promptfoo":
        kept = {name: environment[name] for name in _SHELL if name in environment}
        python = environment.get("PROMPTFOO_PYTHON", "python3")
        code = ProjectCode(kept, python) if arguments.run_code else None
        message = columns.get("input", "")
        return lambda folder, name, found: read_promptfoo(folder, name, found, message, prefix, code=code)
    if source in _SCORED:
        return partial(_read_scored, source, _scorer(source, arguments.scorer))
    usual = FORMATS[arguments.format or (source if source in FORMATS else "plain")]
    metric = parse_option("--metric", arguments.metric, parse_metric) if arguments.metric else DEFAULT_METRIC
    return partial(_read_rows, source, Mapped({**usual, **columns}, metric, []))


def _read_rows(source: str, mapped: Mapped, folder: SourceFolder, name: str, found: Import) -> None:
    """Rows, or a Python file, whose metrics apply to the rows of the files after it."""
    if source in _PYTHON and name.endswith(".py"):
        shared = _PYTHON[source](folder, name, found)
        mapped.shared.extend(entry for entry in shared if entry not in mapped.shared)
    elif name.endswith((".csv", ".json", ".jsonl")):
        read_goldens(folder, name, found, mapped)
    else:
        _wrong_name(folder, name, found, ".csv, .json or .jsonl")


def _read_scored(source: str, scorer: Scoring | None, folder: SourceFolder, name: str, found: Import) -> None:
    """A file of tasks or evals, or samples."""
    read, samples, suffixes = _SCORED[source][1:]
    if name.endswith(suffixes):
        read(folder, name, found)
    elif name.endswith((".csv", ".json", ".jsonl")):
        samples(folder, name, found, scorer)
    else:
        _wrong_name(folder, name, found, f".csv, .json, .jsonl or {' or '.join(suffixes)}")


def _wrong_name(folder: SourceFolder, name: str, found: Import, suffixes: str) -> None:
    found.problems.append(FileProblem(folder.name(name), 1, f"its name does not end with {suffixes}"))


def _scorer(source: str, text: str | None) -> Scoring | None:
    """The scorer of ``--scorer``.

    Raises:
        UsageError: it is none of the source.
    """
    if text is None:
        return None
    known = _SCORED[source][0]
    try:
        return read_scorer(ast.parse(text, mode="eval").body, known)
    except (SyntaxError, ValueError, RecursionError, MemoryError, NotImportedError) as error:
        reason = str(error) if isinstance(error, NotImportedError) else "it is no call or name"
        raise UsageError(
            f"--scorer {shorten(text)}: {reason}.", f"Give one of {', '.join(known)}, with its arguments."
        ) from error


def _imported(found: Import) -> int:
    return sum(finding.what == TEST and finding.outcome == ImportOutcome.MAPPED for finding in found.findings)


@dataclass(frozen=True, slots=True)
class _Shown:
    """What the command prints.

    Args:
        block: to add to the configuration.
        report: path of the file with everything; empty if there is none.
    """

    found: Import
    written: Written
    block: Mapping[str, Any]
    report: str
    dry_run: bool

    def as_json(self) -> dict[str, Any]:
        return {
            "dry_run": self.dry_run,
            "tests": _imported(self.found),
            **asdict(self.written),
            "report": self.report,
            "findings": [asdict(finding) for finding in in_order(self.found)],
            "configuration": self.block,
        }

    def as_text(self) -> str:
        import yaml  # for people only

        written = self.written
        lines = finding_lines(self.found, self.report)
        verbs = ("Would write", "Would update", "Would remove") if self.dry_run else ("Written", "Updated", "Removed")
        listed = (written.written, written.updated, written.removed)
        lines += [f"{verb}: {name}" for verb, names in zip(verbs, listed, strict=True) for name in names]
        lines += [f"Kept as you changed it: {name}" for name in written.kept]
        lines += [
            f"Kept as you changed it, though its source changed too: {name}. Compare it with {self.report or REPORT}"
            for name in written.conflicts
        ]
        lines.append(total_line(self.found))
        if not written.changes and (written.unchanged or written.kept or written.conflicts):
            count = plural(len(written.unchanged) + len(written.kept) + len(written.conflicts), "file")
            lines.append(f"Nothing changed: the {count} of this import are there already.")
        elif not written.changes:
            lines.append("Nothing was imported.")
        if self.block:
            kinds = {"system": _ADD_SYSTEM, "tests": _ADD_TESTS, "metrics": _ADD_METRICS}
            lines.append(next(text for key, text in kinds.items() if key in self.block))
            block = yaml.safe_dump(self.block, sort_keys=False, allow_unicode=True)
            lines += [f"  {line}" for line in block.splitlines()]
        if self.report:
            lines.append(f"Everything, with each place: {self.report}")
        if written.changes:
            lines.append("Review the scenarios, then run: ratiba validate")
        return "".join(f"{line}\n" for line in lines)
