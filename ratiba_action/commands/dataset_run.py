"""``ratiba dataset run``: run a dataset through the gate and log the run as an experiment with scores."""

import argparse
import os
import signal
import sys
from collections.abc import MutableMapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from ratiba_action.authoring.import_report import finding_lines
from ratiba_action.commands.dataset_options import (
    DatasetTask,
    add_mapping_options,
    add_server_options,
    parse_thresholds,
    read_content,
    read_task,
    required_dataset,
)
from ratiba_action.commands.gate_options import GateOptions, read_options
from ratiba_action.commands.options import add_json, add_repo, add_variant, parse_option
from ratiba_action.errors import ConfigurationError, UsageError
from ratiba_action.model.change import Mode
from ratiba_action.model.values import Usd
from ratiba_action.production.datasets.targets import ALL, TARGETS
from ratiba_action.settings.input_values import parse_usd
from ratiba_action.settings.settings import INPUTS
from ratiba_action.util.interruption import current
from ratiba_action.util.text import printable

if TYPE_CHECKING:
    from ratiba_action.production.datasets.scratch_suite import ScratchSuite

SUMMARY = "run the items of a Langfuse dataset against the system of this checkout, and log the run with its scores"
DESCRIPTION = """Run every active item of a Langfuse dataset against the configured system, as the gate runs scenarios:
each in its own tenant, within the budget, scored by the same judges. Default thresholds apply (macro F1 0.80,
minimum F1 of a class 0.60, skill recall 0.90, answer accuracy 0.70); change them with --threshold. The run is logged in
Langfuse as an experiment on the dataset, with scores for each item and for the whole run. No comment is posted.
Evaluations by name: intent-classifier, skill-selector and e2e-api (on the dataset main-dataset) map the items of such
a dataset by themselves; all runs the three, within one budget."""
EXAMPLE = """example:
  ratiba dataset run
  ratiba dataset run intent-classifier
  ratiba dataset run all --budget-usd 5
  ratiba dataset run --dataset my-intents --threshold macro_f1=0.85 --llm live
  ratiba dataset run my-intents --map input=input.message --map label=expectedOutput.intent"""

_LEFT_OUT = (
    "baseline",
    "comment",
    "langfuse-host",
    "mode",
    "name",
    "pull-request",
    "rules",
    "scenarios",
    "shard",
    "shards",
)
"""Inputs of the gate that are fixed or unused in a dataset run."""

_SUFFIX = "-dataset"
_LONGEST_STEM = 60 - len(_SUFFIX)
"""A gate's name has at most 60 characters."""

_INCOMPLETE = 3
_GRAVITY = (0, _INCOMPLETE, 1, 2)
"""Exit codes, the gravest last."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the task's options: the dataset, and the gate's inputs for a manual run."""
    add_server_options(parser)
    add_mapping_options(parser)
    parser.add_argument(
        "--gate", dest="threshold", action="append", metavar="NAME=LEAST", help="the same as --threshold"
    )
    for entry in INPUTS:
        if not entry.secret and entry.name not in _LEFT_OUT:
            parser.add_argument(f"--{entry.name}", metavar=entry.metavar, help=entry.option_help)
    description = "scenarios folder, for recordings and catalogues (default: scenarios; RATIBA_SCENARIOS)"
    parser.add_argument("--scenarios", metavar="PATH", help=description)
    parser.add_argument("--name", metavar="NAME", help="name of the gate (default: ratiba; RATIBA_NAME)")
    add_repo(parser)
    parser.add_argument(
        "--concurrency", metavar="N", help="scenarios to run in parallel (default: suite.concurrency, or 4)"
    )
    parser.add_argument("--trials", metavar="N", help="minimum number of trials per scenario, 1 to 50 (default: 1)")
    parser.add_argument("--deadline", metavar="SECONDS", help="end the run cleanly after this time (RATIBA_DEADLINE)")
    add_variant(parser)
    add_json(parser, "print the outputs as JSON")


def run(arguments: argparse.Namespace, environment: MutableMapping[str, str]) -> int:
    """Run a dataset.

    Returns:
        The gate's exit code.

    Raises:
        UsageError: an option is invalid, or keys or the dataset are missing.
        SuiteError: its items are not a valid suite; nothing was run.
        InfrastructureError: the server failed.
    """
    if arguments.named == ALL and arguments.dataset is None:
        return _run_all(arguments, environment)
    return _run_prepared(_prepared(arguments, environment, arguments.named), environment)


def _run_all(arguments: argparse.Namespace, environment: MutableMapping[str, str]) -> int:
    """Run every target in order with one budget, each with a report folder of its own.

    Returns:
        The code of the gravest end: 2, 1, 3, 0.
    """
    given = [f"--{name}" for name in ("map", "metric", "prefix", "language", "threshold") if getattr(arguments, name)]
    if given or arguments.system_type:
        option = (given or ["--system-type"])[0]
        raise UsageError(f"{option} is about one dataset, and {ALL} runs {len(TARGETS)}.", "Run them one by one.")
    budget = parse_option("--budget-usd", arguments.budget_usd, parse_usd) if arguments.budget_usd else None
    every = [(name, _prepared(arguments, environment, name)) for name in TARGETS]
    codes = list[int]()
    left = every[0][1].task.settings.budget_usd if budget is None else budget
    for name, prepared in every:
        folder = f"{arguments.report_dir or prepared.task.settings.report_dir}/{name}"
        own = {**prepared.options.inputs, "report-dir": folder, "budget-usd": format(left, "f")}
        sys.stdout.flush()
        # A run takes the signals and the end of its process, so each has one of its own.
        child = os.fork()
        if child == 0:
            return _run_prepared(replace(prepared, options=replace(prepared.options, inputs=own)), environment)
        codes.append(_end_of(child))
        if current().name is not None:
            break
        left = max(left - _spent(folder, left), Decimal(0))
    return max(codes, key=_GRAVITY.index)


def _end_of(child: int) -> int:
    """The exit code of a run; one that was killed is incomplete."""
    # The terminal sends Ctrl-C to both processes, whoever ends a container sends SIGTERM to the first alone.
    with current().noting(lambda name: os.kill(child, signal.SIGTERM) if name == "SIGTERM" else None):
        _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code in _GRAVITY else _INCOMPLETE


def _spent(folder: str, budget: Usd) -> Usd:
    """What a run spent; its whole budget where it left no results to say so."""
    from ratiba_action.reporting.results_json import read_results, results_in_folder  # for all targets

    try:
        return read_results(results_in_folder(Path(folder).absolute())).spending.spent
    except ConfigurationError:
        return budget


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A dataset that was read, before anything is run."""

    options: GateOptions
    task: DatasetTask
    suite: "ScratchSuite"


def _prepared(arguments: argparse.Namespace, environment: MutableMapping[str, str], named: str | None) -> _Prepared:
    from ratiba_action.production.datasets.local_suite import LocalSuite
    from ratiba_action.production.datasets.scratch_suite import scratch_suite

    options = read_options(arguments, environment)
    thresholds = parse_thresholds(arguments)
    task = read_task(arguments, environment, "no dataset can be run", named)
    stored = required_dataset(task)
    pulled, found = read_content(arguments, task, stored, LocalSuite(task.settings.scenarios))
    sys.stderr.write("".join(f"{printable(line)}\n" for line in (finding_lines(found) if found is not None else ())))
    share_decides = task.target is not None and task.target.share_decides
    suite = scratch_suite(pulled, task.dataset, thresholds, share_decides=share_decides)
    for name in suite.left_out:
        sys.stderr.write(
            f"warning: left out the item {printable(name)}: not a scenario or case, or no expected answer yet\n"
        )
    return _Prepared(options, task, suite)


def _run_prepared(prepared: _Prepared, environment: MutableMapping[str, str]) -> int:
    from ratiba_action.commands.gate_run import run as run_gate
    from ratiba_action.production.datasets.experiment import Experiment
    from ratiba_action.production.datasets.scratch_suite import scratch_folder
    from ratiba_action.run.composition import REAL_WORLD

    task = prepared.task
    experiment = Experiment(task.access, task.dataset, prepared.suite.items)
    root = _root(task.repository)
    world = replace(REAL_WORLD, tracer=experiment.tracer)
    with scratch_folder(root, task.settings.scenarios, prepared.suite) as folder:
        return run_gate(_of_gate(prepared.options, task, folder, root), environment, world=world)


def _root(repository: Path) -> Path:
    """The checkout's root, to which the gate's paths are relative."""
    return next((folder for folder in (repository, *repository.parents) if (folder / ".git").exists()), repository)


def _of_gate(given: GateOptions, task: DatasetTask, folder: str, root: Path) -> GateOptions:
    """Options of a run of a suite in a folder."""
    fixed = {
        "scenarios": folder,
        "mode": Mode.BLOCKING.value,
        "comment": "false",
        # Its own name, so that it is not mistaken for the gate's status or for a run in the gate's history.
        "name": f"{task.settings.name[:_LONGEST_STEM]}{_SUFFIX}",
    }
    kept = {name: text for name, text in given.inputs.items() if text and name not in _LEFT_OUT}
    return replace(given, inputs=kept | fixed, repo=str(root))
