"""An in-memory ``TenantProvisioner`` for tests that need no database."""

import secrets
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from ratiba_action.errors import DatabaseError
from ratiba_action.model.plan import Arm, Tenant
from ratiba_action.model.values import JsonObject


class InMemoryTenants:
    """Hands out tenants that exist in a set, and rows that were put there.

    Args:
        rows: what ``read`` finds, by the name of the query; a query that is not in it finds nothing.
        broken: refuse every tenant, like a server that went away.
    """

    def __init__(self, rows: Mapping[str, tuple[JsonObject, ...]] | None = None, *, broken: bool = False) -> None:
        self._rows = dict(rows or {})
        self._broken = broken
        self._prepared: set[Arm] = set()
        self._started = False
        self.alive: set[str] = set()
        self.provisioned: list[str] = []

    async def start(self) -> None:
        """Make ready."""
        self._started = True

    async def prepare(self, arm: Arm, migrate: Callable[[str], Awaitable[None]]) -> None:
        """Run the arm's migrations once.

        Raises:
            DatabaseError: not started.
        """
        if not self._started:
            raise DatabaseError("The tenant provisioner was not started.", "Call start() first.")
        if arm not in self._prepared:
            await migrate(f"postgresql://template@/memory?options=-csearch_path%3Dratiba_template_{arm.name}")
            self._prepared.add(arm)

    @asynccontextmanager
    async def provision(self, scenario_id: str, arm: Arm, trial: int = 0) -> AsyncIterator[Tenant]:
        """A tenant that is alive until the block ends.

        Raises:
            DatabaseError: the arm was not prepared, or the fake was made broken.
        """
        if arm not in self._prepared:
            raise DatabaseError(f"The arm {arm.name!r} has no template.", "Prepare the arm before its first tenant.")
        if self._broken:
            raise DatabaseError(f"The database went away in scenario {scenario_id!r}, trial {trial}.")
        name = f"test_tenant_{len(self.provisioned)}_{secrets.token_hex(4)}"
        self.provisioned.append(scenario_id)
        self.alive.add(name)
        try:
            yield Tenant(str(uuid.uuid4()), name, f"postgresql://{name}@/memory")
        finally:
            self.alive.discard(name)

    async def read(self, tenant: Tenant, queries: Mapping[str, str]) -> Mapping[str, tuple[JsonObject, ...]]:
        """The rows that were put there.

        Raises:
            DatabaseError: the tenant is not alive.
        """
        if tenant.schema not in self.alive:
            raise DatabaseError(f"The tenant {tenant.schema!r} is gone.", "Read before its block ends.")
        return {name: self._rows.get(name, ()) for name in queries}

    async def close(self) -> None:
        """Forget everything; may be called twice."""
        self.alive.clear()
        self._prepared.clear()
        self._started = False
