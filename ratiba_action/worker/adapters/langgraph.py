"""The adapter of a LangGraph graph: a compiled one, one to compile, or a factory that is given the checkpointer."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

from ..lookup import AdapterError, create_tables, make
from . import savers
from .reply_fields import plain, steps_of
from .turn_messages import TurnMessages, text_of

INVOKE = "ainvoke"


class Adapter:
    """Opens conversations with the graph.

    Args:
        options: ``graph``: its address; ``saver``: memory, postgres, redis, or None for the graph's own;
            ``messages``: the state's key of the messages; ``input``: the key that takes what the customer says, when it
            is another; ``response_nodes``: the nodes whose tokens make the text; ``reply``: for each field of a
            reply a path in the state; ``migrate``: the function that creates the system's own tables, or None.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options

    async def migrate(self, database_url: str) -> None:
        """Create the system's own tables, and the saver's where it keeps them in PostgreSQL."""
        await create_tables(self._options["migrate"], database_url)
        if self._options["saver"] == savers.POSTGRES:
            savers.create_tables(database_url)

    async def open(self, context: Any) -> GraphConversation:
        """Make the graph with a checkpointer for this conversation."""
        resources = AsyncExitStack()
        try:
            kind = self._options["saver"] or "memory"
            saver = await savers.open_saver(kind, context.database_url, context.conversation_id, resources)
            graph = await make(self._options["graph"], (INVOKE, "compile"), saver, context)
            graph = _checkpointed(graph, saver, persistent=self._options["saver"] is None)
            _require_known(graph, self._options)
        except BaseException:
            await resources.aclose()
            raise
        return GraphConversation(graph, self._options, context.conversation_id, resources)


def _checkpointed(graph: Any, saver: Any, *, persistent: bool) -> Any:
    """The compiled graph with our saver; with its own where it has one and the configuration names none."""
    if not callable(getattr(graph, INVOKE, None)):
        return graph.compile(checkpointer=saver)
    own = getattr(graph, "checkpointer", None)
    return graph if own is saver or (own and persistent) else graph.copy(update={"checkpointer": saver})


def _require_known(graph: Any, options: dict[str, Any]) -> None:
    """Refuse keys and nodes that the graph does not have: what they would give is nothing, in silence."""
    keys = {name for name in graph.channels if ":" not in name and not name.startswith("__")}
    nodes = {name for part in (graph, *(sub for _, sub in graph.get_subgraphs(recurse=True))) for name in part.nodes}
    named = [str(steps_of(path)[0]) for path in options["reply"].values()] + [options["input"] or options["messages"]]
    for what, names, known in (
        ("state has no key", named, keys),
        ("graph has no node", options["response_nodes"], nodes),
    ):
        strange = [name for name in names if name not in known]
        if strange:
            there = ", ".join(sorted(name for name in known if not name.startswith("__")))
            raise AdapterError(f"the {what} {strange[0]!r}; there are {there}")


class GraphConversation:
    """One thread of the graph.

    Args:
        graph: compiled, with a checkpointer.
        thread: the conversation's id, which is the thread's.
        resources: what is closed at the end.
    """

    def __init__(self, graph: Any, options: dict[str, Any], thread: str, resources: AsyncExitStack) -> None:
        self._graph = graph
        self._options = options
        self._config = {"configurable": {"thread_id": thread}}
        self._resources = resources
        self._messages = TurnMessages(options["messages"])
        self._waiting = False

    async def send(self, message: str) -> dict[str, Any]:
        """The reply to what the customer says; it is the answer to an interrupt where one waits."""
        return await self._turn(self._resume(message) if self._waiting else self._start(message))

    async def deliver(self, event: dict[str, Any]) -> dict[str, Any]:
        """The reply to an event, which resumes the interrupt that waits for it.

        Raises:
            AdapterError: no interrupt waits.
        """
        if not self._waiting:
            raise AdapterError("the graph waits for no event: it is in no interrupt")
        return await self._turn(self._resume(event))

    async def close(self) -> None:
        """Close the checkpointer's connection."""
        await self._resources.aclose()

    def _start(self, message: str) -> dict[str, Any]:
        from langchain_core.messages import HumanMessage  # the repository's framework, when asked for

        key = self._options["input"]
        return {key: message} if key else {self._options["messages"]: [HumanMessage(message)]}

    def _resume(self, answer: Any) -> Any:
        from langgraph.types import Command

        return Command(resume=answer)

    async def _turn(self, given: Any) -> dict[str, Any]:
        nodes = self._options["response_nodes"]
        streamed = None
        if nodes:
            streamed = await _streamed_text(self._graph, given, self._config, frozenset(nodes))
        else:
            await self._graph.ainvoke(given, self._config)
        state = await self._graph.aget_state(self._config)
        interrupts = [plain(interrupt.value) for interrupt in state.interrupts]
        self._waiting = bool(interrupts)
        reply = self._messages.reply(state.values, self._options["reply"], unfinished=self._waiting)
        if streamed is not None:
            reply["text"] = streamed
        return _with_interrupts(reply, interrupts, self._options["messages"])


def _with_interrupts(reply: dict[str, Any], interrupts: list[Any], messages: str) -> dict[str, Any]:
    """The reply with an event for each interrupt; what an interrupt asks in words is the text where there is none."""
    events = [{"type": "interrupt", "data": {"value": value}} for value in interrupts]
    words = [value for value in interrupts if isinstance(value, str)]
    text = reply.get("text")
    if text is None and not interrupts:
        raise AdapterError(
            f"the graph left no answer: no new message of a model under {messages!r} in its state; "
            "say where the text is with system.langgraph.reply.text"
        )
    return {**reply, "text": text or "\n".join(words), "events": [*reply.get("events", []), *events]}


async def _streamed_text(graph: Any, given: Any, config: dict[str, Any], nodes: frozenset[str]) -> str:
    """Run the graph to its end; what the models of its response nodes said to the user, in the order they began.

    A model that does not stream counts with its whole answer.

    Args:
        graph: compiled.
    """
    texts: dict[str, str] = {}
    async for event in graph.astream_events(given, config, version="v2"):
        if event["metadata"].get("langgraph_node") not in nodes:
            continue
        run = event["run_id"]
        if event["event"] == "on_chat_model_start":
            texts[run] = ""
        elif event["event"] == "on_chat_model_stream":
            texts[run] = texts.get(run, "") + text_of(event["data"]["chunk"])
        elif event["event"] == "on_chat_model_end":
            texts[run] = texts.get(run) or text_of(event["data"]["output"])
    return "".join(texts.values())
