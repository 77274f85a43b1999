"""``ratiba status``: the runs of a gate in the ledger's database, going on or ended."""

import argparse
import json
import sys
import uuid
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from ratiba_action.commands.options import add_json, count_option
from ratiba_action.errors import ConfigurationError, UsageError
from ratiba_action.history.executions import Execution, ExecutionFilter, read_executions
from ratiba_action.settings.gitlab import gitlab_job
from ratiba_action.settings.settings import Settings, read_settings
from ratiba_action.tenancy.connections import parameters
from ratiba_action.util.text import printable, unreadable_as_command

DESCRIPTION = """Show the last runs of this gate, or one of them, from the ledger's database (ledger-url)."""
EXAMPLE = """example:
  ratiba status
  ratiba status --last 5 --json
  ratiba status 4f0c9a52-8a44-4a6e-9c0e-1d2f3a4b5c6d    # an execution id, as the run prints it
  ratiba status 19283746501                             # or the id of a workflow run"""

_UNKNOWN = 3
_MAX = 1_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("run_name", nargs="?", metavar="RUN", help="execution id, or id of the workflow run")
    parser.add_argument("--last", default="20", metavar="N", help="maximum number of runs (default: 20)")
    add_json(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Print the runs.

    Raises:
        UsageError: there is no ledger, or the run's name is none.
        LedgerError: the database cannot be read.
    """
    settings = read_settings(environment, {})
    last = count_option("--last", arguments.last, _MAX)
    named = arguments.run_name is not None
    wanted = wanted_of(arguments.run_name, settings, environment, 1 if named else last)
    found = read_executions(ledger_of(settings), wanted)
    if arguments.json:
        rows = [json_of(execution) for execution in found]
        content: Any = (rows[0] if rows else None) if named else rows
        sys.stdout.write(unreadable_as_command(json.dumps(content, indent=2)) + "\n")
    else:
        lines = [line_of(execution) for execution in found] or ["No run of this gate is in the ledger's database."]
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    return _UNKNOWN if named and not found else 0


def ledger_of(settings: Settings) -> str:
    """The connection string of the ledger's database.

    Raises:
        UsageError: there is none, or it cannot be parsed; its text is not repeated because it may hold a password.
    """
    if not settings.ledger_url:
        raise UsageError("ledger-url is empty, so no run can be looked up.", "Set RATIBA_LEDGER_URL.")
    try:
        parameters(settings.ledger_url)
    except ConfigurationError as error:
        problem = f"ledger-url: {error.problem}"
        raise UsageError(problem, "Set RATIBA_LEDGER_URL to postgresql://user:password@host:port/database.") from None
    return settings.ledger_url


def wanted_of(name: str | None, settings: Settings, environment: Mapping[str, str], last: int = 1) -> ExecutionFilter:
    """Which runs are meant: one by its name, or those of this gate, in this repository where that is known.

    Raises:
        UsageError: the name is neither an execution id nor that of a workflow run.
    """
    job = gitlab_job(environment)
    repository = environment.get("GITHUB_REPOSITORY") or (job.project if job is not None else None)
    if name is None:
        return ExecutionFilter(gate=settings.name, repository=repository, last=last)
    if name.isascii() and name.isdigit() and 0 < int(name) < 2**63:
        return ExecutionFilter(run_id=int(name), gate=settings.name, repository=repository)
    try:
        return ExecutionFilter(id=str(uuid.UUID(name)))
    except ValueError:
        problem = f"The run is {name[:100]!r}, neither an execution id nor the id of a workflow run."
        raise UsageError(problem, "List the runs with: ratiba status") from None


def json_of(execution: Execution) -> dict[str, Any]:
    """A run as JSON: what is known of it, and its outputs and results once it has ended."""
    known = {name: value for name, value in asdict(execution).items() if name != "outcome"}
    times = {name: value.isoformat() for name, value in known.items() if isinstance(value, datetime)}
    return {**known, **times, **execution.outcome}


def line_of(execution: Execution) -> str:
    """A run on one line."""
    outcome = execution.outcome
    ended = f"{outcome.get('conclusion')}: {outcome.get('passed')} passed, {outcome.get('failed')} failed"
    state = ended if outcome else execution.status.value
    commit = execution.commit[:12] or "work tree"
    return printable(f"{execution.execution_id}  {execution.started_at:%Y-%m-%d %H:%M:%S}Z  {commit}  {state}")
