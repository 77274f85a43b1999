"""``ratiba wait RUN``: wait until a run has ended, and end as it did."""

import argparse
import json
import sys
from collections.abc import Mapping

from ratiba_action.commands.options import add_json, parse_option
from ratiba_action.commands.status import json_of, ledger_of, line_of, wanted_of
from ratiba_action.history.executions import ExecutionStatus, wait_for
from ratiba_action.settings.run_deadline import parse_seconds
from ratiba_action.settings.settings import read_settings
from ratiba_action.util.text import printable, unreadable_as_command

DESCRIPTION = """Wait until a run of the gate has ended, from another job or machine, and exit with its exit code.
The run writes to the ledger's database (ledger-url). The exit code is 3 if the run was lost or the time is over."""
EXAMPLE = """example:
  ratiba wait 4f0c9a52-8a44-4a6e-9c0e-1d2f3a4b5c6d
  ratiba wait 19283746501 --seconds 1800 --json    # the id of a workflow run, which may not have begun yet"""

_INCOMPLETE = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("run_name", metavar="RUN", help="execution id, or id of the workflow run")
    parser.add_argument("--seconds", default="3600", help="maximum time to wait (default: 3600)")
    add_json(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Wait, and print how the run ended.

    Raises:
        UsageError: there is no ledger, or the run's name is none.
        LedgerError: the database cannot be read.
    """
    settings = read_settings(environment, {})
    seconds = parse_option("--seconds", arguments.seconds, parse_seconds)
    wanted = wanted_of(arguments.run_name, settings, environment)
    found = wait_for(ledger_of(settings), wanted, seconds)
    if arguments.json:
        content = None if found is None else json_of(found)
        sys.stdout.write(unreadable_as_command(json.dumps(content, indent=2)) + "\n")
    else:
        unknown = f"The run {arguments.run_name!r} did not begin within {seconds:g} s."
        sys.stdout.write(f"{printable(unknown) if found is None else line_of(found)}\n")
    if found is None or found.status is not ExecutionStatus.COMPLETED:
        return _INCOMPLETE
    code = found.outcome.get("exit_code")
    return code if type(code) is int and 0 <= code <= _INCOMPLETE else _INCOMPLETE
