"""A system that calls its models itself, bypassing the gateway: the run claims nothing that it cannot know."""

import json
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.support.live_repository import LiveRepository
from tests.support.small_repository import SmallRepository

CONFIGURATION = """\
system:
  http:
    url: http://127.0.0.1:{port}/chat
    body: {{text: "${{message}}"}}
    reply: {{text: answer, state: state, usage: usage}}
"""
USAGE = [{"model": "gpt-5", "provider": "openai", "input_tokens": 10, "output_tokens": 5}]


class Shop(ThreadingHTTPServer):
    """A system of its own: each chat calls the model that the same server plays."""

    model_calls = 0
    reports = False

    def answer(self, path: str) -> dict[str, Any]:
        if path == "/model":
            self.model_calls += 1
            return {"text": "Karibu"}
        with urllib.request.urlopen(f"http://127.0.0.1:{self.server_port}/model", b"{}") as sent:
            text = json.loads(sent.read())["text"]
        return {"answer": text, "state": "SAID", **({"usage": USAGE} if self.reports else {})}


class Handler(BaseHTTPRequestHandler):
    server: Shop

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps(self.server.answer(self.path)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def shop(small: SmallRepository) -> Iterator[Shop]:
    with Shop(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        small.write(".github/ratiba.yml", CONFIGURATION.format(port=server.server_port))
        small.scenario("greets", "Habari", "Asante")
        yield server
        server.shutdown()
        thread.join()


def test_calls_that_an_http_system_reports_are_counted_as_made_without_the_gateway(
    small: SmallRepository, shop: Shop
) -> None:
    shop.reports = True
    ended = small.gate()
    assert ended.code == 0, ended.printed
    assert shop.model_calls == 2
    assert "2 model calls were reported by the system and not seen by the gateway" in ended.comment
    assert "cannot know whether it made any" not in ended.comment, "it reported them"
    assert "Whether there were more is not known" in ended.comment
    assert "o model was" not in ended.comment


def test_of_an_http_system_that_reports_nothing_the_run_claims_nothing(small: SmallRepository, shop: Shop) -> None:
    ended = small.gate()
    assert ended.code == 0, ended.printed
    assert shop.model_calls == 2
    assert "cannot know whether it made any" in ended.comment
    assert "o model was" not in ended.comment
    assert "USD 0.00" not in ended.comment
    assert "replayed\n" not in ended.comment.split("###")[0]


ELSEWHERE = """
import socket, sys

server = socket.create_server(("127.0.0.1", 0))
look_up = socket.getaddrinfo


def here(host, port, *more, **named):
    sys.audit("socket.getaddrinfo", host, port, 0, 0, 0)
    return look_up("127.0.0.1", server.getsockname()[1] if host == "api.groq.com" else port, *more, **named)


socket.getaddrinfo = here
"""


async def test_a_scenario_whose_calls_no_longer_reach_the_gateway_is_named(live: LiveRepository) -> None:
    live.scenario("greets", "Hello")
    live.scenario("thanks", "Thank you")
    await live.record()
    adapter = live.small.folder / "adapter.py"
    answer = 'socket.create_connection(("api.groq.com", 443)).close(); return {"text": "Hi", "state": "SAID"}'
    bypassing = f'def send(self, message):\n        if message == "Hello":\n            {answer}'
    adapter.write_text(ELSEWHERE + adapter.read_text().replace("def send(self, message):", bypassing))
    ended = await live.gate()
    assert "The system called api.groq.com itself, bypassing the gateway" in ended.comment
    assert "The gateway saw no model call in greets, though answers are recorded for it" in ended.comment, ended.printed
    assert "thanks, though" not in ended.comment


OFFLINE = """
import socket


class Offline(socket.socket):
    def connect(self, address):
        raise ConnectionRefusedError("no network")


socket.socket = Offline
"""
DIRECT = """
        for _ in range(600):
            try:
                socket.create_connection(("api.openai.com", 443))
            except Exception:
                time.sleep(0.5)
"""


async def test_a_client_that_ignores_its_environment_fails_at_once_with_the_fix(live: LiveRepository) -> None:
    adapter = live.small.folder / "adapter.py"
    source = adapter.read_text().replace("import json,", "import time, json,")
    adapter.write_text(OFFLINE + source.replace("def send(self, message):", f"def send(self, message):{DIRECT}"))
    live.scenario("greets", "Hello")
    for ended in (await live.try_to_record(), await live.gate()):
        assert ended.code, ended.printed
        assert "api.openai.com cannot be reached" in ended.printed
        assert 'Pass base_url=os.environ["OPENAI_BASE_URL"]' in ended.printed
