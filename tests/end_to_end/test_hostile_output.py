"""A change that tries to give commands to the runner by what the gate prints, where the gate itself is a step."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.hostile_log import COMMANDS, hostile_adapter, planted
from tests.support.small_repository import SmallRepository

if TYPE_CHECKING:
    import subprocess


def step(small: SmallRepository, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a command as a step of a workflow runs it, on what is committed: in a job nothing else is run."""
    small.commit()
    variables = {"GITHUB_ACTIONS": "true", "CI": "true", "GITHUB_REPOSITORY": "salon/assistant", "GITHUB_RUN_ID": "31"}
    return small.run([*arguments], small.folder, small.environment | variables)


@pytest.fixture
def hostile(small: SmallRepository) -> SmallRepository:
    """The small repository whose system attacks the log."""
    adapter = small.folder / "adapter.py"
    small.write("adapter.py", hostile_adapter(adapter.read_text()))
    return small


def test_malformed_requests_to_the_gateway_print_no_command(hostile: SmallRepository) -> None:
    hostile.scenario("requests", "gateway")
    done = step(hostile, "gate", "--mode", "blocking", "--report-dir", str(hostile.report))
    assert done.returncode == 0, done.stdout + done.stderr
    assert planted(done.stdout, done.stderr) == []


@pytest.mark.parametrize("message", ["streams", "crash", "error 0", "error 4", "answer 0", "answer 3", "answer 4"])
def test_what_a_system_prints_answers_or_raises_is_no_command(hostile: SmallRepository, message: str) -> None:
    hostile.scenario("talk", message)
    done = step(hostile, "gate", "--mode", "blocking", "--report-dir", str(hostile.report))
    assert done.returncode in (0, 1, 3), done.stderr
    assert planted(done.stdout, done.stderr) == []


@pytest.mark.parametrize("options", [(), ("--json",), ("--dry-run",)], ids=["text", "json", "dry run"])
def test_names_and_texts_of_files_are_no_commands(hostile: SmallRepository, options: tuple[str, ...]) -> None:
    for number, command in enumerate(COMMANDS):
        hostile.write(f"scenarios/{command.replace('/', '_')}.yaml", f"id: {command!r}\nturns: {number}\n")
        hostile.write(f"{command.replace('/', '_')}.py", "")
    for words in (
        ["gate", "--mode", "blocking", "--report-dir", str(hostile.report), *options],
        ["decide"],
        ["decide", "--json"],
        ["validate"],
    ):
        done = step(hostile, *words)
        assert planted(done.stdout, done.stderr) == [], words


def test_what_a_set_up_command_prints_is_no_command(hostile: SmallRepository) -> None:
    hostile.scenario("talks", "say hello")
    words = "; ".join(f"sys.stderr.write({command + chr(10)!r})" for command in COMMANDS)
    hostile.write("prepare.py", f"import sys\n{words}\nsys.exit(1)\n")
    hostile.write(
        ".github/ratiba.yml", f"system: {{adapter: 'adapter:Adapter', setup: [{sys.executable}, prepare.py]}}\n"
    )
    done = step(hostile, "gate", "--mode", "blocking", "--report-dir", str(hostile.report))
    assert done.returncode == 3, done.stdout
    assert "planted" in done.stdout + done.stderr
    assert planted(done.stdout, done.stderr) == []


def test_a_report_that_holds_commands_is_shown_without_any(hostile: SmallRepository, tmp_path: Path) -> None:
    hostile.scenario("talk", "answer 0", "answer 3")
    step(hostile, "gate", "--mode", "blocking", "--report-dir", str(hostile.report))
    results = str(hostile.report / "results.json")
    for words in (["report", "--results", results], ["report", "--results", results, "--json"]):
        done = step(hostile, *words)
        assert planted(done.stdout, done.stderr) == []
    (tmp_path / "results.json").write_text('{"##[set-output name=conclusion;]passed": "\\n::error::planted"}')
    done = step(hostile, "report", "--results", str(tmp_path / "results.json"))
    assert planted(done.stdout, done.stderr) == []
