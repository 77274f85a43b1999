"""What all tests share: Hypothesis' settings, one PostgreSQL server and one container image for the session."""

import subprocess
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
import pytest_asyncio

if TYPE_CHECKING:
    from tests.support.gate_forks import GateForks


def pytest_configure() -> None:
    """Try the same examples in every run; keep none in the checkout, which may be read-only; time no example."""
    hypothesis.settings.register_profile("ratiba", derandomize=True, database=None, deadline=None)
    hypothesis.settings.load_profile("ratiba")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def embedded_server_dsn() -> AsyncIterator[str]:
    """Connection string of its superuser; the first test that asks for it starts it."""
    from tests.support.servers import open_server  # noqa: PLC0415 - only tests that ask for it pay

    async with open_server(None) as server:
        yield server.dsn


@pytest_asyncio.fixture
async def database(embedded_server_dsn: str) -> AsyncIterator[str]:
    """Connection string of an empty database, for tests of what many runs share."""
    from psycopg.conninfo import make_conninfo  # noqa: PLC0415 - as above

    from tests.support.sql import run_sql  # noqa: PLC0415 - as above

    name = f"shared_{uuid.uuid4().hex[:12]}"
    await run_sql(embedded_server_dsn, f"CREATE DATABASE {name}")
    yield make_conninfo(embedded_server_dsn, dbname=name)
    await run_sql(embedded_server_dsn, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def forks() -> Iterator["GateForks"]:
    """Gates that start with everything loaded; the first test that asks for it starts them."""
    from tests.support.gate_forks import gate_forks  # noqa: PLC0415 - as above

    with gate_forks() as started:
        yield started


@pytest.fixture(scope="session")
def image() -> Iterator[str]:
    """Tag of the gate's image, built by the project's Dockerfile."""
    from tests.support.container_image import build, why_not  # noqa: PLC0415 - as above

    reason = why_not()
    if reason:
        pytest.skip(reason)
    tag = f"ratiba-eval-gate:test-{uuid.uuid4().hex[:8]}"
    build(Path(__file__).parent.parent, tag)
    yield tag
    subprocess.run(["docker", "image", "rm", "--force", tag], capture_output=True, check=True)
