"""Code that makes tests, variables or a configuration of promptfoo runs at an import only if a person asks for it."""

import json
from collections.abc import Mapping
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from ratiba_action.errors import SuiteError, UsageError
from ratiba_action.model.scenario import Scenario
from tests.support.command_run import CommandRun
from tests.support.suites import suite_of

pytestmark = pytest.mark.processes
needs_node = pytest.mark.skipif(which("node") is None, reason="needs Node")
KEY = "sk-of-the-shell"
GENERATOR = """import os
from pathlib import Path

Path("ran.txt").write_text("")


def create_tests(config=None):
    print("a word on the way")
    key = os.environ.get("OPENAI_API_KEY", "no key")
    words = (config or {}).get("words", ["moja", "mbili"])
    return [{"vars": {"word": w, "key": key}, "assert": [{"type": "contains", "value": w}]} for w in words]


def broken():
    raise ValueError("no words today")


def number():
    return 3


def talkative():
    import atexit, sys

    atexit.register(lambda: [sys.__stdout__.flush(), os.write(1, b"and one more word")])
    return []
"""


@pytest.fixture
def command(command: CommandRun) -> CommandRun:
    """Finds Python and Node, and has a key."""
    path = f"{Path(which('python3') or '').parent}:{Path(which('node') or '').parent}"
    command.environment.update(PATH=path, OPENAI_API_KEY=KEY)
    return command


def imported(folder: Path, command: CommandRun, content: Mapping[str, Any], *words: str, code: int = 0) -> Any:
    """The report of the import of a configuration."""
    (folder / "promptfooconfig.json").write_text(
        json.dumps({"providers": ["echo"], "prompts": ["{{word}}"], **content})
    )
    return command.json("import", "promptfoo", ".", *words, code=code)


def results(printed: Mapping[str, Any], outcome: str) -> list[str]:
    return [f"{each['what']}: {each['result']}" for each in printed["findings"] if each["outcome"] == outcome]


def scenarios(folder: Path) -> list[Scenario]:
    return list(suite_of(folder).scenarios)


def inputs(folder: Path, name: str) -> list[Any]:
    return [each.inputs[name] for each in scenarios(folder)]


def test_code_that_makes_tests_is_not_run_and_the_row_names_the_option(folder: Path, command: CommandRun) -> None:
    (folder / "gen.py").write_text(GENERATOR)
    written = {"vars": {"word": "tatu"}, "assert": [{"type": "contains", "value": "tatu"}]}
    printed = imported(folder, command, {"tests": ["file://gen.py:create_tests", written]})
    assert not (folder / "ran.txt").exists()
    (row,) = results(printed, "manual")
    assert row.startswith("tests: not imported: 'file://gen.py:create_tests' makes them by code")
    assert row.endswith("only with --run-code")
    assert inputs(folder, "word") == ["tatu"]


def test_tests_made_by_python_are_scenarios_and_the_code_sees_no_key(folder: Path, command: CommandRun) -> None:
    (folder / "gen.py").write_text(GENERATOR)
    made = [{"path": "file://gen.py:create_tests", "config": {"words": ["tano"]}}, "file://gen.py:create_tests"]
    printed = imported(folder, command, {"tests": made}, "--run-code")
    assert sorted(inputs(folder, "word")) == ["mbili", "moja", "tano"]
    assert set(inputs(folder, "key")) == {"no key"}
    assert "tests: 'file://gen.py:create_tests' makes 2 today; import again when it makes others" in results(
        printed, "mapped"
    )


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("broken", "'gen.py' failed: 'ValueError: no words today'"),
        ("talkative", "'gen.py' printed something after its result"),
        ("missing", "'gen.py' failed: \"AttributeError: module 'imported_code' has no attribute 'missing'\""),
    ],
)
def test_code_that_fails_is_a_row(function: str, reason: str, folder: Path, command: CommandRun) -> None:
    (folder / "gen.py").write_text(GENERATOR)
    printed = imported(folder, command, {"tests": f"file://gen.py:{function}"}, "--run-code", code=2)
    assert results(printed, "manual") == [f"tests: not imported: {reason}"]


def test_code_that_makes_no_list_of_tests_is_refused(folder: Path, command: CommandRun) -> None:
    (folder / "gen.py").write_text(GENERATOR)
    with pytest.raises(SuiteError, match="makes 3, which is not a list of tests"):
        imported(folder, command, {"tests": "file://gen.py:number"}, "--run-code")


@needs_node
def test_variables_made_by_code_are_values_and_a_transform_sees_names_of_files(
    folder: Path, command: CommandRun
) -> None:
    (folder / "name.py").write_text("def get_var(name, prompt, others):\n    return {'output': name + others['a']}\n")
    (folder / "name.js").write_text("module.exports = (name, prompt) => ({ output: `${prompt} for ${name}` });\n")
    test = {
        "vars": {"word": "file://name.py", "other": "file://name.js", "a": "1"},
        "options": {"transformVars": "({ ...vars, seen: vars.word, number: context.uuid })"},
        "assert": [{"type": "contains", "value": "{{word}} {{seen}}"}],
    }
    printed = imported(folder, command, {"tests": [test]}, "--run-code")
    (scenario,) = scenarios(folder)
    assert (scenario.inputs["word"], scenario.inputs["other"]) == ("word1", "word1 for other")
    assert scenario.inputs["seen"] == "seen1"  # promptfoo runs the file for each variable that names it
    first = scenario.inputs["number"]
    assert results(printed, "manual") == []
    imported(folder, command, {"tests": [test]}, "--run-code")
    assert inputs(folder, "number") == [first]


def test_without_the_option_a_transform_is_a_row_and_the_test_is_written(folder: Path, command: CommandRun) -> None:
    test = {"vars": {"word": "a"}, "options": {"transformVars": "({ ...vars })"}, "assert": [{"type": "is-json"}]}
    printed = imported(folder, command, {"tests": [test]})
    assert results(printed, "manual") == [
        "options.transformVars: not imported: it is code, which an import runs only with --run-code"
    ]
    assert inputs(folder, "word") == ["a"]


@needs_node
def test_a_configuration_that_is_a_module_is_read_and_its_functions_are_rows(folder: Path, command: CommandRun) -> None:
    (folder / "promptfooconfig.mjs").write_text(
        "const words = ['moja', 'mbili'];\n"
        "export default { prompts: ['{{word}}'], providers: ['echo'],\n"
        "  tests: words.map((word) => ({ vars: { word }, assert: [{ type: 'contains', value: word },\n"
        "    { type: 'javascript', value: (output) => output === word }] })) };\n"
    )
    with pytest.raises(UsageError, match="is code, and an import runs none unless you ask for it"):
        command("import", "promptfoo", ".")
    printed = command.json("import", "promptfoo", ".", "--run-code")
    assert sorted(inputs(folder, "word")) == ["mbili", "moja"]
    assert [each for each in results(printed, "manual") if each.startswith("assert javascript: not imported")]


def test_the_option_belongs_to_promptfoo(folder: Path, command: CommandRun) -> None:
    (folder / "rows.csv").write_text("input\nHi\n")
    with pytest.raises(UsageError, match="--run-code does nothing for csv"):
        command("import", "csv", "rows.csv", "--run-code")


def test_a_folder_with_files_of_another_tool_is_named_with_the_commands_that_work(
    folder: Path, command: CommandRun
) -> None:
    (folder / "scenarios").mkdir()
    (folder / "scenarios/towns.yaml").write_text("config: []\ntests: []\n")
    content = {"tests": [{"vars": {"word": "a"}, "assert": [{"type": "contains", "value": "a"}]}]}
    with pytest.raises(UsageError, match=r"'scenarios/towns.yaml' is no scenario") as caught:
        imported(folder, command, content)
    assert "ratiba import promptfoo promptfooconfig.json --scenarios gate/scenarios" in str(caught.value)
    assert not (folder / "promptfoo_system.py").exists()
    assert imported(folder, command, content, "--scenarios", "gate/scenarios")["tests"] == 1


@pytest.mark.parametrize(
    ("kind", "metadata", "words"),
    [
        ("pii:social", {}, "must not reveal, confirm or guess data about a person"),
        ("policy", {"policy": "No advice on shares"}, "The policy: No advice on shares"),
        ("harmful:hate", {"purpose": "A bank"}, "The assistant's purpose: A bank"),
        ("of-tomorrow", {}, "must not do what the message is after"),
    ],
)
def test_an_assertion_of_the_red_team_is_a_rubric_of_the_judge(
    kind: str, metadata: Mapping[str, str], words: str, folder: Path, command: CommandRun
) -> None:
    assertion = {"type": f"promptfoo:redteam:{kind}", "metric": "Safe"}
    test = {"vars": {"word": "Attack"}, "metadata": metadata, "assert": [assertion]}
    printed = imported(folder, command, {"tests": [test]})
    (scenario,) = scenarios(folder)
    (entry,) = [each for each in scenario.assertions if each.metric == "GEval"]
    assert words in json.dumps(dict(entry.parameters))
    assert not [each for each in results(printed, "manual") if each.startswith("assert")]


@pytest.mark.parametrize("place", ["the configuration", "a file"])
def test_code_gets_replies_as_data_only_where_the_schema_stands_in_the_configuration(
    place: str, folder: Path, command: CommandRun
) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}
    (folder / "form.json").write_text(json.dumps(form))
    config = {"response_format": "file://form.json" if place == "a file" else form}
    test = {"vars": {"word": "a"}, "assert": [{"type": "python", "value": "output['a'] == 1"}]}
    content = {"providers": [{"id": "openai:gpt-4.1", "config": config}], "tests": [test]}
    imported(folder, command, content)
    (scenario,) = scenarios(folder)
    assert ('"as_json": true' in json.dumps([dict(each.parameters) for each in scenario.assertions])) is (
        place != "a file"
    )
