"""A hostile pull request with everything around a gate: its repository, providers, GitHub, and what it left behind."""

import json
import os
import random
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from fuzz.attacks import Ground, random_attacks
from fuzz.case import Case, texts_below
from fuzz.checkouts import HARMLESS, HAZARDS, hostile_change
from fuzz.faulty_proxy import faulty_proxy, random_faults
from fuzz.github_answers import require_comment
from fuzz.hostile_tree import HostileChange, HostileTree
from fuzz.provider_answers import random_answer
from ratiba_action.llm.scripted_answers import Step
from tests.support.eventually import eventually
from tests.support.github_server import GithubState, github_server
from tests.support.live_repository import RATES, is_judged
from tests.support.model_servers import ModelServer, Received
from tests.support.provider_faults import Served

CONFIGURATION = """\
system:
  adapter: adapter:Adapter
  prompts: [prompts/*.md]
  turn_timeout_seconds: 2
suite: {concurrency: 2}
"""
MODELS = """\
judge: {model: claude-opus-5-5}
prices:
  gpt-5: {input_per_million: 2, output_per_million: 10}
  claude-opus-5-5: {input_per_million: 5, output_per_million: 25}
"""
SCENARIO = """\
id: {name}
language: {language}
critical: {critical}
now: 2026-04-25T10:00:00+03:00
customer: {{name: Amina, phone: "+254 700 000 001"}}
turns:
{turns}
"""


@dataclass
class World:
    """One hostile pull request, and the servers that its gate speaks to.

    Args:
        broken: a critical scenario fails for certain, once it is run.
        live: the system asks models.
        budget: US dollars.
        transient: GitHub fails no more than a second attempt gets over.
    """

    case: Case
    change: HostileChange
    models: ModelServer
    github: GithubState
    api: str
    broken: bool
    live: bool
    budget: Decimal
    transient: bool
    elsewhere: list[str] = field(default_factory=list)

    @property
    def secrets(self) -> Mapping[str, str]:
        """Inputs of the gate that hold secrets, as environment variables."""
        planted = self.case.secrets
        given = {"RATIBA_GITHUB_TOKEN": planted["github"]}
        if self.live:
            given |= {"RATIBA_ANTHROPIC_API_KEY": planted["openai"], "RATIBA_OPENAI_API_KEY": planted["openai"]}
        return given

    @property
    def inputs(self) -> Mapping[str, str]:
        """The other inputs of the gate, as environment variables."""
        addresses = {
            "RATIBA_ANTHROPIC_BASE_URL": self.models.url,
            "RATIBA_OPENAI_BASE_URL": f"{self.models.url}/v1",
            "RATIBA_EVAL_BUDGET_USD": str(self.budget),
            "RATIBA_LLM": "live",
        }
        return {**(addresses if self.live else {"RATIBA_LLM": "replay"}), "RATIBA_DEADLINE": "60"}

    def require_all(self, code: int, printed: str, left: Path, *, signalled: bool = False) -> None:
        """Every invariant, after a run.

        Args:
            code: of the job.
            printed: the job's log.
            left: folder of report and step files.
            signalled: whether the run may have ended by a signal that it cannot handle.
        """
        case = self.case
        texts = {"log": printed, **texts_below(left, "left"), "comments": json.dumps(self.github.comments)}
        texts["requests to the providers"] = json.dumps([request.body for request in self.models.received])
        texts["requests to GitHub"] = json.dumps(
            [[request.path, str(request.body)] for request in self.github.received]
        )
        case.require_no_secret(texts)
        case.require_harmless_log(printed)
        case.require_no_defect(printed, theirs=case.nonce)
        bill = self.models.bill.total
        case.count("US dollars on the stand-ins' bills", float(bill))
        case.require("b", f"the bill is {float(bill)}, the cap {self.budget}", holds=bill <= Fraction(self.budget))
        case.require(
            "c",
            f"a critical scenario fails, and the exit code is 0: {printed[-1500:]}",
            holds=not self.broken or code != 0,
        )
        case.require("f", f"the exit code is {code}: {printed[-1500:]}", holds=code in {0, 1, 2, 3} or signalled)
        self._require_reported(texts, printed, signalled=signalled)
        case.require("a", f"a redirect carried a token: {self.elsewhere}", holds="PLANTED" not in str(self.elsewhere))

    def _require_reported(self, texts: Mapping[str, str], printed: str, *, signalled: bool) -> None:
        names = {name.rpartition("/")[2] for name in texts}
        reported = bool(self.github.comments) or "comment.md" in names or "results.json" in names
        self.case.require("d", f"neither comment nor file: {sorted(names)}: {printed[-1500:]}", holds=reported)
        # A cancelled run waits four seconds for GitHub, and then leaves the comment's file.
        require_comment(self.case, self.github, transient=self.transient and not signalled, printed=printed)

    def require_nothing_running(self) -> None:
        """Invariant g: no process of the system is left."""
        mine = str(os.getpid())

        def left() -> list[str]:
            found = []
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    command = path.read_bytes()
                except OSError:
                    continue
                if self.case.nonce.encode() in command and path.parent.name != mine:
                    found.append(f"{path} {command!r:.200}")
            return found

        try:
            eventually(left, seconds=10, until=lambda seen: not seen)
        except AssertionError:
            self.case.require("g", f"a process is left: {left()}", holds=False)


@contextmanager
def hostile_world(case: Case, ground: Ground, *, live: bool | None = None, bind: str = "127.0.0.1") -> Iterator[World]:
    """Make a hostile pull request and serve everything around it.

    Args:
        case: chooses everything.
        ground: what the system may try to reach.
        live: whether it asks models; None leaves it to chance.
        bind: address of the stand-ins.
    """
    asks = case.chance(0.5) if live is None else live
    broken = case.chance(0.6)
    source = case.folder / "source"
    source.mkdir()
    shutil.copy(Path(__file__).with_name("hostile_system.py"), source / "adapter.py")
    hazards = HAZARDS if case.chance(0.2) else HARMLESS
    base = _base(case, ground, asks=asks, broken=broken)
    change, _ = hostile_change(case, source, base, maximum=2, hazards=hazards, always=_blocking)
    state = GithubState(heads={7: change.head})
    faults, transient = random_faults(case.rng, case.nonce)
    served = random.Random(f"answers {case.seed}")
    models = ModelServer(lambda received: _answer(served, received), case.secrets["openai"], RATES)
    loop = case.services.loop
    with loop.entered(models), github_server(state, bind=bind) as address, faulty_proxy(address, faults) as api:
        budget = Decimal(case.rng.choice(("0.001", "0.02", "0.1", "2")))
        yield World(case, change, models, state, api, broken, asks, budget, transient, faults.elsewhere)


def _blocking(_: Case, tree: HostileTree) -> str:
    tree.write({"prompts/changed.md": "Say Bonsoir.\n"})
    return "blocking"


def _answer(rng: random.Random, received: Received) -> Served:
    if is_judged(received) and rng.random() < 0.6:
        provider = "anthropic" if received.path.endswith("/messages") else "openai"
        return Step(provider, data={"reason": "Plain.", "score": rng.choice((0, 5, 9, 10))})
    return random_answer(rng, received, slow=False, bad=0.2)


def _base(case: Case, ground: Ground, *, asks: bool, broken: bool) -> dict[str, str | bytes | None]:
    files: dict[str, str | bytes | None] = {
        ".github/ratiba.yml": CONFIGURATION + (MODELS if asks else ""),
        "prompts/greeting.md": "Say Bonjour.\n",
        "README.md": "# An assistant\n",
    }
    for number in range(case.rng.randint(1, 2)):
        messages = random_attacks(case.rng, ground, asks=asks)
        files[f"scenarios/attack_{number}.yaml"] = _scenario(
            f"attack_{number}", messages, critical=False, judged=asks and case.chance(0.3)
        )
    messages = ["wrong no" if broken else "say yes"]
    files["scenarios/critical.yaml"] = _scenario("critical", messages, critical=True)
    return files


def _scenario(name: str, messages: list[str], *, critical: bool, judged: bool = False) -> str:
    turns = "".join(f"  - user: {json.dumps(message)}\n    expect: {{state: SAID}}\n" for message in messages)
    return SCENARIO.format(name=name, turns=turns, language="en" if judged else "fr", critical=str(critical).lower())


def pull_request_variables(world: World, event: Path) -> dict[str, str]:
    """Variables of a workflow run about the pull request."""
    payload: dict[str, Any] = world.change.pull_request_event()
    event.write_text(json.dumps(payload))
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": world.api,
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_REPOSITORY": "salon/assistant",
        "GITHUB_RUN_ID": "31",
        "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_WORKSPACE": str(world.change.folder),
    }
