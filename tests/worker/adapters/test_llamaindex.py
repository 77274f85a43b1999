"""LlamaIndex engines, real ones, spoken to through the worker's adapter."""

from types import SimpleNamespace
from typing import Any

import pytest
from llama_index.core.base.response.schema import RESPONSE_TYPE
from llama_index.core.chat_engine import ContextChatEngine, SimpleChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.query_engine import CustomQueryEngine, RetrieverQueryEngine
from llama_index.core.response_synthesizers import CompactAndRefine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode

from ratiba_action.worker.adapters.llamaindex import Adapter, EngineConversation
from ratiba_action.worker.lookup import AdapterError


async def opened(engine: str, **settings: Any) -> EngineConversation:
    adapter = Adapter({"engine": f"{__name__}:{engine}", "sync": False, "document_id": None, **settings})
    return await adapter.open(SimpleNamespace(conversation_id="conversation-1", language="sw"))


def node(identifier: str, text: str, source: str | None = None) -> TextNode:
    relationships = {} if source is None else {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=source)}
    return TextNode(id_=identifier, text=text, metadata={"file": f"{identifier}.md"}, relationships=relationships)


class Shelf(BaseRetriever):
    """Finds the same two nodes always."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:  # noqa: ARG002 - LlamaIndex's name
        return [
            NodeWithScore(node=node("hours", "Open until six."), score=0.9),
            NodeWithScore(node=node("prices-1", "Massage 3500.", source="prices"), score=None),
        ]


FOUND = [
    {"id": "hours", "text": "Open until six.", "score": 0.9},
    {"id": "prices", "text": "Massage 3500.", "score": None},
]


def query_engine(*, streaming: bool = False) -> RetrieverQueryEngine:
    return RetrieverQueryEngine.from_args(
        Shelf(), llm=MockLLM(), response_synthesizer=CompactAndRefine(llm=MockLLM(), streaming=streaming)
    )


def streaming_engine() -> RetrieverQueryEngine:
    return query_engine(streaming=True)


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("engine", ["query_engine", "streaming_engine"])
async def test_a_query_engine_gives_its_answer_and_the_documents_that_it_rests_on(engine: str, sync: bool) -> None:  # noqa: FBT001 - a parameter of the test
    reply = await (await opened(engine, sync=sync)).send("Until when are you open?")
    assert "Until when are you open?" in reply["text"]  # the mock model repeats its prompt
    assert [{**document, "text": document["text"].split("\n\n")[-1]} for document in reply["documents"]] == FOUND


@pytest.mark.parametrize("sync", [False, True])
async def test_documents_may_be_named_by_their_metadata(sync: bool) -> None:  # noqa: FBT001 - a parameter of the test
    reply = await (await opened("query_engine", sync=sync, document_id="file")).send("Hours?")
    assert [document["id"] for document in reply["documents"]] == ["hours.md", "prices-1.md"]


async def test_metadata_without_the_key_is_an_error_that_names_those_that_there_are() -> None:
    with pytest.raises(AdapterError, match=r"source_nodes\[0\] has no 'page'; its keys: file"):
        await (await opened("query_engine", document_id="page")).send("Hours?")


def shelf() -> Shelf:
    return Shelf()


@pytest.mark.parametrize("sync", [False, True])
async def test_a_retriever_gives_documents_and_no_words(sync: bool) -> None:  # noqa: FBT001 - a parameter of the test
    reply = await (await opened("shelf", sync=sync)).send("hours")
    assert reply == {"text": "", "documents": FOUND}


def chat_engine() -> SimpleChatEngine:
    return SimpleChatEngine.from_defaults(llm=MockLLM(), memory=ChatMemoryBuffer(token_limit=3000))


@pytest.mark.parametrize("sync", [False, True])
async def test_a_chat_engine_remembers_the_conversation(sync: bool) -> None:  # noqa: FBT001 - a parameter of the test
    conversation = await opened("chat_engine", sync=sync)
    await conversation.send("moja")
    reply = await conversation.send("mbili")
    assert "moja" in reply["text"]
    assert "mbili" in reply["text"]


def context_engine() -> ContextChatEngine:
    return ContextChatEngine.from_defaults(Shelf(), llm=MockLLM(), memory=ChatMemoryBuffer(token_limit=3000))


@pytest.mark.parametrize("sync", [False, True])
async def test_a_chat_engine_with_context_tells_its_documents_and_its_tool(sync: bool) -> None:  # noqa: FBT001 - a parameter of the test
    reply = await (await opened("context_engine", sync=sync)).send("Hours?")
    assert [document["id"] for document in reply["documents"]] == ["hours", "prices"]
    (call,) = reply["tool_calls"]
    assert (call["name"], call["args"]) == ("retriever", {"message": "Hours?"})
    assert "Open until six." in call["output"]


class Silent(CustomQueryEngine):
    """Has no answer."""

    def custom_query(self, query_str: str) -> RESPONSE_TYPE:  # noqa: ARG002 - LlamaIndex's name
        from llama_index.core import Response

        return Response(None)

    async def acustom_query(self, query_str: str) -> RESPONSE_TYPE:
        return self.custom_query(query_str)


def silent(context: Any) -> Silent:
    assert context.language == "sw"
    return Silent()


async def test_no_answer_is_an_empty_text_and_a_factory_is_given_the_context() -> None:
    assert await (await opened("silent")).send("?") == {"text": "", "documents": [], "tool_calls": []}


NOT_AN_ENGINE = 3


async def test_what_is_no_engine_is_named() -> None:
    with pytest.raises(AdapterError, match=r"gives int, which has no achat\(\) or aquery\(\) or aretrieve\(\)"):
        await opened("NOT_AN_ENGINE")
