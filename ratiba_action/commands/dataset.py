"""``ratiba dataset``: the suite as a dataset in Langfuse."""

import argparse
from collections.abc import Mapping

from ratiba_action.commands import dataset_add_trace, dataset_pull, dataset_push, dataset_run, dataset_verify

DESCRIPTION = """Work with datasets in Langfuse.
The Langfuse keys are read from RATIBA_LANGFUSE_HOST, RATIBA_LANGFUSE_PUBLIC_KEY and RATIBA_LANGFUSE_SECRET_KEY."""
EXAMPLE = """example:
  ratiba dataset push
  ratiba dataset pull --accept
  ratiba dataset run
  ratiba dataset verify"""

_TASKS = {
    "push": dataset_push,
    "pull": dataset_pull,
    "run": dataset_run,
    "add-trace": dataset_add_trace,
    "verify": dataset_verify,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the tasks, each with its options."""
    tasks = parser.add_subparsers(dest="task", metavar="TASK", required=True)
    for name, module in _TASKS.items():
        task = tasks.add_parser(
            name,
            help=module.SUMMARY,
            description=module.DESCRIPTION,
            epilog=module.EXAMPLE,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        module.add_arguments(task)
        task.set_defaults(reporting_parser=task)


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Run the task."""
    code: int = _TASKS[arguments.task].run(arguments, environment)
    return code
