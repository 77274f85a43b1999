"""Which lines of single files a conversation runs: by Python's monitoring, from 3.12 on."""

import sys

import pytest

from ratiba_action.model.scenario import Turn
from tests.support.monitoring_python import monitoring_python, needs_monitoring
from tests.systems.conftest import StartWorker
from tests.systems.workers import open_session

pytestmark = pytest.mark.processes

SHOP = """\
import threading


class Adapter:
    def open(self, context):
        return self

    def send(self, message):
        if message == "none":
            return {"text": "nothing"}
        found = []
        thread = threading.Thread(target=lambda: found.append(
            later(message)))
        thread.start()
        thread.join()
        return {"text": "".join(found)}


def later(message):
    return "".join(
        letter for letter in message)


def never():
    return 1
"""
OF_ONE, OF_BOTH = {5, 6, 8, 9, 10}, {5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 19, 20, 21}


async def ran(start_worker: StartWorker, python: str, *messages: str) -> set[int]:
    system = await start_worker(SHOP, python=python)
    system.trace(on=True, files=("assistant.py", "gone.py"))
    for message in messages:
        session = await open_session(system)
        await session.send(Turn(user=message))
        await session.close()
    assert set(system.executed) == {"spa"}
    assert set(system.executed["spa"]) <= {"assistant.py"}
    return set(system.executed["spa"].get("assistant.py", ()))


@needs_monitoring
async def test_lines_of_named_files_are_noted_of_every_trial_of_a_scenario_and_of_its_threads(
    start_worker: StartWorker,
) -> None:
    found = await ran(start_worker, monitoring_python(), "none", "later")
    assert found >= OF_BOTH
    assert 25 not in found


@needs_monitoring
async def test_what_a_conversation_does_not_reach_is_not_noted(start_worker: StartWorker) -> None:
    found = await ran(start_worker, monitoring_python(), "none")
    assert found >= OF_ONE
    assert not found & {11, 12, 13, 14, 15, 16, 20, 21, 25}


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="monitors lines")
async def test_an_older_python_notes_nothing_since_it_would_double_the_time(start_worker: StartWorker) -> None:
    assert await ran(start_worker, sys.executable, "none") == set()
