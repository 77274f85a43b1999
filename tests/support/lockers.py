"""A parcel locker's help line in Finnish: a repository of a team's own, as no example has it."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.gate_forks import GateForks
from tests.support.git_repository import GitRepository
from tests.support.pull_request_events import pull_request_event
from tests.support.small_repository import SmallRepository

PROMPT = """\
Olet pakettiautomaatin neuvoja.
Puhu kohteliaasti.
Pyydä henkilöllisyystodistus ennen koodia.
Vastaa lyhyesti.
"""
ADAPTER = """\
import os
import pathlib

MAX_DAYS = 7
PROMPT = pathlib.Path(__file__).parent / "prompts" / "ohje.md"


class Automaatti:
    def open(self, context):
        return self

    def send(self, message):
        if message.startswith("sano "):
            return {"text": message[5:], "state": "SANOTTU"}
        if "koodi" in message:
            checked = "henkilöllisyystodistus" in PROMPT.read_text(encoding="utf-8")
            text = "Näytä henkilöllisyystodistus." if checked else "Koodi on 4711."
            return {"text": text, "state": "KYSYTTY" if checked else "ANNETTU"}
        if "ympäristö" in message:
            found = str(dict(os.environ)).count("planted")
            for path in pathlib.Path("/proc").glob("*/environ"):
                try:
                    found += path.read_bytes().count(b"planted")
                except OSError:
                    pass
            return {"text": f"Löytyi {found}.", "state": "KERROTTU"}
        days = int(message.split()[0])
        if days > MAX_DAYS:
            return {"text": "Paketti on palautettu.", "state": "PALAUTETTU"}
        return {"text": "Paketti odottaa.", "state": "ODOTTAA"}
"""
CONFIGURATION = """\
system:
  adapter: automaatti:Automaatti
  prompts: [prompts/*.md]
  database: false
  price_per_turn_usd: 0
"""
SCENARIO = """\
id: {name}
language: fi
now: 2026-02-02T08:30 Europe/Helsinki
customer: {{name: Aino, phone: "+358 40 555 0101"}}
turns:
  - user: {message}
    expect: {expect}
"""
TOKEN = "planted-github-token"


def lockers(folder: Path, forks: GateForks, **environment: str) -> SmallRepository:
    """The repository with its system, uncommitted and without a scenario.

    Args:
        folder: empty; the home folder and the report are beside the checkout.
        forks: start the gates.
        environment: further variables of the user.
    """
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    own = {"HOME": str(folder / "home"), "NO_COLOR": "1"}
    GitRepository(folder / "automaatti")
    repository = SmallRepository(
        folder / "automaatti", folder / "report", kept | own | environment, run=forks.run, forks=forks
    )
    repository.write("automaatti.py", ADAPTER)
    repository.write("prompts/ohje.md", PROMPT)
    repository.write(".github/ratiba.yml", CONFIGURATION)
    return repository


def ask(repository: SmallRepository, name: str, message: str, expect: str) -> None:
    """Write a scenario of one turn.

    Args:
        expect: a mapping in YAML's flow style.
    """
    text = SCENARIO.format(name=name, message=json.dumps(message, ensure_ascii=False), expect=expect)
    repository.write(f"scenarios/{name}.yaml", text)


def of_event(folder: Path, name: str, event: Mapping[str, Any], run: int = 501) -> dict[str, str]:
    """Variables of a workflow run.

    Args:
        folder: where the event's file is written.
        name: of the event.
        run: its number.
    """
    folder.mkdir(exist_ok=True)
    path = folder / f"event-{run}.json"
    path.write_text(json.dumps(event))
    return {
        "GITHUB_EVENT_NAME": name,
        "GITHUB_EVENT_PATH": str(path),
        "GITHUB_REPOSITORY": "salon/assistant",
        "GITHUB_RUN_ID": str(run),
        "GITHUB_RUN_ATTEMPT": "1",
    }


def of_pull_request(folder: Path, base: str, head: str, run: int = 501) -> dict[str, str]:
    """Variables of a workflow run about a pull request whose head is checked out; see ``of_event``."""
    return of_event(folder, "pull_request", pull_request_event(base, head), run)
