"""``ratiba explain`` on the systems of ``in_process_repository``; a command of ``run_here``."""

import argparse
from collections.abc import MutableMapping

from ratiba_action.commands import explain
from tests.support.in_process_repository import open_session

DESCRIPTION, EXAMPLE, add_arguments = explain.DESCRIPTION, explain.EXAMPLE, explain.add_arguments


def run(arguments: argparse.Namespace, environment: MutableMapping[str, str]) -> int:
    """Explain."""
    return explain.run(arguments, environment, open_session)
