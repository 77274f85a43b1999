"""Files of the gate that the system under test must not open, though it may run as the same user."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

_FOLDERS = ("ratiba-pg-*", ".ratiba-pg-*", "ratiba-run-*", ".ratiba-run-*")
_STEP_FILES = ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE")


def private_places(environment: Mapping[str, str], report_dir: str) -> tuple[str, ...]:
    """Absolute paths, links followed; a ``*`` at the end stands for every name that begins so.

    The embedded database and the run's own folder, those of other runs too; the report, as it is staged as well; the
    folders of the files that a step hands to the runner.

    Args:
        environment: the gate's own.
        report_dir: as the settings name it.
    """
    temporary = Path(tempfile.gettempdir()).resolve()
    report = Path(report_dir).resolve()
    steps = {str(Path(path).resolve().parent) for name in _STEP_FILES if (path := environment.get(name))}
    staged = report.with_name(f".{report.name}-*")
    return (*(str(temporary / name) for name in _FOLDERS), str(report), str(staged), *sorted(steps - {"/", "/dev"}))
