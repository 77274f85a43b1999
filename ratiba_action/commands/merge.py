"""``ratiba merge``: one verdict of all shards of a run."""

import argparse
from collections.abc import MutableMapping
from pathlib import Path

from ratiba_action.commands.gate import add_merge_options
from ratiba_action.commands.gate_options import read_options
from ratiba_action.decide.trusted_configuration import runs_in_ci
from ratiba_action.errors import UsageError

DESCRIPTION = """Combine the reports of all shards of a run, decide, and publish one report. Run it on the same commit
with the same inputs as the shards: if a regression has to be confirmed, the further trials run here.
A shard that is missing, damaged, duplicated or from another run makes the verdict incomplete, never passed."""
EXAMPLE = """example:
  ratiba merge shard-1 shard-2
  ratiba merge shard-*/ --report-dir merged"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options: those of ``ratiba gate`` that do not choose how scenarios are run."""
    parser.add_argument(
        "folders", nargs="+", metavar="DIR", help="report folder of a shard, or a folder with the report folders"
    )
    parser.usage = "%(prog)s [options] DIR [DIR ...]"
    add_merge_options(parser)


def run(arguments: argparse.Namespace, environment: MutableMapping[str, str]) -> int:
    """Merge; see ``gate_run.run``.

    Raises:
        UsageError: outside of CI, a folder is not there. In CI a shard was lost, which the report has to say.
    """
    from ratiba_action.commands.gate_run import run as run_gate  # 0.8 s, which --help does not need

    missing = [name for name in arguments.folders if not Path(name).is_dir()]
    if missing and not runs_in_ci(environment):
        named = ", ".join(map(repr, missing))
        raise UsageError(f"There is no folder {named}.", "Name the report folders of the shards.")
    return run_gate(read_options(arguments, environment), environment, kept=arguments.kept)
