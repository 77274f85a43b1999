"""What a change could alter of its base is noticed, by its name; what trials of the base do themselves is not."""

import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from ratiba_action.model.scenario import Turn
from ratiba_action.systems.conditions import Conditions, WatchedConditions
from ratiba_action.systems.worker_system import WorkerSystem
from tests.support.small_disk import fill, small_disk
from tests.systems.conftest import StartWorker
from tests.systems.workers import open_session

ADAPTER = """
    from pathlib import Path
    class Adapter:
        def open(self, context):
            return self
        def send(self, message):
            Path("kept").write_text(message)
            return {"text": "kept"}
"""


def folder_of(system: WorkerSystem) -> Path:
    assert system.folder is not None
    return system.folder


def guardian_of(system: WorkerSystem) -> int:
    assert system.guardian is not None
    return system.guardian


def lower(limit: int, soft: int) -> Callable[[WorkerSystem], None]:
    def apply(system: WorkerSystem) -> None:
        pid = guardian_of(system)
        resource.prlimit(pid, limit, (soft, resource.prlimit(pid, limit)[1]))

    return apply


def take_permissions(system: WorkerSystem) -> None:
    (folder_of(system) / "copy" / "assistant.py").chmod(0o400)


def touch(system: WorkerSystem) -> None:
    os.utime(folder_of(system) / "copy")


ALTERATIONS: tuple[tuple[str, Callable[[WorkerSystem], None], str], ...] = (
    ("a soft limit of the stack", lower(resource.RLIMIT_STACK, 1), "Max stack size of guardian 0 of the base"),
    ("a soft limit of file sizes", lower(resource.RLIMIT_FSIZE, 2_500_000), "Max file size of guardian 0 of the base"),
    ("a mode", take_permissions, "mode, owner or time of /"),
    ("a time", touch, "mode, owner or time of /"),
)


@pytest.mark.parametrize(("alter", "named"), [each[1:] for each in ALTERATIONS], ids=[each[0] for each in ALTERATIONS])
async def test_what_is_altered_is_named(
    start_worker: StartWorker, alter: Callable[[WorkerSystem], None], named: str
) -> None:
    system = await start_worker(ADAPTER)
    conditions = WatchedConditions([system])
    await conditions.remember()
    assert await conditions.changed() == ""
    alter(system)
    assert (await conditions.changed()).startswith(named)


async def test_what_trials_of_the_base_write_is_their_own(start_worker: StartWorker) -> None:
    system = await start_worker(ADAPTER)
    conditions = WatchedConditions([system])
    await conditions.remember()
    session = await open_session(system)
    await session.send(Turn(user="Habari"))
    await session.close()
    assert await conditions.changed(after=True) == ""
    assert (await conditions.changed()).startswith("mode, owner or time of")
    await conditions.remember()
    assert await conditions.changed() == ""


async def test_a_disk_without_room_is_named(start_worker: StartWorker, scratch: Path) -> None:
    with small_disk(scratch / "disk", 16 << 20) as disk:
        system = await start_worker(ADAPTER, scratch=disk)
        conditions = WatchedConditions([system])
        await conditions.remember()
        fill(disk)
        assert "bytes left in folder 0 of the base" in await conditions.changed()
        await system.close()


@pytest.mark.parametrize(
    ("before", "now", "counts"),
    [(64 << 30, 2 << 30, False), (64 << 30, 1 << 29, True), (100 << 20, 60 << 20, False), (100 << 20, 40 << 20, True)],
)
def test_room_counts_when_less_than_half_of_it_and_less_than_a_gibibyte_is_left(
    before: int, now: int, *, counts: bool
) -> None:
    place = ("in memory", "bytes")
    first, second = (Conditions({}, {}, {place: size}) for size in (before, now))
    assert bool(first.difference(second)) is counts
    assert first.difference(second, after=True) == ""
