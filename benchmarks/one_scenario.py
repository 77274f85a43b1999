"""How long somebody waits after an edit. Run: ``python -m benchmarks.one_scenario``.

``ratiba gate --scenario`` with an uncommitted edit of a small system, which is one function, and the time until the
first conversation of the booking example begins, by ``events.jsonl`` of a run of one of its scenarios. Both start the
embedded database and compare the edit with its base, as they do for their users.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from benchmarks.side_by_side import Run, measure
from benchmarks.stateful import PROJECT
from tests.support.booking_example import copy_booking_example
from tests.support.git_repository import GitRepository

WHOLE_LIMIT, FIRST_LIMIT = 1.0, 2.5  # seconds
SCENARIO = "spa_booking_swahili_happy"
EDITED = "examples/booking_assistant/booking_assistant/fsm.py"
BOT = """\
def answer(message):
    return "We open at nine." if "open" in message else "Please call us."
"""
SMALL = {
    "bot.py": BOT,
    ".github/ratiba.yml": "system:\n  adapter: bot:answer\nmetrics: {fluency: false}\n",
    "scenarios/opening.yaml": """\
id: opening
language: en
layer: fsm
script: []
now: 2026-04-25T10:00:00+03:00
customer: {name: Amina, phone: "+254 700 000 001"}
turns:
  - user: When do you open?
rules:
  - {type: must_contain, value: nine}
""",
}


def write_small(root: Path) -> None:
    """A function of one file, with one scenario and an edit that nobody has committed."""
    for name, text in SMALL.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    GitRepository(root).commit({})
    (root / "bot.py").write_text(BOT.replace("Please", "Kindly"), encoding="utf-8")


def write_booking(root: Path) -> None:
    """The booking example with an edit that nobody has committed."""
    copy_booking_example(root)
    GitRepository(root).commit({})
    with (root / EDITED).open("a", encoding="utf-8") as file:
        file.write("\n# An edit.\n")


def run(root: Path, scenario: str, report: Path, environment: Mapping[str, str]) -> tuple[Run, float]:
    """One run, and the seconds from its start to its first conversation."""
    began = time.time()
    command = [sys.executable, "-m", "ratiba_action", "gate", "--scenario", scenario, "--report-dir", str(report)]
    ended = measure([*command, "--llm", "replay"], root, environment)
    events = map(json.loads, (report / "events.jsonl").read_text(encoding="utf-8").splitlines())
    first = next(event["at"] for event in events if event["type"] == "conversation_started")
    return ended, datetime.fromisoformat(first).timestamp() - began


def main() -> int:
    """Print the medians; 1 if a limit is not met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="runs of each; the table shows medians")
    rounds = parser.parse_args().rounds
    found: dict[str, list[tuple[Run, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "PYTHONPATH": str(PROJECT)}
        systems = {"a small system": ("opening", write_small), "the booking example": (SCENARIO, write_booking)}
        for number, (_, write) in enumerate(systems.values()):
            write(Path(folder, f"system{number}"))
        for _ in range(rounds):
            for number, (name, (scenario, _)) in enumerate(systems.items()):
                root, report = Path(folder, f"system{number}"), Path(folder, f"report{number}")
                found.setdefault(name, []).append(run(root, scenario, report, environment))
    print("| | whole run, s | first conversation after, s | CPU s |\n|---|---|---|---|")
    medians = {}
    for name, runs in found.items():
        whole, first, cpu = (statistics.median(column) for column in zip(*_columns(runs), strict=True))
        medians[name] = whole, first
        print(f"| {name} | {whole:.2f} | {first:.2f} | {cpu:.2f} |")
    whole, first = medians["a small system"][0], medians["the booking example"][1]
    print(
        f"\na small system: {whole:.2f} s, limit {WHOLE_LIMIT}; the booking example: {first:.2f} s, limit {FIRST_LIMIT}"
    )
    return 0 if whole <= WHOLE_LIMIT and first <= FIRST_LIMIT else 1


def _columns(runs: list[tuple[Run, float]]) -> list[tuple[float, float, float]]:
    return [(ended.wall, first, ended.cpu) for ended, first in runs]


if __name__ == "__main__":
    sys.exit(main())
