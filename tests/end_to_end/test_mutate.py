"""``ratiba mutate``: the lines that no scenario protects, on a small shop without a database and without a model."""

import asyncio
import json
import re
import signal
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.support.eventually import eventually
from tests.support.gate_forks import GateForks
from tests.support.live_repository import CONFIGURATION as LIVE
from tests.support.live_repository import LiveRepository
from tests.support.small_repository import Ended, SmallRepository

CONFIGURATION = """\
system:
  adapter: adapter:Adapter
  database: false
  price_per_turn_usd: 0
"""
ADAPTER = """\
import shop


class Adapter:
    def open(self, context):
        return self

    def send(self, message):
        text, state = shop.answer(message)
        return {"text": text, "state": state}
"""
SHOP = """\
LIMIT = 500


def answer(message):
    price = int(message)
    if price > LIMIT:
        return "Too much.", "REFUSED"
    if price < 1:
        return "Too little.", "REFUSED"
    note = "thanks"
    noted(note)
    return "Paid.", "PAID"


def noted(text):
    return len(text) > 3
"""


@pytest.fixture
def shop(small: SmallRepository, tmp_path: Path) -> SmallRepository:
    """The shop of ``prepared`` in a gate that is a process of its own."""
    return prepared(small, tmp_path)


@pytest.fixture
def here(local: SmallRepository, tmp_path: Path) -> SmallRepository:
    """The same in a gate of the test's own process, which ends before it starts a system."""
    return prepared(local, tmp_path)


def prepared(small: SmallRepository, tmp_path: Path) -> SmallRepository:
    """A shop that refuses prices above and below its limits, and scenarios that pay and that ask for too much."""
    for name in ("rules.py", "metrics.py"):
        (small.folder / name).unlink(missing_ok=True)
    small.environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    small.write(".github/ratiba.yml", CONFIGURATION)
    small.write("adapter.py", ADAPTER)
    small.write("shop.py", SHOP)
    small.scenario("pays", "5", "300", expect="PAID")
    small.scenario("too_much", "501", expect="REFUSED")
    small.commit()
    return small


def mutate(small: SmallRepository, *options: str) -> tuple[Any, Ended]:
    ended = small.ended("mutate", "--json", *options)
    assert "{" in ended.printed, ended.printed
    found, _ = json.JSONDecoder().raw_decode(ended.printed)
    return found, ended


def holes(found: Any) -> set[tuple[int, str, str]]:
    return {
        (line["line"], mutant["operator"], mutant["result"])
        for line in found["lines"]
        for mutant in line["mutants"]
        if mutant["result"] not in {"killed", "equivalent"}
    }


def test_a_suite_with_a_known_hole_shows_exactly_that_hole(shop: SmallRepository) -> None:
    found, ended = mutate(shop, "shop.py")
    assert ended.code == 0, ended.printed
    assert holes(found) == {
        (6, "change_operator", "unexercised"),  # 500 is never asked for
        (8, "change_constant", "unexercised"),  # 0 is never asked for
        (8, "change_operator", "unexercised"),
        (8, "drop_guard", "unexercised"),  # no price below 1 is asked for
        (9, "change_constant", "unexercised"),
        (7, "change_constant", "survived"),  # no scenario looks at the text
        (10, "change_constant", "unobserved"),  # nothing shows the note
        (11, "drop_call", "unobserved"),
        (12, "change_constant", "survived"),
        (16, "change_constant", "unexercised"),
        (16, "change_operator", "unexercised"),
    }
    shop.scenario("too_little", "0", expect="REFUSED")
    shop.scenario("limit", "500", expect="PAID")
    shop.scenario("least", "1", expect="PAID")
    shop.write(
        "scenarios/texts.yaml",
        (shop.folder / "scenarios/too_much.yaml").read_text().replace("id: too_much", "id: texts")
        + "rules:\n  - {type: must_contain, value: Too much}\n",
    )
    found, _ = mutate(shop, "shop.py")
    assert holes(found) == {
        (9, "change_constant", "survived"),
        (10, "change_constant", "unobserved"),
        (11, "drop_call", "unobserved"),
        (12, "change_constant", "survived"),
        (16, "change_constant", "unexercised"),
        (16, "change_operator", "unexercised"),
    }
    line = next(line for line in found["lines"] if line["line"] == 8)
    assert (line["file"], line["protection"]) == ("shop.py", "protected")
    assert "too_little" in line["scenarios"]


def test_only_calls_of_a_logger_are_equivalent_and_not_counted(shop: SmallRepository) -> None:
    logged = SHOP.replace("noted(note)", "logger.info('paid')").replace(
        "LIMIT = 500", "import logging; logger = logging.getLogger('shop'); LIMIT = 500"
    )
    shop.write("shop.py", logged)
    found, ended = mutate(shop, "shop.py")
    assert found["counts"]["equivalent"] == 2, ended.printed
    assert found["score"]["counted"] == found["measured"] - 2
    assert 11 not in {line["line"] for line in found["lines"]}


def test_a_function_that_no_scenario_runs_is_named(shop: SmallRepository) -> None:
    shop.write("shop.py", SHOP + "\n\ndef refund(price):\n    return -price\n")
    found, _ = mutate(shop, "shop.py", "--mutants", "1")
    assert found["never_run"] == [{"file": "shop.py", "line": 19, "function": "refund"}]
    assert "No scenario runs: shop.py:19 refund" in shop.ended("mutate", "shop.py", "--mutants", "1").printed


def test_where_the_lines_that_ran_are_not_known_nothing_is_equivalent(shop: SmallRepository) -> None:
    shop.write("tool.py", SHOP + "\n\nimport sys\n\nprint('|'.join(answer(sys.argv[1])))\n")
    called = "subprocess.run([sys.executable, 'tool.py', message], capture_output=True, text=True).stdout.strip()"
    adapter = ADAPTER.replace("import shop", "import subprocess\nimport sys")
    shop.write("adapter.py", adapter.replace("shop.answer(message)", f"{called}.split('|')"))
    found, ended = mutate(shop, "tool.py", "--mutants", "20")
    assert found["counts"]["killed"] > 3, ended.printed
    assert found["counts"]["equivalent"] == 0


def test_results_that_cannot_be_kept_are_reported_all_the_same(shop: SmallRepository, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    found, ended = mutate(shop, "shop.py", "--mutants", "8")
    assert (ended.code, found["measured"]) == (0, 8), ended.printed


def test_a_scenario_that_fails_anyway_kills_nothing(shop: SmallRepository) -> None:
    (shop.folder / "scenarios/too_much.yaml").unlink()
    shop.scenario("pays", "5", expect="NEVER")
    found, ended = mutate(shop, "shop.py")
    assert (ended.code, found["score"]["counted"]) == (3, 0)
    assert found["scenarios"] == {"passing": [], "failing": ["pays"]}
    assert "No scenario passes on the system as it is" in " ".join(found["notes"])


def test_nothing_is_written_to_the_working_tree_and_it_may_be_dirty(shop: SmallRepository) -> None:
    shop.write("shop.py", SHOP.replace("500", "400"))
    before = {path: path.read_bytes() for path in shop.folder.rglob("*") if path.is_file()}
    found, _ = mutate(shop, "shop.py", "--mutants", "4")
    assert found["measured"] == 4
    assert {path: path.read_bytes() for path in shop.folder.rglob("*") if path.is_file()} == before
    # What the change edits comes first.
    assert found["lines"][0]["line"] == 1


def test_results_are_kept_so_that_a_run_goes_on_where_it_ended(shop: SmallRepository, tmp_path: Path) -> None:
    mutate(shop, "shop.py", "--mutants", "3")
    (kept,) = (tmp_path / "cache/ratiba/mutants").glob("*.jsonl")
    lines = kept.read_text().splitlines()
    assert len(lines) == 3
    forged = [line.replace('"killed"', '"needs_model"') for line in lines]
    kept.write_text("\n".join([*forged, '{"key": "torn']))
    known, _ = mutate(shop, "shop.py", "--mutants", "4")
    assert (known["measured"], known["counts"]["needs_model"]) == (4, sum('"killed"' in line for line in lines))
    assert mutate(shop, "shop.py", "--mutants", "4", "--fresh")[0]["counts"]["needs_model"] == 0
    # Other files, other results.
    shop.write("other.txt", "")
    assert mutate(shop, "shop.py", "--mutants", "4")[0]["counts"]["needs_model"] == 0


def test_a_mutant_that_never_ends_is_noticed(shop: SmallRepository) -> None:
    shop.write("loop.py", "import time\n\n\ndef wait(done):\n    while not done():\n        time.sleep(0.1)\n")
    shop.write("shop.py", "import loop\n\n" + SHOP.replace("    note =", "    loop.wait(lambda: True)\n    note ="))
    (shop.folder / "scenarios/too_much.yaml").unlink()
    shop.write(
        "scenarios/pays.yaml", (shop.folder / "scenarios/pays.yaml").read_text() + "strategy: {timeout_seconds: 15}\n"
    )
    found, _ = mutate(shop, "loop.py")
    (line,) = (line for line in found["lines"] if line["line"] == 5)
    assert {mutant["operator"]: mutant["result"] for mutant in line["mutants"]}["drop_call"] == "killed"


def test_without_names_the_files_that_scenarios_run_are_taken(shop: SmallRepository) -> None:
    shop.write("unused.py", "x = 1\n")
    shop.write("broken.py", "def (\n")
    found, _ = mutate(shop, "--mutants", "1000")
    assert {line["file"] for line in found["lines"]} <= {"shop.py", "adapter.py"}
    notes = "\n".join(found["notes"])
    assert "unused.py: no scenario runs it; left out" in notes
    assert "broken.py:1: is not Python that can be read" in notes


def test_every_file_that_cannot_be_used_is_named_at_once(here: SmallRepository, tmp_path: Path) -> None:
    here.write("broken.py", "x = 1\ndef (\n")
    here.write("deep.py", f"x = {'-' * 100_000}1\n")
    here.write("binary.md", b"\xff\x00")
    (here.folder / "link.md").symlink_to(tmp_path / "elsewhere.md")
    ended = here.ended("mutate", "broken.py", "deep.py", "binary.md", "link.md", "../elsewhere.md", "missing.md")
    assert ended.code == 2
    for message in (
        "broken.py:2: is not Python that can be read",
        "deep.py: is nested too deeply",
        "binary.md: is not a text in UTF-8",
        "link.md: is a symbolic link",
        "../elsewhere.md: is outside the system's folder",
        "missing.md: there is no such file",
    ):
        assert message in ended.printed
    assert "Traceback" not in ended.printed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--mutants", "0"], "a whole number from 1 to"),
        (["--scenario", "nobody"], "There is no scenario 'nobody'"),
        (["--llm", "live"], "there is no key"),
    ],
)
def test_options_that_make_no_sense_are_refused(here: SmallRepository, options: list[str], message: str) -> None:
    ended = here.ended("mutate", *options)
    assert ended.code in {2, 3}
    assert message in ended.printed


def test_without_scenarios_there_is_nothing_to_measure(here: SmallRepository) -> None:
    for path in (here.folder / "scenarios").glob("*.yaml"):
        path.unlink()
    ended = here.ended("mutate", "shop.py")
    assert ended.code == 2
    assert "scenario" in ended.printed


def test_people_read_a_table_and_a_page_with_coloured_lines(shop: SmallRepository) -> None:
    shop.write("shop.py", SHOP.replace('"thanks"', '"<script>alert(1)</script>"'))
    ended = shop.ended("mutate", "shop.py")
    assert "shop.py:8 unexercised: drop guard: price < 1" in ended.printed
    assert "Mutation score" in ended.printed
    page = (shop.report / "mutation.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert 'class="line protected"><span class="n">1</span>' in page
    assert 'class="line partly"><span class="n">8</span>' in page
    assert "too_much" in page


def test_the_deadline_keeps_what_was_measured(shop: SmallRepository) -> None:
    found, ended = mutate(shop, "shop.py", "--deadline", "0.1")
    assert (ended.code, found["measured"]) == (3, 0)
    assert found["notes"]


def test_ctrl_c_keeps_what_was_measured(shop: SmallRepository, forks: GateForks) -> None:
    words = ["mutate", "shop.py", "--json", "--report-dir", str(shop.report)]
    process = forks.start(words, shop.folder, shop.environment)
    eventually(lambda: re.search("^1 of ", process.printed("stderr"), re.MULTILINE))
    process.send_signal(signal.SIGINT)
    done = process.wait()
    found = json.loads(done.stdout)
    assert done.returncode == 3
    assert 1 <= found["measured"] < found["chosen"]
    assert found["ended"] == "the run was cancelled by SIGINT"
    assert (shop.report / "mutation.html").exists()
    again, _ = mutate(shop, "shop.py", "--mutants", str(found["measured"]), "--deadline", "60")
    assert again["measured"] == found["measured"]


PROMPT = "Be friendly.\n\n- Never ask for a PIN.\n"


@pytest.fixture
def prompted(live: LiveRepository) -> LiveRepository:
    """A system whose prompt a model reads, with recorded answers."""
    live.small.write(".github/ratiba.yml", LIVE.replace("system:\n", "system:\n  database: false\n"))
    live.small.write("prompts/greets.md", PROMPT)
    live.small.scenario("greets", "Habari")
    return live


async def test_in_replay_what_leaves_the_recording_needs_a_model(prompted: LiveRepository) -> None:
    await prompted.record()
    small = prompted.small
    small.environment.pop("RATIBA_OPENAI_API_KEY")
    small.environment.pop("RATIBA_ANTHROPIC_API_KEY")
    before = len(prompted.models.received)
    found, ended = await asyncio.to_thread(mutate, small, "prompts/greets.md", "--llm", "replay")
    assert (ended.code, found["counts"]["needs_model"], found["measured"]) == (3, 3, 3)
    assert "need a model" in " ".join(found["notes"])
    # A constant of the code that is sent is no different: an answer to another request says nothing.
    found, _ = await asyncio.to_thread(mutate, small, "adapter.py", "--llm", "replay")
    results = {mutant["before"]: mutant["result"] for line in found["lines"] for mutant in line["mutants"]}
    assert results["400"] == "needs_model"
    assert results["'SAID'"] == "killed"
    assert len(prompted.models.received) == before


async def test_mutants_of_prompts_call_a_model_and_those_of_code_never_do(prompted: LiveRepository) -> None:
    await prompted.record()
    before = len(prompted.models.received)
    options = ("--llm", "auto", "--budget-usd", "1")
    found, ended = await asyncio.to_thread(mutate, prompted.small, "prompts/greets.md", *options)
    assert found["measured"] == 3, ended.printed
    assert found["counts"]["needs_model"] == 0
    calls = prompted.models.received[before:]
    assert len(calls) == 3
    assert Decimal(found["spent_usd"]) > 0
    found, _ = await asyncio.to_thread(mutate, prompted.small, "prompts/greets.md", *options)
    assert len(prompted.models.received) == before + 3  # what was paid for is not paid for again
    await asyncio.to_thread(mutate, prompted.small, "adapter.py", *options)
    assert len(prompted.models.received) == before + 3


async def test_the_budget_is_never_exceeded(prompted: LiveRepository) -> None:
    await prompted.record()
    before = len(prompted.models.received)
    options = ("--llm", "auto", "--budget-usd", "0.0000001")
    found, ended = await asyncio.to_thread(mutate, prompted.small, "prompts/greets.md", *options)
    assert Decimal(found["spent_usd"]) == 0
    assert len(prompted.models.received) == before
    assert (ended.code, found["counts"]["not_measured"]) == (3, 3)
