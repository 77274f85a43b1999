"""The adapter of a LlamaIndex engine: a chat engine, a query engine, or a retriever, which only finds documents."""

from __future__ import annotations

import inspect
from typing import Any

from ..lookup import AdapterError, create_tables, make
from .reply_fields import plain

METHODS = ("chat", "query", "retrieve")
"""How each is asked, in the order in which an engine is looked at; its asynchronous method begins with an ``a``."""


class Adapter:
    """Opens conversations with the engine.

    Args:
        options: ``engine``: its address; ``sync``: ask it by its synchronous methods; ``document_id``: the key of a
            node's metadata that names its document, or None for the id of the node's source; ``migrate``: the function
            that creates the system's own tables, or None.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options

    async def migrate(self, database_url: str) -> None:
        """Create the system's own tables."""
        await create_tables(self._options["migrate"], database_url)

    async def open(self, context: Any) -> EngineConversation:
        """Make the engine for this conversation."""
        methods = METHODS if self._options["sync"] else tuple(f"a{name}" for name in METHODS)
        engine = await make(self._options["engine"], methods, context)
        method = next(name for name in methods if callable(getattr(engine, name, None)))
        return EngineConversation(engine, method, self._options["document_id"])


class EngineConversation:
    """One conversation; a chat engine keeps its history itself.

    Args:
        method: the name of the method that is asked.
    """

    def __init__(self, engine: Any, method: str, document_id: str | None) -> None:
        self._ask = getattr(engine, method)
        self._document_id = document_id

    async def send(self, message: str) -> dict[str, Any]:
        """The reply to what the customer says, with the documents that it rests on."""
        answer = await _settled(self._ask(message))
        if isinstance(answer, list):
            return {"text": "", "documents": self._documents(answer)}
        whole = getattr(answer, "get_response", None)  # of an answer that streams
        if callable(whole):
            answer = await _settled(whole())
        return {
            "text": _text(answer),
            "documents": self._documents(getattr(answer, "source_nodes", None) or []),
            "tool_calls": [_tool_call(source) for source in getattr(answer, "sources", None) or []],
        }

    def _documents(self, found: list[Any]) -> list[dict[str, Any]]:
        return [self._document(item, f"source_nodes[{index}]") for index, item in enumerate(found)]

    def _document(self, found: Any, place: str) -> dict[str, Any]:
        node = found.node
        if self._document_id is None:
            identifier = node.ref_doc_id or node.node_id
        else:
            identifier = node.metadata.get(self._document_id)
        if identifier is None:
            keys = ", ".join(sorted(node.metadata)) or "none"
            raise AdapterError(f"the metadata of {place} has no {self._document_id!r}; its keys: {keys}")
        score = None if found.score is None else float(found.score)
        return {"id": str(identifier), "text": node.get_content(), "score": score}


async def _settled(result: Any) -> Any:
    return await result if inspect.isawaitable(result) else result


def _text(answer: Any) -> str:
    """What is said; of a query without an answer LlamaIndex would print ``None``."""
    if isinstance(answer, str):
        return answer
    text = getattr(answer, "response", answer)
    if text is None:
        return ""
    return text if isinstance(text, str) else str(text)


def _tool_call(source: Any) -> dict[str, Any]:
    given = plain(source.raw_input)
    if isinstance(given, dict) and set(given) == {"args", "kwargs"}:
        given = {**given["kwargs"], **({"args": given["args"]} if given["args"] else {})}
    args = given if isinstance(given, dict) else {"input": given}
    return {"name": source.tool_name, "args": args, "output": source.content}
