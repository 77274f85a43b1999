"""``ratiba import``: make scenarios of the tests that other tools have."""

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ratiba_action.authoring.deepeval_tests import read_test_file
from ratiba_action.authoring.goldens import DEFAULT_METRIC, FIELDS, FORMATS, Mapped, read_goldens
from ratiba_action.authoring.import_report import finding_lines, import_report, in_order, total_line
from ratiba_action.authoring.imported_files import ImportedFiles, Written
from ratiba_action.authoring.imports import (
    TEST,
    Import,
    ImportOutcome,
    SourceFolder,
    Target,
    checks_file,
    common_metrics,
    configuration_file,
    scenario_files,
    slug,
)
from ratiba_action.authoring.promptfoo import read_promptfoo
from ratiba_action.authoring.promptfoo_assertions import CHECKS
from ratiba_action.authoring.starter_answers import one_of, parse_language
from ratiba_action.commands.options import add_json, add_repo, parse_option, repository_of
from ratiba_action.config.configuration import optional_configuration
from ratiba_action.errors import ConfigurationError, FileProblem, SuiteError, UsageError
from ratiba_action.metrics.metric_table import METRICS
from ratiba_action.model.scenario import SystemType
from ratiba_action.settings.settings import read_settings
from ratiba_action.util.locked_folder import change_files
from ratiba_action.util.text import plural, printable, printable_lines

SOURCES: Mapping[str, str] = {
    "promptfoo": "a configuration or a file of tests: YAML, JSON, JSON Lines or CSV",
    "deepeval": "goldens or test cases as JSON, JSON Lines or CSV, and pytest files",
    "csv": "rows, with --map or --format",
    "jsonl": "rows as JSON Lines or a JSON list, with --map or --format",
}
DESCRIPTION = """Make scenarios of the tests that other tools have. Nothing in the files is executed. Reports what was
mapped, what was approximated and what a person must do. A second import updates what the first one wrote, and keeps
what you changed."""
EXAMPLE = """example:
  ratiba import promptfoo .
  ratiba import deepeval goldens.json tests/test_answers.py --prefix support
  ratiba import csv questions.csv --map input=question --map contains=must_say --language sw
  ratiba import jsonl export.jsonl --format langsmith --dry-run --json"""

REPORT = "import-report.md"
"""The report, in the folder of the scenarios."""
_ADD_METRICS = (
    "Every imported scenario lists these metrics. To give them to new scenarios too, add to the configuration:"
)
_ADD_SYSTEM = (
    "The configuration stays as it is. To run the imported system, and to give new scenarios its metrics, add:"
)
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
    parser.add_argument("--prefix", metavar="NAME", help="begins the ids (default: the first file's name)")
    parser.add_argument("--language", metavar="CODE", default="en", help="language of the tests (default: en)")
    parser.add_argument(
        "--system-type", choices=[each.value for each in SystemType], default="chatbot", help="default: chatbot"
    )
    add_repo(parser, "this folder's repository")
    parser.add_argument("--scenarios", metavar="PATH", help="scenarios folder (RATIBA_SCENARIOS)")
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
        arguments.files = [promptfoo_file(Path(file)) for file in arguments.files]
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
    found = _read(arguments, repository, target.prefix)
    ours = ImportedFiles(repository, f"{target.folder}/{target.prefix}", target.origin)
    files, block = _files(found, target, ours, settings.config)
    written = ours.write(files, dry_run=arguments.dry_run)
    report = f"{ours.folder}/{REPORT}" if files and not arguments.dry_run else ""
    if report:
        change_files(repository, {report: import_report(found, written, target.origin).encode("utf-8", "replace")})
    shown = _Shown(found, written, block, report, dry_run=arguments.dry_run)
    if arguments.json:
        sys.stdout.write(json.dumps(shown.as_json(), indent=2) + "\n")
    else:
        sys.stdout.write(printable_lines(shown.as_text()))
    return 0 if files else 2


def _files(
    found: Import, target: Target, ours: ImportedFiles, configuration: str
) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The files of the import, and what to add to a configuration of somebody else.

    Args:
        configuration: path of the gate's configuration.

    Raises:
        SuiteError: the imported files have problems.
    """
    root = _root(ours, configuration)
    if root:
        _move_code(found, root)
    files = scenario_files(found, target)
    metrics = [each for each in common_metrics(found.cases) if not each["metric"].startswith(f"{CHECKS}:")]
    block: dict[str, Any] = {"metrics": {target.system_type: metrics}} if files and metrics else {}
    if files and found.system is not None:
        files |= found.system.files
        if found.system.block and (not (ours.repository / configuration).exists() or ours.is_ours(configuration)):
            files[configuration] = configuration_file(found.system, target)
        elif found.system.block:
            block = {"system": dict(found.system.block), **found.system.more, **block}
    if files and any(entry["metric"].startswith(f"{CHECKS}:") for case in found.cases for entry in case.assertions):
        files[f"{root}{CHECKS}.py"] = checks_file()
    return files, block


def _root(ours: ImportedFiles, configuration: str) -> str:
    """The folder of the system, which the gate imports metrics from: empty, or with a slash at its end."""
    try:
        found = optional_configuration(ours.repository, configuration, required=False)
    except ConfigurationError:  # `ratiba validate` says what is wrong with it
        return ""
    root = found.system.root.strip("/") if found is not None else "."
    return "" if root in {"", "."} else f"{root}/"


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


def promptfoo_file(path: Path) -> str:
    """The configuration in a folder; a file itself.

    Raises:
        UsageError: the folder has none that is data.
    """
    if not path.is_dir():
        return str(path)
    named = [path / f"promptfooconfig.{suffix}" for suffix in ("yaml", "yml", "json")]
    found = next((each for each in named if each.is_file()), None)
    if found is None:
        names = ", ".join(each.name for each in named)
        raise UsageError(
            f"The folder {printable(str(path))!r} has no {names}.",
            "Give the configuration's file, such as: ratiba import promptfoo evals/config.yaml",
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


def _read(arguments: argparse.Namespace, repository: Path, prefix: str) -> Import:
    """Read all files; the problems of all are reported at once.

    Raises:
        UsageError: an option is invalid.
        SuiteError: a file cannot be read or is malformed.
    """
    found = Import()
    promptfoo = arguments.source == "promptfoo"
    parse = partial(parse_field, ["input"] if promptfoo else list(FIELDS))
    columns = dict(parse_option("--map", text, parse) for text in arguments.map)
    usual = FORMATS[arguments.format or ("deepeval" if arguments.source == "deepeval" else "plain")]
    metric = parse_option("--metric", arguments.metric, parse_metric) if arguments.metric else DEFAULT_METRIC
    shared: list[dict[str, Any]] = []
    # Test files come first: their metrics apply to the goldens of the other files.
    for name in sorted(arguments.files, key=lambda name: not name.endswith(".py")):
        path = Path(name)
        shown = "" if str(path.parent) == "." else str(path.parent)
        folder = SourceFolder(path.parent.resolve(), shown, repository.resolve())
        try:
            if promptfoo:
                read_promptfoo(folder, path.name, found, columns.get("input", ""), prefix)
            elif arguments.source == "deepeval" and path.suffix == ".py":
                shared += read_test_file(folder, path.name, found)
            elif path.suffix in {".csv", ".json", ".jsonl"}:
                read_goldens(folder, path.name, found, Mapped({**usual, **columns}, metric, shared))
            else:
                found.problems.append(FileProblem(name, 1, "its name does not end with .csv, .json or .jsonl"))
        except SuiteError as error:
            found.problems += error.problems
    if found.problems:
        raise SuiteError(list(dict.fromkeys(found.problems)))
    return found


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
            system = "system" in self.block
            lines.append(_ADD_SYSTEM if system else _ADD_METRICS)
            block = yaml.safe_dump(self.block, sort_keys=False, allow_unicode=True)
            lines += [f"  {line}" for line in block.splitlines()]
        if self.report:
            lines.append(f"Everything, with each place: {self.report}")
        if written.changes:
            lines.append("Review the scenarios, then run: ratiba validate")
        return "".join(f"{line}\n" for line in lines)
