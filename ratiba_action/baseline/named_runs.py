"""Runs that were named one by one, to be shown side by side."""

from collections.abc import Sequence
from pathlib import Path

from ratiba_action.baseline.results import read_baseline
from ratiba_action.core.model.comparison import MeasuredRun
from ratiba_action.errors import ConfigurationError, RatibaError

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
            runs.append(_read(Path(name)))
        except RatibaError as error:
            problems.append(f"{name!r}: {error.problem}")
    if problems:
        raise ConfigurationError("\n".join(problems), "Name results that a run of the gate has written.")
    return tuple(runs)


def _read(path: Path) -> MeasuredRun:
    try:
        return read_baseline(path / RESULTS if path.is_dir() else path)
    except RatibaError:
        raise
    except Exception as error:
        # Whatever somebody wrote into it, a file ends no command with a traceback.
        raise ConfigurationError(f"It could not be read: {type(error).__name__}.") from error
