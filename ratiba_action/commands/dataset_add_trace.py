"""``ratiba dataset add-trace``: add a masked production trace to a dataset."""

import argparse
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ratiba_action.commands.dataset_options import add_suite_options, dataset_missing, read_task, server_failed
from ratiba_action.commands.options import parse_option, print_json
from ratiba_action.util.text import printable

SUMMARY = "add a production trace to a Langfuse dataset, masked"
DESCRIPTION = """Add a production conversation to a Langfuse dataset, masked: as a scenario in quarantine that a person
completes, or with --case as a case (its last message with the messages before it). The system's reply is never used as
the expected answer: give that with --expected, or in Langfuse. A tenant without masking rules is refused."""
EXAMPLE = """example:
  ratiba dataset add-trace 0af7651916cd43dd8448eb211c80319c --tenants ../tenants.yaml
  ratiba dataset add-trace 0af7651916cd43dd8448eb211c80319c --case --expected '{"intent": "SUPPORT"}'"""

_TRACE = re.compile(r"[A-Za-z0-9_-]{1,200}", re.ASCII)
_MAX = 20_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the task's options."""
    parser.add_argument("trace", metavar="TRACE", help="id of the trace in Langfuse")
    add_suite_options(parser)
    parser.add_argument(
        "--tenants",
        metavar="FILE",
        help="YAML file with vertical and names of each tenant; keep it outside the checkout",
    )
    parser.add_argument("--case", action="store_true", help="add a case instead of a scenario")
    parser.add_argument("--expected", metavar="JSON", help="expected answer of a case: JSON or plain text")


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Add a trace.

    Returns:
        The exit code, 0.

    Raises:
        UsageError: an option is invalid, keys are missing, or there is no such dataset or trace.
        ConfigurationError: the trace must not leave production.
        InfrastructureError: the server failed.
    """
    from ratiba_action.observability.langfuse_asking import LangfuseError
    from ratiba_action.privacy.masking import Redactor
    from ratiba_action.production.datasets.adding import AddRequest, add_trace
    from ratiba_action.production.tenants import read_tenants

    trace = parse_option("TRACE", arguments.trace, _parse_trace)
    expected = None if arguments.expected is None else parse_option("--expected", arguments.expected, _parse_expected)
    task = read_task(arguments, environment, "no trace can be added")
    tenants = read_tenants(Path(arguments.tenants)) if arguments.tenants else {}
    case = arguments.case or expected is not None
    request = AddRequest(trace, task.dataset, tenants, Redactor(task.settings.secrets), case, expected)
    try:
        added = add_trace(task.access, request)
    except LangfuseError as error:
        raise server_failed(error) from error
    if added.item is None:
        raise dataset_missing(task.dataset)
    if arguments.json:
        result = {"dataset": task.dataset, "item": added.item.id, "outcome": added.outcome}
        print_json(result)
    else:
        sys.stdout.write(f"{added.outcome}: {printable(added.item.id)}\n")
        if case and not added.item.expected_output:
            sys.stdout.write(
                "Pulls and runs leave it out until it has an expected answer: give --expected, or add it in Langfuse.\n"
            )
    return 0


def _parse_trace(text: str) -> str:
    if not _TRACE.fullmatch(text):
        raise ValueError("the id of a trace, such as 0af7651916cd43dd8448eb211c80319c")
    return text


def _parse_expected(text: str) -> Any:
    if not text.strip() or len(text) > _MAX:
        raise ValueError(f"JSON or a text of 1 to {_MAX:,} characters")
    if text.lstrip()[0] not in "{[":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"valid JSON; {error}") from error
