"""``ratiba dataset verify``: check that a Langfuse server supports what the gate needs."""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import replace

from ratiba_action.commands.options import add_json, parse_option, print_json
from ratiba_action.settings.run_deadline import parse_seconds
from ratiba_action.settings.settings import read_settings
from ratiba_action.util.text import printable

SUMMARY = "check a Langfuse server: create a dataset, a trace and a score, and read them back"
DESCRIPTION = """Create a dataset 'ratiba-verify' with one item, a trace and its scores, read them back, and send
them again: there must be one copy of each. On a server without GET /api/public/v2/observations or v3/scores the second
sending is left out. The dataset and one trace per call stay on the server."""
EXAMPLE = """example:
  ratiba dataset verify --seconds 180"""

_INCOMPLETE = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the task's options."""
    parser.add_argument(
        "--seconds", metavar="N", default="120", help="time limit for all steps in seconds (default: 120)"
    )
    add_json(parser, "print the steps as JSON")


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Verify a server.

    Returns:
        The exit code: 0 if every step succeeded.

    Raises:
        UsageError: keys are missing, or an option is invalid.
    """
    import uuid
    from datetime import UTC, datetime

    from ratiba_action.observability.langfuse_asking import LangfuseError
    from ratiba_action.observability.langfuse_verification import verify
    from ratiba_action.run.event_logging import required_access

    seconds = parse_option("--seconds", arguments.seconds, parse_seconds)
    access = required_access(read_settings(environment, {}), environment, "no server can be verified")
    steps: list[str] = []
    lacks: list[str] = []
    problem = ""
    try:
        for step in verify(replace(access, seconds=seconds), f"verify-{uuid.uuid4()}", datetime.now(UTC)):
            (lacks if step.lacking else steps).append(step.text)
            if not arguments.json:
                sys.stdout.write(f"{'lacks' if step.lacking else 'ok'}: {printable(step.text)}\n")
                sys.stdout.flush()
    except LangfuseError as error:
        problem = str(error)
    if arguments.json:
        result = {"host": access.host, "steps": steps, "lacks": lacks, "problem": problem}
        print_json(result)
    elif problem:
        sys.stdout.write(f"failed: {printable(problem)}\n")
    return _INCOMPLETE if problem else 0
