"""``ratiba compare``: two to six runs side by side."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ratiba_action.commands.options import add_json, checkout_of
from ratiba_action.errors import UsageError
from ratiba_action.util.text import plural

if TYPE_CHECKING:
    from ratiba_action.model.comparison import Rules

DESCRIPTION = """Show two to six runs side by side, such as runs of several models: each metric and scenario, and the
difference of each pair with its interval, if the pair can be compared. The rules come from `comparison` in the
configuration. The exit code does not depend on the results."""
EXAMPLE = """example:
  ratiba compare main/results.json ratiba-report
  ratiba compare --json a.json b.json c.json"""

_MIN, _MAX = 2, 6


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Add the option for the rules that compare existing results."""
    description = (
        "configuration file with the `comparison` rules (default: .github/ratiba.yml if it exists; RATIBA_CONFIG)"
    )
    parser.add_argument("--config", metavar="PATH", help=description)


def read_rules(arguments: argparse.Namespace, environment: Mapping[str, str]) -> "Rules":
    """The rules for comparing results.

    Raises:
        ConfigurationError: the configuration is invalid, or one that was given cannot be read.
    """
    from ratiba_action.config.configuration import configured_rules  # needs the package's dependencies
    from ratiba_action.settings.settings import read_settings

    name = read_settings(environment, {"config": arguments.config}).config
    return configured_rules(checkout_of(), name, required=bool(arguments.config or environment.get("RATIBA_CONFIG")))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("results", nargs="+", metavar="RESULTS", help="a results.json, or a report directory")
    add_rules(parser)
    add_json(parser, "print the runs and their comparisons as JSON")


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Print the runs; always returns 0.

    Raises:
        UsageError: too few or too many results are given.
        ConfigurationError: results or the configuration cannot be read; every problem.
    """
    from ratiba_action.history.files import read_named_runs
    from ratiba_action.reporting.runs_side_by_side import (
        NamedRun,
        render_runs,
        runs_json,
    )
    from ratiba_action.reporting.terminal import make_console, print_comment
    from ratiba_action.verdict.runs import compare_each

    paths: Sequence[str] = arguments.results
    if not _MIN <= len(paths) <= _MAX:
        raise UsageError(
            f"ratiba compare got {plural(len(paths), 'run')}.",
            f"Give {_MIN} to {_MAX} files or report folders, such as: ratiba compare main/results.json ratiba-report",
        )
    runs = [NamedRun(path, found) for path, found in zip(paths, read_named_runs(paths), strict=True)]
    pairs = compare_each([run.run for run in runs], read_rules(arguments, environment))
    if arguments.json:
        sys.stdout.write(json.dumps(runs_json(runs, pairs), indent=2, allow_nan=False) + "\n")
    else:
        print_comment(render_runs(runs, pairs), make_console(sys.stdout, environment))
    return 0
