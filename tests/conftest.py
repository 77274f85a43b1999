"""What all tests share: how Hypothesis looks for counterexamples, and one PostgreSQL server for the session."""

from collections.abc import AsyncIterator

import hypothesis
import pytest_asyncio


def pytest_configure() -> None:
    """Keep no counterexamples in the checkout, which may be read-only; let no example fail for being slow."""
    hypothesis.settings.register_profile("ratiba", database=None, deadline=None)
    hypothesis.settings.load_profile("ratiba")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def embedded_server_dsn() -> AsyncIterator[str]:
    """Connection string of its superuser; the first test that asks for it starts it."""
    from ratiba_action.testing.servers import open_server  # noqa: PLC0415 - only tests that ask for it pay

    async with open_server(None) as server:
        yield server.dsn
