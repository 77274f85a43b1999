"""The same system as a server of its own, for a gate that is told an address: ``python -m bakery.server PORT``.

It answers one request at a time, so each may have the models' address and key of its own conversation.
"""

import json
import os
import sys
import uuid
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import Any

from .ratiba_adapter import Adapter, Conversation


class Conversations:
    """What the gate has opened, each with the environment that it came with."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[Conversation, dict[str, str]]] = {}

    def answer(self, path: str, request: dict[str, Any]) -> Any:
        """Do what one request asks for."""
        if path == "/migrate":
            return Adapter().migrate(request["database_url"])
        if path == "/conversations":
            identifier = uuid.uuid4().hex
            conversation = Adapter().open(SimpleNamespace(**request["context"]))
            self._open[identifier] = (conversation, request["environment"])
            return {"id": identifier}
        _, _, identifier, operation = path.split("/")
        conversation, environment = self._open[identifier]
        if operation == "close":
            del self._open[identifier]
            return conversation.close()
        os.environ.update(environment)
        return conversation.send(request["message"])


def handler(conversations: Conversations) -> type[BaseHTTPRequestHandler]:
    """The handler of these conversations."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(conversations.answer(self.path, request)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing of what customers said."""

    return Handler


if __name__ == "__main__":
    server = HTTPServer(("127.0.0.1", int(sys.argv[1])), handler(Conversations()))
    sys.stdout.write(f"listening on {server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()
