"""``ratiba status``: the runs of a gate in the ledger's database, going on or ended."""

import argparse
import json
import sys
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from ratiba_action.commands.kept_runs import history_of, say_source
from ratiba_action.commands.options import RUN_SOURCES, add_json, count_option
from ratiba_action.errors import ConfigurationError, UsageError
from ratiba_action.history.executions import Execution, ExecutionFilter, ExecutionStatus, read_executions
from ratiba_action.history.run_history import KeptRunHistory
from ratiba_action.model.history import RunRecord
from ratiba_action.settings.gitlab import gitlab_job
from ratiba_action.settings.settings import Settings, read_settings
from ratiba_action.tenancy.connections import parameters
from ratiba_action.util.text import printable, unreadable_as_command

DESCRIPTION = """Show the last runs of this gate, or one of them, from the ledger's database (ledger-url), or those that
have ended from kept runs (--from, or history.branch of the configuration)."""
EXAMPLE = """example:
  ratiba status
  ratiba status --last 5 --json
  ratiba status --from ratiba-history                   # without a database
  ratiba status 4f0c9a52-8a44-4a6e-9c0e-1d2f3a4b5c6d    # an execution id, as the run prints it
  ratiba status 19283746501                             # or the id of a workflow run"""

_UNKNOWN = 3
_MAX = 1_000
_OTHERWISE = "Without a database, read kept runs: ratiba status --from ratiba-history"
_DATABASE = "the ledger's database"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("run_name", nargs="?", metavar="RUN", help="execution id, or id of the workflow run")
    parser.add_argument("--last", default="20", metavar="N", help="maximum number of runs (default: 20)")
    parser.add_argument(
        "--from", dest="source", metavar="SOURCE", help=f"instead of the database in ledger-url: {RUN_SOURCES}"
    )
    add_json(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Print the runs.

    Raises:
        UsageError: there is no ledger and no branch of runs, or the run's name is none.
        LedgerError: the database or the kept runs cannot be read.
    """
    settings = read_settings(environment, {})
    last = count_option("--last", arguments.last, _MAX)
    named = arguments.run_name is not None
    wanted = wanted_of(arguments.run_name, settings, environment, 1 if named else last)
    kept = history_of(arguments.source, settings, environment)
    found = read_executions(ledger_of(settings, _OTHERWISE), wanted) if kept is None else _ended(kept, wanted)
    if kept is not None:
        say_source(kept)
    if arguments.json:
        rows = [json_of(execution) for execution in found]
        content: Any = (rows[0] if rows else None) if named else rows
        sys.stdout.write(unreadable_as_command(json.dumps(content, indent=2)) + "\n")
    else:
        lines = [line_of(execution) for execution in found] or [
            f"No run of this gate is in {_DATABASE if kept is None else kept.source}."
        ]
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    return _UNKNOWN if named and not found else 0


def _ended(history: KeptRunHistory, wanted: ExecutionFilter) -> list[Execution]:
    """Kept runs as those that have ended; they have no execution id."""
    if wanted.id is not None:
        raise UsageError(
            "Kept runs have no execution id.", "Give the id of the workflow run, or list the runs with: ratiba status"
        )
    meant = (
        record
        for record in history.records()
        if wanted.gate in {None, record.gate}
        and wanted.repository in {None, "", record.repository}
        and wanted.run_id in {None, record.run_id}
    )
    return [_execution(record) for record in islice(meant, wanted.last)]


def _execution(record: RunRecord) -> Execution:
    statuses = Counter(result.status for result in record.results)
    outcome = {
        "conclusion": record.conclusion,
        "passed": statuses["passed"],
        "failed": statuses["failed"],
        "spent_usd": f"{record.spent_usd:.6f}",
        "results": [asdict(result) for result in record.results],
    }
    return Execution(
        execution_id="",
        status=ExecutionStatus.COMPLETED,
        repository=record.repository,
        gate=record.gate,
        commit=record.commit,
        run_id=record.run_id,
        run_attempt=record.run_attempt,
        mode=record.mode,
        started_at=record.started_at,
        ended_at=record.started_at + timedelta(seconds=record.seconds),
        outcome=outcome,
    )


def ledger_of(settings: Settings, otherwise: str = "") -> str:
    """The connection string of the ledger's database.

    Args:
        otherwise: what helps without one; a sentence.

    Raises:
        UsageError: there is none, or it cannot be parsed; its text is not repeated because it may hold a password.
    """
    if not settings.ledger_url:
        raise UsageError(
            "ledger-url is empty, so no run can be looked up.", f"Set RATIBA_LEDGER_URL. {otherwise}".strip()
        )
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
    name = execution.execution_id or f"run {execution.run_id}"
    return printable(f"{name}  {execution.started_at:%Y-%m-%d %H:%M:%S}Z  {commit}  {state}")
