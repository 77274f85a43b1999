"""What a run starts beside what: a step that came later than it can would make the test wait in vain."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from ratiba_action.decide.deciding import DecideRequest, decide
from ratiba_action.money.budget import Ledger
from ratiba_action.run.arms import head_inputs
from ratiba_action.run.composition import open_services
from ratiba_action.run.evaluation_inputs import read_inputs
from ratiba_action.run.inputs import RunInputs, RunLog, RunRequest
from ratiba_action.settings.settings import read_settings
from ratiba_action.systems.worker_system import WorkerSystem
from ratiba_action.tenancy.no_database import NoDatabase
from tests.support.git_repository import GitRepository
from tests.support.progress import RecordedProgress

pytestmark = pytest.mark.processes

SECONDS = 240.0
"""After which a step that was waited for is known not to come."""
FILES = {
    "bot.py": "def answer(message):\n    return 'We open at nine.'\n",
    ".github/ratiba.yml": "system: {adapter: 'bot:answer'}\nmetrics: {fluency: false}\n",
    "scenarios/opening.yaml": """\
id: opening
language: en
layer: fsm
script: []
turns:
  - user: When do you open?
""",
}


@pytest.fixture
def inputs(tmp_path: Path) -> RunInputs:
    """A replay of a function with an edit that nobody has committed."""
    root = tmp_path / "checkout"
    GitRepository(root).commit(FILES)
    with (root / "bot.py").open("a", encoding="utf-8") as file:
        file.write("# An edit.\n")
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "RATIBA_LLM": "replay"}
    decided = decide(DecideRequest(root), environment)
    return read_inputs(
        RunRequest(settings=read_settings(environment, {}), decided=decided, repository=root, environment=environment)
    )


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir(mode=0o711)
    return folder


@asynccontextmanager
async def opened(inputs: RunInputs, scratch: Path) -> AsyncIterator[None]:
    """What a run with a base starts."""
    log, ledger = RunLog(RecordedProgress()), Ledger(inputs.settings.budget_usd)
    async with asyncio.timeout(SECONDS):
        opening = open_services(inputs, head_inputs(inputs), ledger=ledger, log=log, scratch=scratch, with_base=True)
        async with opening:
            yield


async def test_in_a_replay_the_fork_server_of_the_change_begins_while_the_base_starts(
    inputs: RunInputs, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, database, change = list[str](), asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def open_tenants(*_: object) -> AsyncIterator[NoDatabase]:
        await database.wait()
        steps.append("the database is ready")
        yield NoDatabase()

    async def start(_: WorkerSystem) -> None:
        steps.append("the base starts")
        database.set()
        await change.wait()

    async def start_ahead(_: WorkerSystem, __: WorkerSystem) -> None:
        steps.append("the change begins")
        change.set()

    monkeypatch.setattr("ratiba_action.run.composition.open_tenants", open_tenants)
    monkeypatch.setattr(WorkerSystem, "start", start)
    monkeypatch.setattr(WorkerSystem, "start_ahead", start_ahead)
    async with opened(inputs, scratch):
        assert steps == ["the base starts", "the database is ready", "the change begins"]


async def test_the_database_begins_and_both_copies_are_made_while_the_gateways_library_is_loaded(
    inputs: RunInputs, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, copy = threading.Semaphore(0), WorkerSystem.copy
    waited = list[bool]()

    async def copy_and_tell(system: WorkerSystem) -> None:
        there = system.folder is not None
        await copy(system)
        if not there:
            done.release()

    def load_after_the_rest(name: str) -> ModuleType:
        waited.extend(done.acquire(timeout=SECONDS) for _ in ("database", "copy of the head", "copy of the base"))
        return import_module(name)

    @asynccontextmanager
    async def open_tenants(*_: object) -> AsyncIterator[NoDatabase]:
        done.release()
        yield NoDatabase()

    async def start(*_: WorkerSystem) -> None:
        """Nothing has to run."""

    monkeypatch.setattr("ratiba_action.run.composition.open_tenants", open_tenants)
    monkeypatch.setattr(WorkerSystem, "copy", copy_and_tell)
    monkeypatch.setattr(WorkerSystem, "start", start)
    monkeypatch.setattr(WorkerSystem, "start_ahead", start)
    monkeypatch.setattr("ratiba_action.run.model_calls.import_module", load_after_the_rest)
    async with opened(inputs, scratch):
        assert waited == [True, True, True]
