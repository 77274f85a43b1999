"""A server that the gate starts itself: whose answers count, what it is given, and how it ends."""

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ratiba_action.config.system_block import SystemBlock
from ratiba_action.errors import WorkerError
from ratiba_action.model.plan import Tenant
from ratiba_action.model.scenario import Customer, Scenario, Turn
from ratiba_action.ports import Session
from ratiba_action.systems.choose import choose_system
from ratiba_action.systems.workplace import Surroundings

Open = Callable[..., Awaitable[Session]]
SERVER = """
import json, os, socket, subprocess, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer

heard = 0
class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_GET(self):
        self.answer({"ready": True})
    def do_POST(self):
        global heard
        heard += 1
        said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["text"]
        text = f"{said} {heard}"
        if said == "environment":
            text = json.dumps(dict(os.environ))
        if said == "die":
            print("out of slots", flush=True)
            os._exit(4)
        if said == "daemon":
            code = "import os,time; os.setsid(); time.sleep(600)"
            text = str(subprocess.Popen([sys.executable, "-c", code]).pid)
        if said == "fault":
            print("the slot is gone", flush=True)
            self.answer({}, 500)
            return
        self.answer({"text": text})
        if said == "last":
            os._exit(5)
    def answer(self, body, status=200):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())
"""
LISTENS = "HTTPServer((os.environ.get('HOST', '127.0.0.1'), int(os.environ['PORT'])), Handler).serve_forever()\n"


@pytest.fixture
async def open_session(tmp_path: Path) -> AsyncIterator[Open]:
    """Opens a conversation with a system whose server is given, whose root is the test's folder."""
    systems = []

    async def open_one(
        end: str = LISTENS, environment: dict[str, str] | None = None, begin: str = "", **serve: Any
    ) -> Session:
        (tmp_path / "server.py").write_text(begin + SERVER + end)
        block = {
            "http": {
                "url": "http://127.0.0.1:{port}/chat",
                "body": {"text": "${message}"},
                "reply": {"text": "text"},
            },
            "serve": {"command": ["python3", "server.py"], "seconds": 60, **serve},
            "environment": environment or {},
        }
        system = choose_system(SystemBlock.model_validate(block), Surroundings(tmp_path, os.environ))
        systems.append(system)
        await system.start()
        now = datetime(2026, 4, 25, 7, tzinfo=UTC)
        scenario = Scenario("spa", "sw", (), now, Customer("Wanjiku", "+254712345432"))
        given = {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_API_KEY": "token-of-the-gateway"}
        return await system.open(scenario, Tenant("id", "", ""), given)

    yield open_one
    for system in systems:
        await system.close()


async def ask(session: Session, text: str) -> str:
    return (await session.send(Turn(user=text))).text


async def test_each_conversation_has_a_server_of_its_own_at_an_address_of_its_own(open_session: Open) -> None:
    first, second = await asyncio.gather(open_session(ready="/health"), open_session(ready="/health"))
    assert [await ask(first, "a"), await ask(first, "b"), await ask(second, "a")] == ["a 1", "b 2", "a 1"]
    ports = {json.loads(await ask(one, "environment"))["PORT"] for one in (first, second)}
    assert len(ports) == 2


async def test_it_has_the_gateway_s_address_and_token_and_nothing_of_the_gate_s(
    open_session: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real")
    monkeypatch.setenv("GITHUB_TOKEN", "ghs_real")
    monkeypatch.setenv("MY_SECRET", "real")
    session = await open_session(environment={"BASE": "http://localhost:{port}/"})
    found = json.loads(await ask(session, "environment"))
    assert found["OPENAI_BASE_URL"] == "http://127.0.0.1:1/v1"
    assert found["OPENAI_API_KEY"] == "token-of-the-gateway"
    assert found["BASE"] == f"http://localhost:{found['PORT']}/"
    assert not {"GITHUB_TOKEN", "MY_SECRET"} & found.keys()


async def test_the_port_can_stand_in_the_command(open_session: Open) -> None:
    end = "HTTPServer(('0.0.0.0', int(sys.argv[1])), Handler).serve_forever()\n"
    assert await ask(await open_session(end, command=["python3", "server.py", "{port}"]), "a") == "a 1"


@pytest.mark.parametrize(
    ("end", "serve", "message"),
    [
        ("print('no database'); sys.exit(3)", {}, "ended with exit code 3 before it was ready. It printed last: no da"),
        ("time.sleep(600)", {"seconds": 0.5}, "did not listen on port [0-9]+ within 0.5 s. It printed nothing"),
        (
            "HTTPServer(('127.0.0.1', 0), Handler).serve_forever()",
            {"seconds": 10},
            r"did not listen on port [0-9]+ \(it listens on [0-9]+: let it read PORT\) within 10 s",
        ),
        ("if os.fork(): os._exit(0)\n" + LISTENS, {}, "ended with exit code 0"),
        ("print(os.environ['OPENAI_API_KEY']); sys.exit(3)", {}, r"It printed last: \[hidden\]"),
        ("print('x ' * 5_000_000 + 'enough'); sys.exit(3)", {}, "enough"),
        (LISTENS, {"command": ["no-such-program"]}, "no-such-program.* cannot be started"),
    ],
    ids=["exits", "never", "elsewhere", "daemon", "key", "flood", "missing"],
)
async def test_a_server_that_does_not_get_ready_is_an_error_with_its_last_lines(
    open_session: Open, end: str, serve: dict[str, Any], message: str
) -> None:
    with pytest.raises(WorkerError, match=message) as caught:
        await ask(await open_session(end, **serve), "a")
    assert len(caught.value.problem) < 3000
    assert "system.serve" in (caught.value.remedy or "")


async def test_a_path_that_is_not_answered_well_is_named(open_session: Open) -> None:
    end = LISTENS.replace("Handler)", "type('Sick', (Handler,), {'do_GET': lambda self: self.answer({}, 503)}))")
    with pytest.raises(WorkerError, match=r"was not ready: GET \S+/health was answered with status 503.* within 10 s"):
        await open_session(end, ready="/health", seconds=10)


async def test_a_server_that_dies_is_the_scenario_s_error_even_after_its_answer(open_session: Open) -> None:
    session = await open_session()
    with pytest.raises(WorkerError, match=r"exit code 4 in the middle of a conversation.* out of slots"):
        await ask(session, "die")
    session = await open_session()
    with pytest.raises(WorkerError, match="exit code 5"):
        [await ask(session, text) for text in ("last", "a")]
    with pytest.raises(WorkerError, match=r"status 500.* the slot is gone"):
        await ask(await open_session(), "fault")


async def test_nothing_that_it_started_outlives_the_conversation(open_session: Open) -> None:
    session = await open_session()
    daemon = int(await ask(session, "daemon"))
    os.kill(daemon, 0)
    await session.close()
    with pytest.raises(ProcessLookupError):
        os.kill(daemon, 0)


async def test_yesterday_s_server_on_the_port_is_no_server_of_this_change(open_session: Open) -> None:
    """The port of the change's server is taken by another process, which answers well, before and while it runs."""
    with socket.create_server(("127.0.0.1", 0), reuse_port=True) as yesterday:
        port = yesterday.getsockname()[1]
        end = f"HTTPServer(('127.0.0.1', {port}), Handler).serve_forever()\n"
        with pytest.raises(WorkerError, match=r"ended with exit code 1.* Address already in use"):
            await open_session(end)


async def test_another_process_that_shares_the_port_makes_every_answer_worthless(open_session: Open) -> None:
    end = """
class Shared(HTTPServer):
    def server_bind(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        super().server_bind()
Shared(('127.0.0.1', int(os.environ['PORT'])), Handler).serve_forever()
"""
    session = await open_session(end)
    port = int(json.loads(await ask(session, "environment"))["PORT"])
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            other.bind(("0.0.0.0", port))  # noqa: S104 - another address of the same port
            other.listen()
        except OSError:
            pytest.skip("the system has a user of its own, and the kernel shares no port between users")
        with pytest.raises(WorkerError, match=r"another process than the server .* listens on port"):
            await ask(session, "a")


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"command": ["x"], "serve": {"command": ["y"]}}, "no effect for a system of kind 'command'"),
        ({"url": "http://127.0.0.1:8000", "serve": {"command": ["y"]}}, "write http://127.0.0.1:{port}/path"),
        ({"url": "http://elsewhere:{port}", "serve": {"command": ["y"]}}, "write http://127.0.0.1:{port}/path"),
        ({"url": "http://127.0.0.1:{port}"}, "add serve or container, or write the port"),
        (
            {"url": "http://127.0.0.1:{port}", "serve": {"command": ["y"]}, "version_path": "/version"},
            "the gate knows which code it starts",
        ),
        ({"command": ["x"], "version_path": "/version"}, "belongs to url or http"),
        ({"url": "http://127.0.0.1:8000", "version_header": "X-Commit"}, "has version_path only"),
    ],
)
def test_keys_that_contradict_each_other_are_refused(block: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        SystemBlock.model_validate(block)
    assert message in str(caught.value)
