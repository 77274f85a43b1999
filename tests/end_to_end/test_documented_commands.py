"""The shell lines of README and guides, run as they stand: in a repository that ``ratiba init`` made, and with models.

A line that is added to a page is run without a change here.
"""

import asyncio
import json
import os
import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from ratiba_action.cli import build_whole_parser
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.canonical import digest
from ratiba_action.model.conversation import Usage
from tests.support.gate_forks import GateForks
from tests.support.git_repository import GitRepository
from tests.support.langfuse_datasets import create_dataset, create_item
from tests.support.langfuse_server import LangfuseState, langfuse_server
from tests.support.live_repository import CONFIGURATION, LiveRepository
from tests.support.model_servers import Received
from tests.support.receiver import receiver

PROJECT = Path(__file__).parents[2]
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
ASKS_MODELS = re.compile(r"ratiba record|--llm live|--resume|--variant|--propose")
FIRST = (
    "ratiba init",
    "ratiba gate --llm replay",
    "ratiba gate",
    "ratiba merge",
    "ratiba report",
    "ratiba compare",
    "ratiba validate",
    "ratiba decide",
    "ratiba dataset push",
)
WITH_A_KILLED_RUN = "ratiba gate --resume"
"""Runs in ``test_live_resume.py``, which leaves one behind."""
WITHOUT_AN_END = re.compile(r"ratiba (gate --watch|view)\b")
"""Run in ``test_watch.py`` and ``test_view.py``, which end them; here their options are read."""
NOTHING_TO_IMPORT = (2, "cannot be read")
NOTHING_TO_DO = {
    **dict.fromkeys(
        ["ratiba import promptfoo .", "ratiba import promptfoo . --run-code"], (2, "has no promptfooconfig.yaml")
    ),
    "ratiba doctor": (1, "OWNER and COMMIT still stand there"),
    "ratiba gate --failed": (2, "Every scenario of the last run"),
    "ratiba explain": (2, "Every scenario of the last run"),
    "ratiba explain --scenario order_status --json": (3, "The change cannot be compared with its base"),
    "ratiba mutate prompts/booking.md app/payments.py": (2, "there is no such file"),
    "ratiba report --trends": (2, "names a branch to show trends of"),
    **{
        f"ratiba check answers.jsonl --rules checks.yaml{options}": (1, "block")
        for options in ("", " --json", " --events events.jsonl")
    },
    "ratiba drift --baseline main/results.json --fail": (3, "No metric could be compared"),
    "ratiba drift --baseline main/results.json --window 24h --json": (3, '"compared": false'),
    "ratiba drift --samples monday/events.jsonl --samples tuesday/events.jsonl": (2, "monday/events.jsonl"),
    "ratiba drift --samples examples/production/samples.jsonl --until 2026-11-22T06:00:00+00:00 --share 1 --minimum 50"
    " --fail": (1, "drifted"),
    "ratiba calibrate add conversations.jsonl --owner Adrian": (2, "cannot be read"),
    "ratiba canary --by prompt_version --stable booking@3f9c1a2 --canary booking@8d0b7e4": (3, "wait: "),
    "ratiba canary --by model --stable gpt-5 --canary gpt-5-mini --margin 0.03 --json": (3, '"answer": "wait"'),
    "ratiba canary --stable prompt-3f9c1a2 --canary prompt-8d0b7e4 --stop booking_orchestrator"
    " --rollout rollouts.json": (
        2,
        "rollouts.json: it cannot be read",
    ),
    "ratiba canary --samples examples/production/canary.jsonl --by prompt_version --stable booking@3f9c1a2"
    " --canary booking@8d0b7e4 --since 2026-11-20T00:00:00+00:00 --until 2026-11-22T06:00:00+00:00 --share 1": (
        1,
        "roll back: the canary is worse",
    ),
    "ratiba sample conversations.jsonl spans.jsonl --share 1": (2, "cannot be read"),
    "ratiba calibrate label": (2, "There is no calibration set"),
    "ratiba calibrate run --json > calibration.json": (2, "There is no calibration set"),
    "ratiba site --with mutation.json --with calibration.json": (2, "cannot be read"),
    "ratiba site --from github": (2, "The repository on GitHub is not known"),
    "ratiba calibrate run": (2, "There is no calibration set"),
    "ratiba calibrate thresholds": (2, "There is no calibration set"),
    "ratiba wait 4f0c9a52-8a44-4a6e-9c0e-1d2f3a4b5c6d --seconds 5": (3, "did not begin within 5 s"),
    "ratiba wait 19283746501 --seconds 5 --json": (3, "null"),
    "ratiba dataset pull intent-classifier --map input=input.message --map history=input.history"
    " --map label=expectedOutput.intent": (1, "not written without --accept: scenarios/intent_classifier/"),
    "ratiba dataset run intent-classifier --map input=input.message --map label=expectedOutput.intent": (
        1,
        "macro_f1",
    ),
    "ratiba dataset run intent-classifier": (1, "macro_f1"),
    "ratiba dataset run skill-selector": (2, "no dataset 'skill-selector'"),
    "ratiba dataset run e2e-api": (2, "no dataset 'main-dataset'"),
    "ratiba dataset run all --budget-usd 5": (2, "no dataset 'skill-selector'"),
    "ratiba dataset add-trace 0af7651916cd43dd8448eb211c80319c": (2, "no observation of the trace"),
}
"""What is told in a repository where everything passes, no branch was compared with and an answer is blocked: exit code
and words."""
OTHERWISE = {"ratiba init": "ratiba init --yes"}
"""Without a terminal it asks nothing."""


def lines_of(pages: list[Path]) -> list[str]:
    """Every ``ratiba`` line of a shell block, once, in the order in which they can be run."""
    blocks = [block for page in pages for block in re.findall(r"```sh\n(.*?)```", page.read_text("utf-8"), re.DOTALL)]
    lines = {line.partition("  #")[0].strip() for block in blocks for line in block.splitlines()}
    known = sorted(line for line in lines if line.startswith("ratiba "))
    return sorted(known, key=lambda line: next((rank for rank, one in enumerate(FIRST) if line.startswith(one)), 9))


DOCUMENTED = lines_of(PAGES)
LINES = [line for line in DOCUMENTED if not WITHOUT_AN_END.match(line)]


def words_of(line: str) -> list[str]:
    named = re.compile(r"order_status|where_is_my_parcel|explains_a_delay")
    command, _, _ = line.partition(" > ")  # where a shell would keep its output
    return shlex.split(named.sub("first_conversation", OTHERWISE.get(command, command)))[1:]


@pytest.mark.parametrize("line", [line for line in DOCUMENTED if WITHOUT_AN_END.match(line)])
def test_the_options_of_a_command_without_an_end_are_known(line: str) -> None:
    assert build_whole_parser().parse_args(words_of(line))


@dataclass(frozen=True)
class Ended:
    """How a line ended."""

    code: int
    printed: str


def run(forks: GateForks, line: str, folder: Path, environment: Mapping[str, str]) -> Ended:
    done = forks.run(words_of(line), folder, environment)
    return Ended(done.returncode, done.stdout + done.stderr)


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory, forks: GateForks, embedded_server_dsn: str) -> dict[str, Ended]:
    """What each line that asks no model came to, one after the other in one new repository."""
    folder = tmp_path_factory.mktemp("repository")
    home = tmp_path_factory.mktemp("home")
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "NO_COLOR": "1", "BROWSER": "true"}
    environment["RATIBA_LEDGER_URL"] = embedded_server_dsn
    langfuse = LangfuseState()
    create_dataset(langfuse, {"name": "intent-classifier"})
    labelled = {"input": {"message": "How does pricing work?"}, "expectedOutput": {"intent": "LEARN"}}
    create_item(langfuse, {"datasetName": "intent-classifier", "id": "cm-1", **labelled})
    environment |= {
        "RATIBA_LANGFUSE_PUBLIC_KEY": langfuse.public_key,
        "RATIBA_LANGFUSE_SECRET_KEY": langfuse.secret_key,
    }
    repository = GitRepository(folder)
    repository.git("init", "--quiet", "--bare", str(home / "remote"))
    repository.git("remote", "add", "origin", str(home / "remote"))
    page = (PROJECT / "docs" / "first-scenario.md").read_text("utf-8")
    (session,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    (folder / "session.json").write_text(session.replace('"asks_for_hours"', '"asks_for_room"'))
    (folder / "messages.json").write_text(
        '[{"role": "user", "content": "Hours?"}, {"role": "assistant", "content": "9"}]'
    )
    shutil.copytree(PROJECT / "examples" / "inline_checks", folder, dirs_exist_ok=True)
    for name in ("production", "calibration"):
        shutil.copytree(PROJECT / "examples" / name, folder / "examples" / name)
    ended = {}
    with langfuse_server(langfuse) as host, receiver() as collector:
        environment |= {"RATIBA_LANGFUSE_HOST": host, "RATIBA_OTLP_ENDPOINT": collector.address}
        for line in [line for line in LINES if not ASKS_MODELS.search(line)]:
            ended[line] = run(forks, line, folder, environment)
            if line == "ratiba gate":
                for place in ("main", "old", "downloaded-results"):
                    (folder / place).mkdir()
                    shutil.copy(folder / "ratiba-report" / "results.json", folder / place)
            if line == "ratiba report --to-branch ratiba-history":
                repository.git("fetch", "--quiet", "origin", "ratiba-history:ratiba-history")
    return ended


@pytest.mark.parametrize("line", [line for line in LINES if not ASKS_MODELS.search(line)])
def test_a_line_of_the_guides_runs_in_a_new_repository(offline: Mapping[str, Ended], line: str) -> None:
    ended = offline[line]
    usual = NOTHING_TO_IMPORT if line.startswith("ratiba import ") else (0, "")
    code, words = NOTHING_TO_DO.get(line, usual)
    assert (ended.code, "Traceback" in ended.printed) == (code, False), ended.printed
    assert ended.printed
    assert words in ended.printed


def proposals(received: Received) -> Step | None:
    """What a model proposes; None for every other question."""
    if '"scenarios"' not in json.dumps(received.body.get("output_config")):
        return None
    message = received.body["messages"][0]["content"]
    turn = {"user": f"Hello {digest(message)}", "key_phrases": ["hello"]}
    scenario = {"shows": "a greeting", "language": "sw", "turns": [turn], "must_not_contain": []}
    return Step("anthropic", data={"scenarios": [scenario]}, usage=Usage(500, 100))


async def test_the_lines_that_ask_models_run_too(live: LiveRepository, forks: GateForks) -> None:
    variants = "  variants: {mini: {environment: {TONE: brief}}}\njudge:"
    live.small.write(".github/ratiba.yml", CONFIGURATION.replace("judge:", variants))
    live.scenario("first_conversation", "Hello")
    path = live.small.folder / "scenarios" / "first_conversation.yaml"
    path.write_text(path.read_text() + "tags: [smoke]\n")
    live.small.commit()
    live.small.write("prompts/assistant.md", "You take bookings.")
    live.small.write("prompts/booking.md", "Be brief.\n" * 20)
    live.small.write("knowledge/prices.md", "Massage: KES 3,500\n")
    live.small.write("session.json", '[{"role": "user", "content": "Hours?"}, {"role": "assistant", "content": "9"}]')
    live.talk.instead = proposals
    environment = {name: value for name, value in live.small.environment.items() if name != "RATIBA_LLM"}
    lines = [line for line in LINES if ASKS_MODELS.search(line) and line != WITH_A_KILLED_RUN]
    assert len(lines) > 6
    for line in sorted(lines, key=lambda line: ("--accept" not in line, "record" not in line, line)):
        before = len(live.models.received)
        ended = await asyncio.to_thread(run, forks, line, live.small.folder, environment)
        kept = "Not replaced without --accept" not in ended.printed
        assert ended.code == (0 if kept else 1), f"{line}\n{ended.printed}"
        assert kept or "--accept" not in line
        if line.startswith("ratiba record --tag") or "--llm live" in line or "--propose" in line:
            assert len(live.models.received) > before, line
