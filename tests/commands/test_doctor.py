"""``ratiba doctor`` on a real repository."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.main import run

WORKFLOW = ".github/workflows/eval-on-prompt-change.yml"
KEY = "sk-ant-0123456789abcdefghij"


def doctor(folder: Path, capsys: pytest.CaptureFixture[str], **environment: str) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = run(["doctor", "--json", "--repo", str(folder)], environment)
    found = json.loads(capsys.readouterr().out)
    return code, {check["check"]: check for check in found["checks"]}


def test_from_an_empty_folder_to_nothing_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = doctor(tmp_path, capsys)
    assert code == 1
    assert (found["configuration"]["fix"], found["workflow"]["fix"]) == ("ratiba init", "ratiba init")
    assert found["repository"]["state"] == "missing"

    git = ("git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.invalid")
    subprocess.run([*git, "init", "-q"], check=True)
    assert run(["init", "--yes", "--repo", str(tmp_path)], {}) == 0
    subprocess.run([*git, "add", "--all"], check=True)
    assert doctor(tmp_path, capsys)[1]["repository"]["state"] == "missing"
    subprocess.run([*git, "commit", "-qm", "Start"], check=True)
    code, found = doctor(tmp_path, capsys)
    assert {name for name, check in found.items() if check["state"] == "missing"} == {"workflow"}
    assert found["workflow"]["found"].startswith(f"{WORKFLOW}:")

    text = (tmp_path / WORKFLOW).read_text().replace("OWNER/", "salon/").replace("@COMMIT", f"@{'a' * 40}")
    (tmp_path / WORKFLOW).write_text(text)
    code, found = doctor(tmp_path, capsys)
    assert (code, found["workflow"]["state"], found["scenarios"]["found"]) == (0, "ok", "1")


def test_another_configuration_can_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other.yml").write_text("system: {adapter: 'a:A'}\n")
    run(["doctor", "--json", "--repo", str(tmp_path), "--config", "other.yml"], {})
    found = {check["check"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert found["configuration"]["found"] == "1 mistake in it or the scenarios"  # there is none
    assert found["configuration"]["fix"] == "ratiba validate --config other.yml"


def test_a_scenario_with_a_mocked_model_needs_no_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", "--yes", "--kind", "prompt", "--language", "fr", "--repo", str(tmp_path)], {}) == 0
    assert "script:" in (tmp_path / "scenarios/first_conversation.yaml").read_text()
    recordings = doctor(tmp_path, capsys)[1]["recordings"]
    assert (recordings["state"], recordings["fix"]) == ("ok", "")


def test_on_a_terminal_each_line_says_what_to_run_and_no_key_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["doctor", "--repo", str(tmp_path)], {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": f"broken {KEY}"})
    printed = capsys.readouterr().out
    assert code == 1
    assert "missing   configuration  no .github/ratiba.yml\n" in printed
    assert "-> ratiba init\n" in printed
    assert KEY not in printed
    assert printed.endswith(" missing.\n")


def test_a_wrong_configuration_is_no_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github/ratiba.yml").write_text("system: [\n")
    code, found = doctor(tmp_path, capsys)
    assert (code, found["configuration"]["fix"]) == (1, "ratiba validate")
