"""An honest regression, whose verdict is known, and the same with whatever a hostile change adds to it.

The invariant (h): nothing that a change adds makes the verdict better. ``failed`` and ``incomplete`` do not let a change
pass; every other conclusion, and every exit code 0 of a blocking run, is better.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz.case import Case
from tests.support.consumer_repository import ConsumerRepository

NOT_GREEN = frozenset({"failed", "incomplete"})
GOOD, POOR = "Your massage is booked for tomorrow at two.", "Massage."
CONFIGURATION = """\
system:
  adapter: adapter:Adapter
  database: DATABASE
  setup: [sh, -c, "if test -f set_up.py; then python3 set_up.py; fi"]
  prompts: [prompts/*.md]
  setup_timeout_seconds: 20
  turn_timeout_seconds: 5
suite: {concurrency: 2}
"""
SCENARIO = """\
id: booking_NUMBER
critical: true
language: en
metrics: {fluency: false}
now: 2026-04-25T10:00:00+03:00
customer: {name: Amina, phone: "+254 700 000 001"}
turns:
  - user: A massage please
    expect: {answer: "Your massage is booked for tomorrow at two."}
  - user: Thank you
    expect: {answer: "Your massage is booked for tomorrow at two."}
assertions:
  - {metric: CharacterSimilarityMetric, threshold: 0.05}
"""
ADAPTER = '''\
"""A system that uses what any system uses, and answers with less when it cannot have it."""

import os, socket, subprocess, tempfile, threading

try:
    import misdeeds
except ImportError:
    misdeeds = None
GOOD, POOR = {good!r}, {poor!r}


def at(step):
    if misdeeds is not None:
        misdeeds.at(step)


def work(message):
    with tempfile.TemporaryFile() as file:
        file.write(b"x" * (4 << 20))
    opened = [open(os.devnull) for _ in range(40)]
    memory = bytearray(32 << 20)
    thread = threading.Thread(target=len, args=("",))
    thread.start()
    thread.join()
    subprocess.run(["true"], check=True)
    socket.create_server(("127.0.0.1", 0)).close()
    return GOOD


class Adapter:
    def migrate(self, database_url):
        os.environ["DATABASE_URL"] = database_url
        at("migration")

    def open(self, context):
        at("open")
        return Conversation(context)


class Conversation:
    def __init__(self, context):
        self.turns = 0
        os.environ["DATABASE_URL"] = str(getattr(context, "database_url", "") or "")

    def send(self, message):
        self.turns += 1
        at("first turn" if self.turns == 1 else "last turn")
        try:
            text = work(message)
        except Exception:
            text = POOR
        at("later" if self.turns == 2 else "")
        at("daemon" if self.turns == 1 else "")
        return {{"text": {answer}, "state": "SAID"}}

    def close(self):
        at("close")


at("import")
'''
STEPS = ("import", "set-up", "migration", "open", "first turn", "last turn", "later", "daemon", "close")


def adapter(*, honest: bool) -> str:
    """The system's code; dishonest is the regression that every verdict must name."""
    return ADAPTER.format(good=GOOD, poor=POOR, answer="text" if honest else "POOR")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a gate ended.

    Args:
        conclusion: in its ``results.json``; empty where it left none.
    """

    code: int
    printed: str
    conclusion: str

    @classmethod
    def read(cls, code: int, printed: str, report: Path) -> "Ended":
        """What a gate left in its report directory."""
        try:
            found: Any = json.loads((report / "results.json").read_bytes())
        except (OSError, ValueError):
            found = {}
        return cls(code, printed, str((found.get("outputs") or {}).get("conclusion", "")))


def require_not_better(case: Case, honest: Ended, ended: Ended) -> None:
    """Invariant h, of a blocking run.

    Args:
        case: whose run it was.
        honest: the same regression alone.
        ended: with what the hostile change adds.
    """
    case.require(
        "h", f"the honest regression is {honest.conclusion!r}: {honest.printed[-2000:]}", holds=not _is_green(honest)
    )
    message = f"{honest.conclusion} became {ended.conclusion!r}, exit code {ended.code}: {ended.printed[-3000:]}"
    case.require("h", message, holds=not _is_green(ended))


def _is_green(ended: Ended) -> bool:
    return ended.code == 0 or ended.conclusion not in {*NOT_GREEN, ""}


def gate_environment(folder: Path) -> dict[str, str]:
    """Variables of every gate here.

    Args:
        folder: where its files outside the checkout go.
    """
    places = {name: folder / name for name in ("home", "temporary", "report")}
    for place in places.values():
        place.mkdir(exist_ok=True)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(places["home"]),
        "TMPDIR": str(places["temporary"]),
        "RUNNER_TEMP": str(folder),
        "RATIBA_REPORT_DIR": str(places["report"]),
        "NO_COLOR": "1",
    }


def proposed(case: Case, files: Mapping[str, str | bytes | None], *, database: bool = False) -> ConsumerRepository:
    """The pull request of a regression, with further files of the change."""
    source = case.folder / "empty"
    source.mkdir()
    base: dict[str, str | bytes | None] = {
        ".github/ratiba.yml": CONFIGURATION.replace("DATABASE", str(database).lower()),
        "adapter.py": adapter(honest=True),
        "prompts/booking.md": "Book.\n",
        **{f"scenarios/booking_{number}.yaml": SCENARIO.replace("NUMBER", str(number)) for number in range(2)},
    }
    change = ConsumerRepository(source, case.folder / "checkout", base)
    change.propose({"adapter.py": adapter(honest=False), **files})
    return change
