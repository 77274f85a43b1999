"""The booking example as a repository of its own."""

import shutil
from pathlib import Path

PROJECT = Path(__file__).parents[2]


def copy_booking_example(folder: Path, *left_out: str) -> None:
    """Copy its configuration, system, scenarios and recordings.

    Args:
        folder: of the repository.
        left_out: names of files and folders that are not copied.
    """
    skipped = shutil.ignore_patterns("__pycache__", *left_out)
    for name in (".github/ratiba.yml", "scenarios", "examples/booking_assistant"):
        source, target = PROJECT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=skipped)
        else:
            shutil.copyfile(source, target)
