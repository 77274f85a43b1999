"""Systems on the real clients of models: live against stand-ins for the providers, recorded, replayed and streamed."""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.errors import RatibaError
from ratiba_action.llm.answers import AnswerRecorder, LiveAnswers, ReplayAnswers
from ratiba_action.llm.chain import AnswerChain
from ratiba_action.llm.recordings.lines import ModelRecording
from ratiba_action.llm.recordings.reader import read_recordings
from ratiba_action.llm.recordings.writer import write_recordings
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.llm.server import Gateway
from ratiba_action.model.conversation import AnsweredCalls, ToolCall
from ratiba_action.model.model_request import ModelAnswer, ModelRequest
from ratiba_action.model.plan import HEAD
from ratiba_action.money.budget import Ledger
from ratiba_action.money.prices import PriceList
from ratiba_action.ports import AnswerSource
from tests.support.live_calls import KEY, MODELS, RATES, live_calls
from tests.support.model_clients import CLIENTS

pytestmark = pytest.mark.processes

PROGRAM = Path(__file__).parents[1] / "support/model_clients.py"
CALLED, TEXT = ["check_availability", {"service": "massage"}], "Nafasi ipo kesho saa nane."
TOOL = Step(None, tools=(ToolCall("check_availability", {"service": "massage"}),))
TURN = [TOOL, TOOL, Step(None, text=TEXT), Step(None, text=TEXT)]
PRICES = PriceList(dict.fromkeys(MODELS.values(), RATES))
REFUSED = {"ClientError", "ValidationException"}
LIBRARIES = {name: name.partition(",")[0].replace("azure", "openai") for name in CLIENTS}


@dataclass(frozen=True, slots=True)
class Pass:
    """What a client understood, and what the gateway knows of it."""

    answer: Mapping[str, Any]
    problems: tuple[RatibaError, ...]
    calls: AnsweredCalls
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Seen:
    """All passes of one client."""

    live: Pass
    replayed: Pass
    unrecorded: Pass
    recordings: tuple[ModelRecording, ...]
    paths: tuple[str, ...]
    spent: Decimal
    bill: Fraction


@asynccontextmanager
async def library() -> AsyncIterator[asyncio.subprocess.Process]:
    """The process of one library; it knows nothing but the way to its interpreter."""
    environment = {"PATH": os.environ["PATH"], "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(PROGRAM), stdin=-1, stdout=-1, stderr=-3, env=environment
    )
    try:
        yield process
    finally:
        process.kill()
        await process.communicate()


async def one_pass(process: asyncio.subprocess.Process, client: str, answers: AnswerSource) -> Pass:
    gateway = Gateway(answers, prices=PRICES)
    await gateway.start()
    try:
        with gateway.open_scenario("spa") as access:
            asked = {"client": client, "environment": dict(access.environment)}
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(asked).encode() + b"\n")
            output = json.loads(await process.stdout.readline())
            return Pass(output, access.problems, access.calls, access.environment)
    finally:
        await gateway.close()


async def watch(client: str, process: asyncio.subprocess.Process) -> Seen:
    recorder = AnswerRecorder()
    async with live_calls(TURN) as rig:
        chain = AnswerChain[ModelRequest, ModelAnswer](lambda *_: None, keep=recorder.keep)
        chain.add(HEAD, live=LiveAnswers(rig.calls).answer)
        live = await one_pass(process, client, chain)
        paths = tuple(received.path for received in rig.server.received)
        spent, bill = rig.reservations.spent, rig.server.bill.total
    recordings = as_a_file(recorder.recordings("spa"))
    replays = [ReplayAnswers(lines, Ledger(Decimal(0)), PRICES) for lines in ({"spa": recordings}, {})]
    replayed, unrecorded = [await one_pass(process, client, replay) for replay in replays]
    return Seen(live, replayed, unrecorded, recordings, paths, spent, bill)


def as_a_file(recordings: Sequence[ModelRecording]) -> tuple[ModelRecording, ...]:
    """What a file keeps of them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spa.jsonl"
        write_recordings(path, recordings)
        return tuple(line for line in read_recordings(path) if isinstance(line, ModelRecording))


@pytest.fixture(scope="module")
def every_client() -> dict[str, Seen]:
    """Each library in a process of its own, one after the other client in it."""

    async def of_library(name: str) -> dict[str, Seen]:
        clients = [client for client, of in LIBRARIES.items() if of == name]
        async with library() as process:
            return {client: await watch(client, process) for client in clients}

    async def of_all() -> dict[str, Seen]:
        found = await asyncio.gather(*map(of_library, sorted({*LIBRARIES.values()})))
        return {client: seen for each in found for client, seen in each.items()}

    return asyncio.run(of_all())


@pytest.fixture(params=CLIENTS)
def seen(request: pytest.FixtureRequest, every_client: dict[str, Seen]) -> Seen:
    return every_client[request.param]


def test_a_live_turn_with_a_tool_is_understood_whole_and_streamed(seen: Seen) -> None:
    text = seen.live.answer
    assert text.get("message") is None
    assert (text["tool"], text["streamed_tool"]) == (CALLED, CALLED)
    assert (text["text"], text["streamed_text"]) == (TEXT, TEXT)
    assert (seen.live.problems, seen.live.calls.count, seen.live.calls.replayed) == ((), 4, 0)


def test_what_was_spent_is_the_stand_ins_own_bill(seen: Seen) -> None:
    assert Fraction(seen.spent) == seen.bill > 0
    assert seen.live.calls.usd == seen.spent


def test_whole_and_streamed_calls_are_recorded_as_one_request(seen: Seen) -> None:
    tool, again, text, last = seen.recordings
    assert (tool.key, text.key) == (again.key, last.key)
    assert [line.ordinal for line in seen.recordings] == [0, 1, 0, 1]
    assert tool.asked == "Massage kesho saa nane"


def test_a_replay_is_understood_as_the_live_turn_was_and_costs_nothing(seen: Seen) -> None:
    assert seen.replayed.answer == seen.live.answer
    assert (seen.replayed.problems, seen.replayed.calls.replayed) == ((), 4)


def test_a_call_that_is_not_recorded_raises_the_clients_own_error_at_once(seen: Seen) -> None:
    assert "BadRequest" in seen.unrecorded.answer["error"] or seen.unrecorded.answer["error"] in REFUSED
    assert "No model answer is recorded for this scenario" in seen.unrecorded.answer["message"]
    assert len(seen.unrecorded.problems) == 1, "a client that retries would ask again"


def test_no_key_of_a_provider_is_near_the_system(seen: Seen) -> None:
    assert KEY not in str(dict(seen.live.environment)) + str(seen.live.answer)


def test_each_format_reaches_its_provider(every_client: dict[str, Seen]) -> None:
    ends = {client: {path.rpartition("/")[2] for path in seen.paths} for client, seen in every_client.items()}
    assert ends == {
        "openai": {"completions"},
        "azure": {"completions"},
        "anthropic": {"messages"},
        "google-genai": {"gemini-2.5-flash:generateContent"},
        "boto3": {"converse"},
        "litellm, openai": {"completions"},
        "litellm, anthropic": {"messages"},
        "litellm, azure": {"completions"},
        "litellm, gemini": {"gemini-2.5-flash:generateContent"},
    }
