"""Hosts of models that a system calls by itself: refused at once where they cannot be reached, and always named."""

import pytest

from ratiba_action.errors import SystemRaisedError, WorkerError
from ratiba_action.model.scenario import Turn
from ratiba_action.worker.model_hosts import called_hosts, known_host, problem_of
from tests.systems.conftest import StartWorker
from tests.systems.workers import answer_of, open_session

UNREACHABLE = """
    import socket
    class Unreachable(socket.socket):
        def connect(self, address):
            raise ConnectionRefusedError("no network")
    socket.socket = Unreachable
    class Adapter:
        tries = 0
        def open(self, context):
            return self
        def send(self, message):
            host, _, port = message.partition(":")
            for _ in range(5):
                try:
                    socket.create_connection((host, int(port or 443)), 5)
                except Exception:
                    self.tries += 1
            return {"text": f"{self.tries} tries in vain"}
"""
REACHABLE = """
    import socket, sys
    server = socket.create_server(("127.0.0.1", 0))
    look_up = socket.getaddrinfo
    def here(host, port, *more, **named):
        sys.audit("socket.getaddrinfo", host, port, 0, 0, 0)
        return look_up("127.0.0.1", server.getsockname()[1], *more, **named)
    socket.getaddrinfo = here
    class Adapter:
        def open(self, context):
            return self
        def send(self, message):
            if message != "Hello":
                raise RuntimeError("no call")
            socket.create_connection(("api.groq.com", 443)).close()
            if self.refused:
                raise RuntimeError("Error code: 401")
            return {"text": "Karibu"}
        refused = False
"""


async def test_an_unreachable_host_of_models_ends_the_turn_before_its_client_tries_again(
    start_worker: StartWorker,
) -> None:
    session = await open_session(await start_worker(UNREACHABLE))
    with pytest.raises(WorkerError, match=r"api\.openai\.com cannot be reached") as caught:
        await session.send(Turn(user="api.openai.com"))
    assert not isinstance(caught.value, SystemRaisedError), "a network that is down is no fault of a change"
    assert 'its client did not read OPENAI_BASE_URL. Pass base_url=os.environ["OPENAI_BASE_URL"]' in str(caught.value)
    with pytest.raises(WorkerError, match="cannot be reached"):
        await session.send(Turn(user="api.openai.com"))


@pytest.mark.parametrize("host", ["payments.example.com", "localhost:11434", "127.0.0.1:8000"])
async def test_other_hosts_are_the_systems_own_affair_and_so_is_a_try_whether_ollama_runs(
    start_worker: StartWorker, host: str
) -> None:
    system = await start_worker(UNREACHABLE)
    session = await open_session(system)
    assert (await session.send(Turn(user=host))).text == "5 tries in vain"
    await session.close()
    assert not any("bypassing" in warning for warning in system.warnings)


async def test_a_system_that_declares_its_price_calls_whom_it_likes(start_worker: StartWorker) -> None:
    assert (
        await answer_of(await start_worker(UNREACHABLE, price_per_turn_usd="0.01"), "api.openai.com")
        == "5 tries in vain"
    )


async def test_a_call_that_reaches_its_host_goes_on_and_is_noted(start_worker: StartWorker) -> None:
    system = await start_worker(REACHABLE)
    session = await open_session(system)
    assert (await session.send(Turn(user="Hello"))).text == "Karibu"
    await session.close()
    (note,) = (warning for warning in system.warnings if "api.groq.com" in warning)
    assert note.startswith("The system called api.groq.com itself, bypassing the gateway: ")
    assert "and declare its provider with `gateway: true`" in note


async def test_an_error_names_the_host_that_was_called_in_the_same_turn(start_worker: StartWorker) -> None:
    session = await open_session(await start_worker(REACHABLE.replace("refused = False", "refused = True")))
    with pytest.raises(WorkerError, match=r"Error code: 401 \(the system called api\.groq\.com itself") as caught:
        await session.send(Turn(user="Hello"))
    assert "OPENAI_BASE_URL" in str(caught.value)
    with pytest.raises(WorkerError, match="no call") as caught:
        await session.send(Turn(user="Bye"))
    assert "api.groq.com" not in str(caught.value)


@pytest.mark.parametrize(
    "host",
    [
        *("api.openai.com", "api.anthropic.com", "generativelanguage.googleapis.com", "api.mistral.ai"),
        *("api.cohere.com", "api.groq.com", "api.together.xyz", "openrouter.ai", "api.deepseek.com", "api.x.ai"),
        *("shop.openai.azure.com", "bedrock-runtime.eu-west-1.amazonaws.com", "europe-west1-aiplatform.googleapis.com"),
    ],
)
def test_a_host_of_models_is_known_in_every_spelling(host: str) -> None:
    for name in (host, host.upper(), f"{host}.", host.encode()):
        assert known_host(name, 443) == host
    assert f"the system called {host} itself" in problem_of(host)


@pytest.mark.parametrize(
    ("name", "port"),
    [
        *(("api.example.com", 443), ("api.openai.com.example.com", 443), ("notapi.openai.com", 443), (None, 443)),
        *(("s3.eu-west-1.amazonaws.com", 443), ("localhost", 8000), ("127.0.0.1", "5432"), (b"\xff", None)),
    ],
)
def test_other_hosts_are_not_known(name: object, port: object) -> None:
    assert known_host(name, port) is None


@pytest.mark.parametrize("port", [11434, "11434"])
def test_ollama_is_known_by_its_port(port: object) -> None:
    assert known_host("localhost", port) == "localhost:11434"


@pytest.mark.parametrize(
    ("host", "modules", "fix"),
    [
        ("api.openai.com", ["llama_index"], 'LlamaIndex did not read OPENAI_BASE_URL. Pass api_base=os.environ["OPEN'),
        ("api.openai.com", ["litellm", "groq"], "LiteLLM did not read OPENAI_BASE_URL. Pass api_base="),
        ("api.openai.com", ["openai", "groq"], "its client did not read OPENAI_BASE_URL. Pass base_url="),
        ("api.groq.com", ["groq"], 'Pass base_url=os.environ["OPENAI_BASE_URL"].removesuffix("/v1"), api_key='),
        ("api.mistral.ai", ["mistralai"], 'Pass server_url=os.environ["OPENAI_BASE_URL"].removesuffix("/v1"), '),
        ("api.anthropic.com", [], 'Pass base_url=os.environ["ANTHROPIC_BASE_URL"], api_key=os.environ["ANTHROPIC_API'),
        ("api.cohere.com", ["cohere"], "which does not serve this host's format: call the model in OpenAI's format"),
    ],
)
def test_the_fix_is_that_of_the_library_in_use(host: str, modules: list[str], fix: str) -> None:
    assert fix in problem_of(host, modules)


def test_what_a_process_reports_is_believed_of_known_hosts_only() -> None:
    assert called_hosts(["api.x.ai", "evil.example.com", 1, "a" * 1000, None]) == {"api.x.ai"}
    assert called_hosts("api.x.ai") == called_hosts(None) == called_hosts({"api.x.ai": 1}) == set()
