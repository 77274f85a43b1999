"""``ratiba chat`` as people start it: a process, its lines by a pipe, a database, and stand-ins for the models."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.live_repository import LiveRepository
from tests.support.served_pages import EventStream, ask
from tests.support.small_repository import SmallRepository

pytestmark = pytest.mark.processes

ADAPTER = """
import json, os, pathlib, urllib.request

import psycopg


class Adapter:
    def migrate(self, database_url):
        with psycopg.connect(database_url) as connection:
            connection.execute("CREATE TABLE notes (id serial PRIMARY KEY, said text NOT NULL)")

    def open(self, context):
        return Conversation(context)


class Conversation:
    def __init__(self, context):
        self.prompt = (pathlib.Path(__file__).parent / "prompts" / "friendly.md").read_text()
        self.url = context.database_url
        self.said = []

    def send(self, message):
        self.said.append({"role": "user", "content": message})
        body = {"model": "gpt-5", "messages": [{"role": "system", "content": self.prompt}, *self.said],
                "max_completion_tokens": 400}
        request = urllib.request.Request(
            os.environ["OPENAI_BASE_URL"] + "/chat/completions",
            json.dumps(body).encode(),
            {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            text = json.loads(answer.read())["choices"][0]["message"]["content"]
        self.said.append({"role": "assistant", "content": text})
        with psycopg.connect(self.url) as connection:
            connection.execute("INSERT INTO notes (said) VALUES (%s)", [message])
        return {"text": text, "state": "SAID"}
"""
COST = Decimal("0.0020")
"""Of one answer of the stand-in: 500 tokens at USD 2, 100 at USD 10 a million."""


@dataclass(frozen=True)
class Chatted:
    """What a chat printed.

    Args:
        things: what happened, in order.
    """

    code: int
    things: Sequence[Mapping[str, Any]]
    errors: str

    def of(self, kind: str) -> list[Mapping[str, Any]]:
        """All of a kind."""
        return [thing for thing in self.things if thing["kind"] == kind]


def chat(repository: SmallRepository, *lines: str, options: Sequence[str] = ()) -> Chatted:
    """Talk by a pipe, to the end of the lines."""
    done = subprocess.run(
        [sys.executable, "-m", "ratiba_action", "chat", "--json", "--mutants", "0", *options],
        cwd=repository.folder,
        env=repository.environment,
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return Chatted(done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr)


@pytest.fixture
def talkative(live: LiveRepository) -> LiveRepository:
    """A system that asks a model, remembers what was said, and writes it to its tenant."""
    del live.small.environment["RATIBA_LLM"]
    live.small.write("adapter.py", ADAPTER)
    live.small.write("prompts/friendly.md", "Be friendly.\n")
    live.small.scenario("first", "Hello")
    live.small.commit()
    return live


async def talk(live: LiveRepository, *lines: str, options: Sequence[str] = ()) -> Chatted:
    return await asyncio.to_thread(lambda: chat(live.small, *lines, options=options))


def tenants_of(dsn: str) -> set[str]:
    with psycopg.connect(dsn) as connection:
        rows = connection.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'test_tenant%'").fetchall()
    return {str(row[0]) for row in rows}


async def test_turns_are_paid_once_and_never_again_by_undo_base_or_what_can_be_asserted(
    talkative: LiveRepository,
) -> None:
    dsn = talkative.small.environment["RATIBA_DATABASE_URL"]
    before = tenants_of(dsn)
    talkative.small.write("prompts/friendly.md", "Be friendly and brief.\n")
    ended = await talk(
        talkative, "Hello", "A massage, please", "/expect", "/undo", "/expect", "/base", "/base", "Goodbye"
    )
    assert (ended.code, ended.errors) == (0, "")
    hello, massage, goodbye = ended.of("turn")
    assert [turn["reply"] for turn in (hello, massage, goodbye)] == ["You are welcome."] * 3
    assert hello["rows"] == [{"table": "notes", "added": [{"id": 1, "said": "Hello"}], "removed": []}]
    assert goodbye["rows"][0]["added"] == [{"id": 2, "said": "Goodbye"}]
    assert [Decimal(thing["paid_usd"]) for thing in ended.of("undone")] == [0]
    # The base has another prompt, so its one turn is a request of its own, paid for once.
    assert [Decimal(thing["paid_usd"]) for thing in ended.of("base")] == [COST, 0]
    assert len(talkative.models.received) == 4
    assert Decimal(goodbye["spent_usd"]) == 4 * COST == talkative.models.bill.total
    assert tenants_of(dsn) <= before
    assert talkative.journals == []


async def test_no_command_spends_more_than_the_cap_and_the_conversation_goes_on_with_what_it_has(
    talkative: LiveRepository,
) -> None:
    talkative.small.write("prompts/friendly.md", "Be friendly and brief.\n")
    ended = await talk(
        talkative,
        *("Hello", "Again", "/base", "/judge EnglishFluencyMetric", "And again", "/undo", "Once more", "/expect"),
        options=("--budget-usd", "0.0100"),
    )
    assert ended.code == 1
    assert any("cap" in error["problem"] or "budget" in error["problem"] for error in ended.of("error"))
    assert talkative.models.bill.total <= Decimal("0.0100")
    assert ended.of("expect")


async def test_what_was_said_becomes_a_scenario_that_the_gate_runs_without_a_key(talkative: LiveRepository) -> None:
    ended = await talk(
        talkative,
        *("Hello, I am Amina", "/expect contains welcome", "Call +254 722 123 456", "/expect", "/expect 1 2"),
        "/save greets_twice",
        "/save greets_twice",
    )
    (saved,) = ended.of("saved")
    assert saved["written"] == ["scenarios/greets_twice.yaml", "scenarios/recordings/greets_twice.jsonl"]
    assert saved["assertions"] == 3
    (refused,) = ended.of("error")
    assert "exist already" in refused["problem"]
    folder = talkative.small.folder
    written = (folder / "scenarios/greets_twice.yaml").read_text() + (
        folder / "scenarios/recordings/greets_twice.jsonl"
    ).read_text()
    assert "123 456" not in written
    assert "123456" not in written
    gate = await talkative.gate("--scenario", "greets_twice", RATIBA_LLM="replay")
    assert gate.code == 0, gate.printed
    talkative.small.write("adapter.py", ADAPTER.replace('"state": "SAID"', '"state": "LOST"'))
    gate = await talkative.gate("--scenario", "greets_twice", RATIBA_LLM="replay")
    assert gate.code == 1, gate.printed


async def test_what_is_said_on_a_page_is_the_same_conversation_and_becomes_scenario_and_label(
    talkative: LiveRepository,
) -> None:
    await asyncio.to_thread(_talk_on_a_page, talkative.small)
    folder = talkative.small.folder
    assert "- welcome" in (folder / "scenarios/greets.yaml").read_text()
    assert (folder / "scenarios/recordings/greets.jsonl").is_file()
    calibration = (folder / "scenarios/calibration/human_labelled.yaml").read_text()
    assert "owner: Asha" in calibration
    assert "response naturalness: 5" in calibration
    assert "123 456" not in calibration
    gate = await talkative.gate("--scenario", "greets", RATIBA_LLM="replay")
    assert gate.code == 0, gate.printed
    assert len(talkative.models.received) == 2
    calibrated = await asyncio.to_thread(lambda: calibrate(talkative.small))
    assert {each["n"] for each in json.loads(calibrated.stdout)["agreements"]} == {1}, calibrated.stderr
    assert talkative.journals == []


def calibrate(small: SmallRepository) -> subprocess.CompletedProcess[str]:
    """Measure how far the judges agree with the labels."""
    return subprocess.run(
        [sys.executable, "-m", "ratiba_action", "calibrate", "run", "--json"],
        cwd=small.folder,
        env=small.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def _talk_on_a_page(small: SmallRepository) -> None:
    command = [sys.executable, "-m", "ratiba_action", "view", "--chat", "--no-open", "--json", "--mutants", "0"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=small.folder, env=small.environment, stdout=pipe, stderr=pipe, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        url = json.loads(process.stdout.readline())["url"]
        base, _, rest = url.removeprefix("http://").partition("/")
        folder = f"http://{base}/{rest.partition('/')[0]}"
        stream = EventStream(folder, "chat/events")
        stream.thing("ready")
        turn = _posted(folder, stream, "Hello, call +254 722 123 456", "turn")
        assert turn["reply"] == "You are welcome."
        assert (Decimal(turn["paid_usd"]), Decimal(turn["spent_usd"])) == (COST, COST)
        assert _posted(folder, stream, "Again", "turn")["rows"]
        assert _posted(folder, stream, "/undo", "undone")["turns"] == 1
        assert _posted(folder, stream, "/expect contains welcome", "expect")["chosen"]
        assert _posted(folder, stream, "/label good", "error")["remedy"].startswith("Say who labels")
        assert _posted(folder, stream, "/label good Asha", "labelled")["label"] == "good"
        assert _posted(folder, stream, "/label bad", "labelled")["label"] == "bad"
        assert _posted(folder, stream, "/label good", "labelled")["label"] == "good"
        assert _posted(folder, stream, "/save greets", "saved")["written"]
        stream.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        printed = process.stdout.read() + process.stderr.read()
    assert not [secret for name, secret in small.environment.items() if name.endswith("_KEY") and secret in printed]


def _posted(folder: str, stream: EventStream, line: str, kind: str) -> Any:
    """What came of a line that was posted."""
    base, _, token = folder.rpartition("/")
    headers = {"Origin": base, "Content_Type": "application/json"}
    assert ask(base, f"/{token}/chat/say", "POST", json.dumps({"line": line}).encode(), headers).status == 200
    return stream.thing(kind)


async def test_the_judges_score_is_shown_with_what_it_cost(talkative: LiveRepository) -> None:
    ended = await talk(talkative, "Hello", "/judge EnglishFluencyMetric", "/judge FluencyMetric")
    (score,) = ended.of("score")
    assert score["value"] in {0.9, 1.0}
    assert Decimal(score["paid_usd"]) > 0
    (error,) = ended.of("error")
    assert "FluencyMetric" in error["problem"]


async def test_a_conversation_of_production_is_said_to_this_checkout_up_to_a_turn_and_goes_on(
    talkative: LiveRepository, tmp_path: Path
) -> None:
    session = {
        "exchanges": [
            {"request": "Hello, I am Otieno Odhiambo", "response": "Hello Otieno!"},
            {"request": "My number is 0722 123 456", "response": "Thank you."},
            {"request": "Goodbye", "response": "Bye."},
        ],
        "names": ["Otieno Odhiambo"],
        "language": "en",
        "captured_at": "2026-04-25T10:00:00+03:00",
    }
    trace = tmp_path / "session.json"
    trace.write_text(json.dumps(session))
    ended = await talk(talkative, "And now?", options=("--from", str(trace), "--turn", "2"))
    assert ended.code == 0, ended.errors
    first, second, own = ended.of("turn")
    assert (first["production"], second["production"], own["user"]) == ("Hello <name>!", "Thank you.", "And now?")
    assert "lists no names" not in str(ended.of("start"))
    sent = json.dumps([received.body for received in talkative.models.received])
    assert "Otieno" not in sent
    assert "123 456" not in sent


async def test_a_conversation_of_production_without_names_says_that_none_is_masked(
    small: SmallRepository, tmp_path: Path
) -> None:
    small.scenario("first", "say hello")
    small.commit()
    trace = tmp_path / "messages.json"
    trace.write_text(json.dumps([{"role": "user", "content": "I am Otieno"}, {"role": "assistant", "content": "Hi"}]))
    ended = await asyncio.to_thread(lambda: chat(small, "/quit", options=("--from", str(trace))))
    (start,) = ended.of("start")
    assert [note for note in start["notes"] if '"names": ["Wanjiku Kamau"]' in note]


async def test_the_gate_runs_beside_a_chat_and_a_signal_ends_it_and_drops_its_tenant(talkative: LiveRepository) -> None:
    dsn = talkative.small.environment["RATIBA_DATABASE_URL"]
    before = tenants_of(dsn)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ratiba_action", "chat", "--json"),
        cwd=talkative.small.folder,
        env=talkative.small.environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"Hello\n")
    async with asyncio.timeout(120):
        while b'"kind": "turn"' not in await process.stdout.readline():
            pass
        assert tenants_of(dsn) > before
        gate = await talkative.gate("--scenario", "first", RATIBA_LLM="live")
        assert gate.code == 0, gate.printed
        process.send_signal(signal.SIGINT)
        rest, _ = await process.communicate()
    assert process.returncode == 0
    assert json.loads(rest)["kind"] == "end"
    assert tenants_of(dsn) <= before
    assert talkative.journals == []


async def test_without_a_key_a_system_that_calls_no_model_is_talked_with_and_one_that_does_says_what_helps(
    small: SmallRepository,
) -> None:
    small.scenario("first", "say hello")
    small.commit()
    ended = await asyncio.to_thread(
        lambda: chat(small, "say \x1b[2Jhello", '/event {"type": "paid"', "/undoo", "/expect 9", "/quit")
    )
    assert ended.of("turn")[0]["state"] == "SAID"
    assert [error["remedy"] for error in ended.of("error")] == [
        'Write: /event {"type": "paid"}',
        "List them: /help",
        "List them: /expect",
    ]
    assert "No model is called: there is no key" in ended.of("start")[0]["keys"]
    assert ended.code == 1
