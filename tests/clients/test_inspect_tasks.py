"""Tasks of Inspect with code of their own are imported, then run by the gate through Inspect itself."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.conversation import ToolCall, Usage
from ratiba_action.model.measurement import Errored, Phase, Scored
from tests.support.git_repository import GitRepository
from tests.support.live_repository import KEY, RATES, LiveRepository, Talk, outcomes
from tests.support.model_servers import ModelServer, Received
from tests.support.small_repository import SmallRepository

pytestmark = pytest.mark.processes

_PYTHON = os.environ.get("RATIBA_TEST_INSPECT", "")
"""An interpreter with inspect_ai, openai and pytest; its dependencies do not fit those of the other clients."""
TASKS = """\
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample, json_dataset
from inspect_ai.scorer import Score, accuracy, includes, scorer
from inspect_ai.solver import generate, solver, use_tools
from inspect_ai.tool import tool
from prices import PRICES


@tool
def price():
    async def execute(service: str) -> str:
        \"\"\"The price of a service.

        Args:
            service: its name.
        \"\"\"
        return PRICES[service]

    return execute


@solver
def kindly():
    async def solve(state, generate):
        state.user_prompt.text = f"Kindly: {state.user_prompt.text}"
        return state

    return solve


@scorer(metrics=[accuracy()])
def short():
    async def score(state, target):
        return Score(value=len(state.output.completion) < 100, explanation="by its length")

    return score


@task
def prices():
    samples = [Sample(input="A massage?", target="40", id="massage"), Sample(input="And a facial?", target="70")]
    return Task(dataset=MemoryDataset(samples), solver=[use_tools([price()]), generate()], scorer=includes())


@task
def greetings(epochs=2):
    plan = [kindly(), generate()]
    return Task(dataset=json_dataset("greetings.jsonl"), solver=plan, scorer=[includes(), short()], epochs=epochs)
"""
CONFIGURATION = """\
system:
  adapter: adapter:Adapter
  database: false
  python: {python}
  environment: {{INSPECT_EVAL_MODEL: openai/gpt-5}}
tests: [test_inspect_clerk.py]
prices:
  gpt-5: {{input_per_million: 2, output_per_million: 10}}
"""
FREE = {"RATIBA_LLM": "replay", "RATIBA_ANTHROPIC_API_KEY": "", "RATIBA_OPENAI_API_KEY": ""}


def model(received: Received) -> Step:
    """Calls the tool that it is given, and says what the tool answered; else it greets."""
    asked, usage = json.dumps(received.body), Usage(50, 10)
    for price in ("40 dollars", "70 dollars"):
        if price in asked:
            return Step("openai", text=f"It costs {price}.", usage=usage)
    if received.body.get("tools"):
        service = "facial" if "facial" in asked else "massage"
        return Step("openai", tools=(ToolCall("price", {"service": service}),), usage=usage)
    return Step("openai", text="Welcome, kind guest." if "Kindly" in asked else "What?", usage=usage)


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[LiveRepository]:
    """A repository with tasks of Inspect, imported; its system is one of which nothing is asked."""
    folder, environment = tmp_path / "repository", {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}
    folder.mkdir()
    talk = Talk(instead=model)
    async with ModelServer(talk, KEY, RATES) as models:
        small = SmallRepository(folder, tmp_path / "report", environment)
        live = LiveRepository(small, models, talk, tmp_path / "home")
        live.prepare()
        small.write(".github/ratiba.yml", CONFIGURATION.format(python=_PYTHON))
        small.write("pytest.ini", "[pytest]\n")
        small.write("evals/clerk.py", TASKS)
        small.write("evals/prices.py", 'PRICES = {"massage": "40 dollars", "facial": "70 dollars"}\n')
        small.write("evals/greetings.jsonl", json.dumps({"input": "Hello", "target": "welcome", "id": 7}) + "\n")
        GitRepository(folder)
        done = await asyncio.to_thread(small.run, ["import", "inspect", "evals/clerk.py"], folder, environment)
        assert done.returncode == 0, done.stdout + done.stderr
        yield live


@pytest.mark.skipif(not _PYTHON, reason="RATIBA_TEST_INSPECT names no interpreter with inspect_ai")
async def test_tasks_run_through_inspect_are_recorded_and_replayed_and_a_wrong_answer_fails(
    live: LiveRepository,
) -> None:
    await live.record()
    asked = len(live.models.received)
    assert asked == 8, (
        "four about prices, a greeting in two epochs, and for each test one by which Inspect tries the model"
    )
    replayed = await live.gate(**FREE)
    assert replayed.code == 0, replayed.printed
    assert (len(live.models.received), replayed.outputs["spent_usd"]) == (asked, "0")
    prices = outcomes(replayed)["test_inspect_clerk__test_prices"]
    greetings = outcomes(replayed)["test_inspect_clerk__test_greetings"]
    assert isinstance(prices, Scored)
    assert isinstance(greetings, Scored)
    assert [check.what for check in prices.checks] == ["pytest test_prices[massage]", "pytest test_prices[2]"]
    assert [check.what for check in greetings.checks] == ["pytest test_greetings[7]"]
    live.small.write("evals/clerk.py", TASKS.replace('target="70"', 'target="80"'))
    wrong = await live.gate(**FREE)
    assert wrong.code == 1, wrong.printed
    assert "includes gave 0.0; answer: it costs 70 dollars." in wrong.comment
    live.small.write("evals/clerk.py", TASKS.replace("And a facial?", "And a facial mask?"))
    changed = await live.gate("--scenario", "test_inspect_clerk.py::test_prices", **FREE)
    assert changed.code == 3, changed.printed
    result = outcomes(changed)["test_inspect_clerk__test_prices"]
    assert isinstance(result, Errored)
    assert result.phase is Phase.RECORDING
