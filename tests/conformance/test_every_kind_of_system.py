"""What every system keeps to, in whichever form the configuration describes it."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
import pytest_asyncio

from ratiba_action.config.system_block import SystemBlock
from ratiba_action.errors import WorkerError
from ratiba_action.model.plan import Tenant
from ratiba_action.model.scenario import Customer, Scenario, Turn
from ratiba_action.ports import Session, SystemUnderTest
from ratiba_action.systems.choose import choose_system
from ratiba_action.systems.workplace import Surroundings
from tests.support.kinds_of_system import FAULTS, KINDS_OF_SYSTEM, DescribedSystem, describe_system

pytestmark = pytest.mark.processes


@dataclass(frozen=True)
class Subject:
    """A system that is not started yet."""

    system: SystemUnderTest
    described: DescribedSystem

    async def open(self, name: str = "spa") -> Session:
        now = datetime(2026, 4, 25, 7, tzinfo=UTC)
        scenario = Scenario(name, "sw", (), now, Customer("Wanjiku", "+254712345432"))
        return await self.system.open(scenario, Tenant("id", "", ""), self.described.environment)


@asynccontextmanager
async def made(kind: str, folder: Path) -> AsyncIterator[Subject]:
    """A system of that kind in the folder, closed at the end."""
    async with describe_system(kind, folder) as described:
        limit = {} if kind == "replay" else {"turn_timeout_seconds": 10}
        block = SystemBlock.model_validate({**described.block, **limit})
        system = choose_system(block, Surroundings(folder, os.environ))
        yield Subject(system, described)
        await system.close()


@pytest.fixture(params=KINDS_OF_SYSTEM)
async def subject(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Subject]:
    """A system that the test starts and closes itself."""
    async with made(request.param, tmp_path) as one:
        yield one


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=KINDS_OF_SYSTEM)
async def started(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Subject]:
    """A system that is started once for all tests of its kind: loading a framework takes seconds."""
    async with made(request.param, tmp_path_factory.mktemp(request.param)) as one:
        await one.system.start()
        yield one


on_the_started_one = pytest.mark.asyncio(loop_scope="module")


async def replies(session: Session, *words: str) -> list[str]:
    return [(await session.send(Turn(user=word))).text for word in words]


@on_the_started_one
async def test_a_conversation_is_held_turn_by_turn(started: Subject) -> None:
    assert await replies(await started.open(), "a", "b", "c") == ["a 1", "b 2", "c 3"]


@on_the_started_one
async def test_conversations_do_not_hear_each_other(started: Subject) -> None:
    first, second = await asyncio.gather(started.open("spa"), started.open("salon"))
    assert await replies(first, "a") == ["a 1"]
    assert await replies(second, "a", "b") == ["a 1", "b 2"]
    assert await replies(first, "b") == ["b 2"]


@on_the_started_one
async def test_an_event_is_delivered_or_refused_by_its_name(started: Subject) -> None:
    session = await started.open()
    if started.described.event_refusal is None:
        assert (await session.send(Turn(event={"type": "a"}))).text == "a 1"
    else:
        with pytest.raises(WorkerError, match=started.described.event_refusal):
            await session.send(Turn(event={"type": "payment"}))


@on_the_started_one
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_is_an_error_of_its_conversation_alone(started: Subject, fault: str) -> None:
    if fault not in started.described.faults:
        assert "replay" in started.described.block  # nothing runs that could
        return
    other = await started.open("salon")
    with pytest.raises(WorkerError) as caught:
        await (await started.open(fault)).send(Turn(user=fault))
    assert fault in caught.value.problem or "turn" in caught.value.problem
    if fault == "fail" and "replay" not in started.described.block:
        assert "the slot is gone" in caught.value.problem
    assert await replies(other, "a") == ["a 1"]


@on_the_started_one
async def test_a_session_is_closed_twice_and_answers_no_more(started: Subject) -> None:
    session = await started.open()
    await session.close()
    await session.close()
    with pytest.raises(WorkerError):
        await session.send(Turn(user="a"))


@on_the_started_one
async def test_a_system_without_tables_has_nothing_to_migrate(started: Subject) -> None:
    if "url" not in started.described.block and "command" not in started.described.block:
        await started.system.migrate("postgresql://localhost/template")
    assert await replies(await started.open(), "a") == ["a 1"]


async def test_nothing_is_opened_before_the_start(subject: Subject) -> None:
    with pytest.raises(WorkerError, match="not started"):
        await subject.open()


async def test_the_end_of_the_system_ends_its_sessions(subject: Subject) -> None:
    await subject.system.start()
    session = await subject.open()
    await subject.system.close()
    await subject.system.close()
    with pytest.raises(WorkerError):
        await session.send(Turn(user="a"))
