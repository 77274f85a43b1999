"""A scenario that is written by ``ratiba chat`` alone, on each example system, catches a fault that is put into it.

Those of ``examples/tutorials`` need their frameworks: ``tests/clients/test_tutorials.py``.
"""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.conversation import Usage
from tests.support.git_repository import GitRepository
from tests.support.model_servers import ModelServer, Received

pytestmark = pytest.mark.processes

PROJECT = Path(__file__).parents[2]
EXAMPLES = PROJECT / "examples"
KEY = "sk-planted-0123456789abcdef"


@dataclass(frozen=True)
class Fault:
    """A conversation with an example, and a fault of its code.

    Args:
        like: the scenario whose customer, clock and recorded answers the chat begins with; empty for none.
        lines: what is typed.
        file: in the repository.
        before: what stands there.
        after: what stands there with the fault.
    """

    example: str
    like: str
    lines: Sequence[str]
    file: str
    before: str
    after: str


FAULTS = (
    Fault(
        *("tool_agent", "move_delivery"),
        ("Can KE-4471 come on Friday and not tomorrow?", "/expect 1 2", "Yes, Friday please", "/expect 1 2"),
        *("agent.py", '"move_delivery": "MOVED"', '"move_delivery": "FOUND"'),
    ),
    Fault(
        *("search_engine", ""),
        ("oil for dry hair", "/expect contains argan"),
        *("search.py", "for name, _ in found) or", "for name, _ in found[1:]) or"),
    ),
    Fault(
        *("search_engine", ""),
        ("oil for dry hair", "/expect 1"),
        *("search.py", '"documents": [', '"documents": [][1:] and ['),
    ),
    Fault(
        *("rag_answerer", "price_of_massage"),
        ("How much is a Swedish massage?", "/expect 1"),
        *("answerer.py", "for name, score in found]", "for name, score in found[1:]]"),
    ),
    Fault(
        *("intent_router", ""),
        ("Who won the football match?", "/expect all", "OK, can you show me a demo?", "/expect all"),
        *("router.py", '"booking" if "propose_demo"', '"booking" if "share_pricing"'),
    ),
    Fault(
        *("consumer", "order_bread_english"),
        ("Good morning, can I get 3 white bread please", "/expect all", "Yes, that is right", "/expect all"),
        *("bakery/orders.py", "total = PRICES_KES[item] * quantity", "total = PRICES_KES[item]"),
    ),
    Fault(
        *("booking_assistant", "spa_booking_swahili_happy"),
        ("Habari, naomba kuhifadhi massage kesho saa nane mchana", "/expect 1", "Ndio, thibitisha", "/expect all"),
        *("examples/booking_assistant/booking_assistant/tools/create_booking.py", "'confirmed'", "'cancelled'"),
    ),
    Fault(
        *("node_bot", "order_bread"),
        ("Are you open today?", "/expect 1", "Three loaves of bread, please.", "/expect contains KES 195"),
        *("server.js", "order.quantity * PRICES[order.item]", "PRICES[order.item]"),
    ),
    Fault(
        *("feedback", ""),
        ("Habari, naomba massage", "saa nne", "/expect all"),
        *("spa_assistant.py", '"saa nne" if "saa nne" in', '"saa tano" if "saa nne" in'),
    ),
    Fault(
        *("systems/tables", ""),
        ("Bonjour", "/expect all", "10 mandazi", "/expect 3"),
        *("shop.py", "(item, quantity, self._phone)", "(item, 1, self._phone)"),
    ),
    Fault(
        *("systems/command", ""),
        ("Combien coûtent les mandazi ?", "/expect 2", "/expect contains 15 KES"),
        *("assistant.py", '"mandazi": 15', '"mandazi": 51'),
    ),
    Fault(
        *("systems/function", ""),
        ("Bonjour", "/expect 1", "Amina", "/expect all"),
        *("assistant.py", '"GREETED"', '"ASKING_NAME"'),
    ),
    Fault(
        *("systems/http", ""),
        ("Bonjour", "/expect all", "6 mai", "/expect 2"),
        *("server.py", '"arguments": {"date": text}', '"arguments": {"date": text[:1]}'),
    ),
)


def repository_of(example: str, folder: Path) -> Path:
    """The example in a repository of its own; the booking assistant is this project's own system."""
    if example == "booking_assistant":
        for name in (".github", "scenarios", "examples/booking_assistant"):
            shutil.copytree(PROJECT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copytree(EXAMPLES / example, folder, ignore=shutil.ignore_patterns("__pycache__"))
    GitRepository(folder, os.environ["PATH"]).commit({})
    return folder


def ratiba(
    folder: Path, *words: str, typed: str = "", more: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command as a user starts it, without any key but those of ``more``."""
    environment = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-P", "-m", "ratiba_action", *words],
        cwd=folder,
        env=environment | {"HOME": str(folder.parent), "NO_COLOR": "1"} | dict(more or {}),
        input=typed,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@contextmanager
def started(fault: Fault, folder: Path) -> Iterator[None]:
    """The server of an example whose server the gate does not start, as it stands in the folder now."""
    if fault.example != "systems/http":
        yield
        return
    path = folder / ".github/ratiba.yml"
    port = yaml.safe_load(path.read_text())["system"]["http"]["url"].split(":")[2].partition("/")[0]
    with subprocess.Popen([sys.executable, "server.py", port], cwd=folder, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        yield
        process.terminate()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.example}: {fault.after}")
def test_a_scenario_that_chat_wrote_passes_and_catches_a_fault(fault: Fault, tmp_path: Path) -> None:
    if fault.example == "node_bot" and shutil.which("npm") is None:
        pytest.skip("npm is not on PATH, and starts the example's server")
    folder = repository_of(fault.example, tmp_path / "repository")
    if fault.example == "systems/http":
        configuration = folder / ".github/ratiba.yml"
        configuration.write_text(configuration.read_text().replace(":8200", f":{free_port()}"))
    typed = "".join(f"{line}\n" for line in (*fault.lines, "/save by_chat"))
    like = ("--scenario", fault.like) if fault.like else ()
    with started(fault, folder):
        talked = ratiba(folder, "chat", "--mutants", "0", *like, typed=typed)
    assert talked.returncode == 0, talked.stdout + talked.stderr
    assert "passed" in talked.stdout
    path = folder / fault.file
    text = path.read_text("utf-8")
    assert fault.before in text
    path.write_text(text.replace(fault.before, fault.after), "utf-8")
    report = str(tmp_path / "report")
    with started(fault, folder):
        failed = ratiba(folder, "gate", "--llm", "replay", "--scenario", "by_chat", "--report-dir", report)
    assert failed.returncode == 1, failed.stdout + failed.stderr


@dataclass(frozen=True)
class PromptFault:
    """A question to an example that is a prompt alone, and what its model knows only as long as the prompt says it."""

    example: str
    question: str
    known: str
    fault: str


def test_every_example_is_talked_with() -> None:
    systems = {str(path.parents[1].relative_to(EXAMPLES)) for path in EXAMPLES.glob("**/.github/ratiba.yml")}
    talked_with = {fault.example for fault in (*FAULTS, *PROMPT_FAULTS)} - {"booking_assistant"}
    captured = {"systems/replay"}  # which answers nothing that was not captured
    others = {name for name in systems if not name.startswith("tutorials/")} - captured
    assert others <= talked_with


PROMPT_FAULTS = (
    PromptFault("guest_house", "Do I need to bring towels?", "towels,", ""),
    PromptFault("systems/prompt", "À quelle heure est le petit déjeuner ?", "6:30", "7:30"),
)


@pytest.mark.parametrize("fault", PROMPT_FAULTS, ids=lambda fault: fault.example)
async def test_a_scenario_that_chat_wrote_catches_a_fault_of_a_prompt_with_a_model(
    fault: PromptFault, tmp_path: Path
) -> None:
    folder = repository_of(fault.example, tmp_path / "repository")
    prompt = folder / "prompts/assistant.md"

    def answered(received: Received) -> Step:
        is_known = fault.known in str(received.body["system"])
        return Step("anthropic", text=f"I know: {fault.known}" if is_known else "I do not know.", usage=Usage(50, 10))

    async with ModelServer(answered, KEY) as models:
        keys = {"RATIBA_ANTHROPIC_API_KEY": KEY, "RATIBA_ANTHROPIC_BASE_URL": models.url}

        async def run(*words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
            return await asyncio.to_thread(lambda: ratiba(folder, *words, typed=typed, more=keys))

        typed = f"{fault.question}\n/expect contains {fault.known}\n/save by_chat\n"
        talked = await run("chat", "--mutants", "0", "--budget-usd", "0.10", typed=typed)
        assert talked.returncode == 0, talked.stdout + talked.stderr
        assert models.bill.total <= Decimal("0.10")
        assert fault.known in prompt.read_text("utf-8")
        prompt.write_text(prompt.read_text("utf-8").replace(fault.known, fault.fault), "utf-8")
        gate = ("gate", "--scenario", "by_chat", "--report-dir", str(tmp_path / "report"))
        unknown = await run(*gate, "--llm", "replay")
        assert unknown.returncode == 3, unknown.stdout + unknown.stderr  # no recorded answer is to this prompt
        failed = await run(*gate, "--llm", "live", "--budget-usd", "0.10")
        assert failed.returncode == 1, failed.stdout + failed.stderr


def test_mutants_show_what_the_scenario_catches(tmp_path: Path) -> None:
    folder = repository_of("intent_router", tmp_path / "repository")
    for name in ("argparse", "yaml"):  # which would be imported in the open, were the checkout searched for modules
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    typed = "Who won the football match?\n/expect all\n/save off_topic router.py:34\n"
    talked = ratiba(folder, "chat", "--mutants", "10", typed=typed)
    assert talked.returncode == 0, talked.stdout + talked.stderr
    assert "fails if  router.py:34" in talked.stdout
    assert not (tmp_path / "ran").exists()


def test_faults_that_were_not_tried_are_not_said_to_be(tmp_path: Path) -> None:
    folder = repository_of("guest_house", tmp_path / "repository")
    typed = "Do I need to bring towels?\n/expect all\n/save by_chat\n"
    talked = ratiba(folder, "chat", "--scenario", "ask_towels", "--mutants", "3", typed=typed)
    assert talked.returncode == 0, talked.stdout + talked.stderr
    assert "3 of the faults need a model" in talked.stdout
    assert "tried" not in talked.stdout


def test_nothing_is_written_over_another_scenario_or_for_mutants_of_no_file(tmp_path: Path) -> None:
    folder = repository_of("systems/function", tmp_path / "repository")
    scenarios = folder / "scenarios"
    (scenarios / "greet.yaml").rename(scenarios / "other.yaml")
    talked = ratiba(folder, "chat", typed="Bonjour\n/expect 1\n/save greet\n/save mine none.py:3\n")
    assert talked.returncode == 1
    assert "scenarios/other.yaml has a scenario 'greet' already. Choose another id" in talked.stdout
    assert "Nothing was written: the repository has no file 'none.py'" in talked.stdout
    assert [path.name for path in scenarios.glob("*.yaml")] == ["other.yaml"]


def test_nobody_talks_with_captured_replies(tmp_path: Path) -> None:
    folder = repository_of("systems/replay", tmp_path / "repository")
    talked = ratiba(folder, "chat", typed="Bonjour\n")
    assert talked.returncode == 2
    assert "only repeats captured replies" in talked.stderr
