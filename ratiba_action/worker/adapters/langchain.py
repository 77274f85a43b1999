"""The adapter of a LangChain runnable: a model, a chain, or what a factory makes."""

from __future__ import annotations

from typing import Any

from ..lookup import AdapterError, create_tables, make
from .reply_fields import fields_of, pick
from .turn_messages import TurnMessages, invalid_calls_of, is_of_model, text_of, tool_calls_of

INVOKE = "ainvoke"
MESSAGES = "messages"


class Adapter:
    """Opens conversations with the runnable.

    Args:
        options: ``runnable``: its address; ``takes``: ``messages``, ``text`` or ``mapping``; ``input`` and
            ``history``: for a mapping the key of what the customer says, and of the messages before it (None: no such
            key); ``reply``: for each field of a reply a path in an answer that is a mapping;
            ``migrate``: the function that creates the system's own tables, or None.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options

    async def migrate(self, database_url: str) -> None:
        """Create the system's own tables."""
        await create_tables(self._options["migrate"], database_url)

    async def open(self, context: Any) -> RunnableConversation:
        """Make the runnable for this conversation."""
        runnable = await make(self._options["runnable"], (INVOKE,), context)
        return RunnableConversation(runnable, self._options, context.conversation_id)


class RunnableConversation:
    """One conversation, whose history is kept here: a runnable has none.

    Args:
        identifier: the conversation's, for a runnable that keeps a history of its own.
    """

    def __init__(self, runnable: Any, options: dict[str, Any], identifier: str) -> None:
        self._runnable = runnable
        self._options = options
        self._config = {"configurable": {"session_id": identifier, "thread_id": identifier}}
        self._history: list[Any] = []
        self._turns = TurnMessages(MESSAGES)

    async def send(self, message: str) -> dict[str, Any]:
        """The reply to what the customer says."""
        from langchain_core.messages import AIMessage, HumanMessage  # the repository's, when asked for

        user_message = HumanMessage(message)
        answer = await self._runnable.ainvoke(self._given(user_message, message), self._config)
        reply = self._reply(answer)
        messages = pick(answer, MESSAGES)
        if isinstance(messages, list) and self._options["takes"] == MESSAGES:
            self._history = list(messages)
        else:
            self._history += [user_message, answer if is_of_model(answer) else AIMessage(reply["text"])]
        return reply

    def _given(self, user_message: Any, message: str) -> Any:
        if self._options["takes"] == "text":
            return message
        if self._options["takes"] == MESSAGES:
            return [*self._history, user_message]
        history = self._options["history"]
        return {self._options["input"]: message, **({history: list(self._history)} if history else {})}

    def _reply(self, answer: Any) -> dict[str, Any]:
        if isinstance(answer, str):
            return {"text": answer}
        if is_of_model(answer):
            calls = tool_calls_of([answer], set(), unfinished=False)
            return {"text": text_of(answer), "tool_calls": calls, "events": invalid_calls_of([answer])}
        if isinstance(answer, dict):
            reply = self._turns.reply(answer, self._options["reply"])
            if "text" in reply:
                return reply
            keys = ", ".join(map(str, answer))
            raise AdapterError(
                f"the answer's text is in no place that is known; its keys: {keys}; "
                "say which with system.langchain.reply.text"
            )
        fields = fields_of(answer, self._options["reply"])
        if "text" in fields:
            return fields
        raise AdapterError(f"the runnable answered {type(answer).__name__}, not a text, a message or a mapping")
