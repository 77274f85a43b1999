"""Secrets are taken out of the process's variables before anything else, or arrive on standard input."""

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratiba_action.errors import InfrastructureError
from ratiba_action.settings.environment import Environment, is_secret, take_inputs, take_secrets
from ratiba_action.settings.settings import INPUTS, read_settings

PROXY = "http://user:PLANTED@proxy.example:3128"


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """The ends of a pipe: to read, to write."""
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:
            continue


def read(content: bytes, pipe: tuple[int, int]) -> Environment:
    os.write(pipe[1], content)
    os.close(pipe[1])
    return take_secrets({"RATIBA_SECRETS": "stdin"}, pipe[0])


@pytest.mark.parametrize("entry", [entry for entry in INPUTS if entry.secret], ids=lambda entry: str(entry.name))
def test_every_secret_input_leaves_the_variables_and_is_still_read(entry: object) -> None:
    name = entry.environment_variable  # type: ignore[attr-defined] # an Input
    variables = {name: "PLANTED", "PATH": "/bin"}
    environment = take_secrets(variables)
    assert variables == {"PATH": "/bin"}
    assert environment[name] == "PLANTED"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HTTPS_PROXY", PROXY),
        ("http_proxy", "user:PLANTED@proxy.example:3128"),
        ("ALL_PROXY", "socks5://user@proxy.example"),
        ("OPENAI_API_KEY", "PLANTED"),
        ("GH_TOKEN", "PLANTED"),
        ("ACTIONS_RUNTIME_TOKEN", "PLANTED"),
        ("RATIBA_OPENAI_BASE_URL", "https://user:PLANTED@models.example/v1"),
        ("RATIBA_LEDGER_URL", "host=db password=PLANTED"),
    ],
)
def test_what_holds_a_credential_is_a_secret(name: str, value: str) -> None:
    assert is_secret(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PATH", "/bin"),
        ("HTTPS_PROXY", "http://proxy.example:3128"),
        ("DOCKER_HOST", "ssh://me@machine"),
        ("RATIBA_OPENAI_BASE_URL", "http://localhost:8000/v1"),
        ("KEYBOARD", "qwerty"),
    ],
)
def test_anything_else_stays(name: str, value: str) -> None:
    assert not is_secret(name, value)


def test_a_copy_for_a_child_and_a_message_hold_no_secret() -> None:
    environment = take_secrets({"RATIBA_GITHUB_TOKEN": "PLANTED", "HTTPS_PROXY": PROXY, "PATH": "/bin"})
    copies = [dict(environment), {**environment}, dict(environment.items()), list(environment.values())]
    assert "PLANTED" not in repr([*copies, environment])
    assert environment.get("HTTPS_PROXY") == PROXY
    assert "RATIBA_GITHUB_TOKEN" in environment
    assert read_settings(environment, {}).github_token == "PLANTED"


def test_what_is_set_later_is_a_variable_of_the_process_unless_it_is_a_secret() -> None:
    variables = {"PATH": "/bin"}
    environment = take_secrets(variables)
    environment.update({"DEEPEVAL_HOME": "/x", "CONFIDENT_API_KEY": "PLANTED"})
    assert variables == {"PATH": "/bin", "DEEPEVAL_HOME": "/x"}
    assert environment.pop("CONFIDENT_API_KEY") == "PLANTED"
    assert environment.pop("CONFIDENT_API_KEY", None) is None


def test_in_the_process_of_others_their_own_keys_stay() -> None:
    variables = {"OPENAI_API_KEY": "theirs", "RATIBA_OPENAI_API_KEY": "PLANTED"}
    assert take_inputs(variables)["RATIBA_OPENAI_API_KEY"] == "PLANTED"
    assert variables == {"OPENAI_API_KEY": "theirs"}


def test_variables_arrive_on_standard_input_with_every_character(pipe: tuple[int, int]) -> None:
    value = "PLANTED 'x' \"$y\" %0A=\nsecond line \xe9"
    environment = read(f"RATIBA_GITHUB_TOKEN={value}\0RATIBA_NAME=salon\0".encode(), pipe)
    assert environment["RATIBA_GITHUB_TOKEN"] == value
    assert (dict(environment)["RATIBA_NAME"], os.read(pipe[0], 1)) == ("salon", b"")


def test_an_empty_standard_input_is_no_secret(pipe: tuple[int, int]) -> None:
    assert dict(read(b"", pipe)) == {"RATIBA_SECRETS": "stdin"}


def test_a_standard_input_that_is_a_terminal_or_closed_is_not_waited_for() -> None:
    controlling, terminal = pty.openpty()
    for number in (controlling, terminal):
        environment = take_secrets({"RATIBA_SECRETS": "stdin"}, terminal)
        assert dict(environment) == {"RATIBA_SECRETS": "stdin"}
        os.close(number)
    take_secrets({"RATIBA_SECRETS": "stdin"}, terminal)
    os.close(terminal)


@pytest.mark.parametrize("content", [b"RATIBA_GITHUB_TOKEN=PLANT", b"PLANTED\0", b"=PLANTED\0", b"A B=PLANTED\0"])
def test_half_of_what_was_written_is_refused_and_not_repeated(pipe: tuple[int, int], content: bytes) -> None:
    with pytest.raises(InfrastructureError) as refused:
        read(content, pipe)
    assert "PLANT" not in str(refused.value)


def test_a_standard_input_that_never_ends_is_given_up(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ratiba_action.settings.environment._SECONDS", 0.05)
    os.write(pipe[1], b"RATIBA_GITHUB_TOKEN=PLANTED\0")
    with pytest.raises(InfrastructureError, match="did not end within"):
        take_secrets({"RATIBA_SECRETS": "stdin"}, pipe[0])


WATCHING_GIT = """#!/bin/sh
tr '\\0' '\\n' </proc/$$/environ >>"$(dirname "$0")/seen"
tr '\\0' '\\n' </proc/$PPID/cmdline >>"$(dirname "$0")/seen"
exec %s "$@"
"""


@pytest.mark.processes
@pytest.mark.parametrize("command", [["gate", "--dry-run"], ["decide"], ["validate"]], ids=lambda words: str(words[0]))
def test_a_child_of_the_program_inherits_no_secret(tmp_path: Path, command: list[str]) -> None:
    """A git that is first on the PATH writes down all that it gets."""
    real = subprocess.run(["/bin/sh", "-c", "command -v git"], capture_output=True, text=True, check=True).stdout
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(WATCHING_GIT % real.strip())
    (tmp_path / "bin" / "git").chmod(0o755)
    checkout = tmp_path / "checkout"
    subprocess.run(["git", "init", "--quiet", str(checkout)], check=True)
    planted = {entry.environment_variable: "PLANTED" for entry in INPUTS if entry.secret and entry.parse is str}
    planted |= {"HTTPS_PROXY": PROXY, "OPENAI_API_KEY": "PLANTED", "GITHUB_TOKEN": "PLANTED"}
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-m", "ratiba_action", *command],
        cwd=checkout,
        env={"PATH": path, "HOME": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2]), **planted},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    seen = tmp_path / "bin" / "seen"
    assert command[0] == "validate" or "PATH=" in seen.read_text(), done.stdout + done.stderr
    assert "PLANTED" not in (seen.read_text() if seen.exists() else "") + done.stdout + done.stderr


LOOK = """
import ctypes, os
DESCRIPTION = EXAMPLE = ""
GET_DUMPABLE = 3
def add_arguments(parser): pass
def run(arguments, environment):
    token = "RATIBA_GITHUB_TOKEN"
    print(ctypes.CDLL(None).prctl(GET_DUMPABLE), token in os.environ, environment[token])
    return 0
"""


@pytest.mark.processes
@pytest.mark.parametrize("in_workflow", ["true", "false"])
def test_the_program_hides_from_others_of_its_user(tmp_path: Path, in_workflow: str) -> None:
    """What stood in the environment at the start stays in the kernel's copy, which then belongs to root."""
    (tmp_path / "look.py").write_text(LOOK)
    program = "import sys; from ratiba_action import cli; cli.COMMANDS = {'look': ('look', '')}; "
    program += "from ratiba_action.main import main; sys.exit(main(['look']))"
    path = f"{tmp_path}{os.pathsep}{Path(__file__).parents[2]}"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": path, "RATIBA_GITHUB_TOKEN": "PLANTED", "GITHUB_ACTIONS": in_workflow},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["0", "False", "PLANTED"], done.stderr
