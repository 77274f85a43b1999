"""Options and helpers that all dataset tasks share."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ratiba_action.commands.import_tests import parse_field, parse_metric, parse_prefix
from ratiba_action.commands.options import add_json, add_repo, parse_option, repository_of
from ratiba_action.errors import InfrastructureError, UsageError
from ratiba_action.model.scenario import SystemType
from ratiba_action.observability.traces.datasets import suite_dataset
from ratiba_action.production.datasets.targets import TARGETS, DatasetTarget
from ratiba_action.settings.run_deadline import parse_seconds
from ratiba_action.settings.settings import Settings, read_settings

if TYPE_CHECKING:
    from ratiba_action.authoring.imports import Import
    from ratiba_action.model.langfuse_dataset import StoredDataset
    from ratiba_action.observability.langfuse_asking import LangfuseAccess
    from ratiba_action.production.datasets.local_suite import LocalSuite
    from ratiba_action.production.datasets.pulled import Pulled

_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class DatasetTask:
    """The inputs of a dataset task.

    Args:
        dataset: its name on the server.
        suite_dataset: name of the dataset that holds the whole suite.
        target: the evaluation that was asked for by its name.
    """

    settings: Settings
    access: "LangfuseAccess"
    dataset: str
    suite_dataset: str
    repository: Path
    target: DatasetTarget | None = None


def add_server_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for dataset name and time limit."""
    description = "name of the dataset (default: OWNER/REPOSITORY/NAME, or NAME without GITHUB_REPOSITORY)"
    parser.add_argument("--dataset", metavar="NAME", help=description)
    parser.add_argument(
        "--seconds", metavar="N", default="120", help="time limit for Langfuse in seconds (default: 120)"
    )


def add_mapping_options(parser: argparse.ArgumentParser) -> None:
    """Add the dataset's name as an argument, and the options for a dataset whose items `ratiba` did not make."""
    parser.add_argument("named", metavar="NAME", nargs="?", help=f"{', '.join(TARGETS)}; or a dataset, as --dataset")
    parser.add_argument(
        "--map",
        metavar="FIELD=PATH",
        action="append",
        default=[],
        help="maps items that ratiba did not make: FIELD as in `ratiba import --map`, PATH a JMESPath into "
        "{id, input, expectedOutput, metadata}, such as label=expectedOutput.intent",
    )
    description = "with --map: metric and threshold that compare a reply with `answer`"
    parser.add_argument("--metric", metavar="NAME=THRESHOLD", help=description)
    parser.add_argument("--prefix", metavar="NAME", help="with --map: begins the ids (default: the dataset's name)")
    parser.add_argument("--language", metavar="CODE", help="with --map: language of the items (default: en)")
    parser.add_argument(
        "--system-type",
        choices=[each.value for each in SystemType],
        help="with --map: type of the system (default: classifier if label or labels is mapped, else chatbot)",
    )
    description = "threshold over all cases, such as macro_f1=0.85; may be repeated"
    parser.add_argument("--threshold", action="append", default=[], metavar="NAME=LEAST", help=description)


def read_content(
    arguments: argparse.Namespace,
    task: "DatasetTask",
    stored: "StoredDataset",
    local: "LocalSuite",
    needing_map: Sequence[str] = (),
) -> "tuple[Pulled, Import | None]":
    """The content of a dataset, and with ``--map`` what could not be mapped.

    Args:
        arguments: with those of ``add_mapping_options``.
        needing_map: further options without an effect where there is no ``--map``.

    Raises:
        UsageError: an option is invalid, or needs another.
        SuiteError: the dataset has too many items.
    """
    from ratiba_action.authoring.dataset_items import ItemMapping, map_items
    from ratiba_action.authoring.goldens import DEFAULT_METRIC, FIELDS, OVER_ALL
    from ratiba_action.authoring.imported_suite import Target
    from ratiba_action.authoring.imports import slug
    from ratiba_action.authoring.starter_answers import parse_language
    from ratiba_action.privacy.masking import Redactor
    from ratiba_action.production.datasets.pulled import read_pulled

    thresholds, target = parse_thresholds(arguments), task.target
    given = dict(target.columns) if target is not None and not _is_ours(stored) else {}
    given |= dict(parse_option("--map", text, _parse_path(list(FIELDS))) for text in arguments.map)
    if not given:
        names = ("metric", "prefix", "language", "system_type", *needing_map)
        unused = [name.replace("_", "-") for name in names if getattr(arguments, name)]
        if unused:
            raise UsageError(
                f"--{unused[0]} needs --map.", "Give --map FIELD=PATH, such as label=expectedOutput.intent."
            )
        return read_pulled(stored), None
    prefix = arguments.prefix or slug(task.dataset, 24) or "dataset"
    language = parse_option("--language", arguments.language or "en", parse_language)
    files = Target(
        task.settings.scenarios,
        parse_option("--prefix", prefix, parse_prefix),
        language,
        arguments.system_type or (SystemType.CLASSIFIER if {*OVER_ALL} & {*given} else SystemType.CHATBOT).value,
        f"dataset pull {task.dataset}",
        as_cases=True,
    )
    metric = parse_option("--metric", arguments.metric, parse_metric) if arguments.metric else DEFAULT_METRIC
    redactor, share = Redactor(task.settings.secrets), target is not None and target.share_decides
    return map_items(stored, ItemMapping(given, files, redactor, metric, thresholds, share_decides=share), local)


def _is_ours(stored: "StoredDataset") -> bool:
    """Whether `ratiba dataset push` made the dataset, or an item of it."""
    from ratiba_action.production.datasets.scenario_items import ours

    return ours(stored.metadata) is not None or any(ours(item.metadata) is not None for item in stored.items)


def parse_thresholds(arguments: argparse.Namespace) -> dict[str, float]:
    """Thresholds of ``--threshold`` by name.

    Raises:
        UsageError: one is invalid.
    """
    from ratiba_action.production.datasets.scratch_suite import parse_threshold

    return dict(parse_option("--threshold", text, parse_threshold) for text in arguments.threshold)


def _parse_path(fields: list[str]) -> Callable[[str], tuple[str, str]]:
    from ratiba_action.util.json_expression import Expression

    def parse(text: str) -> tuple[str, str]:
        name, path = parse_field(fields, text)
        Expression(path)
        return name, path

    return parse


def add_suite_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the scenarios of a checkout."""
    add_server_options(parser)
    add_repo(parser)
    parser.add_argument("--scenarios", metavar="PATH", help="scenarios folder (default: scenarios; RATIBA_SCENARIOS)")
    parser.add_argument("--name", metavar="NAME", help="name of the gate (default: ratiba; RATIBA_NAME)")
    add_json(parser)


def read_task(
    arguments: argparse.Namespace, environment: Mapping[str, str], purpose: str, named: str | None = None
) -> DatasetTask:
    """Everything that a task needs before it calls the server.

    Args:
        arguments: with those of ``add_suite_options``, or of the gate.
        purpose: what cannot be done without keys, for the message.
        named: the target, or the dataset, of a command that takes one by position.

    Raises:
        UsageError: an option is invalid, or keys are missing.
        ConfigurationError: an input is invalid.
    """
    from ratiba_action.run.event_logging import required_access

    seconds = parse_option("--seconds", arguments.seconds, parse_seconds)
    settings = read_settings(environment, {"scenarios": arguments.scenarios, "name": arguments.name})
    access = replace(required_access(settings, environment, purpose), seconds=seconds)
    default = suite_dataset(environment.get("GITHUB_REPOSITORY") or "", settings.name)
    repository = repository_of(arguments, environment)
    if not repository.is_dir():
        raise UsageError(f"There is no folder {str(repository)!r}.", "Give the checkout with --repo.")
    target = TARGETS.get(named or "")
    if target is not None:
        named = None if arguments.dataset is not None else target.dataset
    given = [text for text in (named, arguments.dataset) if text is not None]
    if len(set(given)) > 1:
        raise UsageError(f"NAME is {given[0]!r} and --dataset is {given[1]!r}.", "Give one of them.")
    name = parse_option("--dataset", given[0], _parse_name) if given else default
    return DatasetTask(settings, access, name, default, repository, target)


def _parse_name(text: str) -> str:
    if not text.strip() or len(text) > _LONGEST_NAME or not text.isprintable():
        raise ValueError(f"1 to {_LONGEST_NAME} printable characters")
    return text


def server_failed(problem: object, done: str = "") -> InfrastructureError:
    """The error for a failed server call.

    Args:
        done: what was done before, as a sentence; empty for nothing.
    """
    message = f"The request to Langfuse failed: {problem}." + (f" {done}" if done else "")
    return InfrastructureError(message, "Try again. To check the server, run: ratiba dataset verify")


def dataset_missing(name: str) -> UsageError:
    """The error for a dataset that does not exist."""
    return UsageError(
        f"Langfuse has no dataset {name!r}.", "Create it with `ratiba dataset push`, or give another with --dataset."
    )


def required_dataset(task: DatasetTask) -> "StoredDataset":
    """The dataset of a task.

    Raises:
        UsageError: the server has none of that name.
        InfrastructureError: it cannot be asked.
    """
    from ratiba_action.observability.langfuse_asking import LangfuseError
    from ratiba_action.production.datasets.pulled import stored_dataset

    try:
        stored = stored_dataset(task.access, task.dataset)
    except LangfuseError as error:
        raise server_failed(error) from error
    if stored is None:
        raise dataset_missing(task.dataset)
    return stored
