import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from ratiba_action import cli
from ratiba_action.cli import COMMANDS, GROUPS
from ratiba_action.main import run
from ratiba_action.settings.settings import INPUTS


def test_help_names_every_command_and_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(["--help"], {})

    printed = capsys.readouterr().out
    assert ended.value.code == 0
    assert "example:" in printed
    for name in COMMANDS:
        assert name in printed


@pytest.mark.parametrize("name", list(COMMANDS))
def test_the_help_of_every_command_ends_with_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run([name, "--help"], {})

    assert ended.value.code == 0
    assert f"ratiba {name}" in capsys.readouterr().out.rpartition("example:")[2]


@pytest.mark.parametrize("arguments", [[], ["nothing"], ["decide", "--nothing"], ["decide", "extra"]])
def test_misuse_ends_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(arguments, {})

    assert ended.value.code == 2
    assert "usage: ratiba" in capsys.readouterr().err


def test_the_version_is_the_installed_one(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(["--version"], {})

    assert ended.value.code == 0
    assert capsys.readouterr().out == f"ratiba {version('ratiba-eval-gate')}\n"


@pytest.mark.processes
def test_the_version_of_files_that_are_not_installed_is_no_error() -> None:
    root = Path(cli.__file__).resolve().parent.parent
    ended = subprocess.run(
        [sys.executable, "-I", "-S", str(root / "entrypoint.py"), "--version"],
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
    )
    assert ended.stdout.startswith("ratiba")
    assert ended.stderr == ""


@pytest.mark.parametrize("arguments", [["--nothing"], ["extra"], ["--rules"], ["--js"]])
def test_a_mistake_in_a_commands_options_shows_that_commands_usage(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(["decide", *arguments], {})

    stderr = capsys.readouterr().err
    assert ended.value.code == 2
    assert stderr.startswith("usage: ratiba decide")
    assert arguments[0] in stderr.rpartition("ratiba decide: error: ")[2]


@pytest.mark.parametrize("arguments", [["--nothing", "decide"], ["nothing"], []])
def test_a_mistake_outside_a_command_shows_the_usage_of_the_program(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run(arguments, {})

    assert capsys.readouterr().err.startswith("usage: ratiba [-h]")


def test_the_help_groups_every_command_once_and_fits_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(["help"], {})

    lines = capsys.readouterr().out.splitlines()
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(COMMANDS)
    assert [line.split()[0] for line in lines[1:-1] if line[0] != " "] == list(GROUPS)
    assert max(map(len, lines)) < 80
    assert len(lines) < 30


@pytest.mark.parametrize(("arguments", "usage"), [(["gate"], "gate"), (["dataset", "push"], "dataset push")])
def test_help_of_a_command_is_what_its_option_shows(
    arguments: list[str], usage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = []
    for asked in (["help", *arguments], [*arguments, "--help"]):
        with pytest.raises(SystemExit) as ended:
            run(asked, {})
        assert ended.value.code == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert shown[0].startswith(f"usage: ratiba {usage} ")


def test_without_a_command_all_of_them_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ending:
        run([], {})
    assert ending.value.code == 2
    assert "write workflow, configuration and first scenario" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("gat", "gate"),
        ("hepl", "help"),
        ("help gat", "gate"),
        ("--vrsion", "--version"),
        ("gate --scenaro x", "--scenario"),
        ("gate --scenaro=x", "--scenario"),
        ("gate -dry-run", "--dry-run"),
        ("dataset pul", "pull"),
        ("dataset push --overwrit", "--overwrite"),
        ("canary --stable a --canary b --by tga", "tag"),
    ],
)
def test_a_misspelt_word_is_reported_with_what_was_probably_meant(
    line: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(line.split(), {})

    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith(f" Did you mean {meant}?\n")


def test_the_help_shows_closed_sets_of_values_and_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(["gate", "--help"], {})

    shown = " ".join(capsys.readouterr().out.split())
    for expected in (
        "--mode {auto,advisory,blocking} auto, or the minimum: advisory, blocking (default: auto; RATIBA_MODE)",
        "--llm {auto,replay,live}",
        "--comment {true,false}",
        "(default: 20; RATIBA_EVAL_BUDGET_USD)",
    ):
        assert expected in shown


FAILING = {"fail": ("tests.support.failing_command", "fail")}


def test_an_error_that_a_user_can_mend_is_reported_with_its_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fail", "infrastructure"], {}, FAILING) == 3
    assert capsys.readouterr().err == "ratiba: The server 'db\\x1b' is gone. Start it.\n"


def test_an_unexpected_error_is_one_line_and_a_place_to_report_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fail", "unexpected"], {}, FAILING) == 3

    stderr = capsys.readouterr().err
    assert "unexpected KeyError" in stderr
    assert "report it" in stderr
    assert "Traceback" not in stderr


def test_the_traceback_of_an_unexpected_error_is_shown_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fail", "unexpected"], {"RATIBA_DEBUG": "1"}, FAILING) == 3
    assert "Traceback" in capsys.readouterr().err


def test_the_help_of_the_gate_lists_the_options_of_every_day_first(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(["gate", "--help"], {})
    usage, first, *others = re.split(r"^[a-z ]+:\n", capsys.readouterr().out, flags=re.MULTILINE)
    names = re.findall(r"^  (?:-\w, )?--([\w-]+)", first, re.MULTILINE)
    everyday = ["scenario", "tag", "failed", "affected", "watch", "view", "dry-run", "llm"]
    everyday += ["budget-usd", "quiet", "verbose"]
    assert usage.startswith("usage: ratiba gate [options]\n")
    assert names == ["help", *everyday]
    listed = re.findall(r"^  --([\w-]+)", "".join(others), re.MULTILINE)
    assert {entry.name for entry in INPUTS if not entry.secret} <= {*names, *listed}
    assert len(listed) == len(set(listed))
