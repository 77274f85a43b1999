"""The tenants of a system without a database."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from uuid import uuid4

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.plan import Arm, Tenant
from ratiba_action.model.values import JsonObject


class NoDatabase:
    """Implements ``TenantProvisioner`` without a server; no schema, no address, no rows."""

    async def start(self) -> None:
        """Nothing is started."""

    async def prepare(self, _arm: Arm, migrate: Callable[[str], Awaitable[None]]) -> None:
        """Nothing is migrated; the system is loaded once, which shows whether its configuration can be right."""
        await migrate("")

    @asynccontextmanager
    async def provision(self, _scenario_id: str, _arm: Arm, _trial: int = 0) -> AsyncIterator[Tenant]:
        """A tenant with an id and an empty address."""
        yield Tenant(str(uuid4()), "", "")

    async def read(self, _tenant: Tenant, queries: Mapping[str, str]) -> Mapping[str, tuple[JsonObject, ...]]:
        """No rows, of no query.

        Raises:
            ConfigurationError: there is a query.
        """
        if queries:
            names = ", ".join(sorted(queries))
            raise ConfigurationError(f"There is no database to read {names} from.", "Set system.database: true.")
        return {}

    async def close(self) -> None:
        """Nothing is left."""
