"""What OpenAI stores between calls of its Responses endpoint, kept by the gateway for one trial.

A request that refers to it is completed with what it refers to. So a call is known by its content and not by an id,
the most that it can cost is known before it is sent, and a recording answers it without anybody's storage.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ratiba_action.llm.providers.openai_chat import CREATED, text_blocks
from ratiba_action.llm.wire_format import Stored
from ratiba_action.model.values import JsonObject
from ratiba_action.money.answer_usage import objects

_REFERENCES = frozenset({"previous_response_id", "conversation", "background"})
_ID_DIGITS = 48
_USUAL_PAGE, _LARGEST_PAGE = 20, 100


def items_of(body: JsonObject) -> list[Any]:
    """The input of a request as a list of items."""
    given = body.get("input")
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    return given if isinstance(given, list) else []


@dataclass(slots=True)
class _StoredConversation:
    id: str
    metadata: JsonObject
    items: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Response:
    """An answer as its client saw it, the items that were given, and those that an answer to it builds on."""

    answer: JsonObject
    given: Sequence[Any]
    context: Sequence[Any]


class StoredResponses(Stored):
    """Implements ``Stored`` for ``/v1/responses`` and ``/v1/conversations``.

    Args:
        seed: makes ids that are the same in each run of a trial, since a system may keep them.
    """

    def __init__(self, seed: str) -> None:
        self._seed, self._made = seed, 0
        self._responses: dict[str, _Response] = {}
        self._conversations: dict[str, _StoredConversation] = {}
        self._items: dict[str, Any] = {}

    def completed(self, body: JsonObject) -> JsonObject:
        """See ``Stored.completed``; an answer that is asked for in the background is given at once."""
        if body.get("background") and body.get("store") is False:
            raise ValueError("A response in the background must be stored: 'store' is false.")
        before, given = self._before(body), [self._referred(item) for item in items_of(body)]
        kept = {name: value for name, value in body.items() if name not in _REFERENCES}
        return {**kept, "input": [*before, *given]} if before or given != items_of(body) else kept

    def kept(self, asked: JsonObject, sent: JsonObject, answer: JsonObject) -> JsonObject:
        """See ``Stored.kept``."""
        output, context = objects(answer.get("output")), items_of(sent)
        named = {"previous_response_id", "background"} & asked.keys()
        seen = {**answer, **{name: asked[name] for name in named}}
        conversation = self._conversations.get(_conversation_id(asked))
        if conversation is not None:
            given = [self._referred(item) for item in items_of(asked)]
            self._add(conversation, [*given, *output])
            seen["conversation"] = {"id": conversation.id}
        if asked.get("store") is not False and isinstance(answer.get("id"), str):
            self._responses[answer["id"]] = _Response(seen, items_of(asked), [*context, *output])
            self._items |= {item["id"]: item for item in output if isinstance(item.get("id"), str)}
        return seen

    def served(self, method: str, path: str, query: Mapping[str, str], body: JsonObject) -> JsonObject | None:
        """See ``Stored.served``."""
        parts = [part for part in path.split("/") if part not in ("", "openai", "v1")]
        match method, parts:
            case "POST", ["conversations"]:
                made = _StoredConversation(self._id("conv"), body.get("metadata") or {})
                self._conversations[made.id] = made
                self._add(made, objects(body.get("items")))
                return _conversation_json(made)
            case _, ["conversations", ident, *rest]:
                return self._of_conversation(method, self._conversation(ident), rest, query, body)
            case "DELETE", ["responses", ident]:
                self._response(ident)
                del self._responses[ident]
                return {"id": ident, "object": "response", "deleted": True}
            case ("GET", ["responses", ident]) | ("POST", ["responses", ident, "cancel"]) if "stream" not in query:
                return self._response(ident).answer
            case "GET", ["responses", ident, "input_items"]:
                given = self._response(ident).given
                return _page({f"msg_{number}": item for number, item in enumerate(given)}, query)
        return None

    def _of_conversation(
        self, method: str, found: _StoredConversation, rest: Sequence[str], query: Mapping[str, str], body: JsonObject
    ) -> JsonObject | None:
        match method, rest:
            case "GET", []:
                return _conversation_json(found)
            case "DELETE", []:
                del self._conversations[found.id]
                return {"id": found.id, "object": "conversation.deleted", "deleted": True}
            case "GET", ["items"]:
                return _page(found.items, query)
            case "POST", ["items"]:
                return _page(self._add(found, objects(body.get("items"))), {"order": "asc", "limit": "100"})
            case "DELETE", ["items", ident] if ident in found.items:
                del found.items[ident]
                return _conversation_json(found)
        return None

    def _before(self, body: JsonObject) -> Sequence[Any]:
        """What stands before the input of a request."""
        previous, conversation = body.get("previous_response_id"), body.get("conversation")
        if previous is not None and conversation is not None:
            raise ValueError("'previous_response_id' and 'conversation' cannot be used together.")
        if previous is not None:
            return self._response(previous).context
        return list(self._conversation(_conversation_id(body)).items.values()) if conversation is not None else []

    def _referred(self, item: Any) -> Any:
        """An item that was stored, where another one refers to it."""
        if not isinstance(item, Mapping) or item.get("type") != "item_reference":
            return item
        if not isinstance(ident := item.get("id"), str) or ident not in self._items:
            raise ValueError(f"No item {ident!r} was stored in this conversation of the scenario.")
        return self._items[ident]

    def _response(self, ident: Any) -> _Response:
        if not isinstance(ident, str) or ident not in self._responses:
            raise ValueError(f"No response {ident!r} was stored in this conversation of the scenario.")
        return self._responses[ident]

    def _conversation(self, ident: str) -> _StoredConversation:
        if ident not in self._conversations:
            raise ValueError(f"No conversation {ident!r} was made in this conversation of the scenario.")
        return self._conversations[ident]

    def _add(self, conversation: _StoredConversation, items: Iterable[Any]) -> dict[str, Any]:
        added = {str(item.get("id") or self._id("msg")): item for item in items if isinstance(item, Mapping)}
        conversation.items |= added
        self._items |= added
        return added

    def _id(self, kind: str) -> str:
        self._made += 1
        return f"{kind}_{hashlib.sha256(f'{self._seed}/{self._made}'.encode()).hexdigest()[:_ID_DIGITS]}"


def _conversation_id(body: JsonObject) -> str:
    given = body.get("conversation")
    found = given.get("id") if isinstance(given, Mapping) else given
    return found if isinstance(found, str) else ""


def _conversation_json(conversation: _StoredConversation) -> JsonObject:
    named = {"object": "conversation", "metadata": conversation.metadata}
    return {"id": conversation.id, "created_at": CREATED, **named}


def _item(ident: str, item: Mapping[str, Any]) -> JsonObject:
    kind = {} if item.get("type") else {"type": "message"}
    return {"id": ident, "status": "completed", **kind, **text_blocks(item, "input_text")}


def _page(items: dict[str, Any], query: Mapping[str, str]) -> JsonObject:
    """Items as OpenAI lists them: the newest first, after one that was shown, so many at once."""
    limit = query.get("limit", str(_USUAL_PAGE))
    if not limit.isdecimal() or not 1 <= int(limit) <= _LARGEST_PAGE:
        raise ValueError(f"'limit' is not a whole number from 1 to {_LARGEST_PAGE}: {limit!r}.")
    ordered = list(items) if query.get("order") == "asc" else list(items)[::-1]
    after = query.get("after")
    left = ordered[ordered.index(after) + 1 :] if after in ordered else ordered
    page = left[: int(limit)]
    ends = {"first_id": page[0] if page else None, "last_id": page[-1] if page else None}
    data = [_item(ident, items[ident]) for ident in page]
    return {"object": "list", "data": data, "has_more": len(page) < len(left), **ends}
