"""A small repository whose system asks models, and the gate in it as its users start it: as a process."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.canonical import digest
from ratiba_action.model.conversation import Usage
from ratiba_action.model.measurement import ScenarioResult, Score, Scored
from ratiba_action.model.verdict import CrossChecking, Report
from ratiba_action.money.pricing import ModelRates
from ratiba_action.reporting.results_json import load_report
from tests.support.git_repository import GitRepository
from tests.support.model_servers import ModelServer, Received
from tests.support.provider_faults import Served, Stalled
from tests.support.pull_request_events import pull_request_event
from tests.support.small_repository import Ended, SmallRepository

KEY = "sk-planted-0123456789abcdef"
SYSTEM, JUDGE, SECOND_JUDGE = "gpt-5", "claude-opus-5-5", "gpt-5.6"
ADAPTER = """
import json, os, pathlib, urllib.request


class Adapter:
    def migrate(self, database_url):
        pass

    def open(self, context):
        return Conversation(context.scenario_id)


class Conversation:
    def __init__(self, scenario):
        prompt = pathlib.Path(__file__).parent / "prompts" / f"{scenario}.md"
        self.prompt = prompt.read_text() if prompt.exists() else "Be friendly."

    def send(self, message):
        said = [{"role": "system", "content": self.prompt}, {"role": "user", "content": message}]
        request = urllib.request.Request(
            os.environ["OPENAI_BASE_URL"] + "/chat/completions",
            json.dumps({"model": "gpt-5", "messages": said, "max_completion_tokens": 400}).encode(),
            {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            text = json.loads(answer.read())["choices"][0]["message"]["content"]
        return {"text": text, "state": "SAID"}
"""
CONFIGURATION = """\
system:
  adapter: adapter:Adapter
  prompts: [prompts/*.md]
judge:
  model: claude-opus-5-5
  cross_check: {model: gpt-5.6, share: 1.0}
prices:
  gpt-5: {input_per_million: 2, output_per_million: 10}
  gpt-5.6: {input_per_million: 3, output_per_million: 15}
  claude-opus-5-5: {input_per_million: 5, output_per_million: 25}
"""
RATES = {
    SYSTEM: ModelRates(Decimal(2), Decimal(10), Decimal(2), Decimal(4)),
    SECOND_JUDGE: ModelRates(Decimal(3), Decimal(15), Decimal(3), Decimal(6)),
    JUDGE: ModelRates(Decimal(5), Decimal(25), Decimal(5), Decimal(10)),
}


@dataclass
class Talk:
    """What the stand-ins answer: the system is friendly, both judges are content, each in its own way.

    Args:
        usage: of each answer of the system's model.
        judged: of each grade.
        text: what the system's model says.
        reason: what the judges say.
        scores: of which they give one, 0 to 10, always the same for the same question.
        hold_from: the request, counted from 1, from which on answers are charged for and never arrive.
        instead: what is answered in place of all this; None from it for the usual.
    """

    usage: Usage = field(default_factory=lambda: Usage(500, 100))
    judged: Usage = field(default_factory=lambda: Usage(1_000, 100))
    text: str = "You are welcome."
    reason: str = "Plain and friendly."
    scores: tuple[int, ...] = (9, 10)
    hold_from: int | None = None
    instead: Callable[[Received], Served | None] = lambda _: None
    asked: int = 0

    def __call__(self, received: Received) -> Served:
        """The answer to a request."""
        self.asked += 1
        other = self.instead(received)
        if other is not None:
            return other
        step = self._step(received)
        held = self.hold_from is not None and self.asked >= self.hold_from
        return Stalled(step, after=0) if held else step

    def _step(self, received: Received) -> Step:
        provider = "anthropic" if received.path.endswith("/messages") else "openai"
        if not is_judged(received):
            return Step(provider, text=self.text, usage=self.usage)
        score = self.scores[int(digest(received.body), 16) % len(self.scores)]
        return Step(provider, data={"reason": self.reason, "score": score}, usage=self.judged)


def is_judged(received: Received) -> bool:
    """Whether a request is a judge's."""
    return "response_format" in received.body or "output_config" in received.body


@dataclass(frozen=True)
class LiveRepository:
    """A repository with a system that asks models, the stand-ins that answer it, and the gate between them.

    Args:
        home: the user's folder, where the journal and the judge cache are kept.
    """

    small: SmallRepository
    models: ModelServer
    talk: Talk
    home: Path

    def prepare(self) -> None:
        """Write the system and its configuration, and give the gate its inputs."""
        self.small.write("adapter.py", ADAPTER)
        self.small.write(".github/ratiba.yml", CONFIGURATION)
        self.small.environment.update(
            HOME=str(self.home),
            RATIBA_LLM="live",
            **self.models.environment,
        )

    def elsewhere(self, folder: Path) -> "LiveRepository":
        """The same checkout on another machine: another user's folder and another report."""
        own = {"HOME": str(folder / "home"), "RATIBA_CACHE_DIR": str(folder / "cache")}
        environment = {**self.small.environment, **own}
        return replace(
            self, small=replace(self.small, report=folder / "report", environment=environment), home=folder / "home"
        )

    def scenario(self, name: str, *messages: str) -> None:
        """Write an English scenario, which is judged."""
        self.small.scenario(name, *messages)
        path = self.small.folder / f"scenarios/{name}.yaml"
        self.small.write(f"scenarios/{name}.yaml", path.read_text().replace("language: fr", "language: en"))

    async def gate(self, *options: str, **variables: str) -> Ended:
        """Run the gate to its end, while the stand-ins answer."""
        return await asyncio.to_thread(lambda: self.small.gate(*options, **variables))

    async def record(self, *options: str) -> None:
        """Record every scenario.

        Raises:
            AssertionError: it was not recorded.
        """
        ended = await self.try_to_record(*options)
        if ended.code:
            raise AssertionError(ended.printed)

    async def try_to_record(self, *options: str) -> Ended:
        """Record every scenario, or be refused."""
        small = replace(
            self.small, environment={key: value for key, value in self.small.environment.items() if key != "RATIBA_LLM"}
        )
        return await asyncio.to_thread(lambda: small.ended("record", "--accept", *options))

    def forget_reads(self) -> None:
        """Let the recordings be those of an earlier version, which did not say what a scenario reads."""
        for path in self.small.folder.glob("scenarios/recordings/*.jsonl"):
            lines = path.read_text("utf-8").splitlines(keepends=True)
            path.write_text("".join(line for line in lines if '"kind":"reads"' not in line), "utf-8")

    @property
    def journals(self) -> list[Path]:
        """Journals that runs have left."""
        return sorted((self.home / ".local/state/ratiba/journals").glob("*.jsonl"))

    def journal_events(self) -> Counter[str]:
        """How often each event stands in the journal, without a line that is still being written."""
        lines = [line for path in self.journals for line in path.read_text().split("\n")[:-1]]
        return Counter(json.loads(line)["event"] for line in lines)

    def pull_request(self, base: str, head: str) -> dict[str, str]:
        """Variables of a workflow run about a pull request whose head is checked out."""
        event = self.home / "event.json"
        event.parent.mkdir(parents=True, exist_ok=True)
        event.write_text(json.dumps(pull_request_event(base, head)))
        return {
            "GITHUB_EVENT_NAME": "pull_request",
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_REPOSITORY": "salon/assistant",
            "GITHUB_RUN_ID": "1001",
            "GITHUB_RUN_ATTEMPT": "1",
        }

    @property
    def git(self) -> GitRepository:
        """The repository's history."""
        return GitRepository(self.small.folder)

    def bodies(self, first: int = 0) -> Counter[str]:
        """How often each request came, by its digest.

        Args:
            first: requests before this one are not counted.
        """
        return Counter(digest(received.body) for received in self.models.received[first:])


def report_of(ended: Ended) -> Report:
    """The report that a run left."""
    return load_report((ended.report / "results.json").read_bytes())


def outcomes(ended: Ended) -> dict[str, ScenarioResult]:
    """The result of each scenario, by its id."""
    return {one.trial.scenario.id: one for one in report_of(ended).results}


@dataclass(frozen=True)
class Judged:
    """What a report says of its judges.

    Args:
        scores: of the scenarios that were measured, by the scenario's id.
        cache_hits: grades that came from the judge cache.
    """

    scores: dict[str, tuple[Score, ...]]
    cross_checking: CrossChecking | None
    cache_hits: int


def judged(ended: Ended) -> Judged:
    """Every score with its votes and where it came from, and how far the judges agree."""
    found = {name: one.scores for name, one in outcomes(ended).items() if isinstance(one, Scored)}
    report = report_of(ended)
    return Judged(found, report.cross_checking, report.spending.cache_hits)
