"""A small repository with a small system, and the gate in it."""

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from ratiba_action.testing.git_repository import GitRepository
from ratiba_action.testing.live_repository import KEY, RATES, LiveRepository, Talk
from ratiba_action.testing.model_servers import ModelServer
from ratiba_action.testing.small_repository import CONFIGURATION, SmallRepository

HERE = Path(__file__).parent


@pytest.fixture
def small(tmp_path: Path, embedded_server_dsn: str) -> SmallRepository:
    """A committed repository on the session's database, without any scenario yet."""
    folder = tmp_path / "repository"
    shutil.copytree(HERE / "small_system", folder, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    repository = SmallRepository(
        folder, tmp_path / "report", environment | {"RATIBA_DATABASE_URL": embedded_server_dsn, "NO_COLOR": "1"}
    )
    repository.write(".github/ratiba.yml", CONFIGURATION.format(timeout=20))
    GitRepository(folder, environment["PATH"])
    return repository


@pytest.fixture
async def live(small: SmallRepository, tmp_path: Path) -> AsyncIterator[LiveRepository]:
    """The same with a system that asks models, and stand-ins for the models on loopback."""
    talk = Talk()
    async with ModelServer(talk, KEY, RATES) as models:
        repository = LiveRepository(small, models, talk, tmp_path / "home")
        repository.prepare()
        yield repository


@pytest.fixture
def meeting_place() -> Iterator[Path]:
    """A folder where the system under test and the test leave files for each other, whoever each of them runs as.

    Pytest's own folders are closed to other users, and the system cannot make files beside the report.
    """
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)
