"""A LangGraph checkpointer that belongs to one tenant (ADR-0002)."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from booking_assistant.database import Connection, fetch_required
from booking_assistant.onboarding import Tenant


class WrongTenantError(Exception):
    """A checkpoint of one tenant was about to be read or written for another."""


class TenantScopedSaver(AsyncPostgresSaver):
    """Keeps checkpoints in the tenant's own schema and refuses to serve any other tenant.

    Args:
        connection: its search path is the tenant's schema; the saver alone uses it.
        tenant: whose conversations these are.
    """

    def __init__(self, connection: Connection, tenant: Tenant) -> None:
        super().__init__(connection)
        self._tenant = tenant

    @classmethod
    async def for_tenant(cls, connection: Connection, tenant: Tenant) -> "TenantScopedSaver":
        """A saver for a tenant.

        Raises:
            WrongTenantError: the connection leads to another schema than the tenant's.
        """
        row = await fetch_required(connection, "SELECT current_schema() AS name")
        if row["name"] != tenant.schema:
            raise WrongTenantError(f"the connection is in schema {row['name']!r}, the tenant's is {tenant.schema!r}")
        return cls(connection, tenant)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read a conversation's checkpoint."""
        self._check(config)
        return await super().aget_tuple(config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002  (the name is LangGraph's)
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """List checkpoints of a conversation."""
        self._check(config or {})
        async for found in super().alist(config, filter=filter, before=before, limit=limit):
            yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write a checkpoint."""
        self._check(config)
        return await super().aput(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Write what a node has written so far."""
        self._check(config)
        await super().aput_writes(config, writes, task_id, task_path)

    def _check(self, config: RunnableConfig) -> None:
        requested = config.get("configurable", {}).get("tenant_id")
        if requested != self._tenant.id:
            raise WrongTenantError(f"tenant {requested!r} asked for checkpoints of tenant {self._tenant.id!r}")
