"""``ratiba dataset push``: write scenarios and cases to a dataset as items with stable ids."""

import argparse
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ratiba_action.commands.dataset_options import DatasetTask, add_suite_options, read_task, server_failed
from ratiba_action.commands.options import print_json
from ratiba_action.errors import UsageError
from ratiba_action.observability.traces.datasets import case_dataset
from ratiba_action.util.text import printable

if TYPE_CHECKING:
    from ratiba_action.production.datasets.local_suite import LocalSuite
    from ratiba_action.production.datasets.pushing import Pushed

SUMMARY = "write the scenarios and cases of this checkout to a Langfuse dataset"
DESCRIPTION = """Write every scenario and every case as an item of a Langfuse dataset. An item's id is derived from the
scenario's, so a second push changes nothing. Items edited in Langfuse since the last push are not overwritten without
--overwrite. Items that are no longer in the suite are listed, and archived with --archive. Nothing is deleted. With
--each, every file of cases has a dataset of its own, DATASET/ID, on which the gate's runs are experiments."""
EXAMPLE = """example:
  ratiba dataset push --dry-run
  ratiba dataset push --archive
  ratiba dataset push --each
  ratiba dataset push --only intents --dataset intent-classifier"""

_CONFLICTS = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the task's options."""
    add_suite_options(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--each", action="store_true", help="give every file of cases a dataset of its own, DATASET/ID")
    which.add_argument("--only", metavar="ID", help="push only the file of cases of this scenario; needs --dataset")
    parser.add_argument("--overwrite", action="store_true", help="replace items that were edited in Langfuse")
    parser.add_argument("--archive", action="store_true", help="archive items that are no longer in the suite")
    parser.add_argument("--dry-run", action="store_true", help="show what would be written, and write nothing")


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Push.

    Returns:
        The exit code: 1 if items were edited in Langfuse and not overwritten.

    Raises:
        UsageError: an option is invalid, keys are missing, or there is no such file of cases or no dataset for it.
        SuiteError: the scenarios are invalid; nothing was sent.
        InfrastructureError: the server failed.
    """
    from ratiba_action.observability.langfuse_asking import LangfuseError
    from ratiba_action.production.datasets.local_suite import parts_of, read_local_suite
    from ratiba_action.production.datasets.pushing import Pushed, push

    task = read_task(arguments, environment, "nothing can be pushed")
    if arguments.only is not None and task.dataset == task.suite_dataset:
        raise UsageError(
            "--only pushes one file of cases, and the suite's dataset holds all of them.",
            "Name its dataset: --dataset NAME",
        )
    suite = read_local_suite(task.repository, task.settings.scenarios)
    parts = _parts(arguments, task, suite)
    apart = [name for name in parts_of(suite) if name] if arguments.each else []
    done: dict[str, Pushed] = {}
    for dataset, part in parts.items():
        done[dataset] = push(
            task.access,
            dataset,
            part,
            overwrite=arguments.overwrite,
            archive=arguments.archive,
            dry_run=arguments.dry_run,
            apart=apart if dataset == task.dataset else (),
        )
        if done[dataset].failure is not None:
            break
    if arguments.json:
        results = [_as_json(dataset, pushed) for dataset, pushed in done.items()]
        print_json({"datasets": results} if arguments.each else results[0])
    else:
        lines = [line for name, pushed in done.items() for line in _lines(name, pushed, dry=arguments.dry_run)]
        sys.stdout.write("".join(f"{printable(line)}\n" for line in lines))
    for pushed in done.values():
        if isinstance(pushed.failure, LangfuseError):
            written = sum(each.written for each in done.values())
            raise server_failed(pushed.failure, f"{written} items were written; another push continues from there.")
    return _CONFLICTS if any(pushed.plan.conflicting for pushed in done.values()) else 0


def _parts(arguments: argparse.Namespace, task: DatasetTask, suite: "LocalSuite") -> dict[str, "LocalSuite"]:
    """What is pushed, by the dataset that gets it: the suite's last, so that it names only datasets that are there."""
    from ratiba_action.production.datasets.local_suite import parts_of

    if not arguments.each and arguments.only is None:
        return {task.dataset: suite}
    parts = parts_of(suite)
    rest = parts.pop("")
    if arguments.each:
        return {case_dataset(task.dataset, name): part for name, part in parts.items()} | {task.dataset: rest}
    if arguments.only not in parts:
        known = ", ".join(parts) or "there is none"
        raise UsageError(f"No scenario {arguments.only!r} has a file of cases.", f"Give --only one of these: {known}.")
    return {task.dataset: parts[arguments.only]}


def _as_json(dataset: str, pushed: "Pushed") -> dict[str, object]:
    plan = pushed.plan
    return {
        "dataset": dataset,
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


def _lines(dataset: str, pushed: "Pushed", *, dry: bool) -> list[str]:
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
    return [*lines, f"{dataset}: {counts}"]
