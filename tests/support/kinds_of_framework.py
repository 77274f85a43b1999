"""The small system of ``kinds_of_system`` as an object of each framework: real frameworks, no model."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True)
class FrameworkSystem:
    """A system that is an object of a framework.

    Args:
        source: the module ``assistant``, beside the module ``brain``.
        block: its ``system`` block.
        event_refusal: what it says of an event.
    """

    source: str
    block: Mapping[str, Any]
    event_refusal: str = "messages only, not the event 'payment'"


_LANGGRAPH = """
from brain import speak
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

async def answer(state):
    asked = [message for message in state["messages"] if isinstance(message, HumanMessage)]
    text = speak(asked[-1].text, len(asked))["text"]
    return {"messages": [AIMessage(text)] if isinstance(text, str) else text}

graph = StateGraph(MessagesState)
graph.add_node("answer", answer)
graph.add_edge(START, "answer")
"""
_LANGCHAIN = """
from brain import speak
from langchain_core.runnables import RunnableLambda

runnable = RunnableLambda(lambda messages: speak(messages[-1].text, len(messages) // 2 + 1)["text"])
"""
_LLAMAINDEX = """
from brain import speak
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage, ChatResponse, MockLLM
from llama_index.core.memory import ChatMemoryBuffer

class Brain(MockLLM):
    async def achat(self, messages, **settings):
        text = speak(messages[-1].content, len(messages) // 2 + 1)["text"]
        return ChatResponse(message=ChatMessage(role="assistant", content=text))

def engine():
    return SimpleChatEngine.from_defaults(llm=Brain(), memory=ChatMemoryBuffer(token_limit=3000))
"""

FRAMEWORK_SYSTEMS: Mapping[str, FrameworkSystem] = MappingProxyType(
    {
        "langgraph": FrameworkSystem(
            _LANGGRAPH, {"langgraph": "assistant:graph"}, "waits for no event: it is in no interrupt"
        ),
        "langchain": FrameworkSystem(_LANGCHAIN, {"langchain": "assistant:runnable"}),
        "llamaindex": FrameworkSystem(_LLAMAINDEX, {"llamaindex": "assistant:engine"}),
    }
)
