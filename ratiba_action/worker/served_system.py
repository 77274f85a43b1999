"""The adapter of a server that the gate starts: one server for each conversation, spoken to by another adapter.

So it has the conversation's own token, environment, tenant and limits, and ends with it, whatever it left behind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .http_call import AnswerError
from .lookup import find
from .server_process import Server, start_server

if TYPE_CHECKING:
    from collections.abc import Callable


class Adapter:
    """Starts the server.

    Args:
        options: ``serve`` (see ``Server``), and of what speaks to it ``adapter`` and ``options``, whose ``url`` has
            the place of the port.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._serve, self._options = options["serve"], options["options"]
        self._inner = find(options["adapter"])

    def migrate(self, database_url: str) -> None:
        """Have a server create its tables, in a process for that alone."""
        server = self._start()
        try:
            migrate = getattr(self._adapter_of(server), "migrate", None)
            if migrate is not None:
                guarded(server, migrate, database_url)
        finally:
            server.end()

    def open(self, context: Any) -> ServedConversation:
        """Start a server, and open one conversation with it."""
        server = self._start()
        return ServedConversation(server, guarded(server, self._adapter_of(server).open, context))

    def _start(self) -> Server:
        return start_server(self._serve, self._options["url"])

    def _adapter_of(self, server: Server) -> Any:
        return self._inner({**self._options, "url": server.address})


class ServedConversation:
    """One conversation with a server of its own."""

    def __init__(self, server: Server, conversation: Any) -> None:
        self._server, self._conversation = server, conversation

    def send(self, argument: Any) -> Any:
        """The reply to what the customer says."""
        return guarded(self._server, self._conversation.send, argument)

    def deliver(self, event: dict[str, Any]) -> Any:
        """The reply to something else that happened."""
        return guarded(self._server, self._conversation.deliver, event)

    def close(self) -> None:
        """End it, and the server."""
        try:
            close = getattr(self._conversation, "close", None)
            if close is not None:
                guarded(self._server, close)
        finally:
            self._server.end()


def guarded(server: Server, ask: Callable[..., Any], *arguments: Any) -> Any:
    """Ask something of the server, which must run and answer alone on its port before and afterwards.

    Raises:
        ServerError: it does not.
        AnswerError: it answered with an error, or with what the gate does not understand; with what it printed.
    """
    server.require()
    try:
        answer = ask(*arguments)
    except AnswerError as problem:
        server.require(failed=True)
        raise AnswerError(f"{problem}{server.printed()}") from None
    server.require()
    return answer
