"""A scenario that is written by ``ratiba chat`` alone, on each example system, catches a fault that is put into it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.git_repository import GitRepository

pytestmark = pytest.mark.processes

PROJECT = Path(__file__).parents[2]
EXAMPLES = PROJECT / "examples"


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


def ratiba(folder: Path, *words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command without any key, as a user starts it."""
    environment = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-P", "-m", "ratiba_action", *words],
        cwd=folder,
        env=environment | {"HOME": str(folder.parent), "NO_COLOR": "1"},
        input=typed,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.example)
def test_a_scenario_that_chat_wrote_passes_and_catches_a_fault(fault: Fault, tmp_path: Path) -> None:
    folder = repository_of(fault.example, tmp_path / "repository")
    typed = "".join(f"{line}\n" for line in (*fault.lines, "/save by_chat"))
    like = ("--scenario", fault.like) if fault.like else ()
    talked = ratiba(folder, "chat", "--mutants", "0", *like, typed=typed)
    assert talked.returncode == 0, talked.stdout + talked.stderr
    assert "passed" in talked.stdout
    path = folder / fault.file
    text = path.read_text("utf-8")
    assert fault.before in text
    path.write_text(text.replace(fault.before, fault.after), "utf-8")
    report = str(tmp_path / "report")
    failed = ratiba(folder, "gate", "--llm", "replay", "--scenario", "by_chat", "--report-dir", report)
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
