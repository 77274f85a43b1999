"""``ratiba import``: make scenarios of the tests that other tools have."""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from ratiba_action.authoring.deepeval_tests import read_test_file
from ratiba_action.authoring.goldens import DEFAULT_METRIC, FIELDS, FORMATS, Mapped, read_goldens
from ratiba_action.authoring.imports import (
    TEST,
    Import,
    ImportFinding,
    ImportOutcome,
    SourceFolder,
    Target,
    Written,
    checks_file,
    common_metrics,
    configuration_file,
    is_new,
    scenario_files,
    slug,
    write_files,
)
from ratiba_action.authoring.promptfoo import read_promptfoo
from ratiba_action.authoring.promptfoo_assertions import CHECKS, LEFT, left_file
from ratiba_action.authoring.starter_answers import one_of, parse_language
from ratiba_action.commands.options import add_json, add_repo, parse_option, repository_of
from ratiba_action.errors import FileProblem, SuiteError, UsageError
from ratiba_action.metrics.metric_table import METRICS
from ratiba_action.model.scenario import SystemType
from ratiba_action.settings.settings import read_settings
from ratiba_action.util.text import plural, printable, printable_lines

SOURCES: Mapping[str, str] = {
    "promptfoo": "a configuration or a file of tests: YAML, JSON, JSON Lines or CSV",
    "deepeval": "goldens or test cases as JSON, JSON Lines or CSV, and pytest files",
    "csv": "rows, with --map or --format",
    "jsonl": "rows as JSON Lines or a JSON list, with --map or --format",
}
DESCRIPTION = """Make scenarios of the tests that other tools have. Nothing in the files is executed. Reports what was
mapped, what was approximated and what a person must do. Existing files are never changed; a second import changes
nothing."""
EXAMPLE = """example:
  ratiba import promptfoo promptfooconfig.yaml
  ratiba import deepeval goldens.json tests/test_answers.py --prefix support
  ratiba import csv questions.csv --map input=question --map contains=must_say --language sw
  ratiba import jsonl export.jsonl --format langsmith --dry-run --json"""

_PREFIX = re.compile(r"[a-z0-9][a-z0-9_-]{0,23}")
_TITLES = {
    ImportOutcome.MAPPED: "Mapped",
    ImportOutcome.APPROXIMATED: "Approximated",
    ImportOutcome.MANUAL: "For a person",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "source",
        metavar="SOURCE",
        choices=list(SOURCES),
        help="; ".join(f"{name}: {what}" for name, what in SOURCES.items()),
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="files to import")
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
    files = scenario_files(found, target)
    metrics = [each for each in common_metrics(found.cases) if not each["metric"].startswith(f"{CHECKS}:")]
    block: dict[str, Any] = {"metrics": {target.system_type: metrics}} if files and metrics else {}
    if files and found.system is not None:
        files |= found.system.files
        configuration = configuration_file(found.system, target, found.pass_rate)
        if is_new(repository, settings.config, configuration):
            files[settings.config] = configuration
        else:
            block = {"system": dict(found.system.block), **block}
    if files and any(entry["metric"].startswith(f"{CHECKS}:") for case in found.cases for entry in case.assertions):
        files[f"{CHECKS}.py"] = checks_file()
    if files and found.left:
        files[LEFT] = left_file(found.left)
    written = write_files(repository, files, dry_run=arguments.dry_run)
    if arguments.json:
        sys.stdout.write(json.dumps(_as_json(found, written, block, dry_run=arguments.dry_run), indent=2) + "\n")
    else:
        sys.stdout.write(printable_lines(_as_text(found, written, block, dry_run=arguments.dry_run)))
    return 0 if files else 2


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


def finding_lines(found: Import) -> list[str]:
    """What became of everything, in groups by outcome; what is the same of several places is one line."""
    lines: list[str] = []
    for outcome, title in _TITLES.items():
        findings = [finding for finding in _in_order(found) if finding.outcome == outcome]
        places: dict[tuple[str, str], list[str]] = {}
        for each in findings:
            place = f"{each.file}:{each.line}" if each.line else each.file
            # Where each test went is what is written.
            written = each.what == TEST and outcome == ImportOutcome.MAPPED
            places.setdefault((each.what, "a scenario" if written else each.result), []).append(place)
        lines += [f"{title}:"] if findings else []
        for (what, result), where in places.items():
            more = f" and {len(where) - 1} more" if len(where) > 1 else ""
            lines.append(f"  {printable(f'{where[0]}{more}: {what} → {result}')}")
    return lines


def _in_order(found: Import) -> list[ImportFinding]:
    return sorted(found.findings, key=lambda finding: (finding.file, finding.line))


def _imported(found: Import) -> int:
    return sum(finding.what == TEST and finding.outcome == ImportOutcome.MAPPED for finding in found.findings)


def _as_json(found: Import, written: Written, block: Mapping[str, Any], *, dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "tests": _imported(found),
        **asdict(written),
        "findings": [asdict(finding) for finding in _in_order(found)],
        "configuration": block,
    }


def _as_text(found: Import, written: Written, block: Mapping[str, Any], *, dry_run: bool) -> str:
    import yaml  # for people only

    lines = finding_lines(found)
    lines += [f"{'Would write' if dry_run else 'Written'}: {name}" for name in written.written]
    counts = Counter(finding.outcome for finding in found.findings)
    total = ", ".join(f"{counts[outcome]} {title.lower()}" for outcome, title in _TITLES.items())
    lines.append(f"{plural(_imported(found), 'test')} imported. {total}.")
    if written.unchanged and not written.written:
        lines.append(f"Nothing changed: the {plural(len(written.unchanged), 'file')} of this import are there already.")
    elif not written.written:
        lines.append("Nothing was imported.")
    if block:
        lines.append(
            "Every imported scenario lists these metrics. To give them to new scenarios too, add to the configuration:"
        )
        lines += [f"  {line}" for line in yaml.safe_dump(block, sort_keys=False, allow_unicode=True).splitlines()]
    if written.written:
        lines.append("Review the scenarios, then run: ratiba validate")
    return "".join(f"{line}\n" for line in lines)
