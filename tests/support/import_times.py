"""What a Python process loaded, read from what it prints when it is asked to time its imports."""

import re

ASKED_FOR = {"PYTHONPROFILEIMPORTTIME": "1"}
"""Environment that makes Python print each import."""


def imported(printed: str) -> set[str]:
    """Top-level modules that were imported, by what Python printed."""
    names = re.findall(r"^import time:[^|]*\|[^|]*\|\s*([\w.]+)$", printed, re.MULTILINE)
    return {name.partition(".")[0] for name in names}
