"""What the cases of one process share, started by the first that needs it: a database, forked gates, an image."""

import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from tempfile import mkdtemp
from typing import Self

import psycopg

from fuzz.background_loop import BackgroundLoop
from fuzz.case import Case
from fuzz.deprived import gate
from fuzz.hostile_tree import HostileChange
from fuzz.regression import Ended, proposed
from fuzz.victims import MAX, Scene, open_scene
from tests.support.act import checkout_of
from tests.support.container_image import build, why_not
from tests.support.gate_forks import GateForks, gate_forks
from tests.support.servers import open_server

PROJECT = Path(__file__).parents[1]


class Services:
    """A context manager; ends whatever was started.

    Args:
        folder: scratch that outlives single cases.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stack = ExitStack()
        self._judged: dict[str, Ended] = {}
        self._scene: tuple[Scene, ExitStack] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @cached_property
    def loop(self) -> BackgroundLoop:
        """An event loop on a thread of its own."""
        return self._stack.enter_context(BackgroundLoop())

    @cached_property
    def database(self) -> str:
        """Connection string of the superuser of an embedded PostgreSQL."""
        return self._stack.enter_context(self.loop.entered(open_server(None))).dsn

    @cached_property
    def forks(self) -> GateForks:
        """Gates that start with everything loaded."""
        return self._stack.enter_context(gate_forks("fuzz.gate_fork_server"))

    @cached_property
    def honest(self) -> Ended:
        """How the gate ends for the honest regression alone."""
        return self.judged("honest", lambda case: gate(case, proposed(case, {})))

    def judged(self, flavour: str, run: Callable[[Case], Ended]) -> Ended:
        """How the gate ends for a regression that the base's own rule, metric or test names, run once."""
        if flavour not in self._judged:
            folder = Path(mkdtemp(dir=self.folder))
            folder.chmod(0o755)
            self._judged[flavour] = run(Case(0, folder, self))
        return self._judged[flavour]

    def scene(self) -> Scene:
        """A hostile system and what it may try to harm; others once they were harmed, or used often."""
        if self._scene is not None and self._scene[0].cases >= MAX:
            self._scene[1].close()
            self._scene = None
        if self._scene is None:
            loop = self.loop  # it must end after what runs on it
            stack = self._stack.enter_context(ExitStack())
            self._scene = stack.enter_context(open_scene(self.folder, loop)), stack
        return self._scene[0]

    @cached_property
    def image(self) -> str:
        """Identifier of the gate's image; its containers can be told from those of any other.

        Raises:
            RuntimeError: it cannot be built here.
        """
        if reason := why_not():
            raise RuntimeError(reason)
        return self._stack.enter_context(_built())

    @cached_property
    def action(self) -> Path:
        """A clean copy of this project, as a runner downloads the action."""
        return checkout_of(PROJECT, self.folder / "action")

    @cached_property
    def checkout(self) -> HostileChange:
        """The checkout of an ordinary pull request, for cases that change nothing in it."""
        source = self.folder / "source"
        source.mkdir()
        more: dict[str, str | bytes | None] = {"prompts/greeting.md": "Say Bonjour.\n"}
        change = HostileChange(source, self.folder / "checkout", more)
        change.propose_tree(lambda tree: tree.write({"prompts/greeting.md": "Say Bonsoir.\n"}))
        return change

    def left_in_database(self) -> list[str]:
        """Tenants' roles and schemas that are there now."""
        with psycopg.connect(self.database) as connection:
            rows = connection.execute(
                "SELECT 'role ' || rolname FROM pg_roles WHERE rolname NOT LIKE 'pg\\_%' "
                "UNION ALL SELECT 'schema ' || nspname FROM pg_namespace "
                "UNION ALL SELECT 'database ' || datname FROM pg_database"
            ).fetchall()
        return sorted(str(name) for (name,) in rows)


@contextmanager
def _built() -> Iterator[str]:
    tag = f"ratiba-eval-gate:fuzz-{uuid.uuid4().hex[:8]}"
    build(PROJECT, tag)
    try:
        command = ["docker", "image", "inspect", "--format", "{{.Id}}", tag]
        yield subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    finally:
        subprocess.run(["docker", "image", "rm", "--force", tag], capture_output=True, check=False)
