"""A guest house's assistant with an HTTP interface of its own: one answer as JSON, or piece by piece as events."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def answer(text: str, earlier: list[dict[str, str]]) -> dict[str, Any]:
    """What the assistant says, from the message and what was said before."""
    if not earlier:
        return {
            "answer": {"text": "Bonjour ! Pour quelle date ?", "state": "ASKING_DATE"},
            "calls": [],
            "sources": [{"uri": "rooms.md", "relevance": 0.9}],
        }
    call = {"function": "book_room", "arguments": {"date": text}}
    return {"answer": {"text": f"C'est réservé pour le {text}.", "state": "BOOKED"}, "calls": [call], "sources": []}


class Handler(BaseHTTPRequestHandler):
    """Answers POST /chat and POST /stream."""

    def do_POST(self) -> None:
        """Answer one request."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = answer(request["text"], request["earlier"])
        if self.path == "/chat":
            self._send("application/json", json.dumps(reply))
            return
        words = reply["answer"]["text"].split(" ")
        pieces = [{"delta": word if index == 0 else f" {word}"} for index, word in enumerate(words)]
        events = [*pieces, {"state": reply["answer"]["state"]}]
        self._send(
            "text/event-stream", "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        )

    def _send(self, kind: str, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler) as server:
        sys.stdout.write(f"listening on {server.server_address[1]}\n")
        sys.stdout.flush()
        server.serve_forever()
