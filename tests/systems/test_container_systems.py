"""A server in a container: what it is given and reaches, and what an error says; on containers that are processes."""

import json
import os
import re
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from pydantic import ValidationError

from ratiba_action.config.system_block import SystemBlock
from ratiba_action.errors import ConfigurationError, ImageError, WorkerError
from ratiba_action.model.plan import Tenant
from ratiba_action.model.scenario import Customer, Scenario, Turn
from ratiba_action.ports import Session
from ratiba_action.systems.choose import choose_system
from ratiba_action.systems.container_server import reached_inside
from ratiba_action.systems.docker_engine import DockerEngine
from ratiba_action.systems.worker_system import WorkerSystem
from ratiba_action.systems.workplace import Surroundings
from tests.support.containers import ProcessEngine, dockerfile

DIGEST = f"@sha256:{'0' * 64}"
SERVER = """
import json, os, sys, time
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
        if said == "prompt":
            text = open("prompt.md").read()
        if said == "die":
            print("out of slots", os.environ["OPENAI_API_KEY"], flush=True)
            os._exit(4)
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
LISTENS = "HTTPServer(('127.0.0.1', int(os.environ['PORT'])), Handler).serve_forever()\n"
GIVEN = {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_API_KEY": "token-of-the-gateway"}


class Bot:
    """A repository with a Dockerfile."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.engine = folder / "bot", ProcessEngine(folder / "images")
        self.folder.mkdir()
        self.systems: list[WorkerSystem] = []

    async def start(self, end: str = LISTENS, begin: str = "", run: str = "", **more: Any) -> WorkerSystem:
        """The system, started; keys of ``container`` among the others of ``system``."""
        (self.folder / "prompt.md").write_text("Be kind.")
        (self.folder / "server.py").write_text(begin + SERVER + end)
        (self.folder / "Dockerfile").write_text(dockerfile("python3", "server.py", run=run))
        with closing(socket.create_server(("127.0.0.1", 0))) as probe:
            port = probe.getsockname()[1]
        block = {
            "http": {"url": "http://127.0.0.1:{port}/chat", "body": {"text": "${message}"}, "reply": {"text": "text"}},
            "container": {"port": port, "seconds": 20, **more.pop("container", {})},
            **more,
        }
        around = Surroundings(self.folder, os.environ)
        system = choose_system(SystemBlock.model_validate(block), around, engine=self.engine)
        assert isinstance(system, WorkerSystem)
        self.systems.append(system)
        await system.start()
        return system

    async def open(self, *arguments: Any, **keys: Any) -> Session:
        """A conversation with it; see ``start``."""
        return await opened(await self.start(*arguments, **keys))


async def opened(system: WorkerSystem, given: Mapping[str, str] = MappingProxyType(GIVEN)) -> Session:
    now = datetime(2026, 4, 25, 7, tzinfo=UTC)
    scenario = Scenario("spa", "sw", (), now, Customer("Wanjiku", "+254712345432"))
    return await system.open(scenario, Tenant("id", "", ""), given)


async def ask(session: Session, text: str) -> str:
    return (await session.send(Turn(user=text))).text


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[Bot]:
    made = Bot(tmp_path)
    yield made
    for system in made.systems:
        await system.close()
    assert not made.engine.images


async def test_each_conversation_has_a_container_of_its_own_of_one_image(bot: Bot) -> None:
    system = await bot.start(container={"ready": "/health"})
    first = await opened(system)
    assert [await ask(first, "a"), await ask(first, "b")] == ["a 1", "b 2"]
    await first.close()
    second = await opened(system)
    assert await ask(second, "a") == "a 1"
    assert bot.engine.built == 1
    with pytest.raises(WorkerError):
        await ask(first, "c")


async def test_its_environment_is_the_configurations_and_the_gateways(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real")
    monkeypatch.setenv("GITHUB_TOKEN", "ghs_real")
    found = json.loads(await ask(await bot.open(environment={"BASE": "http://localhost:{port}/"}), "environment"))
    own = {name: value for name, value in found.items() if name not in ("PATH", "LC_CTYPE", "PWD")}
    assert own == {**GIVEN, "PORT": found["PORT"], "BASE": f"http://localhost:{found['PORT']}/"}


async def test_a_gateway_whose_port_is_the_containers_has_another_one_inside(bot: Bot) -> None:
    system = await bot.start()
    first = await opened(system)
    port = json.loads(await ask(first, "environment"))["PORT"]
    await first.close()  # the engine's containers share this machine's ports
    given = {**GIVEN, "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1"}
    found = json.loads(await ask(await opened(system, given), "environment"))
    assert found["PORT"] == port
    inside = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/v1", found["OPENAI_BASE_URL"])
    assert inside is not None
    assert inside[1] not in (port, "5432")


@pytest.mark.parametrize(
    ("end", "container", "message"),
    [
        ("print('no database'); sys.exit(3)", {}, "ended with exit code 3 before it was ready. It printed last: no da"),
        ("time.sleep(600)", {"seconds": 0.5}, "did not listen on port [0-9]+ within 0.5 s. It printed nothing"),
        ("print(os.environ['OPENAI_API_KEY']); sys.exit(3)", {}, r".*It printed last: \[hidden\]"),
        (
            LISTENS.replace("Handler)", "type('Slow', (Handler,), {'do_GET': lambda self: time.sleep(600)}))"),
            {"ready": "/health", "seconds": 10},
            r"(did not answer|was not ready: GET \S+/health failed: timed out,) within 10 s",
        ),
        (
            LISTENS.replace("Handler)", "type('Sick', (Handler,), {'do_GET': lambda self: self.answer({}, 503)}))"),
            {"ready": "/health", "seconds": 10},
            r"was not ready: GET \S+/health was answered with status 503.* within 10 s",
        ),
    ],
    ids=["exits", "never", "key", "slow", "sick"],
)
async def test_a_container_that_does_not_get_ready_is_an_error_with_its_last_lines(
    bot: Bot, end: str, container: dict[str, Any], message: str
) -> None:
    with pytest.raises(WorkerError, match=f"scenario 'spa': the container {message}") as caught:
        await bot.open(end, container=container)
    assert "system.container" in (caught.value.remedy or "")


async def test_a_container_that_ends_is_the_scenario_s_error_even_after_its_answer(bot: Bot) -> None:
    session = await bot.open()
    with pytest.raises(WorkerError, match=r"exit code 4 in the middle of a conversation.* out of slots \[hidden\]"):
        await ask(session, "die")
    session = await opened(bot.systems[0])
    with pytest.raises(WorkerError, match="exit code 5"):
        [await ask(session, text) for text in ("last", "a")]
    await session.close()
    session = await opened(bot.systems[0])
    with pytest.raises(WorkerError, match=r"status 500.* the slot is gone"):
        await ask(session, "fault")


async def test_an_image_that_cannot_be_built_is_a_wrong_input_with_its_last_lines(bot: Bot) -> None:
    with pytest.raises(ImageError, match="no such package") as caught:
        await bot.start(run="echo no such package; exit 3")
    assert caught.value.exit_code == ConfigurationError.exit_code == 2
    with pytest.raises(ImageError, match="there is no 'Containerfile'"):
        await bot.start(container={"dockerfile": "Containerfile"})


async def test_a_replaced_file_is_in_the_image_of_the_next_conversation(bot: Bot) -> None:
    system = await bot.start()
    system.replace_file("prompt.md", "Be rude.", 0)
    session = await opened(system)
    assert await ask(session, "prompt") == "Be rude."
    await session.close()
    system.replace_file("prompt.md", "Be brief.", 1)
    assert await ask(await opened(system), "prompt") == "Be brief."


async def test_a_service_is_ready_before_the_server_starts(bot: Bot) -> None:
    image, folder = f"redis{DIGEST}", bot.folder.parent / "redis"
    folder.mkdir()
    (folder / "Dockerfile").write_text(
        dockerfile(
            "python3",
            "-c",
            "import os, socket, time; time.sleep(0.3); "
            "server = socket.create_server(('127.0.0.1', int(os.environ['WHERE']))); time.sleep(600)",
        )
    )
    bot.engine.images[image] = folder
    with closing(socket.create_server(("127.0.0.1", 0))) as probe:
        port = probe.getsockname()[1]
    service = {"image": image, "port": port, "environment": {"WHERE": str(port)}}
    begin = f"import socket; socket.create_connection(('127.0.0.1', {port}))\n"
    session = await bot.open(begin=begin, container={"services": {"redis": service}})
    assert await ask(session, "a") == "a 1"
    await session.close()
    (folder / "Dockerfile").write_text(dockerfile("python3", "-c", "print('no memory'); exit(1)"))
    with pytest.raises(WorkerError, match=r"the service 'redis' ended with exit code 1 before it was ready.*no memory"):
        await opened(bot.systems[0])
    del bot.engine.images[image]


async def test_the_tables_are_made_by_a_command_in_the_image(bot: Bot) -> None:
    code = "import os; print('tables of', os.environ['DATABASE_URL']); exit(int(os.environ['FAILS']))"
    migrate = {"migrate": ["python3", "-c", code]}
    dsn = "postgresql://spa:secret@/db?options=-c%20search_path%3Da&host=%2Ftmp%2Fpg&port=5433"
    system = await bot.start(container=migrate, database=True, environment={"FAILS": "0"})
    await system.migrate(dsn)
    system = await bot.start(container=migrate, database=True, environment={"FAILS": "7"})
    with pytest.raises(WorkerError, match=r"`container.migrate` ended with exit code 7.*tables of") as caught:
        await system.migrate(dsn)
    assert "127.0.0.1:5432/db?options=-c%20search_path%3Da" in caught.value.problem
    assert "secret" not in caught.value.problem


@pytest.mark.parametrize(
    ("dsn", "inside"),
    [
        (
            "postgresql://spa:s%40@/db?options=-c%20a&connect_timeout=5&host=db.example&port=5433",
            "postgresql://spa:s%40@127.0.0.1:5432/db?options=-c%20a&connect_timeout=5",
        ),
        ("postgresql://spa:s@localhost:5433/db", "postgresql://spa:s@127.0.0.1:5432/db"),
        ("postgresql://spa:s@/db?host=%2Ftmp%2Fpg&port=5433", "postgresql://spa:s@127.0.0.1:5432/db"),
    ],
)
def test_a_tenant_has_an_address_inside(dsn: str, inside: str) -> None:
    assert reached_inside(dsn)[0] == inside


async def test_in_the_actions_container_it_is_refused_with_what_works_there(tmp_path: Path) -> None:
    block = SystemBlock.model_validate(
        {
            "http": {"url": "http://127.0.0.1:{port}/", "body": {}, "reply": {"text": "text"}},
            "container": {"port": 8000},
        }
    )
    with pytest.raises(ConfigurationError, match=r"`system.container` cannot be used here.*setup-python.*system.serve"):
        choose_system(block, Surroundings(tmp_path, {"RATIBA_CONTAINER": "1"}))


async def test_without_docker_the_message_says_what_to_start() -> None:
    with pytest.raises(WorkerError, match="the command `docker`, which") as caught:
        await DockerEngine({"PATH": "/nowhere"}).pull("bot")
    assert "system.serve" in caught.value.remedy


_SERVICES = {f"redis{number}": {"image": f"redis{DIGEST}", "port": 7000 + number} for number in range(9)}
_HTTP = {"url": "http://127.0.0.1:{port}/", "body": {}, "reply": {"text": "text"}}


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"command": ["x"], "container": {"port": 8000}}, "no effect for a system of kind 'command'"),
        ({"http": _HTTP, "container": {"port": 1}, "serve": {"command": ["x"]}}, "give serve or container"),
        ({"http": _HTTP, "container": {"port": 1, "image": "bot:latest"}}, "'bot:latest' has no digest"),
        ({"http": _HTTP, "container": {"port": 1, "image": f"bot{DIGEST}", "build": "."}}, "give image, or build"),
        ({"http": _HTTP, "container": {"port": 1, "build": "../other"}}, "a path inside the repository"),
        ({"http": _HTTP, "container": {"port": 5432}}, "5432 is the tenant's database"),
        ({"http": _HTTP, "container": {"port": 1, "migrate": ["x"]}}, "no effect without a database"),
        ({"url": "http://127.0.0.1:{port}", "container": {"port": 1, "migrate": ["x"]}}, "at POST /migrate"),
        ({"url": "http://elsewhere", "container": {"port": 1}}, "write http://127.0.0.1:{port}/path"),
        ({"http": _HTTP, "container": {"port": 1}, "version_path": "/v"}, "no effect with container"),
        ({"http": _HTTP, "container": {}}, "Field required"),
        ({"http": _HTTP, "container": {"port": 1, "ready": "//169.254.169.254/latest"}}, "should match pattern"),
        ({"http": _HTTP, "container": {"port": 1, "ready": "/\\169.254.169.254/latest"}}, "should match pattern"),
        ({"http": _HTTP, "serve": {"command": ["x"], "ready": "//169.254.169.254/"}}, "should match pattern"),
        ({"http": _HTTP, "version_path": "//169.254.169.254/"}, "should match pattern"),
        ({"http": _HTTP, "container": {"port": 1, "services": _SERVICES}}, "at most 8 items"),
    ],
)
def test_keys_that_contradict_each_other_are_refused(block: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        SystemBlock.model_validate(block)
    assert message in str(caught.value)
