"""What every ``SystemUnderTest`` keeps to: the fake that other tests use, and the real worker."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ratiba_action.config.system_block import SystemBlock
from ratiba_action.errors import WorkerError
from ratiba_action.model.conversation import Reply, SystemEvent, ToolCall
from ratiba_action.model.plan import Tenant
from ratiba_action.model.scenario import Customer, Scenario, Turn
from ratiba_action.ports import SystemUnderTest
from ratiba_action.systems.choose import choose_system
from ratiba_action.systems.workplace import Surroundings
from tests.support.systems import ScriptedSystem

TENANT = Tenant("id", "test_tenant_spa", "postgresql://localhost/db")
FULL = Reply(
    "Karibu",
    "BOOKED",
    "NONE",
    (ToolCall("create_booking", {"service": "massage"}, [1, None]),),
    (SystemEvent("handoff", {"reason": "asked"}),),
)
SCRIPT: dict[str, Sequence[Reply | WorkerError]] = {
    "spa": [Reply("moja"), FULL, Reply("tatu")],
    "salon": [Reply("one"), Reply("two")],
    "broken": [Reply("fine"), WorkerError("the slot is gone"), Reply("fine again")],
}

ADAPTER = """
import json, pathlib
SCRIPT = json.loads(pathlib.Path("script.json").read_text())
class Adapter:
    def migrate(self, database_url): pass
    def open(self, context):
        self.lines = SCRIPT[context.scenario_id]
        return self
    def send(self, message):
        line = self.lines.pop(0)
        if isinstance(line, str): raise LookupError(line)
        return line
    def deliver(self, event): return self.send(event)
"""


@pytest.fixture(params=["fake", pytest.param("worker", marks=pytest.mark.processes)])
async def system(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SystemUnderTest]:
    """A system that follows ``SCRIPT``; not started yet."""
    subject: SystemUnderTest
    if request.param == "fake":
        subject = ScriptedSystem(SCRIPT)
    else:
        script = {
            name: [asdict(line) if isinstance(line, Reply) else line.problem for line in lines]
            for name, lines in SCRIPT.items()
        }
        (tmp_path / "script.json").write_text(json.dumps(script), encoding="utf-8")
        (tmp_path / "assistant.py").write_text(ADAPTER, encoding="utf-8")
        subject = choose_system(SystemBlock(adapter="assistant:Adapter"), Surroundings(tmp_path, os.environ))
    yield subject
    await subject.close()


def scenario(name: str) -> Scenario:
    return Scenario(name, "sw", (), datetime(2026, 4, 25, 7, tzinfo=UTC), Customer("Wanjiku", "+254712345432"))


async def test_replies_come_in_order_with_every_field(system: SystemUnderTest) -> None:
    await system.start()
    session = await system.open(scenario("spa"), TENANT, {})
    assert [await session.send(Turn(user=word)) for word in "abc"] == [Reply("moja"), FULL, Reply("tatu")]


async def test_an_event_is_a_turn_like_a_message(system: SystemUnderTest) -> None:
    await system.start()
    session = await system.open(scenario("salon"), TENANT, {})
    assert await session.send(Turn(user="habari")) == Reply("one")
    assert await session.send(Turn(event={"type": "payment_callback", "repeat": 2})) == Reply("two")


async def test_sessions_do_not_share_anything(system: SystemUnderTest) -> None:
    await system.start()
    opened = await asyncio.gather(*(system.open(scenario(name), TENANT, {}) for name in ("spa", "salon", "spa")))
    first = await asyncio.gather(*(session.send(Turn(user="a")) for session in opened))
    assert [reply.text for reply in first] == ["moja", "one", "moja"]


async def test_an_error_of_the_system_leaves_other_sessions_alone(system: SystemUnderTest) -> None:
    await system.start()
    broken = await system.open(scenario("broken"), TENANT, {})
    other = await system.open(scenario("salon"), TENANT, {})
    await broken.send(Turn(user="a"))
    with pytest.raises(WorkerError, match="the slot is gone"):
        await broken.send(Turn(user="b"))
    assert await other.send(Turn(user="a")) == Reply("one")


async def test_a_closed_session_answers_no_more(system: SystemUnderTest) -> None:
    await system.start()
    session = await system.open(scenario("spa"), TENANT, {})
    await session.close()
    await session.close()
    with pytest.raises(WorkerError):
        await session.send(Turn(user="a"))


async def test_migrations_run_before_any_session(system: SystemUnderTest) -> None:
    await system.start()
    await system.migrate("postgresql://localhost/template")
    session = await system.open(scenario("spa"), TENANT, {})
    assert await session.send(Turn(user="a")) == Reply("moja")


async def test_closing_the_system_ends_its_sessions(system: SystemUnderTest) -> None:
    await system.start()
    session = await system.open(scenario("spa"), TENANT, {})
    await system.close()
    await system.close()
    with pytest.raises(WorkerError):
        await session.send(Turn(user="a"))


async def test_a_system_that_is_not_started_opens_and_migrates_nothing(system: SystemUnderTest) -> None:
    with pytest.raises(WorkerError, match="not started"):
        await system.open(scenario("spa"), TENANT, {})
    with pytest.raises(WorkerError, match="not started"):
        await system.migrate("postgresql://localhost/db")


async def test_an_unknown_scenario_is_a_worker_error(system: SystemUnderTest) -> None:
    await system.start()
    with pytest.raises(WorkerError, match="no_such_scenario"):
        await system.open(scenario("no_such_scenario"), TENANT, {})
