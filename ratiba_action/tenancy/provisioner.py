"""Fresh tenants on PostgreSQL: a template schema per arm, a clone with its own role per trial."""

import asyncio
import secrets
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any

from ratiba_action.errors import DatabaseError
from ratiba_action.model.plan import Arm, Tenant
from ratiba_action.model.values import JsonObject
from ratiba_action.tenancy import administration
from ratiba_action.tenancy.administration import (
    Registration,
    check_rights,
    close_to_public,
    search_path,
    warnings_of_public,
)
from ratiba_action.tenancy.clone import CLONE_SECONDS, Template, clone_into, read_template, refuse_unequal
from ratiba_action.tenancy.connections import Connections, connected_as_tenant, database_errors, for_role
from ratiba_action.tenancy.scram import ScramKeys, scram_keys
from ratiba_action.tenancy.server import DatabaseServer
from ratiba_action.tenancy.sweep import RunLock, drop_quietly, sweep, template_name, tenant_name
from ratiba_action.util.cancellation import finish

if TYPE_CHECKING:
    from ratiba_action.tenancy.connections import Connection


class PostgresTenantProvisioner:
    """The gate's ``TenantProvisioner`` on a real server.

    Args:
        server: started by ``start`` and ended by ``close``.
        run_id: of the run, shown in comments on the server; a random part is added.
    """

    def __init__(self, server: DatabaseServer, run_id: str) -> None:
        self._server = server
        self._run = f"{run_id}/{secrets.token_hex(4)}"
        self._connections: Connections | None = None
        self._lock: RunLock | None = None
        self._database = ""
        self._extensions: tuple[str, ...] = ()
        self._templates: dict[Arm, Template] = {}
        self._alive: dict[str, ScramKeys] = {}  # by the name of role and schema
        self._preparing = asyncio.Lock()
        self._warnings: list[str] = []

    @property
    def warnings(self) -> tuple[str, ...]:
        """What could not be dropped, and what a sweep left alone."""
        return tuple(self._warnings)

    async def start(self) -> None:
        """Start or await the server, check rights, mark the run as alive, sweep.

        Raises:
            DatabaseError: there is no such server, or a right is missing.
        """
        await self._server.start()
        self._connections = Connections(self._server.dsn)
        with database_errors("make the gate ready", self._server.dsn):
            async with self._connections.one() as connection:
                await check_rights(connection, self._server.dsn)
                self._lock = RunLock(self._server.dsn, self._run)
                await self._lock.take()
                self._database, self._extensions = await search_path(connection)
                if self._server.own:
                    await close_to_public(connection)
                else:
                    self._warnings += await warnings_of_public(connection, self._server.dsn)
                self._warnings += await sweep(connection)

    async def prepare(self, arm: Arm, migrate: Callable[[str], Awaitable[None]]) -> None:
        """Build the arm's template once, and make sure that its clones will equal it.

        Args:
            arm: the side whose schema it is.
            migrate: creates the system's tables, given the connection string of the template's own role.

        Raises:
            DatabaseError: the schema holds what cannot be cloned.
        """
        async with self._preparing:
            if arm in self._templates:
                return
            name = template_name()
            with database_errors(f"make the template of arm {arm.name!r}", self._server.dsn):
                dsn = await finish(self._create(name, arm.name, uuid.uuid4()))
            await migrate(dsn)
            with database_errors(f"read the migrated schema of arm {arm.name!r}", self._server.dsn):
                template = await read_template(dsn, name)
                async with self._administrator() as connection:
                    await administration.end_sessions(connection, name)
            await self._try(arm, template)
            self._templates[arm] = template

    @asynccontextmanager
    async def provision(self, scenario_id: str, arm: Arm, trial: int = 0) -> AsyncIterator[Tenant]:
        """A fresh tenant cloned from the arm's template; dropped on every way out.

        Raises:
            DatabaseError: the arm was not prepared, or the server refused or went away.
        """
        template = self._templates.get(arm)
        if template is None:
            raise DatabaseError(f"The arm {arm.name!r} has no template.", "Prepare the arm before its first tenant.")
        name = tenant_name(scenario_id)
        identity = uuid.uuid4()
        try:
            with database_errors(f"make a tenant for scenario {scenario_id!r}, trial {trial}", self._server.dsn):
                dsn = await finish(self._create(name, scenario_id, identity))
                await self._clone(template, name, dsn)
            yield Tenant(str(identity), name, dsn)
        finally:
            await finish(self._drop(name))

    async def read(self, tenant: Tenant, queries: Mapping[str, str]) -> Mapping[str, tuple[JsonObject, ...]]:
        """Rows of each named query, read in the tenant's schema by its own role, read-only.

        Raises:
            DatabaseError: a query is refused, writes, takes too long or finds too many rows; names the query.
        """
        return await read_rows(tenant, queries, self._alive.get(tenant.schema))

    async def close(self) -> None:
        """Drop every schema and role of this run and end the server if it was started here; may be called twice."""
        await finish(self._close())

    async def _close(self) -> None:
        for name in sorted(self._alive):
            await self._drop(name)
        self._templates.clear()
        if self._lock is not None:
            await self._lock.release()
        if self._connections is not None:
            await self._connections.close()
        await self._server.stop()

    @asynccontextmanager
    async def _administrator(self) -> AsyncIterator["Connection"]:
        if self._connections is None or self._lock is None:
            raise DatabaseError("The tenant provisioner was not started.", "Call start() first.")
        async with self._connections.one() as connection:
            yield connection

    async def _create(self, name: str, scenario: str, identity: uuid.UUID) -> str:
        """Make a role and its schema; returns the role's connection string."""
        password = secrets.token_hex(16)
        keys = scram_keys(password)
        note = Registration(str(identity), self._run, self._database, scenario)
        path = (name, *self._extensions)
        async with self._administrator() as connection:
            if self._lock is not None:
                await self._lock.check()
            self._alive[name] = keys
            await administration.create(connection, name, keys.verifier, path, note)
        return for_role(self._server.dsn, name, password, path)

    async def _clone(self, template: Template, name: str, dsn: str, *, singly: bool = False) -> None:
        """Fill a tenant's schema, as the tenant: the repository's own functions may run meanwhile."""
        async with self._administrator() as connection:
            await administration.lend(connection, template.name, name)
        async with connected_as_tenant(dsn, CLONE_SECONDS, keys=self._alive.get(name)) as tenant:
            await clone_into(tenant, template, name, singly=singly)
        async with self._administrator() as connection:
            await administration.take_back(connection, template.name, name)

    async def _try(self, arm: Arm, template: Template) -> None:
        """Make a first clone, compare it with the template, drop it."""
        name = tenant_name(f"trial_{arm.name}")
        try:
            with database_errors(f"clone the migrated schema of arm {arm.name!r}", self._server.dsn):
                dsn = await finish(self._create(name, arm.name, uuid.uuid4()))
                await self._clone(template, name, dsn, singly=True)
                async with connected_as_tenant(dsn, CLONE_SECONDS) as tenant:
                    await refuse_unequal(tenant, template, name)
        finally:
            await finish(self._drop(name))

    async def _drop(self, name: str) -> None:
        """Drop what ``_create`` made, or may have made; a failure is kept as a warning."""
        if name not in self._alive:
            return
        del self._alive[name]
        try:
            with database_errors(f"drop {name!r}", self._server.dsn):
                async with self._administrator() as connection:
                    warning = await drop_quietly(connection, name)
        except DatabaseError as error:
            warning = f"{error.problem} The next run tries again."
        if warning is not None:
            self._warnings.append(warning)


MAX_ROWS = 1000
_STATEMENT_SECONDS = 10.0
_CANCEL_SECONDS = 20.0
QUERY_SECONDS = 15.0
"""After which a query is given up whose own functions do not let the server cancel it."""


async def read_rows(
    tenant: Tenant, queries: Mapping[str, str], keys: ScramKeys | None = None
) -> Mapping[str, tuple[JsonObject, ...]]:
    """The rows of each query, by its name.

    Args:
        keys: of the tenant's password; None to work them out.

    Raises:
        DatabaseError: a query is refused, writes, takes too long or finds too many rows; names the query.
    """
    found: dict[str, tuple[JsonObject, ...]] = {}
    seconds = QUERY_SECONDS * len(queries) + _CANCEL_SECONDS
    with database_errors(f"open the tenant {tenant.schema!r} for reading", tenant.dsn):
        async with connected_as_tenant(tenant.dsn, seconds, _STATEMENT_SECONDS, keys) as connection:
            await connection.set_read_only(True)
            for name, query in queries.items():
                remedy = f"Correct the query {name!r} under 'rows' in the configuration."
                with database_errors(f"run the query {name!r} in the tenant {tenant.schema!r}", tenant.dsn, remedy):
                    async with asyncio.timeout(QUERY_SECONDS), connection.transaction():
                        found[name] = await _run(connection, name, query)
    return found


async def _run(connection: Any, name: str, query: str) -> tuple[JsonObject, ...]:
    """One query through a cursor on the server, so that too many rows are never sent."""
    # A declared cursor takes a single SELECT only, and its rows are counted before they are kept.
    # Preparing refuses a second statement, such as a COMMIT that would end the read-only transaction.
    declare = b"DECLARE ratiba_rows NO SCROLL CURSOR FOR " + query.strip().rstrip(";").encode()
    await connection.execute(declare, prepare=True)
    cursor = await connection.execute(f"FETCH {MAX_ROWS + 1} FROM ratiba_rows".encode())
    rows = await cursor.fetchall()
    if len(rows) > MAX_ROWS:
        raise DatabaseError(
            f"The query {name!r} found more than {MAX_ROWS} rows.", "Narrow it under 'rows' in the configuration."
        )
    columns = [column.name for column in cursor.description or ()]
    await connection.execute(b"CLOSE ratiba_rows")
    return tuple(dict(zip(columns, map(json_safe, row), strict=True)) for row in rows)


def json_safe(value: Any) -> Any:
    """A column's value as JSON: times in ISO 8601, whole decimals as int, others and unknown types as text."""
    match value:
        case float() if not isfinite(value):
            safe: Any = str(value)
        case None | bool() | int() | float() | str():
            safe = value
        case Decimal():
            safe = int(value) if value.is_finite() and value == value.to_integral_value() else str(value)
        case datetime() | date() | time():
            safe = value.isoformat()
        case timedelta():
            safe = value.total_seconds()
        case bytes() | memoryview():
            safe = bytes(value).hex()
        case Mapping():
            safe = {str(key): json_safe(item) for key, item in value.items()}
        case list() | tuple() | set():
            safe = [json_safe(item) for item in value]
        case _:
            safe = str(value)
    return safe
