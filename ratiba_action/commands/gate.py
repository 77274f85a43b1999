"""The options of ``ratiba gate``; what runs it is loaded only when it runs, so that ``--help`` is fast."""

import argparse
from collections.abc import Callable, Collection, Mapping, MutableMapping
from functools import partial
from typing import Any

from ratiba_action.commands.gate_options import read_options
from ratiba_action.commands.options import OptionGroup, add_json, add_repo, add_variant
from ratiba_action.errors import UsageError
from ratiba_action.settings.settings import INPUTS, Input, read_settings

DESCRIPTION = """Decide the mode, run the golden scenarios, and report whether the change may merge.
Without an event, the working tree is compared with the commit at which it left the default branch (the merge base)."""
EXAMPLE = """example:
  ratiba gate
  ratiba gate --scenario order_status --concurrency 1
  ratiba gate --watch --view
  ratiba gate --shard 3/8 --report-dir shard-3
  ratiba gate --event event.json --event-name pull_request --dry-run"""


OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "--scenario": {"action": "append", "default": [], "metavar": "ID", "help": "run this scenario; may be repeated"},
    "--tag": {
        "action": "append",
        "default": [],
        "metavar": "TAG",
        "help": "run scenarios with this tag; may be repeated",
    },
    "--failed": {"action": "store_true", "help": "run the scenarios that did not pass in the last run"},
    "--affected": {
        "action": "store_true",
        "help": "run the scenarios that read a changed file, or whose touches name one",
    },
    "--watch": {"action": "store_true", "help": "after each save, run the affected scenarios again; Ctrl-C ends"},
    "--view": {"action": "store_true", "help": "with --watch: show each run in a browser, on this machine"},
    "--dry-run": {"action": "store_true", "help": "show mode, plan and cost estimate; run nothing"},
    "--event": {"metavar": "FILE", "help": "JSON file with the event's payload (default: GITHUB_EVENT_PATH)"},
    "--event-name": {"metavar": "NAME", "help": "name of the event (default: GITHUB_EVENT_NAME)"},
    "--variants": {"action": "store_true", "help": "also run every variant of the system, for comparison"},
    "--concurrency": {"metavar": "N", "help": "scenarios to run in parallel (default: suite.concurrency, or 4)"},
    "--trials": {
        "default": "1",
        "metavar": "N",
        "help": "minimum number of trials per scenario, 1 to 50 (default: 1)",
    },
    "--deadline": {"metavar": "SECONDS", "help": "end the run cleanly after this time (RATIBA_DEADLINE)"},
    "--resume": {"action": "store_true", "help": "continue a killed run without paying for anything twice"},
    "--no-deepeval-cache": {"action": "store_true", "help": "do not use cached judge scores"},
    "--deepeval-cache-clear": {"action": "store_true", "help": "delete cached judge scores first"},
    "--baseline-out": {"metavar": "FILE", "help": "also write results.json to this file, for --baseline"},
}
"""Options that are no inputs of the action."""

_EVERYDAY = ("--scenario", "--tag", "--failed", "--affected", "--watch", "--view", "--dry-run", "--llm", "--budget-usd")
"""Options of every day, with ``-q`` and ``-v``: ``--help`` lists them first."""

_GROUPS: Mapping[str, tuple[str, ...]] = {
    "decision": ("--mode", "--enforce", "--rules", "--baseline", "--name", "--pull-request"),
    "how scenarios are run": (
        *("--variant", "--variants", "--concurrency", "--trials", "--deadline", "--resume", "--shard", "--shards"),
    ),
    "models and money": (
        *("--monthly-budget-usd", "--anthropic-base-url", "--openai-base-url"),
        *("--no-deepeval-cache", "--deepeval-cache-clear"),
    ),
    "files": ("--repo", "--config", "--scenarios", "--report-dir", "--baseline-out", "--json"),
    "event and services": ("--event", "--event-name", "--comment", "--langfuse-host", "--otlp-endpoint"),
}
"""The other options under the heading that ``--help`` lists them by."""

_OF_GATE = (
    "--failed",
    "--affected",
    "--watch",
    "--view",
    "--dry-run",
    "--variants",
    "--resume",
    "--deepeval-cache-clear",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options: every input that is not secret, and options for local use."""
    parser.usage = "%(prog)s [options]"
    add_run_options(parser)


def add_merge_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that the merge of shards has in common with a run."""
    add_run_options(parser, without=("--shard", "--shards", *_OF_GATE))


def add_run_options(parser: argparse.ArgumentParser, without: Collection[str] = ()) -> None:
    """Add the options of a run, those of every day first and the others by group.

    Args:
        without: options that the command does not have.
    """
    add_named = partial(
        _add, inputs={f"--{entry.name}": entry for entry in INPUTS if not entry.secret}, without=without
    )
    add_named(parser, _EVERYDAY)
    either = parser.add_mutually_exclusive_group()
    add = partial(either.add_argument, dest="verbosity", action="store_const", default=0)
    add("-q", "--quiet", const=-1, help="print the verdict only")
    add("-v", "--verbose", const=1, help="on a terminal, also print the comment and a table of all scenarios")
    for title, names in _GROUPS.items():
        add_named(parser.add_argument_group(title), names)


def _add(target: OptionGroup, names: Collection[str], *, inputs: Mapping[str, Input], without: Collection[str]) -> None:
    others: Mapping[str, Callable[[OptionGroup], None]] = {
        "--repo": add_repo,
        "--variant": add_variant,
        "--json": partial(add_json, description="print the outputs as JSON"),
    }
    for name in names:
        if name in without:
            continue
        if name in others:
            others[name](target)
        elif name in inputs:
            target.add_argument(name, metavar=inputs[name].metavar, help=inputs[name].option_help)
        else:
            target.add_argument(name, **OPTIONS[name])


def run(arguments: argparse.Namespace, environment: MutableMapping[str, str]) -> int:
    """Run the gate; see ``gate_run.run`` and ``watch.run``."""
    options = read_options(arguments, environment)
    if options.view and not options.watch:
        raise UsageError("--view shows the runs of --watch.", "Add --watch, or run beside the gate: ratiba view")
    if options.watch:
        from ratiba_action.commands.watch import run as watch  # as below

        return watch(options, environment, read_settings(environment, options.inputs))
    from ratiba_action.commands.gate_run import run as run_gate  # --help does not need it

    return run_gate(options, environment, kept=arguments.kept)
