"""A command that fails on purpose, to see what the command line makes of it."""

import argparse
from collections.abc import Mapping

from ratiba_action.errors import InfrastructureError

DESCRIPTION = "Fail."
EXAMPLE = "example:\n  ratiba fail unexpected"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the way to fail."""
    parser.add_argument("way", choices=["unexpected", "infrastructure"])


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Fail.

    Raises:
        InfrastructureError: when asked to.
        KeyError: otherwise.
    """
    if arguments.way == "infrastructure":
        raise InfrastructureError("The server 'db\x1b' is gone.", "Start it.")
    return len(environment["a variable that is not set"])
