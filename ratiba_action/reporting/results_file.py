"""Reads a ``results.json`` that somebody else may have written."""

from pathlib import Path

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.verdict import Report
from ratiba_action.reporting.results_json import load_report
from ratiba_action.util.plain_file import read_plain_file

MOST_BYTES = 20_000_000


def read_results(path: Path, *, exact: bool = False) -> Report:
    """The report in a file.

    Args:
        path: relative to the working folder, or absolute.
        exact: as in ``load_report``.

    Raises:
        ConfigurationError: it is missing, no plain file, larger than 20 MB, or holds no report; says which.
    """
    inside = not path.is_absolute() and ".." not in path.parts
    root, name = (Path.cwd(), str(path)) if inside else (path.parent, path.name)
    try:
        content = read_plain_file(root, name, MOST_BYTES)
    except (OSError, ValueError) as error:
        told = getattr(error, "strerror", None) or error
        raise ConfigurationError(f"The results {str(path)!r} cannot be read: {told}.", "Run the gate once.") from error
    return load_report(content, exact=exact)
