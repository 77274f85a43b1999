"""Where answers come from: recordings as long as they fit, models where a change needs them, never a guess."""

import asyncio
import json
import sys

import pytest

from ratiba_action.model.measurement import Errored, Phase, Scored
from tests.support.live_repository import KEY, SYSTEM, LiveRepository, is_judged, outcomes, report_of
from tests.support.model_servers import Received
from tests.support.small_repository import Ended


def names(received: tuple[Received, ...]) -> set[str]:
    """The scenarios whose customers speak in some requests."""
    asked = json.dumps([dict(one.body) for one in received])
    return {name for name in ("asks", "greets") if f"Hello from {name}" in asked}


@pytest.fixture
async def recorded(live: LiveRepository) -> LiveRepository:
    """Two recorded conversations on the base commit, and an automatic run of a pull request on them."""
    for name in ("asks", "greets"):
        live.scenario(name, f"Hello from {name}")
    await live.record()
    live.small.environment["RATIBA_LLM"] = "auto"
    live.models.bill.charges.clear()
    return live


async def change(live: LiveRepository, files: dict[str, str], **variables: str) -> tuple[Ended, tuple[Received, ...]]:
    """Run a pull request that changes files; what it asked models."""
    base = live.git.commit({})
    head = live.git.commit(dict(files))
    before = len(live.models.received)
    ended = await live.gate(**live.pull_request(base, head), **variables)
    return ended, live.models.received[before:]


NO_KEYS = {"RATIBA_ANTHROPIC_API_KEY": "", "RATIBA_OPENAI_API_KEY": ""}


async def test_recordings_that_fit_ask_nothing_and_cost_nothing(recorded: LiveRepository) -> None:
    ended, asked = await change(recorded, {"prompts/unused.md": "Nobody reads this."})
    assert ended.code == 0, ended.printed
    assert asked == ()
    assert ended.outputs["spent_usd"] == "0"
    assert report_of(ended).llm == "replay"


async def test_a_changed_prompt_asks_models_for_its_own_conversation_only(recorded: LiveRepository) -> None:
    ended, asked = await change(recorded, {"prompts/asks.md": "Be friendly and brief."})
    assert ended.code == 0, ended.printed
    assert names(asked) == {"asks"}
    assert report_of(ended).llm == "mixed"
    live = await recorded.gate("--scenario", "asks", "--scenario", "greets", RATIBA_LLM="live")
    assert report_of(live).spending.cache_hits == 0, "a recorded grade was not kept as if a model had given it"
    assert all(isinstance(one, Scored) for one in outcomes(ended).values())


async def test_several_trials_are_paid_for_recorded_and_replayed(recorded: LiveRepository) -> None:
    before = len(recorded.models.received)
    await recorded.record("--scenario", "asks", "--trials", "2")
    path = recorded.small.folder / "scenarios/recordings/asks.jsonl"
    lines = [line for line in map(json.loads, path.read_text().splitlines()) if line["kind"] != "reads"]
    assert [(line["kind"], line.get("trial", 0)) for line in lines][:2] == [("model", 0), ("model", 1)]
    assert {line["kind"] for line in lines[2:]} == {"judge"}
    assert lines[0]["key"] == lines[1]["key"], "the same question, asked of the model twice"
    assert sum(not is_judged(one) for one in recorded.models.received[before:]) == 2
    ended, asked = await change(recorded, {"prompts/unused.md": ""}, RATIBA_LLM="replay")
    assert (ended.code, asked) == (0, ()), ended.printed


async def test_a_changed_prompt_without_keys_is_incomplete_and_says_why(recorded: LiveRepository) -> None:
    ended, asked = await change(recorded, {"prompts/asks.md": "Be friendly and brief."}, **NO_KEYS)
    assert ended.code == 3, ended.printed
    assert asked == ()
    results = outcomes(ended)
    broken = results["asks"]
    assert isinstance(broken, Errored)
    assert broken.phase is Phase.RECORDING
    assert isinstance(results["greets"], Scored)


async def test_a_change_that_edits_recordings_is_judged_by_models_and_not_by_what_it_brought_along(
    recorded: LiveRepository,
) -> None:
    path = "scenarios/recordings/asks.jsonl"
    text = (recorded.small.folder / path).read_text().replace("You are welcome", "You are most welcome")
    ended, asked = await change(recorded, {path: text})
    assert ended.code == 0, ended.printed
    assert names(asked) == {"asks", "greets"}
    assert report_of(ended).llm == "live"


async def test_live_answers_without_a_key_are_refused_and_never_replayed(recorded: LiveRepository) -> None:
    ended, asked = await change(recorded, {"prompts/unused.md": ""}, RATIBA_LLM="live", **NO_KEYS)
    assert (ended.code, asked) == (3, ())
    assert ended.outputs["conclusion"] == "incomplete"
    assert "there is no key" in ended.comment


async def test_a_live_run_in_which_no_model_was_asked_is_incomplete(recorded: LiveRepository) -> None:
    recorded.small.write("adapter.py", SILENT)
    for name in ("asks", "greets"):
        recorded.small.scenario(name, f"Hello from {name}")
    ended, asked = await change(recorded, {"prompts/unused.md": ""}, RATIBA_LLM="live")
    assert ended.code == 3, ended.printed
    assert asked == ()
    assert "The gateway saw no model call of the system" in ended.comment


SILENT = """
class Adapter:
    def migrate(self, database_url):
        pass

    def open(self, context):
        return self

    def send(self, message):
        return {"text": "I say this to everybody.", "state": "SAID"}
"""


async def test_a_second_live_run_takes_its_grades_from_the_cache_and_is_live_all_the_same(live: LiveRepository) -> None:
    live.scenario("greets", "Hello")
    first = await live.gate()
    cold, grades = report_of(first).cross_checking, grades_of(live)
    second = await live.gate()
    assert (first.code, second.code) == (0, 0), first.printed + second.printed
    assert grades_of(live) == grades == 2, "the grade and its cross-check, once"
    report = report_of(second)
    assert (report.spending.cache_hits, report.spending.live_calls, report.llm) == (2, 1, "live")
    checking = report.cross_checking
    assert checking is not None
    assert cold is not None
    assert (cold.status.compared, cold.status.cached) == (1, 0)
    assert (checking.status.compared, checking.status.cached) == (1, 1)
    assert checking.agreement == cold.agreement, "a warm cache leaves the judges' agreement as it was"
    fresh = await live.gate("--no-deepeval-cache")
    assert fresh.code == 0, fresh.printed
    assert grades_of(live) == grades + 2
    cleared = await live.gate("--deepeval-cache-clear")
    assert cleared.code == 0, cleared.printed
    assert grades_of(live) == grades + 4
    assert report_of(cleared).spending.cache_hits == 0
    assert KEY not in cleared.printed


async def test_scenarios_as_tests_take_grades_from_the_cache_unless_they_are_reported_not_to(
    live: LiveRepository,
) -> None:
    live.scenario("greets", "Hello")
    live.git.commit({})
    asked: dict[str, int] = {}
    for number, options in enumerate(((), (), ("--no-deepeval-cache",), ("--deepeval-cache-clear",))):
        before = grades_of(live)
        await as_tests(live, *options)
        asked[f"{number} {' '.join(options)}".strip()] = grades_of(live) - before
    once = asked["0"]
    assert once > 0
    assert asked == {"0": once, "1": 0, "2 --no-deepeval-cache": once, "3 --deepeval-cache-clear": once}


async def as_tests(live: LiveRepository, *options: str) -> None:
    """Run the scenarios as tests, live."""
    plugin = ("-p", "no:cacheprovider", "-p", "ratiba_action.pytest_plugin")
    command = (sys.executable, "-m", "pytest", *plugin, "--ratiba", "--ratiba-llm", "live", *options, "scenarios")
    environment = {**live.small.environment, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=live.small.folder,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await process.communicate()
    assert (process.returncode, b"1 passed" in printed) == (0, True), printed.decode()


def grades_of(live: LiveRepository) -> int:
    return sum(received.body["model"] != SYSTEM for received in live.models.received)
