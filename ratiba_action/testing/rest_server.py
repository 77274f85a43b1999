"""A small HTTP server that answers GET requests from a table, for clients of a REST API."""

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class RestServer:
    """Serves JSON on a free port of this machine.

    Args:
        answers: by path and query, such as ``/repos/a/b/pulls/7``; anything else is a 404.
        redirects: addresses that paths are redirected to.
    """

    def __init__(self, answers: Mapping[str, Any], redirects: Mapping[str, str] | None = None) -> None:
        self.requests: list[tuple[str, str]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.requests.append((self.path, self.headers.get("Authorization", "")))
                redirect = (redirects or {}).get(self.path)
                found = self.path in answers
                body = json.dumps(answers.get(self.path)).encode()
                self.send_response(302 if redirect else 200 if found else 404)
                if redirect:
                    self.send_header("Location", redirect)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def address(self) -> str:
        """Where it listens, without a trailing slash."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
