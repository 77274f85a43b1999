"""Leaves a run's results where a later run finds them as its baseline."""

import tempfile
from pathlib import Path

from ratiba_action.errors import PublishError
from ratiba_action.model.measurement import Scored
from ratiba_action.model.verdict import Report
from ratiba_action.reporting.results_json import render_results


def write_baseline(report: Report, path: Path) -> None:
    """Write ``results.json`` under a name of its own; what was there is replaced at once or not at all.

    Args:
        report: with its secrets and identifiers masked already.
        path: its folder is made when it is not there.

    Raises:
        PublishError: nothing was measured, or the file cannot be written; what was there before is unchanged.
    """
    if not any(isinstance(result, Scored) for result in report.results):
        raise PublishError(f"No baseline was written to {str(path)!r}: nothing was measured.")
    staged = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}-", delete=False) as file:
            staged = file.name
            file.write(render_results(report).encode("ascii"))
        Path(staged).chmod(0o644)
        Path(staged).replace(path)
    except (OSError, ValueError) as error:
        if staged:
            Path(staged).unlink(missing_ok=True)
        told = getattr(error, "strerror", None) or error
        raise PublishError(f"The baseline could not be written to {str(path)!r}: {told}.") from error
