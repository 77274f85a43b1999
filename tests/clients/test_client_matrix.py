"""Each client of models is led to the gateway by its environment, or by the line that the documentation gives.

Two programs have one conversation with each client: a greeting, the same as a stream, and a question that needs a tool.
It is recorded from a stand-in for the providers, then replayed. ``make test-clients`` runs every client; those that the
tests have installed anyway run always.
"""

import asyncio
import json
import os
import shutil
import sys
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ratiba_action.llm.answers import AnswerRecorder, LiveAnswers, ReplayAnswers
from ratiba_action.llm.chain import AnswerChain
from ratiba_action.llm.recordings.lines import ModelRecording
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.llm.server import Gateway
from ratiba_action.model.conversation import ToolCall
from ratiba_action.money.budget import Ledger
from ratiba_action.money.prices import PriceList
from ratiba_action.ports import AnswerSource
from tests.support.live_calls import MODELS, RATES, live_calls
from tests.support.model_servers import Received

if TYPE_CHECKING:
    from ratiba_action.model.model_request import ModelAnswer, ModelRequest

pytestmark = pytest.mark.processes

_PROGRAMS = Path(__file__).parent / "programs"
_ENVIRONMENT = "RATIBA_TEST_CLIENTS"
"""Names the folder with the environment of every client, which ``make test-clients`` makes."""
_SECONDS = 120
_TALK = {"whole": "Habari!", "streamed": "Habari!", "tool": "It is 21 degrees."}
_INSTALLED = ("openai", "openai responses", "anthropic", "google-genai", "litellm openai")
_PYTHON = (
    *_INSTALLED,
    "openai azure", "groq", "together", "mistralai", "litellm anthropic", "litellm gemini", "langchain-openai",
    "langchain-openai responses", "langchain-anthropic", "langchain-google-genai", "langgraph", "llama-index openai",
    "llama-index openai responses", "openai-agents", "pydantic-ai openai", "pydantic-ai openai-chat",
    "pydantic-ai openai-responses", "pydantic-ai google", "semantic-kernel openai",
    "semantic-kernel anthropic",
)  # fmt: skip
_NODE = (
    "openai", "openai responses", "@anthropic-ai/sdk", "@google/genai", "@ai-sdk/openai", "@ai-sdk/openai chat",
    "@ai-sdk/anthropic", "@ai-sdk/google", "@langchain/openai", "@langchain/openai responses", "@langchain/anthropic",
)  # fmt: skip
_CLIENTS = [*(("python", name) for name in _PYTHON), *(("node", name) for name in _NODE)]


@dataclass(frozen=True, slots=True)
class Client:
    """How a client's conversation is started: the first of ``command`` is in the environment of all, or this one's."""

    command: tuple[str, ...]

    async def talk(self, environment: dict[str, str]) -> tuple[str, str]:
        """Run its conversation with nothing but an environment; its last line of output, and what it says of errors."""
        process = await asyncio.create_subprocess_exec(
            *self.command, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        try:
            async with asyncio.timeout(_SECONDS):
                output, errors = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return (output.decode().strip().splitlines() or [""])[-1], errors.decode()


def client_of(language: str, name: str, folder: Path) -> Client:
    every = os.environ.get(_ENVIRONMENT)
    if language == "python" and (every or name in _INSTALLED):
        python = str(Path(every, "bin", "python")) if every else sys.executable
        return Client((python, str(_PROGRAMS / "python_clients.py"), name))
    if every is None:
        pytest.skip("make test-clients installs and runs this client")
    program = shutil.copy(_PROGRAMS / "node_clients.mjs", folder)  # Node looks for packages beside the program
    (folder / "node_modules").symlink_to(Path(every, "node", "node_modules").absolute())
    return Client(("node", str(program), name))


def model(received: Received) -> Step:
    """Greets; calls the tool that it is given; says what the tool answered."""
    asked = json.dumps(received.body)
    if "21 degrees in Nairobi" in asked:
        return Step(None, text=_TALK["tool"])
    if received.body.get("tools"):
        name = "tools-get_weather" if "tools-get_weather" in asked else "get_weather"  # as Semantic Kernel names it
        return Step(None, tools=(ToolCall(name, {"city": "Nairobi"}),))
    return Step(None, text=_TALK["whole"])


async def talk_through(answers: AnswerSource, client: Client, home: Path) -> tuple[str, str]:
    """A client's conversation through a gateway, which may refuse nothing."""
    gateway = Gateway(answers)
    await gateway.start()
    try:
        with gateway.open_scenario("weather") as access:
            environment = {"PATH": os.environ["PATH"], "HOME": str(home), **access.environment}
            output, errors = await client.talk(environment)
            assert [str(problem) for problem in access.problems] == [], errors
            assert access.stale is None
    finally:
        await gateway.close()
    return output, errors


async def recorded(client: Client, home: Path) -> tuple[ModelRecording, ...]:
    """The recordings of a client's conversation with the stand-in."""
    recorder = AnswerRecorder()
    chain: AnswerChain[ModelRequest, ModelAnswer] = AnswerChain(lambda *_: None, keep=recorder.keep)
    async with live_calls(model) as rig:
        chain.add("head", live=LiveAnswers(rig.calls).answer)
        output, errors = await talk_through(chain, client, home)
        assert output.startswith("{"), errors
        assert json.loads(output) == _TALK
        assert rig.paid_enough()
    return recorder.recordings("weather")


@pytest.mark.parametrize(("language", "name"), _CLIENTS)
async def test_a_client_records_and_replays_a_greeting_a_stream_and_a_tool(
    language: str, name: str, tmp_path: Path
) -> None:
    client = client_of(language, name, tmp_path)
    recordings = await recorded(client, tmp_path)
    assert len(recordings) == len(("greeting", "stream", "question", "result"))
    replay = ReplayAnswers(
        {"weather": recordings}, Ledger(Decimal(1)), PriceList(dict.fromkeys(MODELS.values(), RATES))
    )
    output, errors = await talk_through(replay, client, tmp_path)
    assert output.startswith("{"), errors
    assert json.loads(output) == _TALK


@pytest.mark.parametrize("name", ["ollama", "cohere"])
async def test_a_client_whose_format_is_not_served_gets_what_to_use_instead(name: str, tmp_path: Path) -> None:
    client = client_of("python", name, tmp_path)
    gateway = Gateway(ReplayAnswers({}, Ledger(Decimal(1)), PriceList({})))
    await gateway.start()
    try:
        with gateway.open_scenario("weather") as access:
            environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **access.environment}
            output, errors = await client.talk(environment)
    finally:
        await gateway.close()
    assert (output, "call the model by OpenAI's client" in errors) == ("", True), errors
