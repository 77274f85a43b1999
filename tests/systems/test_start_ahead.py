"""A fork server that starts before its arm does: only where nothing of the arm's own files runs in it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.errors import WorkerError
from ratiba_action.model.scenario import Turn
from ratiba_action.systems.worker_system import WorkerSystem
from tests.systems.workers import open_session, worker_system

pytestmark = pytest.mark.processes

ADAPTER = """
class Adapter:
    def open(self, context):
        return self
    def send(self, message):
        return {{"text": {text!r}}}
"""

MakeArm = Callable[..., WorkerSystem]


@pytest.fixture
async def make_arm(tmp_path: Path, scratch: Path) -> AsyncIterator[MakeArm]:
    """Makes the system of an arm, not started, in a folder of the arm's name; closed when the test ends."""
    systems: list[WorkerSystem] = []

    def make(name: str, **options: Any) -> WorkerSystem:
        root = tmp_path / name
        (root / "src").mkdir(parents=True)
        (root / "assistant.py").write_text(ADAPTER.format(text=name), encoding="utf-8")
        (root / "src" / "sitecustomize.py").write_text("raise SystemExit('a line of the arm ran')", encoding="utf-8")
        systems.append(worker_system(root, **{"scratch": scratch, **options}))
        return systems[-1]

    yield make
    await asyncio.gather(*(system.close() for system in systems))


async def arms(make_arm: MakeArm, base: dict[str, Any], head: dict[str, Any]) -> tuple[WorkerSystem, WorkerSystem]:
    """The base, started, and the change, whose files are copied."""
    systems = make_arm("base", **base), make_arm("head", **head)
    await systems[0].start()
    await systems[1].copy()
    return systems


async def test_the_change_runs_in_the_fork_server_that_was_started_ahead(make_arm: MakeArm) -> None:
    base, head = await arms(make_arm, {"environment": {"TZ": "UTC"}}, {"environment": {"TZ": "UTC"}})
    await head.start_ahead(base)
    ahead = head.guardian
    assert ahead is not None
    assert ahead != base.guardian, "each arm has a guardian and a Landlock domain of its own"
    await head.start()
    assert head.guardian == ahead
    for system, text in ((base, "base"), (head, "head")):
        session = await open_session(system)
        assert (await session.send(Turn(user="hello"))).text == text
        await session.close()


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"environment": {"PYTHONPATH": "src"}}, id="a folder of the copy"),
        pytest.param({"environment": {"PYTHONPATH": ""}}, id="the copy itself"),
        pytest.param({"environment": {"MODULES": "none.so ./assistant.py"}}, id="one of several files"),
        pytest.param({"setup": ["true"]}, id="a set-up command"),
        pytest.param({"python": "./src/python"}, id="an interpreter of the copy"),
    ],
)
async def test_nothing_starts_ahead_where_a_file_of_the_change_could_run(
    make_arm: MakeArm, options: dict[str, Any]
) -> None:
    base, head = make_arm("base", **options), make_arm("head", **options)
    await base.copy()
    await head.copy()
    await head.start_ahead(base)
    assert head.guardian is None


@pytest.mark.parametrize(
    "other", [{"preload": ("json",)}, {"environment": {"MODE": "fast"}}, {"address": "assistant:Other"}]
)
async def test_nothing_starts_ahead_that_the_change_has_chosen(make_arm: MakeArm, other: dict[str, Any]) -> None:
    base, head = await arms(make_arm, {}, other)
    await head.start_ahead(base)
    assert head.guardian is None


async def test_a_start_that_failed_ahead_is_reported_by_the_start_itself(make_arm: MakeArm) -> None:
    options = {"preload": ("os:abort",)}
    base, head = make_arm("base", **options), make_arm("head", **options)
    await base.copy()
    await head.copy()
    await head.start_ahead(base)
    with pytest.raises(WorkerError, match="could not be started"):
        await head.start()


async def test_what_is_cancelled_while_it_starts_ahead_leaves_no_process_and_no_folder(make_arm: MakeArm) -> None:
    base, head = await arms(make_arm, {}, {})
    folder = head.folder
    assert folder is not None
    starting = asyncio.create_task(head.start_ahead(base))
    await asyncio.sleep(0)
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    await head.close()
    assert head.guardian is None
    assert not folder.exists()
