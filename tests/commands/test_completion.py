"""``ratiba completion``: each shell really completes."""

import os
import pty
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ratiba_action.cli import COMMANDS
from ratiba_action.main import run

pytestmark = pytest.mark.processes
SECONDS = 30.0
CASES = [
    ("ratiba ga", "gate"),
    ("ratiba gate --llm re", "gate --llm re"),
    ("ratiba gate --dry", "gate --dry-run"),
    ("ratiba gate --mode bl", "gate --mode blocking"),
    ("ratiba dataset pul", "dataset pull"),
]
"""What is typed before the tabulator, and the arguments that the command then gets; `re` is replay or record."""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completion")
    for shell in ("bash", "zsh", "fish"):
        with (folder / shell).open("w") as file, pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.stdout", file)
            assert run(["completion", shell], {}) == 0
    return folder


def require(shell: str) -> str:
    return shutil.which(shell) or pytest.skip(f"{shell} is not installed")


@contextmanager
def terminal(command: list[str], folder: Path) -> Iterator[int]:
    """A shell on a terminal of its own; ends it."""
    ours, theirs = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "dumb"}
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=folder, start_new_session=True
    ) as shell:
        os.close(theirs)
        try:
            yield ours
        finally:
            shell.kill()
            os.close(ours)


def read_until(descriptor: int, wanted: str) -> str:
    """What a terminal shows until there is a text in it."""
    shown, end = "", time.monotonic() + SECONDS
    while wanted not in shown:
        ready, _, _ = select.select([descriptor], [], [], max(end - time.monotonic(), 0))
        assert ready, shown
        shown += os.read(descriptor, 65536).decode(errors="replace")
    return shown


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_tabulator_on_a_terminal_completes(shell: str, scripts: Path, tmp_path: Path) -> None:
    start = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}[shell]
    load = {"bash": "", "zsh": "autoload -U compinit; compinit -u; "}[shell]
    with terminal([require(shell), *start], tmp_path) as screen:
        os.write(
            screen, f'{load}eval "$(<{scripts / shell})"; ratiba() {{ echo "got:$*:"; }}; echo rea\'\'dy\n'.encode()
        )
        read_until(screen, "ready")
        for typed, arguments in CASES:
            os.write(screen, f"{typed}\t\n".encode())
            read_until(screen, f"got:{arguments}")


def test_fish_proposes_what_a_tabulator_would(scripts: Path, tmp_path: Path) -> None:
    fish = require("fish")
    for typed, arguments in CASES:
        done = subprocess.run(
            [fish, "--no-config", "-c", f"source {scripts / 'fish'}; complete --do-complete '{typed}'"],
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        proposed = [line.partition("\t")[0] for line in done.stdout.splitlines()]
        assert any(each.startswith(arguments.split()[-1]) for each in proposed), (typed, done.stdout)


def test_every_command_is_completed(scripts: Path) -> None:
    for shell in ("bash", "zsh", "fish"):
        text = (scripts / shell).read_text("utf-8")
        assert [name for name in COMMANDS if name not in text] == []
