"""Runs that were named one by one, to be shown side by side."""

from collections.abc import Sequence
from pathlib import Path

from ratiba_action.errors import ConfigurationError, RatibaError
from ratiba_action.history.results import read_baseline
from ratiba_action.model.comparison import MeasuredRun

RESULTS = "results.json"


def read_named_runs(named: Sequence[str]) -> tuple[MeasuredRun, ...]:
    """The run of each name.

    Args:
        named: paths of a ``results.json`` or of the folder that holds it.

    Raises:
        ConfigurationError: some cannot be read; tells every problem.
    """
    runs, problems = [], []
    for name in named:
        try:
            path = Path(name)
            runs.append(read_baseline(path / RESULTS if path.is_dir() else path))
        except RatibaError as error:
            problems.append(f"{name!r}: {error.problem}")
    if problems:
        raise ConfigurationError("\n".join(problems), "Name results that a run of the gate has written.")
    return tuple(runs)
