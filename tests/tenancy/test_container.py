"""A server in a container, where there is Docker."""

import pytest

from ratiba_action.tenancy.server import DatabaseContainer, docker_is_there
from tests.support.sql import fetch


@pytest.mark.docker
async def test_a_container_serves_and_is_removed() -> None:
    if not docker_is_there():
        pytest.skip("needs a Docker daemon")
    server = DatabaseContainer(60)
    await server.start()
    try:
        assert await fetch(server.dsn, "SELECT 1") == [(1,)]
    finally:
        await server.stop()
        await server.stop()
