from pathlib import Path

import pytest
import yaml

from ratiba_action.decide.plain_yaml import YamlDoubt, read_plain_form
from ratiba_action.decide.system_paths import read_touches
from ratiba_action.model.change import Mode

SCENARIOS = sorted((Path(__file__).parents[2] / "scenarios").glob("*.yaml"))


def patterns(text: str) -> list[str]:
    return [rule.pattern for rule in read_touches(read_plain_form("x.yaml", text))]


@pytest.mark.parametrize(
    "text",
    [
        "id: x\ntouches: [a/*.md, 'b c.md', \"d,e\"]\nturns: []\n",
        "id: x\ntouches:\n  - a/*.md\n  - 'b c.md'  # why\n  - \"d,e\"\nturns: []\n",
        "touches:\n- a/*.md\n- b c.md\n- 'd,e'\n",
        "touches: [\n  a/*.md,\n  b c.md, 'd,e']\n",
    ],
)
def test_a_list_is_read_in_every_usual_form(text: str) -> None:
    assert patterns(text) == ["a/*.md", "b c.md", "d,e"]


@pytest.mark.parametrize("text", ["", "id: x\n", "turns:\n  - user: 'touches: [a]'\n", "touches: []\n"])
def test_without_a_list_there_is_no_floor(text: str) -> None:
    assert patterns(text) == []


def test_a_touched_file_is_at_least_advisory() -> None:
    assert {rule.mode for rule in read_touches(read_plain_form("x.yaml", "touches: [knowledge/]\n"))} == {Mode.ADVISORY}


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_bundled_scenario_is_read_as_a_yaml_library_reads_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert patterns(text) == yaml.safe_load(text).get("touches", [])


@pytest.mark.parametrize("text", ["touches: a.md\n", "touches: {a: b}\n", "- id: y\n- touches: [[a]]\n"])
def test_what_is_no_list_of_files_is_a_doubt(text: str) -> None:
    with pytest.raises(YamlDoubt, match=r"^x.yaml:[12]: "):
        patterns(text)
