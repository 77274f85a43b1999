"""LangGraph graphs, real ones, spoken to through the worker's adapter."""

import operator
from datetime import UTC, datetime
from enum import Enum
from types import SimpleNamespace
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt

from ratiba_action.worker.adapters.langgraph import Adapter, Conversation
from ratiba_action.worker.lookup import AdapterError

Graph = CompiledStateGraph[Any, Any, Any, Any]
DEFAULTS: dict[str, Any] = {
    "saver": "memory",
    "messages": "messages",
    "input": None,
    "response_nodes": [],
    "reply": {},
}


def model(*lines: str | AIMessage) -> GenericFakeChatModel:
    said = [AIMessage(line) if isinstance(line, str) else line for line in lines]
    return GenericFakeChatModel(messages=iter(said))


async def opened(graph: str, thread: str = "thread-1", **settings: Any) -> Conversation:
    adapter = Adapter({**DEFAULTS, "graph": f"{__name__}:{graph}", **settings})
    now = datetime(2026, 4, 25, 7, tzinfo=UTC)
    return await adapter.open(SimpleNamespace(conversation_id=thread, database_url=None, now=now, language="sw"))


# --- graphs -----------------------------------------------------------------------------------------------------------


def counting() -> "StateGraph[Any, Any, Any, Any]":
    async def answer(state: MessagesState) -> dict[str, Any]:
        asked = [message for message in state["messages"] if isinstance(message, HumanMessage)]
        return {"messages": [AIMessage(f"{len(asked)}: {asked[-1].text}")]}

    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    return graph


counter = counting()
compiled = counting().compile()
OWN = InMemorySaver()
with_own_saver = counting().compile(checkpointer=OWN)


def made_with(saver: BaseCheckpointSaver[str]) -> Graph:
    return counting().compile(checkpointer=saver)


async def made_later(saver: BaseCheckpointSaver[str], context: Any) -> Graph:
    async def greet(state: MessagesState) -> dict[str, Any]:  # noqa: ARG001 - LangGraph's name
        return {"messages": [AIMessage(f"{context.language} {context.now:%d.%m.}")]}

    graph = StateGraph(MessagesState)
    graph.add_node("greet", greet)
    graph.add_edge(START, "greet")
    return graph.compile(checkpointer=saver)


def without_parameters() -> Graph:
    return counting().compile()


# --- the checkpointer and the thread ----------------------------------------------------------------------------------


@pytest.mark.parametrize("graph", ["counter", "compiled", "made_with", "without_parameters", "with_own_saver"])
async def test_a_conversation_goes_on_where_it_was(graph: str) -> None:
    conversation = await opened(graph, thread=graph)
    assert (await conversation.send("habari"))["text"] == "1: habari"
    assert (await conversation.send("kesho"))["text"] == "2: kesho"


async def test_conversations_have_threads_of_their_own() -> None:
    first, second = await opened("with_own_saver", "a", saver=None), await opened("with_own_saver", "b", saver=None)
    await first.send("moja")
    assert (await second.send("one"))["text"] == "1: one"


async def test_the_thread_is_the_conversations_id_and_a_graphs_own_saver_is_kept_where_none_is_named() -> None:
    conversation = await opened("with_own_saver", "kept", saver=None)
    await conversation.send("habari")
    assert OWN.get_tuple({"configurable": {"thread_id": "kept"}}) is not None


async def test_a_saver_that_is_named_takes_the_place_of_the_graphs_own() -> None:
    conversation = await opened("with_own_saver", "replaced", saver="memory")
    await conversation.send("habari")
    assert OWN.get_tuple({"configurable": {"thread_id": "replaced"}}) is None


async def test_a_factory_is_given_the_saver_and_the_context_if_it_takes_them() -> None:
    assert (await (await opened("made_later")).send("habari"))["text"] == "sw 25.04."


async def test_redis_needs_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REDIS_URL", raising=False)
    with pytest.raises(AdapterError, match=r"REDIS_URL in system\.environment"):
        await opened("counter", saver="redis")


# --- messages ---------------------------------------------------------------------------------------------------------


@tool
def check_availability(service: str) -> dict[str, Any]:
    """Whether a service is free."""
    return {"service": service, "free": ["14:00"]}


@tool
def shop_name() -> str:
    """The name of the shop."""
    return "Tulia Spa"


def calls(*wanted: tuple[str, dict[str, Any]]) -> AIMessage:
    return AIMessage(
        "Let me look.",
        tool_calls=[{"name": name, "args": args, "id": f"call-{name}"} for name, args in wanted],
    )


def agent(saver: BaseCheckpointSaver[str]) -> Graph:
    lines = model(
        calls(("check_availability", {"service": "massage"}), ("shop_name", {})), "We are free at 14:00.", "Asante."
    )

    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await lines.ainvoke(state["messages"])]}

    def route(state: MessagesState) -> str:
        last = state["messages"][-1]
        return "tools" if isinstance(last, AIMessage) and last.tool_calls else END

    graph = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("tools", ToolNode([check_availability, shop_name]))
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", route, ["tools", END])
    graph.add_edge("tools", "think")
    return graph.compile(checkpointer=saver)


async def test_tool_calls_carry_arguments_and_what_the_tools_gave() -> None:
    conversation = await opened("agent")
    reply = await conversation.send("Is a massage free?")
    assert reply["text"] == "We are free at 14:00."
    assert reply["tool_calls"] == [
        {
            "name": "check_availability",
            "args": {"service": "massage"},
            "output": {"service": "massage", "free": ["14:00"]},
        },
        {"name": "shop_name", "args": {}, "output": "Tulia Spa"},
    ]
    assert await conversation.send("Thanks") == {"text": "Asante.", "tool_calls": [], "events": []}


def blocks(saver: BaseCheckpointSaver[str]) -> Graph:
    def answer(state: MessagesState) -> dict[str, Any]:  # noqa: ARG001 - LangGraph's name
        content = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "Kari"}, "bu"]
        broken = {"type": "invalid_tool_call", "name": "book", "args": "{", "id": "1", "error": "no JSON"}
        return {"messages": [AIMessage(content, invalid_tool_calls=[broken])]}  # type: ignore[arg-type]  # as a provider would

    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    return graph.compile(checkpointer=saver)


async def test_text_blocks_are_joined_and_a_call_that_cannot_be_read_is_an_event() -> None:
    reply = await (await opened("blocks")).send("habari")
    assert reply["text"] == "Karibu"
    assert reply["events"] == [{"type": "invalid_tool_call", "data": {"name": "book", "args": "{", "error": "no JSON"}}]


class Plain(TypedDict):
    chat: list[dict[str, str]]
    question: str


def plain_mappings(saver: BaseCheckpointSaver[str]) -> Graph:
    def answer(state: Plain) -> dict[str, Any]:
        said = {"role": "assistant", "content": "You said " + state["question"]}
        return {"chat": [*state.get("chat", []), {"role": "user", "content": state["question"]}, said]}

    graph = StateGraph(Plain)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    return graph.compile(checkpointer=saver)


async def test_messages_may_be_mappings_under_another_key_and_the_input_a_text() -> None:
    conversation = await opened("plain_mappings", messages="chat", input="question")
    assert [(await conversation.send(word))["text"] for word in ("moja", "mbili")] == [
        "You said moja",
        "You said mbili",
    ]


# --- the state after the turn -----------------------------------------------------------------------------------------


class Stage(Enum):
    BOOKED = "BOOKED"


class Order(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], operator.add]
    answer: str
    stage: Stage
    payment: dict[str, Any]
    found: list[Document]
    skills: dict[str, Any]
    done: list[dict[str, Any]]


def stateful(saver: BaseCheckpointSaver[str]) -> Graph:
    def work(state: Order) -> Order:  # noqa: ARG001 - LangGraph's name
        return {
            "answer": "Booked.",
            "stage": Stage.BOOKED,
            "payment": {"status": "PAID", "kes": 3500},
            "found": [
                Document("Open until six.", id="hours", metadata={"score": 0.5}),
                Document("Prices", metadata={"source": "prices.md"}),
            ],
            "skills": {"label": "BOOKING", "at": datetime(2026, 4, 25, tzinfo=UTC)},
            "done": [{"name": "create_booking", "args": {"service": "massage"}}],
        }

    graph = StateGraph(Order)
    graph.add_node("work", work)
    graph.add_edge(START, "work")
    return graph.compile(checkpointer=saver)


async def test_fields_of_the_reply_are_read_from_the_state() -> None:
    conversation = await opened(
        "stateful",
        reply={
            "text": "answer",
            "state": "stage",
            "payment": "payment.status",
            "documents": "found",
            "output": "skills",
            "tool_calls": "done",
        },
    )
    assert await conversation.send("Book it") == {
        "text": "Booked.",
        "state": "BOOKED",
        "payment": "PAID",
        "documents": [
            {"id": "hours", "text": "Open until six.", "score": 0.5},
            {"id": "prices.md", "text": "Prices", "score": None},
        ],
        "output": {"label": "BOOKING", "at": "2026-04-25T00:00:00+00:00"},
        "tool_calls": [{"name": "create_booking", "args": {"service": "massage"}}],
        "events": [],
    }


async def test_a_key_that_the_state_does_not_have_is_refused_when_the_conversation_opens() -> None:
    with pytest.raises(AdapterError, match="the state has no key 'stagee'; there are answer, done, found"):
        await opened("stateful", reply={"state": "stagee"})
    with pytest.raises(AdapterError, match="the state has no key 'question'"):
        await opened("stateful", input="question")


async def test_a_graph_that_says_nothing_is_told_where_its_text_could_be() -> None:
    conversation = await opened("stateful")
    with pytest.raises(AdapterError, match=r"no new message of a model under 'messages'.*reply.text"):
        await conversation.send("Book it")


async def test_documents_must_be_a_list_with_ids() -> None:
    conversation = await opened("stateful", reply={"text": "answer", "documents": "skills"})
    with pytest.raises(AdapterError, match="'skills' is of type dict, not a list of documents"):
        await conversation.send("Book it")


# --- streaming --------------------------------------------------------------------------------------------------------


def routed(saver: BaseCheckpointSaver[str]) -> Graph:
    """Four nodes ask a model; the customer is to see what one of them says."""
    classifier, signals = model('{"intent": "LEARN"}', '{"intent": "SUPPORT"}'), model("{}", "{}")
    writer, redirect = model("Karibu sana!"), model("Please call us.")

    def asks(chat: GenericFakeChatModel) -> Any:
        async def node(state: MessagesState) -> dict[str, Any]:
            return {"messages": [await chat.ainvoke([SystemMessage("You are one node."), *state["messages"]])]}

        return node

    graph = StateGraph(MessagesState)
    for name, chat in {
        "intent_classifier": classifier,
        "interest_signals": signals,
        "answer_writer": writer,
        "redirect_handler": redirect,
    }.items():
        graph.add_node(name, asks(chat))
    graph.add_edge(START, "intent_classifier")
    graph.add_edge(START, "interest_signals")

    def route(state: MessagesState) -> str:
        asked = [message.text for message in state["messages"] if message.type == "human"]
        return "redirect_handler" if "login" in asked[-1] else "answer_writer"

    graph.add_conditional_edges("intent_classifier", route, ["answer_writer", "redirect_handler"])
    graph.add_edge("answer_writer", END)
    return graph.compile(checkpointer=saver)


async def test_only_tokens_of_the_response_nodes_make_the_text() -> None:
    conversation = await opened("routed", response_nodes=["answer_writer", "redirect_handler"])
    assert (await conversation.send("What is it?"))["text"] == "Karibu sana!"
    assert (await conversation.send("My login fails"))["text"] == "Please call us."


async def test_a_node_that_the_graph_does_not_have_is_refused() -> None:
    with pytest.raises(AdapterError, match="the graph has no node 'answer_writter'; there are answer_writer"):
        await opened("routed", response_nodes=["answer_writter"])


# --- interrupts -------------------------------------------------------------------------------------------------------


class Payment(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], operator.add]


def paying(saver: BaseCheckpointSaver[str]) -> Graph:
    def ask(state: Payment) -> Payment:  # noqa: ARG001 - LangGraph's name
        phone = interrupt("Which phone shall I charge?")
        paid = interrupt({"waits_for": "payment_callback", "phone": phone})
        return {"messages": [AIMessage(f"Paid by {phone}: {paid['receipt']}")]}

    graph = StateGraph(Payment)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    return graph.compile(checkpointer=saver)


async def test_an_interrupt_is_resumed_by_what_the_customer_says_or_by_an_event() -> None:
    conversation = await opened("paying")
    asked = await conversation.send("I want to pay")
    assert asked["text"] == "Which phone shall I charge?"
    assert asked["events"] == [{"type": "interrupt", "data": {"value": "Which phone shall I charge?"}}]
    waiting = await conversation.send("0712")
    assert waiting["text"] == ""
    assert waiting["events"] == [
        {"type": "interrupt", "data": {"value": {"waits_for": "payment_callback", "phone": "0712"}}}
    ]
    assert (await conversation.deliver({"receipt": "QWE"}))["text"] == "Paid by 0712: QWE"


async def test_an_event_that_nothing_waits_for_is_refused() -> None:
    conversation = await opened("counter")
    with pytest.raises(AdapterError, match="waits for no event"):
        await conversation.deliver({"type": "payment_callback"})


def approved(saver: BaseCheckpointSaver[str]) -> Graph:
    lines = model(calls(("check_availability", {"service": "massage"})), "Free.")

    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await lines.ainvoke(state["messages"])]}

    def route(state: MessagesState) -> str:
        last = state["messages"][-1]
        return "ask" if isinstance(last, AIMessage) and last.tool_calls else END

    def ask(state: MessagesState) -> dict[str, Any]:  # noqa: ARG001 - LangGraph's name
        interrupt("May I look?")
        return {}

    graph = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("ask", ask)
    graph.add_node("tools", ToolNode([check_availability]))
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", route, ["ask", END])
    graph.add_edge("ask", "tools")
    graph.add_edge("tools", "think")
    return graph.compile(checkpointer=saver)


async def test_a_tool_that_waits_for_approval_is_called_in_the_turn_that_approves_it() -> None:
    conversation = await opened("approved")
    assert (await conversation.send("Is it free?"))["tool_calls"] == []
    reply = await conversation.send("ndio")
    assert [call["name"] for call in reply["tool_calls"]] == ["check_availability"]
    assert reply["text"] == "Free."


# --- what is not a graph ----------------------------------------------------------------------------------------------

NOT_A_GRAPH = {"nodes": 0}


def gives_a_text() -> str:
    return "graph"


@pytest.mark.parametrize(("name", "kind"), [("NOT_A_GRAPH", "dict"), ("gives_a_text", "str")])
async def test_what_is_no_graph_is_named(name: str, kind: str) -> None:
    with pytest.raises(AdapterError, match=rf":{name}' gives {kind}, which has no ainvoke\(\) or compile\(\)"):
        await opened(name)
