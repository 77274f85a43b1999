"""The options of ``ratiba gate``; what runs it is loaded only when it runs, so that ``--help`` is fast."""

import argparse
from collections.abc import Collection, MutableMapping
from functools import partial

from ratiba_action.commands.gate_options import read_options
from ratiba_action.commands.options import add_json, add_repo, add_variant
from ratiba_action.settings.settings import INPUTS, read_settings

DESCRIPTION = """Decide the mode, run the golden scenarios, and report whether the change may merge.
Without an event, the working tree is compared with its merge base with the default branch."""
EXAMPLE = """example:
  ratiba gate
  ratiba gate --scenario spa_booking_swahili_happy --concurrency 1
  ratiba gate --watch
  ratiba gate --shard 3/8 --report-dir shard-3
  ratiba gate --event event.json --event-name pull_request --dry-run"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options: every input that is not secret, and options for local use."""
    add_run_options(parser)
    parser.add_argument("--failed", action="store_true", help="run the scenarios that did not pass in the last run")
    parser.add_argument(
        "--affected", action="store_true", help="run the scenarios that read a changed file, or whose touches name one"
    )
    parser.add_argument("--variants", action="store_true", help="also run every variant of the system, for comparison")
    parser.add_argument("--resume", action="store_true", help="continue a killed run without paying for anything twice")
    parser.add_argument("--deepeval-cache-clear", action="store_true", help="delete cached judge scores first")
    parser.add_argument(
        "--watch", action="store_true", help="after each save, run the affected scenarios again; Ctrl-C ends"
    )
    parser.add_argument("--dry-run", action="store_true", help="show mode, plan and cost estimate; run nothing")


def add_run_options(parser: argparse.ArgumentParser, without: Collection[str] = ()) -> None:
    """Add the options that a run has in common with the merge of its shards.

    Args:
        without: names of inputs that it does not have.
    """
    for entry in INPUTS:
        if not entry.secret and entry.name not in without:
            parser.add_argument(f"--{entry.name}", metavar=entry.metavar, help=entry.option_help)
    parser.add_argument(
        "--event", metavar="FILE", help="JSON file with the event's payload (default: GITHUB_EVENT_PATH)"
    )
    parser.add_argument("--event-name", metavar="NAME", help="name of the event (default: GITHUB_EVENT_NAME)")
    add_repo(parser)
    parser.add_argument(
        "--scenario", action="append", default=[], metavar="ID", help="run this scenario; may be repeated"
    )
    parser.add_argument(
        "--tag", action="append", default=[], metavar="TAG", help="run scenarios with this tag; may be repeated"
    )
    add_variant(parser)
    parser.add_argument(
        "--concurrency", metavar="N", help="scenarios to run in parallel (default: suite.concurrency, or 4)"
    )
    parser.add_argument(
        "--trials", default="1", metavar="N", help="minimum number of trials per scenario, 1 to 50 (default: 1)"
    )
    parser.add_argument("--deadline", metavar="SECONDS", help="end the run cleanly after this time (RATIBA_DEADLINE)")
    parser.add_argument("--no-deepeval-cache", action="store_true", help="do not use cached judge scores")
    parser.add_argument("--baseline-out", metavar="FILE", help="also write results.json to this file, for --baseline")
    printed = parser.add_mutually_exclusive_group()
    add = partial(printed.add_argument, dest="verbosity", action="store_const", default=0)
    add("-q", "--quiet", const=-1, help="print the verdict only")
    add("-v", "--verbose", const=1, help="on a terminal, also print the comment and a table of all scenarios")
    add_json(parser, "print the outputs as JSON")


def run(arguments: argparse.Namespace, environment: MutableMapping[str, str]) -> int:
    """Run the gate; see ``gate_run.run`` and ``watch.run``."""
    options = read_options(arguments, environment)
    if options.watch:
        from ratiba_action.commands.watch import run as watch  # as below

        return watch(options, environment, read_settings(environment, options.inputs))
    from ratiba_action.commands.gate_run import run as run_gate  # 0.8 s, which --help does not need

    return run_gate(options, environment, kept=arguments.kept)
