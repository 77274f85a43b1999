"""What an untrusted command is started with, and what it cannot keep."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.systems.launch import allowed_environment, launch, unused_identity

HOME, TEMPORARY = Path("/scratch/home"), Path("/scratch/tmp")
ALLOWED = {"PATH", "LANG", "LC_ALL", "LC_TIME", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR"}
NAMES = st.text(st.sampled_from("ABCLNPSTZ_KEY"), min_size=1) | st.sampled_from(
    [*ALLOWED, "ANTHROPIC_API_KEY", "GITHUB_TOKEN", "LC_lower", "XPATH", "PATHX", "PATH\n", "LD_PRELOAD", "PYTHONPATH"]
)


@given(st.dictionaries(NAMES, st.text()))
def test_only_listed_names_are_inherited(inherited: dict[str, str]) -> None:
    environment = allowed_environment(inherited, HOME, TEMPORARY, {})
    strangers = {name for name in environment if not name.startswith("LC_")} - ALLOWED - {"HOME", "TMPDIR"}
    assert strangers == set()
    assert not any("\n" in name for name in environment)


@given(st.dictionaries(NAMES, st.text()), st.dictionaries(NAMES, st.text()))
def test_values_of_the_configuration_win(inherited: dict[str, str], configured: dict[str, str]) -> None:
    environment = allowed_environment(inherited, HOME, TEMPORARY, configured)
    assert {name: environment[name] for name in configured} == configured


def test_a_user_that_nobody_uses_is_chosen() -> None:
    chosen = unused_identity()
    assert chosen.uid not in {0, os.getuid()}
    assert chosen.gid == chosen.uid


@pytest.mark.parametrize(
    ("program", "code", "output"),
    [
        ("print('out'); raise SystemExit(9)", 9, "out"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 128 + 9, ""),
        ("import sys; sys.stdout.write('x' * 100_000 + 'end')", 0, "end"),
        ("import os; print(os.getcwd(), sorted(os.environ))", 0, "/ ['LC_CTYPE', 'ONLY']"),
        ("import resource; print(resource.getrlimit(resource.RLIMIT_CORE))", 0, "(0, 0)"),
    ],
)
async def test_a_command_gives_its_code_and_the_end_of_its_output(
    tmp_path: Path, program: str, code: int, output: str
) -> None:
    argv = [sys.executable, "-c", program]
    command = await launch(argv, environment={"ONLY": "1"}, cwd=Path("/"), folder=tmp_path, identity=None)
    ended, text = await command.wait(60)
    await command.end()
    assert ended == code
    assert text.endswith(output)
    assert len(text) <= 8192


async def test_a_command_that_cannot_be_executed_is_named(tmp_path: Path) -> None:
    command = await launch(["/no/such/program"], environment={}, cwd=Path("/"), folder=tmp_path, identity=None)
    code, text = await command.wait(60)
    await command.end()
    assert (code, text.split(":")[0]) == (126, "cannot execute '/no/such/program'")
