"""A small repository with a small system, and the gate in it."""

import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tests.support.gate_forks import GateForks
from tests.support.git_repository import GitRepository
from tests.support.in_process_repository import run_here
from tests.support.live_repository import KEY, RATES, LiveRepository, Talk
from tests.support.model_servers import ModelServer
from tests.support.small_repository import CONFIGURATION, SmallRepository

HERE = Path(__file__).parent


@pytest.fixture
def small(tmp_path: Path, embedded_server_dsn: str, forks: GateForks) -> SmallRepository:
    """A committed repository on the session's database, without any scenario yet."""
    folder = tmp_path / "repository"
    shutil.copytree(HERE / "small_system", folder, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    repository = SmallRepository(
        folder,
        tmp_path / "report",
        environment | {"RATIBA_DATABASE_URL": embedded_server_dsn, "NO_COLOR": "1"},
        run=forks.run,
        forks=forks,
    )
    repository.write(".github/ratiba.yml", CONFIGURATION.format(timeout=20))
    GitRepository(folder)
    return repository


@pytest.fixture
def local(tmp_path: Path) -> SmallRepository:
    """The same repository whose gate runs in the test's own process: its system is imported, without a database."""
    folder = tmp_path / "repository"
    shutil.copytree(HERE / "small_system", folder, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    environment |= {"HOME": str(tmp_path / "home"), "NO_COLOR": "1"}
    repository = SmallRepository(folder, tmp_path / "report", environment, run=run_here)
    repository.write(".github/ratiba.yml", CONFIGURATION.format(timeout=20))
    GitRepository(folder)
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


@pytest.fixture
def ledger_url(embedded_server_dsn: str) -> Iterator[str]:
    """A database of its own on the session's server."""
    name = f"ledger_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(embedded_server_dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield make_conninfo(embedded_server_dsn, dbname=name)
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
