"""The adapter of a LangChain runnable: a model, a chain, or what a factory makes."""

from __future__ import annotations

from typing import Any

from ..lookup import AdapterError
from .lang_messages import broken_calls_of, is_of_model, text_of, tool_calls_of
from .making import make
from .plain_data import pick
from .reply_fields import fields_of
from .turn_messages import TurnMessages

INVOKE = "ainvoke"
MESSAGES = "messages"


class Adapter:
    """Opens conversations with the runnable.

    Args:
        settings: ``runnable``: its address; ``takes``: ``messages``, ``text`` or ``mapping``; ``input`` and
            ``history``: for a mapping the key of what the customer says, and of the messages before it (None: no such
            key); ``reply``: for each field of a reply a path in an answer that is a mapping.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings

    def migrate(self, database_url: str) -> None:
        """A runnable has no tables."""

    async def open(self, context: Any) -> Conversation:
        """Make the runnable for this conversation."""
        runnable = await make(self._settings["runnable"], (INVOKE,), context)
        return Conversation(runnable, self._settings, context.conversation_id)


class Conversation:
    """One conversation, whose history is kept here: a runnable has none.

    Args:
        runnable: a LangChain runnable.
        settings: of the adapter.
        identifier: the conversation's, for a runnable that keeps a history of its own.
    """

    def __init__(self, runnable: Any, settings: dict[str, Any], identifier: str) -> None:
        self._runnable = runnable
        self._settings = settings
        self._config = {"configurable": {"session_id": identifier, "thread_id": identifier}}
        self._history: list[Any] = []
        self._turns = TurnMessages(MESSAGES)

    async def send(self, message: str) -> dict[str, Any]:
        """The reply to what the customer says."""
        from langchain_core.messages import AIMessage, HumanMessage  # noqa: PLC0415 - the repository's, when asked for

        said = HumanMessage(message)
        answer = await self._runnable.ainvoke(self._given(said, message), self._config)
        reply = self._reply(answer)
        messages = pick(answer, MESSAGES)
        if isinstance(messages, list) and self._settings["takes"] == MESSAGES:
            self._history = list(messages)
        else:
            self._history += [said, answer if is_of_model(answer) else AIMessage(reply["text"])]
        return reply

    def _given(self, said: Any, message: str) -> Any:
        if self._settings["takes"] == "text":
            return message
        if self._settings["takes"] == MESSAGES:
            return [*self._history, said]
        history = self._settings["history"]
        return {self._settings["input"]: message, **({history: list(self._history)} if history else {})}

    def _reply(self, answer: Any) -> dict[str, Any]:
        if isinstance(answer, str):
            return {"text": answer}
        if is_of_model(answer):
            calls = tool_calls_of([answer], set(), unfinished=False)
            return {"text": text_of(answer), "tool_calls": calls, "events": broken_calls_of([answer])}
        if isinstance(answer, dict):
            reply = self._turns.reply(answer, self._settings["reply"])
            if "text" in reply:
                return reply
            keys = ", ".join(map(str, answer))
            raise AdapterError(
                f"the answer's text is in no place that is known; its keys: {keys}; "
                "say which with system.langchain.reply.text"
            )
        fields = fields_of(answer, self._settings["reply"])
        if "text" in fields:
            return fields
        raise AdapterError(f"the runnable answered {type(answer).__name__}, not a text, a message or a mapping")
