import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.commands.validate import run

CONFIGURATION = "system: {adapter: 'shop.adapter:Adapter'}\n"
SCENARIO = """\
id: talks
language: fr
now: 2026-04-25T10:00:00+03:00
customer: {name: Amina, phone: "+254 700 000 001"}
turns: [{user: hello}]
"""


def write(folder: Path, **files: str) -> None:
    names = {"configuration": ".github/ratiba.yml", "scenario": "scenarios/talks.yaml"}
    for key, content in files.items():
        path = folder / names.get(key, f"scenarios/recordings/{key}.jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def validate(folder: Path, *, as_json: bool = False) -> int:
    return run(Namespace(config=None, scenarios=None, repo=str(folder), json=as_json), {})


def test_a_good_repository_has_no_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, configuration=CONFIGURATION, scenario=SCENARIO)
    assert validate(tmp_path) == 0
    assert capsys.readouterr().out == "1 scenario, 1 turn: no mistake found.\n"


def test_mistakes_of_configuration_scenarios_and_recordings_are_told_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, configuration="system: {adaptr: x}\n", scenario=SCENARIO + "vertcal: spa\n", talks="{}\n")
    assert validate(tmp_path) == 2
    told = capsys.readouterr().out.splitlines()
    assert {line.split(":")[0] for line in told} == {
        ".github/ratiba.yml",
        "scenarios/recordings/talks.jsonl",
        "scenarios/talks.yaml",
    }
    assert told == sorted(told)


def test_a_recording_that_no_scenario_uses_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, configuration=CONFIGURATION, scenario=SCENARIO, gone="")
    assert validate(tmp_path) == 0
    assert "warning: scenarios/recordings/gone.jsonl: no scenario has this id" in capsys.readouterr().out


def test_for_programs_the_same_is_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, configuration=CONFIGURATION, scenario=SCENARIO.replace("fr", "French"))
    assert validate(tmp_path, as_json=True) == 2
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert told["scenarios"] is None
    assert [(one["path"], one["line"]) for one in told["problems"]] == [("scenarios/talks.yaml", 2)]
