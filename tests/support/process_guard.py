"""Which tests start processes, servers or containers: those have the marker ``processes``, and no other test may.

``make test-fast`` runs the others. A test gets the marker by a fixture that starts a process, by its folder, or by
``pytestmark``; one that starts a process without it fails, whichever command runs it, so that no list grows stale.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any

import pytest

MARKER = "processes"
_FIXTURES = frozenset({"forks", "embedded_server_dsn", "image"})
_FOLDERS = frozenset(
    (name,) for name in ("action", "container", "examples", "first_day", "systems", "tenancy", "worker", "workflows")
)
"""Below ``tests``: what they are about are processes, servers and containers."""
_ALLOWED = frozenset({"git", "uname"})
"""``uname`` is what Python's ``platform`` starts once, for whichever test asks it first."""


def mark(items: Iterable[pytest.Item]) -> None:
    """Give the marker to every test that starts processes by its fixtures or its folder."""
    for item in items:
        fixtures = _FIXTURES.intersection(getattr(item, "fixturenames", ()))
        if fixtures or is_about_processes(item.path) or item.get_closest_marker("docker"):
            item.add_marker(MARKER)


def is_about_processes(path: Path) -> bool:
    """Whether all tests of a file or folder have the marker.

    Without them a run need not import these files: they load frameworks, which take seconds in each worker.
    """
    return path.relative_to(Path(__file__).parents[1]).parts[:1] in _FOLDERS


class ProcessGuard:
    """Notices every process that this one starts, but those that are allowed.

    Its ``note`` is an audit hook, which no session can remove again: there is one.
    """

    def __init__(self) -> None:
        self._started: list[str] | None = None

    @contextmanager
    def watching(self, item: pytest.Item) -> Iterator[None]:
        """Within, a phase of a test runs.

        Raises:
            pytest.fail.Exception: it started a process and has no marker.
        """
        if item.get_closest_marker(MARKER):
            yield
            return
        started = list[str]()
        self._started = started
        try:
            yield
        finally:
            self._started = None
        if started:
            pytest.fail(
                f"A test without the marker {MARKER!r} started a process: {started[0]}\nTest it without one, as "
                f"tests/support/in_process_gate.py does; or mark it: pytestmark = pytest.mark.{MARKER}",
                pytrace=False,
            )

    def note(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Take an event of ``sys.audit``."""
        if self._started is None:
            return
        if event == "subprocess.Popen":
            command = arguments[1]
            words = [command] if isinstance(command, str | bytes | os.PathLike) else [*command]
            if PurePath(os.fsdecode(words[0])).name not in _ALLOWED:
                self._started.append(" ".join(map(os.fsdecode, words))[:200])
        elif event in {"os.fork", "os.forkpty"}:
            self._started.append(event)
