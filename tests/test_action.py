"""action.yml, the settings and the tables of docs/inputs.md say the same."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from ratiba_action.publish.publishing import OUTPUTS
from ratiba_action.settings.environment import is_secret
from ratiba_action.settings.settings import INPUTS

PROJECT = Path(__file__).parent.parent
INPUTS_PAGE = (PROJECT / "docs/inputs.md").read_text(encoding="utf-8")
SCRIPTS = PROJECT / "action"
# Read by the scripts alone, which choose the image before any gate exists.
IMAGE = "image"
TOKEN_OF_THE_JOB = "${{ github.token }}"


def read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((PROJECT / name).read_text(encoding="utf-8"))
    return content


def steps() -> dict[str, dict[str, Any]]:
    return {step["id"]: step for step in read("action.yml")["runs"]["steps"]}


def cells(name: str) -> list[list[str]]:
    (block,) = re.findall(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", INPUTS_PAGE, re.DOTALL)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()[2:]]


def listed(name: str) -> set[str]:
    """Words of a list of the script that makes the container."""
    (block,) = re.findall(rf"readonly {name}=\((.*?)\)", (SCRIPTS / "container.sh").read_text(), re.DOTALL)
    return set(block.split())


def test_the_inputs_of_the_action_are_the_settings_and_the_image() -> None:
    declared = read("action.yml")["inputs"]
    assert list(declared) == [
        name for entry in INPUTS for name in ([entry.name, IMAGE] if entry.name == "report-dir" else [entry.name])
    ]
    for entry in INPUTS:
        default = TOKEN_OF_THE_JOB if entry.name == "github-token" else entry.default
        assert declared[entry.name] == {"description": entry.help, "default": default}


def test_the_page_of_inputs_lists_every_input_of_the_action() -> None:
    assert {row[0].strip("`") for row in cells("inputs")} | {IMAGE} == set(read("action.yml")["inputs"])
    assert f"`{IMAGE}`" in INPUTS_PAGE


def test_the_outputs_of_the_action_are_what_the_gate_writes() -> None:
    declared = read("action.yml")["outputs"]
    assert list(declared) == list(OUTPUTS)
    assert [row[:2] for row in cells("outputs")] == [
        [f"`{name}`", entry["description"]] for name, entry in declared.items()
    ]
    for name, entry in declared.items():
        expression = " || ".join(f"steps.{step}.outputs.{name}" for step in ("conclude", "decide"))
        assert entry["value"] == f"${{{{ {expression} }}}}"


@pytest.mark.parametrize("step", ["decide", "evaluate", "conclude"])
def test_a_step_hands_each_input_on_by_its_own_variable(step: str) -> None:
    environment = steps()[step]["env"]
    expected = {entry.environment_variable: f"${{{{ inputs.{entry.name} }}}}" for entry in INPUTS}
    own = {"RATIBA_IMAGE", "RATIBA_JOB_NETWORK", "RATIBA_ENDED", "RATIBA_SEAL_KEY", "RATIBA_CONFIG_CHANGED"}
    assert {name: value for name, value in environment.items() if name not in own} == {
        name: expected[name] for name in environment if name not in own
    }
    missing = {entry.name for entry in INPUTS if entry.environment_variable not in environment}
    secrets = {entry.name for entry in INPUTS if entry.secret and entry.name != "github-token"}
    assert missing == (set() if step == "evaluate" else secrets)


def test_every_input_enters_the_container_but_the_place_of_the_report() -> None:
    inputs = {entry.environment_variable for entry in INPUTS} - {"RATIBA_REPORT_DIR"}
    assert inputs <= listed("ENTERING") | listed("SECRET")
    assert "PATH" not in listed("ENTERING")


def test_no_variable_of_the_container_is_or_may_hold_a_secret() -> None:
    own = {"RATIBA_SEAL_KEY", "RATIBA_ENGINE_KEY"}
    secrets = {entry.environment_variable for entry in INPUTS if entry.secret} | own
    assert secrets == listed("MASKED")
    assert secrets <= listed("SECRET")
    with_password = "http://user:password@proxy.example:3128"
    assert {name for name in listed("SECRET") if is_secret(name, with_password)} == listed("SECRET")
    assert {name for name in listed("ENTERING") if is_secret(name, "")} == set()


def test_the_step_that_concludes_runs_whatever_came_of_the_others_with_the_key_of_the_step_that_decides() -> None:
    assert steps()["conclude"]["if"] == "always() && steps.decide.outputs.conclusion == ''"
    for step in ("evaluate", "conclude"):
        assert steps()[step]["env"]["RATIBA_SEAL_KEY"] == "${{ steps.decide.outputs.seal-key }}"
    assert "continue-on-error" not in str(steps())


@pytest.mark.processes
def test_each_run_has_a_key_of_its_own_which_the_runner_masks_first(tmp_path: Path) -> None:
    keys = []
    for name in ("first", "second"):
        output = tmp_path / name
        environment = {"PATH": os.environ["PATH"], "GITHUB_OUTPUT": str(output), "GITHUB_WORKSPACE": str(tmp_path)}
        command = ["bash", str(SCRIPTS / "decide.sh")]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        (key,) = re.findall(r"^seal-key=([0-9a-f]{64})$", output.read_text(), re.MULTILINE)
        assert done.stdout.startswith(f"::add-mask::{key}\n")
        keys.append(key)
    assert keys[0] != keys[1]


def test_deciding_alone_takes_inputs_of_the_action() -> None:
    declared, known = read("decide/action.yml"), read("action.yml")["inputs"]
    assert {name: entry["default"] for name, entry in declared["inputs"].items()} == {
        name: known[name]["default"] for name in declared["inputs"]
    }
    (step,) = declared["runs"]["steps"]
    variables = {entry.name: entry.environment_variable for entry in INPUTS}
    assert step["env"] == {variables[name]: f"${{{{ inputs.{name} }}}}" for name in declared["inputs"]}


def test_the_example_is_configured_alike_for_the_container() -> None:
    laptop, container = read(".github/ratiba.yml"), read(".github/ratiba.container.yml")
    assert container["system"].pop("python") == ".venv/bin/python"
    assert "--require-hashes -r requirements.txt" in container["system"].pop("setup")[-1]
    assert container["system"].pop("setup_reads") == ["requirements.txt"]
    assert container == laptop


def test_the_example_locks_what_the_project_needs_to_run_it() -> None:
    import tomllib

    listed = (PROJECT / "examples/booking_assistant/requirements.in").read_text().split("\n")
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    wanted = set(project["optional-dependencies"]["example"])
    assert wanted | {"psycopg[binary]>=3.3"} == {line for line in listed if line}
