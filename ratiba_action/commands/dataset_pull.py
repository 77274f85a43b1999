"""``ratiba dataset pull``: show what a dataset would change in scenario files and cases, and write it with --accept."""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from ratiba_action.authoring.import_report import finding_lines
from ratiba_action.commands.dataset_options import (
    DatasetTask,
    add_mapping_options,
    add_suite_options,
    read_content,
    read_task,
    required_dataset,
)
from ratiba_action.commands.options import print_json
from ratiba_action.util.text import printable

if TYPE_CHECKING:
    from ratiba_action.production.datasets.local_suite import LocalSuite
    from ratiba_action.production.datasets.pull_plan import PullPlan

SUMMARY = "show what a Langfuse dataset would change in the scenarios of this checkout; --accept writes it"
DESCRIPTION = """Show as a diff what the items of a Langfuse dataset would change in scenario files and rows. Nothing is
written without --accept, and nothing is removed. Paths, sizes and contents are validated first; all problems are
reported at once, and then nothing is written. With --map, items that ratiba did not make become a scenario with a file
of cases: what could not be mapped is listed by the item's id."""
EXAMPLE = """example:
  ratiba dataset pull
  ratiba dataset pull --accept
  ratiba dataset pull intent-classifier --map input=input.message --map label=expectedOutput.intent --accept"""

_WAITING = 1
_NOTHING = 2
_MAX_LINES = 2_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the task's options."""
    add_suite_options(parser)
    add_mapping_options(parser)
    parser.add_argument("--accept", action="store_true", help="write the changes that the diff shows")


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Pull.

    Returns:
        The exit code: 1 if changes wait for --accept, 2 if no item could be mapped.

    Raises:
        UsageError: an option is invalid, keys or the dataset are missing, or a file cannot be written.
        SuiteError: the scenarios or the items are invalid; nothing was written.
        InfrastructureError: the server failed.
    """
    from ratiba_action.production.datasets.file_writing import replace_files
    from ratiba_action.production.datasets.local_suite import read_local_suite
    from ratiba_action.production.datasets.pull_plan import plan_pull

    task = read_task(arguments, environment, "nothing can be pulled", arguments.named)
    folder = task.settings.scenarios
    local = read_local_suite(task.repository, folder)
    stored = required_dataset(task)
    pulled, found = read_content(arguments, task, stored, local, ("threshold",))
    plan = plan_pull(local, pulled, task.dataset)
    if arguments.accept:
        replace_files(task.repository / folder, plan.files)
    if arguments.json:
        result = _as_json(task, local, plan, written=arguments.accept)
        if found is not None:
            result["findings"] = [asdict(finding) for finding in found.findings]
        print_json(result)
    else:
        lines = _lines(task, local, plan, accepted=arguments.accept, mapped=found is not None)
        lines += finding_lines(found) if found is not None else ()
        sys.stdout.write("".join(f"{printable(line)}\n" for line in lines))
    if found is not None and not pulled.templates:
        return _NOTHING
    return 0 if arguments.accept or not plan.files else _WAITING


def _as_json(task: DatasetTask, local: "LocalSuite", plan: "PullPlan", *, written: bool) -> dict[str, object]:
    from ratiba_action.production.datasets.pull_plan import difference

    files = [f"{local.folder}/{path}" for path in sorted(plan.files)]
    return {
        "dataset": task.dataset,
        "written": files if written else [],
        "waiting": [] if written else files,
        "difference": list(difference(local, plan)),
        "only_here": list(plan.only_here),
        "archived": list(plan.archived),
        "left_out": list(plan.left_out),
    }


def _lines(task: DatasetTask, local: "LocalSuite", plan: "PullPlan", *, accepted: bool, mapped: bool) -> list[str]:
    from ratiba_action.production.datasets.pull_plan import difference

    lines = list(difference(local, plan))
    more = len(lines) - _MAX_LINES
    lines = [*lines[:_MAX_LINES], f"… and {more} more lines"] if more > 0 else lines
    waiting = "written" if accepted else "not written without --accept"
    lines += [f"{waiting}: {local.folder}/{path}" for path in sorted(plan.files)]
    lines += [f"archived in Langfuse, still here: {name}" for name in plan.archived]
    lines += [f"only here: {name}" for name in plan.only_here if name not in plan.archived]
    why = "see below" if mapped else "not a scenario or case, or no expected answer yet"
    lines += [f"left out ({why}): {name}" for name in plan.left_out]
    return [*lines, f"{task.dataset}: {len(plan.files)} files differ" if plan.files else f"{task.dataset}: no change"]
