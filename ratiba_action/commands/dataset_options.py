"""Options and wiring that all tasks with a dataset share."""

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
    """What a task works with.

    Args:
        dataset: its name on the server.
        repository: the checkout.
    """

    settings: Settings
    access: "LangfuseAccess"
    dataset: str
    repository: Path


def add_server_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which dataset, and how long everything may take."""
    told = "name of the dataset (default: OWNER/REPOSITORY/NAME, or NAME without GITHUB_REPOSITORY)"
    parser.add_argument("--dataset", metavar="NAME", help=told)
    parser.add_argument("--seconds", metavar="N", default="120", help="the server may take so long (default: 120)")


def add_suite_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which scenarios."""
    add_server_options(parser)
    parser.add_argument("--repo", metavar="DIR", help="the checkout (default: GITHUB_WORKSPACE or this folder)")
    parser.add_argument("--scenarios", metavar="PATH", help="folder of the scenarios (RATIBA_SCENARIOS)")
    parser.add_argument("--name", metavar="NAME", help="name of the gate (RATIBA_NAME)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def read_task(arguments: argparse.Namespace, environment: Mapping[str, str], purpose: str) -> DatasetTask:
    """Everything that a task needs before it asks the server.

    Args:
        arguments: with those of ``add_suite_options``, or of the gate.
        environment: the process's own.
        purpose: what cannot be done without keys, in words.

    Raises:
        UsageError: an option is wrong, or there are no keys.
        ConfigurationError: an input is wrong.
    """
    from ratiba_action.run.event_logging import required_access  # noqa: PLC0415 - not for --help

    seconds = parse_option("--seconds", arguments.seconds, parse_seconds)
    settings = read_settings(environment, {"scenarios": arguments.scenarios, "name": arguments.name})
    access = replace(required_access(settings, environment, purpose), seconds=seconds)
    default = suite_dataset(environment.get("GITHUB_REPOSITORY") or "", settings.name)
    repository = Path(arguments.repo or environment.get("GITHUB_WORKSPACE") or ".").resolve()
    if not repository.is_dir():
        raise UsageError(f"There is no folder {str(repository)!r}.", "Name the checkout with --repo.")
    name = default if arguments.dataset is None else parse_option("--dataset", arguments.dataset, _parse_name)
    return DatasetTask(settings, access, name, repository)


def _parse_name(text: str) -> str:
    if not text.strip() or len(text) > _LONGEST_NAME or not text.isprintable():
        raise ValueError(f"1 to {_LONGEST_NAME} characters that can be seen")
    return text


def server_failed(problem: object, done: str = "") -> InfrastructureError:
    """What is told when a server did not do what it was asked.

    Args:
        problem: what, in a few words.
        done: what was done before, as a sentence; empty for nothing.
    """
    told = f"Langfuse did not do what it was asked: {problem}." + (f" {done}" if done else "")
    return InfrastructureError(told, "Try again; 'ratiba dataset verify' tries everything once.")


def no_dataset(name: str) -> UsageError:
    """What is told when there is no dataset of that name."""
    return UsageError(f"Langfuse has no dataset {name!r}.", "Make it with 'ratiba dataset push', or name another.")
