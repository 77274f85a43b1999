"""Where a graph's checkpoints are kept in PostgreSQL: in the schema of the conversation's tenant and nowhere else."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from psycopg import sql
from psycopg.conninfo import make_conninfo

from ratiba_action.worker.adapters.langgraph import Adapter


def counting() -> "StateGraph[Any, Any, Any, Any]":
    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"message {len(state['messages'])}")]}

    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    return graph


def own_tables(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("CREATE TABLE bookings (id int)")


ADAPTER = Adapter(
    {
        "graph": f"{__name__}:counting",
        "saver": "postgres",
        "messages": "messages",
        "input": None,
        "response_nodes": [],
        "reply": {},
        "migrate": f"{__name__}:own_tables",
    }
)


@pytest.fixture
def schemas(embedded_server_dsn: str) -> Iterator[list[str]]:
    """Connection strings of two empty schemas."""
    names = [sql.Identifier(name) for name in ("saver_one", "saver_two")]
    with psycopg.connect(embedded_server_dsn, autocommit=True) as connection:
        for name in names:
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(name))
        yield [
            make_conninfo(embedded_server_dsn, options=f"-csearch_path={name}") for name in ("saver_one", "saver_two")
        ]
        for name in names:
            connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(name))


def threads(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        return {row[0] for row in connection.execute("SELECT DISTINCT thread_id FROM checkpoints")}


async def test_checkpoints_lie_in_the_schema_of_the_search_path_under_the_conversations_id(schemas: list[str]) -> None:
    for url in schemas:
        await ADAPTER.migrate(url)
    for number, url in enumerate(schemas):
        conversation = await ADAPTER.open(SimpleNamespace(conversation_id=f"thread-{number}", database_url=url))
        assert (await conversation.send("moja"))["text"] == "message 1"
        assert (await conversation.send("mbili"))["text"] == "message 3"
        await conversation.close()
    assert [threads(url) for url in schemas] == [{"thread-0"}, {"thread-1"}]


async def test_another_process_of_the_same_conversation_goes_on_from_what_the_database_holds(
    schemas: list[str],
) -> None:
    await ADAPTER.migrate(schemas[0])
    context = SimpleNamespace(conversation_id="thread", database_url=schemas[0])
    first = await ADAPTER.open(context)
    await first.send("moja")
    await first.close()
    second = await ADAPTER.open(context)
    assert (await second.send("mbili"))["text"] == "message 3"
    await second.close()


async def test_the_systems_own_tables_are_made_beside_the_savers(schemas: list[str]) -> None:
    await ADAPTER.migrate(schemas[0])
    with psycopg.connect(schemas[0]) as connection:
        rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'saver_one'").fetchall()
    assert {"bookings", "checkpoints", "checkpoint_migrations"} <= {name for (name,) in rows}
