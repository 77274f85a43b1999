"""The order in which the files of tests are handed to workers, so that no worker is left alone with a long one.

A file goes to one worker as a whole: its module's fixtures are made once. Files whose tests wait for containers are
mixed with the long ones that need the processor; whatever takes seconds fills the gaps at the end.
"""

from collections.abc import Iterable
from itertools import chain, zip_longest

LONG = (
    "tests/end_to_end/test_bundled_pull_requests.py",
    "tests/test_documentation_site.py",
    "tests/examples/booking_assistant/test_guards.py",
    "tests/action/test_containers.py",
    "tests/action/test_matrix.py",
    "tests/end_to_end/",
    "tests/conformance/test_model_clients.py",
    "tests/examples/",
    "tests/workflows/test_pages_workflow.py",
    "tests/first_day/",
    "tests/features/",
    "tests/commands/",
    "tests/llm/providers/",
    "tests/systems/",
    "tests/tenancy/",
    "tests/publish/",
    "tests/reporting/test_html_accessibility.py",
    "tests/fuzz/",
)
"""Beginnings of the paths of files that take ten seconds or more of the processor, the longest first."""


def ordered(files: Iterable[str], with_containers: frozenset[str]) -> list[str]:
    """Files by when a worker gets them.

    Args:
        files: paths below the project's folder, in the order of collection.
        with_containers: those of them whose tests start containers.
    """
    known = list(dict.fromkeys(files))
    waiting = sorted((path for path in known if path in with_containers), key=_rank)
    others = sorted((path for path in known if path not in with_containers), key=_rank)
    long = [path for path in others if _rank(path) < len(LONG)]
    mixed = chain.from_iterable(zip_longest(long, waiting))
    return [*filter(None, mixed), *others[len(long) :]]


def _rank(path: str) -> int:
    return next((rank for rank, beginning in enumerate(LONG) if path.startswith(beginning)), len(LONG))
