"""What recordings say of a file where its path does not: named by ``validate``, proposed by ``init``."""

import json
from argparse import Namespace
from datetime import date
from pathlib import Path

import pytest

from ratiba_action.authoring.observed_prompts import only_text
from ratiba_action.commands import init
from ratiba_action.commands.validate import inspect
from ratiba_action.settings.settings import read_settings

SCENARIO = """\
id: returns
language: fr
touches: [{touches}]
turns: [{{user: hello, expect: {{state: DONE}}}}]
"""
AGENT = '''"""Answers the guests of a shop."""
import logging
SYSTEM = "You answer guests of a shop."
class Agent: ...
'''
READS = {
    "files": ["agent.py", "hours.md", "knowledge/", "prompts/tone.md"],
    "kind": "reads",
    "sent": dict.fromkeys(["agent.py", "knowledge/a.md", "knowledge/b.md", "prompts/tone.md"], "turn 1"),
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    files = {
        ".github/ratiba.yml": "system: {adapter: 'agent:Agent', price_per_turn_usd: 0}\n",
        "agent.py": AGENT,
        "other.py": "A = 1\n",
        "hours.md": "From nine to five.\n",
        "knowledge/a.md": "Refunds within 14 days.\n",
        "knowledge/b.md": "We ship on Mondays.\n",
        "prompts/tone.md": "Be kind to all guests.\n",
        "scenarios/returns.yaml": SCENARIO.format(touches="agent.py"),
        "scenarios/recordings/returns.jsonl": json.dumps(READS, sort_keys=True) + "\n",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    return tmp_path


def test_validate_names_prompts_in_code_and_documents_that_are_sent_or_read(shop: Path) -> None:
    found = inspect(shop, read_settings({}, {}), date(2026, 5, 1))
    assert not found.problems
    assert not found.warnings
    reaches = "reaches a model in `returns`, turn 1, so a change of it blocks, although other"
    assert list(map(str, found.observed)) == [
        f"agent.py:3: its constant `SYSTEM` {reaches} code is advisory; nothing to do",
        "hours.md: is read in `returns`, and by its path it is documentation: no change of it is skipped",
        *(f"knowledge/{name}.md: its text {reaches} documentation is skipped; nothing to do" for name in "ab"),
    ]


def test_validate_warns_of_touches_that_the_scenario_does_not_read(shop: Path) -> None:
    (shop / "scenarios/returns.yaml").write_text(SCENARIO.format(touches="other.py, 'knowledge/*.md', '!other.py'"))
    warnings = inspect(shop, read_settings({}, {}), date(2026, 5, 1)).warnings
    assert [warning.message.partition(";")[0] for warning in warnings] == [
        "touches: by its recording the scenario reads no file that 'other.py' matches"
    ]


def test_init_proposes_what_the_configuration_lacks_and_writes_nothing(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = Namespace(repo=str(shop), json=True)
    before = sorted(path for path in shop.rglob("*"))
    assert init.run(arguments, {}) == 0
    proposed = json.loads(capsys.readouterr().out)
    assert (proposed["written"], sorted(shop.rglob("*"))) == ([], before)
    touches, prompts = proposed["next"]
    assert touches == "Add `touches: [hours.md]` to returns: the system reads this document."
    assert 'set `prompts: [agent.py, "knowledge/*.md"]`' in prompts
    assert "agent.py sends its constant `SYSTEM` to a model (`returns`, turn 1)" in prompts

    prompts_set = "system: {adapter: 'agent:Agent', price_per_turn_usd: 0, prompts: [agent.py, 'knowledge/*.md']}\n"
    (shop / ".github/ratiba.yml").write_text(prompts_set)
    (shop / "scenarios/returns.yaml").write_text(SCENARIO.format(touches="hours.md"))
    assert init.run(arguments, {}) == 0
    assert json.loads(capsys.readouterr().out)["next"][0].startswith("Nothing: ")


@pytest.mark.parametrize(
    ("source", "name", "line"),
    [
        ("A = 1\nSYSTEM: str = (\n  'You answer '\n  'all the guests')\n", "SYSTEM", 2),
        ("class Texts(Enum):\n    RETURNS = 'You answer all guests'\n", "RETURNS", 2),
        ("A = 'You answer all guests'\nB = 'and never name a price'\n", "", 0),
        ("A = 'You answer all guests'\nsend('and never name a price')\n", "", 0),
        ("A = 'broken\n", "", 0),
    ],
)
def test_a_constant_is_named_where_it_has_the_only_text(source: str, name: str, line: int) -> None:
    assert only_text(source.encode()) == (name, line)
