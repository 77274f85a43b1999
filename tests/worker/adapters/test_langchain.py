"""LangChain runnables, real ones, spoken to through the worker's adapter."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompt_values import PromptValue
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.graph import START, MessagesState, StateGraph

from ratiba_action.worker.adapters.langchain import Adapter, RunnableConversation
from ratiba_action.worker.lookup import AdapterError

DEFAULTS: dict[str, Any] = {"takes": "messages", "input": None, "history": None, "reply": {}}


async def opened(runnable: str, **settings: Any) -> RunnableConversation:
    adapter = Adapter({**DEFAULTS, "runnable": f"{__name__}:{runnable}", **settings})
    return await adapter.open(SimpleNamespace(conversation_id="conversation-1", language="sw"))


def transcript(messages: Sequence[BaseMessage]) -> str:
    return " | ".join(f"{message.type} {message.text}" for message in messages)


repeats: Runnable[Sequence[BaseMessage], str] = RunnableLambda(transcript)
shouts: Runnable[str, str] = RunnableLambda(str.upper)


async def test_messages_carry_the_whole_conversation_which_is_kept_for_the_runnable() -> None:
    conversation = await opened("repeats")
    assert await conversation.send("moja") == {"text": "human moja"}
    assert (await conversation.send("mbili"))["text"] == "human moja | ai human moja | human mbili"


async def test_a_runnable_may_take_the_text_alone() -> None:
    conversation = await opened("shouts", takes="text")
    assert [(await conversation.send(word))["text"] for word in ("moja", "mbili")] == ["MOJA", "MBILI"]


def chain() -> Runnable[Any, str]:
    prompt = ChatPromptTemplate.from_messages(
        [("system", "Answer."), MessagesPlaceholder("chat_history"), ("human", "{question}")]
    )
    model = RunnableLambda[PromptValue, AIMessage](lambda value: AIMessage(transcript(value.to_messages())))
    return prompt | model | StrOutputParser()


async def test_a_chain_takes_a_mapping_with_question_and_history() -> None:
    conversation = await opened("chain", takes="mapping", input="question", history="chat_history")
    assert (await conversation.send("moja"))["text"] == "system Answer. | human moja"
    second = "system Answer. | human moja | ai system Answer. | human moja | human mbili"
    assert (await conversation.send("mbili"))["text"] == second


def model(context: Any) -> GenericFakeChatModel:
    call = {"name": "check", "args": {"language": context.language}, "id": "1"}
    return GenericFakeChatModel(messages=iter([AIMessage("Ndio", tool_calls=[call])]))


async def test_a_models_message_gives_text_and_tool_calls_and_a_factory_is_given_the_context() -> None:
    reply = await (await opened("model")).send("habari")
    assert reply == {
        "text": "Ndio",
        "tool_calls": [{"name": "check", "args": {"language": "sw"}, "output": None}],
        "events": [],
    }


retrieval: Runnable[str, dict[str, Any]] = RunnableLambda(
    lambda text: {
        "answer": f"{text}: until six.",
        "context": [(Document("Open until six.", id="hours"), 0.75)],
        "usage": {"label": "LEARN"},
    }
)


async def test_a_mapping_is_read_as_the_configuration_says() -> None:
    conversation = await opened(
        "retrieval", takes="text", reply={"text": "answer", "documents": "context", "state": "usage.label"}
    )
    assert await conversation.send("Hours") == {
        "text": "Hours: until six.",
        "documents": [{"id": "hours", "text": "Open until six.", "score": 0.75}],
        "state": "LEARN",
    }


async def test_a_mapping_without_a_known_text_is_an_error_that_names_its_keys() -> None:
    conversation = await opened("retrieval", takes="text")
    with pytest.raises(AdapterError, match=r"its keys: answer, context, usage; say which with .*reply\.text"):
        await conversation.send("Hours")


numbers: Runnable[str, int] = RunnableLambda(len)


async def test_an_answer_of_another_type_is_named() -> None:
    with pytest.raises(AdapterError, match="answered int, not a text, a message or a mapping"):
        await (await opened("numbers", takes="text")).send("habari")


HISTORIES: dict[str, list[str]] = {}


def kept_by_itself(message: str, config: RunnableConfig) -> str:
    history = HISTORIES.setdefault(config["configurable"]["session_id"], [])
    history.append(message)
    return " | ".join(history)


remembers: Runnable[str, str] = RunnableLambda(kept_by_itself)


async def test_a_runnable_with_a_history_of_its_own_is_reported_the_conversation() -> None:
    conversation = await opened("remembers", takes="text")
    await conversation.send("moja")
    assert (await conversation.send("mbili"))["text"] == "moja | mbili"
    assert list(HISTORIES) == ["conversation-1"]


def graph() -> Runnable[Any, Any]:
    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(transcript(state["messages"]))]}

    built = StateGraph(MessagesState)
    built.add_node("answer", answer)
    built.add_edge(START, "answer")
    compiled: Runnable[Any, Any] = built.compile()
    return RunnableLambda[Any, Any](lambda messages: {"messages": messages}) | compiled


async def test_an_answer_with_messages_gives_the_last_text_and_the_next_turns_history() -> None:
    conversation = await opened("graph")
    assert (await conversation.send("moja"))["text"] == "human moja"
    assert (await conversation.send("mbili"))["text"] == "human moja | ai human moja | human mbili"


def plain_function(message: str) -> str:
    return message


async def test_what_is_no_runnable_is_named() -> None:
    with pytest.raises(AdapterError, match=r"has no ainvoke\(\)"):
        await opened("plain_function")
