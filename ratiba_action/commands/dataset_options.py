"""Options and helpers that all dataset tasks share."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ratiba_action.commands.options import parse_option
from ratiba_action.errors import InfrastructureError, UsageError
from ratiba_action.observability.traces.datasets import suite_dataset
from ratiba_action.settings.run_deadline import parse_seconds
from ratiba_action.settings.settings import Settings, read_settings

if TYPE_CHECKING:
    from ratiba_action.observability.langfuse_asking import LangfuseAccess

_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class DatasetTask:
    """The inputs of a dataset task.

    Args:
        dataset: its name on the server.
        repository: the checkout.
    """

    settings: Settings
    access: "LangfuseAccess"
    dataset: str
    repository: Path


def add_server_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for dataset name and time limit."""
    description = "name of the dataset (default: OWNER/REPOSITORY/NAME, or NAME without GITHUB_REPOSITORY)"
    parser.add_argument("--dataset", metavar="NAME", help=description)
    parser.add_argument(
        "--seconds", metavar="N", default="120", help="time limit for Langfuse in seconds (default: 120)"
    )


def add_suite_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the scenarios of a checkout."""
    add_server_options(parser)
    parser.add_argument("--repo", metavar="DIR", help="the checkout (default: GITHUB_WORKSPACE or this folder)")
    parser.add_argument("--scenarios", metavar="PATH", help="scenarios folder (RATIBA_SCENARIOS)")
    parser.add_argument("--name", metavar="NAME", help="name of the gate (RATIBA_NAME)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def read_task(arguments: argparse.Namespace, environment: Mapping[str, str], purpose: str) -> DatasetTask:
    """Everything that a task needs before it calls the server.

    Args:
        arguments: with those of ``add_suite_options``, or of the gate.
        environment: of the process.
        purpose: what cannot be done without keys, for the message.

    Raises:
        UsageError: an option is invalid, or keys are missing.
        ConfigurationError: an input is invalid.
    """
    from ratiba_action.run.event_logging import required_access  # noqa: PLC0415 - not for --help

    seconds = parse_option("--seconds", arguments.seconds, parse_seconds)
    settings = read_settings(environment, {"scenarios": arguments.scenarios, "name": arguments.name})
    access = replace(required_access(settings, environment, purpose), seconds=seconds)
    default = suite_dataset(environment.get("GITHUB_REPOSITORY") or "", settings.name)
    repository = Path(arguments.repo or environment.get("GITHUB_WORKSPACE") or ".").resolve()
    if not repository.is_dir():
        raise UsageError(f"There is no folder {str(repository)!r}.", "Give the checkout with --repo.")
    name = default if arguments.dataset is None else parse_option("--dataset", arguments.dataset, _parse_name)
    return DatasetTask(settings, access, name, repository)


def _parse_name(text: str) -> str:
    if not text.strip() or len(text) > _LONGEST_NAME or not text.isprintable():
        raise ValueError(f"1 to {_LONGEST_NAME} printable characters")
    return text


def server_failed(problem: object, done: str = "") -> InfrastructureError:
    """The error for a failed server call.

    Args:
        problem: what failed.
        done: what was done before, as a sentence; empty for nothing.
    """
    message = f"The request to Langfuse failed: {problem}." + (f" {done}" if done else "")
    return InfrastructureError(message, "Try again. To check the server, run: ratiba dataset verify")


def dataset_missing(name: str) -> UsageError:
    """The error for a dataset that does not exist."""
    return UsageError(
        f"Langfuse has no dataset {name!r}.", "Create it with `ratiba dataset push`, or give another with --dataset."
    )
