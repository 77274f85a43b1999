"""``ratiba dataset push``: write scenarios and cases to a dataset as items with stable ids."""

import argparse
import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ratiba_action.commands.dataset_options import DatasetTask, add_suite_options, read_task, server_failed
from ratiba_action.util.text import printable

if TYPE_CHECKING:
    from ratiba_action.production.datasets.pushing import Pushed

SUMMARY = "write the scenarios and cases of this checkout to a Langfuse dataset"
DESCRIPTION = """Write every scenario and every case as an item of a Langfuse dataset. An item's id is derived from the
scenario's, so a second push changes nothing. Items edited in Langfuse since the last push are not overwritten without
--overwrite. Items that are no longer in the suite are listed, and archived with --archive. Nothing is deleted."""
EXAMPLE = """example:
  ratiba dataset push --dry-run
  ratiba dataset push --archive"""

_CONFLICTS = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the task's options."""
    add_suite_options(parser)
    parser.add_argument("--overwrite", action="store_true", help="replace items that were edited in Langfuse")
    parser.add_argument("--archive", action="store_true", help="archive items that are no longer in the suite")
    parser.add_argument("--dry-run", action="store_true", help="show what would be written, and write nothing")


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Push.

    Returns:
        The exit code: 1 if items were edited in Langfuse and not overwritten.

    Raises:
        UsageError: an option is invalid, or keys are missing.
        SuiteError: the scenarios are invalid; nothing was sent.
        InfrastructureError: the server failed.
    """
    from ratiba_action.observability.langfuse_asking import LangfuseError  # noqa: PLC0415 - the same
    from ratiba_action.production.datasets.local_suite import read_local_suite  # noqa: PLC0415 - not for --help
    from ratiba_action.production.datasets.pushing import push  # noqa: PLC0415 - the same

    task = read_task(arguments, environment, "nothing can be pushed")
    suite = read_local_suite(task.repository, task.settings.scenarios)
    pushed = push(
        task.access,
        task.dataset,
        suite,
        overwrite=arguments.overwrite,
        archive=arguments.archive,
        dry_run=arguments.dry_run,
    )
    if arguments.json:
        sys.stdout.write(json.dumps(_as_json(task, pushed), indent=2) + "\n")
    else:
        sys.stdout.write("".join(f"{printable(line)}\n" for line in _lines(task, pushed, dry=arguments.dry_run)))
    if isinstance(pushed.failure, LangfuseError):
        raise server_failed(pushed.failure, f"{pushed.written} items were written; another push continues from there.")
    return _CONFLICTS if pushed.plan.conflicting else 0


def _as_json(task: DatasetTask, pushed: "Pushed") -> dict[str, object]:
    plan = pushed.plan
    return {
        "dataset": task.dataset,
        "created": [item.id for item in plan.created],
        "updated": [item.id for item in plan.updated],
        "unchanged": len(plan.unchanged),
        "conflicting": [item.id for item in plan.conflicting],
        "gone": [item.id for item in plan.gone],
        "adopted": [item.id for item in plan.adopted],
        "foreign": list(plan.foreign),
        "archived": list(pushed.archived),
        "written": pushed.written,
    }


def _lines(task: DatasetTask, pushed: "Pushed", *, dry: bool) -> list[str]:
    plan = pushed.plan
    would = "would be " if dry else ""
    lines = [f"{would}created: {item.id}" for item in plan.created]
    lines += [f"{would}updated: {item.id}" for item in plan.updated]
    lines += [f"edited in Langfuse, left alone: {item.id} (pull it, or give --overwrite)" for item in plan.conflicting]
    for items, why in ((plan.gone, "no longer in the suite"), (plan.adopted, "taken over into the suite")):
        lines += [
            f"archived, {why}: {item.id}" if item.id in pushed.archived else f"{why}: {item.id} (--archive archives it)"
            for item in items
        ]
    lines += [f"not of the suite, left alone: {name}" for name in plan.foreign]
    counts = f"{len(plan.created)} {would}created, {len(plan.updated)} {would}updated, {len(plan.unchanged)} unchanged"
    return [*lines, f"{task.dataset}: {counts}"]
