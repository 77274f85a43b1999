"""Planted keys and identifiers, searched for in everything that a live run leaves behind."""

import json
from pathlib import Path

import pytest

from tests.support.github_server import GithubState, github_server
from tests.support.live_repository import ADAPTER, CONFIGURATION, KEY, LiveRepository
from tests.support.small_repository import Ended

TOKEN = "planted-github-token"
PHONES = ("+254 722 345 678", "0722345678", "0722-345-678", "254.722.345.678", "722345678")
MAIL = "amina.juma@example.com"
SPOKEN = f"Amina is at {PHONES[0]}, also {PHONES[1]} or {PHONES[2]}, and writes from {MAIL}. Key: {KEY}"
HARMLESS = {"id": 712345678, "price_kes": 150000, "size": 798345678, "created_at": 1777000000}

ROWS = "rows: {people: SELECT * FROM people}\n"
STORING = """
import sys, psycopg

class Adapter(Adapter):
    def migrate(self, database_url):
        with psycopg.connect(database_url) as connection:
            numbers = "id int, phone bigint, caller int, price_kes int, size int, created_at int"
            connection.execute(f"CREATE TABLE people ({numbers}, mail text)")

    def open(self, context):
        return Storing(context)


class Storing(Conversation):
    def __init__(self, context):
        super().__init__(context.scenario_id)
        self.context = context

    def send(self, message):
        if message.startswith("raise "):
            raise RuntimeError(message)
        if message.startswith("die "):
            print(message, file=sys.stderr, flush=True)
            os._exit(3)
        row = (712345678, 254722345678, 722345678, 150000, 798345678, 1777000000, "MAIL")
        with psycopg.connect(self.context.database_url) as connection:
            connection.execute("INSERT INTO people VALUES (%s, %s, %s, %s, %s, %s, %s)", row)
        args = {"phone": 254722345678, "numbers": [722345678], "customer": {"mail": "MAIL"}}
        call = {"name": "store", "args": args, "output": {"stored": args}}
        return {**super().send(message), "tool_calls": [call]}
""".replace("MAIL", MAIL)


@pytest.fixture
def planted(live: LiveRepository) -> LiveRepository:
    """A system and models that say and store what must not be said, as text and as numbers."""
    live.small.write("adapter.py", ADAPTER + STORING)
    live.small.write(".github/ratiba.yml", CONFIGURATION + ROWS)
    live.talk.text = live.talk.reason = SPOKEN
    return live


async def run(live: LiveRepository, tmp_path: Path, **scenarios: str) -> tuple[Ended, dict[str, str]]:
    """A live run of a pull request with some conversations; every text that it leaves, by its name."""
    base = live.git.commit({})
    for name, message in scenarios.items():
        live.scenario(name, message)
    head = live.git.commit({})
    summary, outputs = tmp_path / "summary.md", tmp_path / "outputs"
    state = GithubState(heads={7: head})
    with github_server(state) as address:
        ended = await live.gate(
            **live.pull_request(base, head),
            GITHUB_API_URL=address,
            GITHUB_STEP_SUMMARY=str(summary),
            GITHUB_OUTPUT=str(outputs),
            GITHUB_ACTIONS="true",
            RATIBA_GITHUB_TOKEN=TOKEN,
        )
    (comment,) = state.comments
    log = {"log": log_of(ended), "posted comment": comment["body"], "statuses": str(state.statuses)}
    found = {**artifacts(live), **log, "summary": summary.read_text(), "outputs": outputs.read_text()}
    assert {"comment.md", "report.html", "results.json", "results.csv", "junit.xml"} <= set(found)
    return ended, found


def artifacts(live: LiveRepository) -> dict[str, str]:
    """Every file of the report directory and of the judge cache."""
    files = [*live.small.report.rglob("*"), *(live.home / ".cache").rglob("*")]
    return {path.name: path.read_text() for path in sorted(files) if path.is_file()}


def log_of(ended: Ended) -> str:
    """The log as people read it: the runner takes the lines that tell it what to hide, and shows none of them."""
    return "\n".join(line for line in ended.printed.splitlines() if not line.startswith("::add-mask::"))


def holding(texts: dict[str, str]) -> list[str]:
    """Names of the texts that hold something planted, in any spacing."""
    bare = {name: "".join(one for one in text if one not in " -.\u200b") for name, text in texts.items()}
    persons = ("722345678", MAIL.replace(".", ""))
    found = [f"{name}: {value}" for name, text in bare.items() for value in persons if value in text]
    return found + [f"{name}: {value}" for name, text in texts.items() for value in (KEY, TOKEN) if value in text]


async def test_no_key_phone_number_or_mail_address_is_in_anything_that_a_run_leaves(
    planted: LiveRepository, tmp_path: Path
) -> None:
    text = f"My numbers are {', '.join(PHONES)}, my mail {MAIL}, my key {KEY}"
    ended, texts = await run(planted, tmp_path, tells=text)
    assert ended.code == 0, ended.printed
    assert "<name> is at +254***678" in texts["results.json"], "the conversation is there, without what it names"
    assert [name for name in texts if len(name) == len("a" * 64 + ".json")], "a grade is kept"
    assert holding(texts) == []
    assert planted.journals == [], "a run that has its verdict keeps no word of a conversation"


async def test_amounts_sizes_ids_and_times_stay_beside_the_numbers_that_are_masked(
    planted: LiveRepository, tmp_path: Path
) -> None:
    ended, _ = await run(planted, tmp_path, tells="Hello")
    (result,) = ended.results["report"]["results"]
    (row,) = result["transcript"]["rows"]["people"]
    assert row == {**HARMLESS, "phone": "+254***678", "caller": "+254***678", "mail": "a***@***"}


async def test_what_a_system_raises_and_prints_is_masked_while_the_run_goes_on_too(
    planted: LiveRepository, tmp_path: Path
) -> None:
    text = f"{', '.join(PHONES)}, 254722345678, {MAIL}, {KEY}"
    ended, texts = await run(planted, tmp_path, raises=f"raise {text}", dies=f"die {text}")
    assert ended.code == 1, ended.printed
    assert "RuntimeError: raise +254***678" in texts["log"], "it is told, without the number"
    assert "It printed: die +254***678" in texts["log"]
    assert "::error " in texts["log"]
    assert holding(texts) == []


async def test_recording_it_is_refused_and_what_is_printed_does_not_repeat_it(planted: LiveRepository) -> None:
    planted.scenario("tells", "Hello")
    planted.scenario("raises", f"raise {PHONES[0]} {MAIL} {KEY}")
    ended = await planted.try_to_record()
    assert ended.code == 1, ended.printed
    assert "raises: not recorded: system error: " in ended.printed
    assert holding({"log": ended.printed, **artifacts(planted)}) == []
    assert not (planted.small.folder / "scenarios/recordings").exists()


async def test_the_journal_of_an_incomplete_run_is_for_its_owner_only(planted: LiveRepository, tmp_path: Path) -> None:
    await run(planted, tmp_path, tells="Hello", dies="die now")
    (journal,) = planted.journals
    assert journal.stat().st_mode & 0o077 == 0
    assert journal.parent.stat().st_mode & 0o077 == 0
    assert not journal.is_relative_to(planted.small.folder)
    assert TOKEN not in journal.read_text()
    assert all("answer" in line or "event" in line for line in map(json.loads, journal.read_text().splitlines()))
