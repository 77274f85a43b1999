"""The adapter: how the eval gate migrates this system, opens a conversation with it and speaks.

The gate imports ``Adapter`` by name and passes plain dictionaries; nothing of the gate is imported here.
"""

import os
from contextlib import AsyncExitStack
from datetime import datetime
from pathlib import Path
from typing import Protocol

import psycopg
from alembic import command
from alembic.config import Config
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg.rows import dict_row

from booking_assistant.clock import FixedClock
from booking_assistant.database import Connection, connect
from booking_assistant.elsewhere import take_slot_elsewhere
from booking_assistant.graph import Assistant, Graph, build_graph
from booking_assistant.llm_router import BOOKING_ORCHESTRATOR, INTENT_CLASSIFIER, LLMRouter, load_assignments
from booking_assistant.memory import JsonObject, Memory, new_memory, payment_status, start_turn
from booking_assistant.onboarding import Tenant, register_tenant, register_thread
from booking_assistant.phone_number import normalise_phone
from booking_assistant.prompts import PromptLibrary
from booking_assistant.providers import AnthropicProvider, OpenAIProvider, Provider
from booking_assistant.rails.mpesa import MpesaRail
from booking_assistant.rails.pesapal import PesapalRail
from booking_assistant.rollouts import open_rollouts
from booking_assistant.tenant_saver import TenantScopedSaver
from booking_assistant.tools.desk import Customer, Desk

_ROOT = Path(__file__).resolve().parents[1]
_GRAPH_EVENTS = ("payment_callback", "payment_cancelled_by_customer")


class Context(Protocol):
    """What the gate tells about a conversation.

    Attributes:
        tenant_id: UUID of the tenant.
        schema: its schema, already migrated; ``database_url`` leads there.
        now: the clock's time, aware.
        language: sw, en or mixed.
        vertical: spa, salon or barbershop.
        customer_phone: in any Kenyan spelling.
    """

    scenario_id: str
    tenant_id: str
    schema: str
    database_url: str
    conversation_id: str
    now: datetime
    language: str
    vertical: str
    customer_name: str
    customer_phone: str


class Adapter:
    """The entry point that the gate's configuration names."""

    def migrate(self, database_url: str) -> None:
        """Create the system's tables and LangGraph's in the schema of the connection's search path."""
        config = Config(_ROOT / "alembic.ini")
        config.attributes["database_url"] = database_url
        command.upgrade(config, "head")
        # The saver's migrations build indexes concurrently, which PostgreSQL refuses inside a transaction.
        with psycopg.connect(database_url, autocommit=True, prepare_threshold=0, row_factory=dict_row) as connection:
            PostgresSaver(connection).setup()

    async def open(self, context: Context) -> "Conversation":
        """Register the tenant and start a conversation in its schema.

        Raises:
            ValueError: the customer's phone is no Kenyan mobile number.
            WrongTenantError: the connection string leads to another schema than the tenant's.
        """
        phone = normalise_phone(context.customer_phone)
        if phone is None:
            raise ValueError(f"cannot use phone {context.customer_phone!r}: give a Kenyan mobile number")
        resources = AsyncExitStack()
        try:
            return await _open(context, Customer(context.customer_name, phone), resources)
        except BaseException:
            await resources.aclose()
            raise


class Conversation:
    """One customer's conversation with the assistant.

    Args:
        graph: with the tenant's checkpointer.
        config: thread and tenant, for the checkpointer.
        desk: the tools' surroundings.
        resources: what must be closed at the end.
    """

    def __init__(self, graph: Graph, config: RunnableConfig, desk: Desk, resources: AsyncExitStack) -> None:
        self._graph = graph
        self._config = config
        self._desk = desk
        self._resources = resources

    async def send(self, message: str) -> JsonObject:
        """Give the assistant a customer's message; its reply and what it did."""
        return await self._turn({"message": message})

    async def deliver(self, event: JsonObject) -> JsonObject:
        """Tell the assistant of something that is not the customer's message.

        Raises:
            ValueError: the event is unknown or malformed.
        """
        kind = event.get("type")
        if kind == "slot_taken_elsewhere":
            await take_slot_elsewhere(self._desk, event)
            return _answer({**await self._memory(), "tool_calls": [], "events": [], "reply": ""})
        if kind not in _GRAPH_EVENTS:
            raise ValueError(f"cannot take event {kind!r}: use one of {[*_GRAPH_EVENTS, 'slot_taken_elsewhere']}")
        return await self._turn({"event": event})

    async def close(self) -> None:
        """Close the connections to the database and to the models."""
        await self._resources.aclose()

    async def _turn(self, incoming: JsonObject) -> JsonObject:
        await self._graph.ainvoke(start_turn(await self._memory(), incoming), self._config)
        return _answer(await self._memory())

    async def _memory(self) -> Memory:
        """What the checkpointer holds: the same that another process would see."""
        snapshot = await self._graph.aget_state(self._config)
        memory: Memory = {**new_memory(), **snapshot.values}  # type: ignore[typeddict-item]  # the graph's own state
        return memory


async def _open(context: Context, customer: Customer, resources: AsyncExitStack) -> Conversation:
    """Build the assistant from what the gate gave, and enter tenant and conversation into the schema."""
    tenant = Tenant(context.tenant_id, context.schema, context.vertical)
    clock = FixedClock(context.now)
    router = _router(resources)
    # The tools and the checkpointer have a connection each, so that neither joins the other's transaction.
    connection = await _connection(context.database_url, resources)
    saver = await TenantScopedSaver.for_tenant(await _connection(context.database_url, resources), tenant)
    await register_tenant(connection, tenant)
    await register_thread(
        connection,
        tenant,
        conversation_id=context.conversation_id,
        customer_phone=customer.phone,
        clock=clock,
        prompt_versions=[
            router.resolve_prompt(role, context.tenant_id, context.conversation_id).version
            for role in (BOOKING_ORCHESTRATOR, INTENT_CLASSIFIER)
        ],
    )
    desk = Desk(connection, clock, customer, {"mpesa": MpesaRail(), "pesapal": PesapalRail()})
    assistant = Assistant(router, desk, context.tenant_id, context.conversation_id, context.language)
    config: RunnableConfig = {
        "configurable": {"thread_id": context.conversation_id, "tenant_id": context.tenant_id},
    }
    return Conversation(build_graph(assistant, saver), config, desk, resources)


def _router(resources: AsyncExitStack) -> LLMRouter:
    providers: dict[str, Provider] = {"anthropic": AnthropicProvider(), "openai": OpenAIProvider()}
    for provider in providers.values():
        resources.push_async_callback(provider.close)
    prompts = PromptLibrary(_ROOT / "prompts", open_rollouts(os.environ))
    return LLMRouter(load_assignments(_ROOT / "roles.yaml"), providers, prompts)


async def _connection(database_url: str, resources: AsyncExitStack) -> Connection:
    connection = await connect(database_url)
    resources.push_async_callback(connection.close)
    return connection


def _answer(memory: Memory) -> JsonObject:
    return {
        "text": memory["reply"],
        "state": memory["state"],
        "payment": payment_status(memory),
        "tool_calls": memory["tool_calls"],
        "events": memory["events"],
    }
