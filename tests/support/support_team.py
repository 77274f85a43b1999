"""A team on its first day with the gate: an English support bot with a tool, one provider's key, and that provider."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.conversation import ToolCall
from tests.support.gate_forks import GateForks
from tests.support.git_repository import GitRepository
from tests.support.live_repository import is_judged
from tests.support.model_servers import ModelServer, Received
from tests.support.provider_faults import Served
from tests.support.small_repository import Ended

KEY = "sk-planted-0123456789abcdef"
PROMPT = """\
You answer questions about orders of a small shop in Nairobi.
Look an order up before you say anything about it.
Be brief and friendly.
"""
ADAPTER = """\
from bot import Bot


class Adapter:
    def migrate(self, database_url):
        pass

    def open(self, context):
        return Bot()
"""
_ORDERS = """\

ORDERS = {"A-1001": {"status": "shipped", "day": "Tuesday"}, "A-1002": {"status": "packed", "day": "Friday"}}


def order_status(order):
    return ORDERS.get(order, {"error": "not found"})


"""
_OPENAI_BOT = (
    """\
import json
from pathlib import Path

from openai import OpenAI

PROMPT = (Path(__file__).parent / "prompts/support.md").read_text()
MODEL = "gpt-5"
TOOLS = [{"type": "function", "function": {"name": "order_status", "description": "Status of an order.",
          "parameters": {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}}}]
"""
    + _ORDERS
    + """\
class Bot:
    def __init__(self):
        self.messages = [{"role": "system", "content": PROMPT}]
        self.client = OpenAI()

    def send(self, message):
        self.messages.append({"role": "user", "content": message})
        calls = []
        while True:
            said = self.client.chat.completions.create(
                model=MODEL, messages=self.messages, tools=TOOLS, max_completion_tokens=300
            ).choices[0].message
            self.messages.append(said.model_dump(exclude_none=True))
            for call in said.tool_calls or []:
                args = json.loads(call.function.arguments)
                found = order_status(args["order"])
                calls.append({"name": "order_status", "args": args, "output": found})
                self.messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(found)})
            if not said.tool_calls:
                return {"text": said.content, "tool_calls": calls}
"""
)
_ANTHROPIC_BOT = (
    """\
import json
from pathlib import Path

from anthropic import Anthropic

PROMPT = (Path(__file__).parent / "prompts/support.md").read_text()
MODEL = "claude-sonnet-5-5"
TOOLS = [{"name": "order_status", "description": "Status of an order.",
          "input_schema": {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}}]
"""
    + _ORDERS
    + """\
class Bot:
    def __init__(self):
        self.messages = []
        self.client = Anthropic()

    def send(self, message):
        self.messages.append({"role": "user", "content": message})
        calls = []
        while True:
            said = self.client.messages.create(
                model=MODEL, system=PROMPT, messages=self.messages, tools=TOOLS, max_tokens=300
            )
            self.messages.append({"role": "assistant", "content": [one.model_dump() for one in said.content]})
            results = []
            for call in said.content:
                if call.type == "tool_use":
                    args = call.input
                    found = order_status(args["order"])
                    calls.append({"name": "order_status", "args": args, "output": found})
                    results.append({"type": "tool_result", "tool_use_id": call.id, "content": json.dumps(found)})
            if not results:
                return {"text": "".join(one.text for one in said.content if one.type == "text"), "tool_calls": calls}
            self.messages.append({"role": "user", "content": results})
"""
)
BOTS: Mapping[str, str] = {"openai": _OPENAI_BOT, "anthropic": _ANTHROPIC_BOT}
"""The bot's code, by the provider whose key the team has."""
_SCENARIO = """\
id: {name}
language: en
tags: [{tags}]
now: 2026-05-04T08:15:00+03:00
customer: {{name: Achieng, phone: "+254 700 000 101"}}
turns:
{turns}
rules:
  - {{type: must_contain, value: {fact}}}
"""
_TURN = """\
  - user: {message}
    expect: {{tools: [{tools}]}}
"""
_CALL = "{{name: order_status, args: {{order: {order}}}}}"
SCENARIOS: Mapping[str, tuple[str, Sequence[tuple[str, str]], str]] = {
    "order_shipped": ("smoke", [("Where is my order A-1001?", "A-1001")], "shipped"),
    "order_packed": ("orders", [("When does A-1002 come?", "A-1002")], "Friday"),
    "order_unknown": ("orders", [("Where is A-9999?", "A-9999")], "cannot find"),
    "two_orders": ("orders", [("Where is my order A-1001?", "A-1001"), ("And A-1002?", "A-1002")], "packed"),
    "greeting": ("smoke", [("Good morning!", "")], "help"),
}
"""Tag, turns with the order that is looked up in each, and what a reply must contain, by the scenario's id."""


def scenario(name: str) -> str:
    """The text of a scenario of the team."""
    tags, turns, fact = SCENARIOS[name]
    text = "".join(
        _TURN.format(message=json.dumps(message), tools=_CALL.format(order=order) if order else "")
        for message, order in turns
    )
    return _SCENARIO.format(name=name, tags=tags, turns=text.rstrip("\n"), fact=json.dumps(fact))


@dataclass
class SupportModel:
    """What the provider answers: the model looks orders up and says what it found; judges are content.

    Args:
        manner: how replies begin, which a prompt changes.
        score: that the judge gives, 0 to 10.
    """

    manner: str = ""
    score: int = 9

    def __call__(self, received: Received) -> Served:
        """The answer to a request."""
        provider = "anthropic" if received.path.endswith("/messages") else "openai"
        if is_judged(received):
            return Step(provider, data={"reason": "Clear and friendly.", "score": self.score})
        last = received.body["messages"][-1]
        found = _tool_result(last)
        if found is not None:
            return Step(provider, text=f"{self.manner}{_answer(found)}")
        order = re.search(r"[A-Z]-\d{4}", str(last["content"]))
        if order is not None:
            return Step(provider, tools=(ToolCall("order_status", {"order": order[0]}),))
        return Step(provider, text=f"{self.manner}Good morning! How may I help you?")


def _tool_result(message: Mapping[str, object]) -> Mapping[str, str] | None:
    content = message["content"]
    if message["role"] == "tool":
        return json.loads(str(content))  # type: ignore[no-any-return] # the bot's own tool writes an object
    if isinstance(content, list) and content and content[0].get("type") == "tool_result":
        return json.loads(content[0]["content"])  # type: ignore[no-any-return] # the same
    return None


def _answer(found: Mapping[str, str]) -> str:
    if "status" not in found:
        return "I am sorry, I cannot find that order."
    return f"Your order is {found['status']} and arrives on {found['day']}."


@dataclass(frozen=True)
class SupportTeam:
    """A repository with the team's bot, and the commands that the team types in it.

    Args:
        provider: whose key the team has.
        folder: of the repository.
        environment: of the team's shell.
    """

    provider: str
    folder: Path
    models: ModelServer
    model: SupportModel
    forks: GateForks
    environment: dict[str, str] = field(default_factory=dict)

    def begin(self) -> None:
        """Commit the bot as it was before the gate, without a test."""
        self.write("bot.py", BOTS[self.provider])
        self.write("prompts/support.md", PROMPT)
        self.commit()

    def set_up(self) -> None:
        """Set the gate up, with an adapter and five scenarios instead of those that it writes."""
        assert self.ratiba("init", "--yes", **self.lying_key).code == 0
        self.write("ratiba_adapter.py", ADAPTER)
        for name in ("scenarios/first_conversation.yaml", "scenarios/recordings/first_conversation.jsonl"):
            (self.folder / name).unlink()
        for name in SCENARIOS:
            self.write(f"scenarios/{name}.yaml", scenario(name))

    def record(self) -> None:
        """Set up, record and commit, and begin a branch for the first change."""
        self.set_up()
        done = self.ratiba("record", **self.keyed)
        assert done.code == 0, done.printed
        self.commit()
        self.git.git("switch", "--quiet", "--create", "change")

    @property
    def keyed(self) -> dict[str, str]:
        """What the team exports so that the gate may call models."""
        return {f"RATIBA_{self.provider.upper()}_API_KEY": KEY}

    @property
    def lying_key(self) -> dict[str, str]:
        """The key where other programs look for it: the gate must not spend it."""
        return {f"{self.provider.upper()}_API_KEY": KEY}

    def write(self, name: str, content: str) -> None:
        """Write a file of the work tree."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace a text of a file, which must be there."""
        content = (self.folder / name).read_text()
        if old not in content:
            raise AssertionError(f"{old!r} is not in {name}")
        self.write(name, content.replace(old, new))

    def commit(self) -> str:
        """Commit everything to the branch that is checked out."""
        self.git.git("add", "--all")
        self.git.git("commit", "--quiet", "--message", "A change")
        return self.git.git("rev-parse", "HEAD")

    @property
    def git(self) -> GitRepository:
        """The repository's history."""
        return GitRepository(self.folder)

    def ratiba(self, *words: str, **variables: str) -> Ended:
        """Type a command, with more exported variables."""
        done = self.forks.run(words, self.folder, self.environment | variables)
        return Ended(done.returncode, done.stdout + done.stderr, self.folder / "ratiba-report")
