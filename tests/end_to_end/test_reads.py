"""A system whose prompts stand in ten kinds of places: what is recorded of its scenarios, and what the gate notes."""

import json
from pathlib import Path

import pytest

from tests.support.small_repository import SmallRepository

FILES = {
    ".github/ratiba.yml": "system: {adapter: 'agent:Agent', database: false}\n",
    "agent.py": """
        import importlib, json, os, urllib.request

        class Agent:
            def open(self, context):
                self.started = open("start.txt").read()
                return self
            def send(self, message):
                prompt = importlib.import_module(f"of_{message}").prompt(self)
                ask(prompt)
                return {"text": "done"}

        def ask(prompt):
            body = {"model": "claude-haiku-4-5", "max_tokens": 50, "system": prompt,
                    "messages": [{"role": "user", "content": "?"}]}
            request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages",
                json.dumps(body).encode(), {"x-api-key": os.environ["ANTHROPIC_API_KEY"],
                "content-type": "application/json", "anthropic-version": "2023-06-01"})
            return json.load(urllib.request.urlopen(request))
    """,
    "of_constant.py": """
        SYSTEM = ("You answer guests of a salon, "
                  "in Swahili and in a kind way.")
        def prompt(agent):
            return SYSTEM
    """,
    "of_dataclass.py": """
        from dataclasses import dataclass
        @dataclass
        class Assistant:
            prompt: str = "You sell bread to people who are hungry."
            limit: int = 3
        def prompt(agent):
            return Assistant().prompt
    """,
    "of_yaml.py": "def prompt(agent):\n    return open('guests.yaml').read().partition('text: >')[2]\n",
    "guests.yaml": "guest:\n  text: >\n    You book rooms for people\n    who travel by night bus.\n",
    "of_seed.py": """
        import sqlite3
        def prompt(agent):
            with sqlite3.connect(":memory:") as database:
                database.executescript(open("seed.sql").read())
                return database.execute("SELECT text FROM prompts").fetchone()[0]
    """,
    "seed.sql": """
        CREATE TABLE prompts (text TEXT);
        INSERT INTO prompts VALUES ('You move parcels that nobody has fetched.');
    """,
    "of_resource.py": """
        from importlib.resources import files
        def prompt(agent):
            return files("package").joinpath("texts/guest.txt").read_text()
    """,
    "package/__init__.py": "",
    "package/texts/guest.txt": "You know every opening hour of the museum.\n",
    "of_parts.py": """
        from parts import FIRST
        def prompt(agent):
            return FIRST + open("last.md").read()
    """,
    "parts.py": "FIRST = 'You repair the bicycles of the city. '\n",
    "last.md": "Never promise a day of delivery.\n",
    "of_template.py": """
        from string import Template
        def prompt(agent):
            return Template(open("template.txt").read()).substitute(name="Amina", day="Friday")
    """,
    "template.txt": "Dear $name, you plan the week of a clinic until $day.\n",
    "of_enum.py": """
        from enum import Enum
        class Texts(Enum):
            '''What is said.'''
            GUIDE = "You guide visitors through a tea garden."
        def prompt(agent):
            return Texts.GUIDE.value
    """,
    "of_pieces.py": """
        WHO = "You repair nets."
        RULES = ["Be patient.", "Name no price."]
        def prompt(agent):
            return "\\n".join([WHO, *RULES])
    """,
    "of_start.py": "def prompt(agent):\n    return agent.started\n",
    "start.txt": "You were told this before anybody said a word.\n",
    "docs/unread.md": "You answer guests of a salon, in Swahili and in a kind way.\n",
    "knowledge/a.md": "Nothing is read here.\n",
}
NO_RULE = {"guests.yaml", "package/texts/guest.txt", "template.txt", "start.txt"}
"""What no rule matches is blocking whatever it is."""
SENT = {
    "constant": {"of_constant.py"},
    "dataclass": {"of_dataclass.py"},
    "yaml": {"guests.yaml"},
    "seed": {"seed.sql"},
    "resource": {"package/texts/guest.txt"},
    "parts": {"last.md", "parts.py"},
    "template": {"template.txt"},
    "enum": {"of_enum.py"},
    "pieces": {"of_pieces.py"},
    "start": {"start.txt"},
}
SCENARIO = """\
id: {name}
layer: fsm
language: fr
now: 2026-04-25T10:00:00+03:00
customer: {{name: Amina, phone: "+254 700 000 001"}}
turns:
  - user: {name}
script:
  - {{text: fine}}
rules:
  - {{type: must_contain, value: done}}
"""


def first_line(small: SmallRepository, name: str) -> dict[str, object]:
    line: dict[str, object] = json.loads((small.folder / f"scenarios/recordings/{name}.jsonl").read_text())
    return line


@pytest.fixture
def observed(small: SmallRepository) -> SmallRepository:
    (small.folder / "adapter.py").unlink()
    for name, content in FILES.items():
        small.write(name, "\n".join(line.removeprefix("        ") for line in content.splitlines()) + "\n")
    for name in SENT:
        small.write(f"scenarios/{name}.yaml", SCENARIO.format(name=name))
    small.commit()
    recorded = small.ended("record", "--reads")
    assert recorded.code == 0, recorded.printed
    small.commit()
    return small


def test_each_prompt_is_found_wherever_it_stands_and_a_run_notes_what_differs(observed: SmallRepository) -> None:
    lines = {name: first_line(observed, name) for name in SENT}
    assert {name: set(line["sent"]) for name, line in lines.items()} == SENT  # type: ignore[call-overload]
    assert {turn for line in lines.values() for turn in line["sent"].values()} == {"turn 1"}  # type: ignore[attr-defined]
    assert lines["resource"]["files"] == ["agent.py", "of_resource.py", "package/", "start.txt"]
    assert lines["parts"]["files"] == ["agent.py", "last.md", "of_parts.py", "parts.py", "start.txt"]

    observed.write("of_yaml.py", "def prompt(agent):\n    return open('knowledge/a.md').read() + 'and more'\n")
    ended = observed.gate()
    note = next(line for line in Path(ended.report / "comment.md").read_text().splitlines() if "Unlike" in line)
    assert (
        "the system reads knowledge/a.md; no longer reads guests.yaml; now sends a model text of knowledge/a.md;"
        in note
    )
    assert "no longer sends a model text of guests.yaml." in note
    assert ended.outputs["conclusion"] == "passed", ended.printed

    again = observed.ended("record", "--reads", "--scenario", "yaml")
    assert "yaml: unchanged: the same answers; reads differ" in again.printed
    assert first_line(observed, "yaml")["files"] == ["agent.py", "knowledge/a.md", "of_yaml.py", "start.txt"]


def test_a_text_that_reaches_a_model_is_a_prompt_wherever_it_stands_and_a_comment_beside_it_is_not(
    observed: SmallRepository,
) -> None:
    blocking = {
        "of_constant.py": ("in a kind way", "in a curt way"),
        "of_dataclass.py": ("who are hungry", "who can pay"),
        "guests.yaml": ("by night bus", "by ferry"),
        "seed.sql": ("nobody has fetched", "nobody has paid"),
        "package/texts/guest.txt": ("of the museum", "of the zoo"),
        "parts.py": ("of the city", "of the village"),
        "last.md": ("Never promise", "Always promise"),
        "template.txt": ("of a clinic", "of a spa"),
        "start.txt": ("said a word", "said a thing"),
        "of_enum.py": ("a tea garden", "a rose garden"),
        "of_pieces.py": ("Be patient", "Be quick"),
    }
    others = {
        "of_parts.py": ("def prompt", "# Joined from two places.\ndef prompt"),
        "of_constant.py": ("def prompt", "# What the model is told.\ndef prompt"),
        "of_enum.py": ("What is said", "What a guide says"),
        "docs/unread.md": ("guests of a salon", "guests of a spa"),
    }
    for path, (old, new) in blocking.items():
        printed = decided(observed, path, old, new)
        assert "blocking" in printed.splitlines()[0], (path, printed)
        why = "no rule matches this file" if path in NO_RULE else "its text reached the model in `"
        assert f"- {path}: {why}" in printed, (path, printed)
    for path, (old, new) in others.items():
        printed = decided(observed, path, old, new)
        assert "blocking" not in printed.splitlines()[0], (path, printed)


def decided(small: SmallRepository, path: str, old: str, new: str) -> str:
    """What a dry run prints of one edit, which is taken back."""
    file = small.folder / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    ended = small.ended("gate", "--dry-run")
    file.write_text(text)
    return ended.printed
