"""The consumer's system as a server of its own: the gate is told an address and installs nothing."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.consumer_repository import ConsumerRepository, Repositories
from tests.support.gate_forks import GateForks

PROJECT = Path(__file__).parents[2]
Gate = Callable[[ConsumerRepository], tuple[int, str, dict[str, object]]]
CONFIGURATION = """\
system:
  url: {url}
  prompts: [prompts/*.md]
rows:
  orders: SELECT id, phone, item, quantity, total_kes, status FROM orders ORDER BY id
metrics: {{fluency: {{audience: customers of a small business in Kenya}}}}
"""


@pytest.fixture
def server() -> Iterator[str]:
    """Address of the running system."""
    with subprocess.Popen(
        [sys.executable, "-m", "bakery.server", "0"],
        cwd=PROJECT / "examples" / "consumer",
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        line = process.stdout.readline() if process.stdout else ""
        yield f"http://127.0.0.1:{line.split()[-1]}"
        process.terminate()


@pytest.fixture
def make_repository(tmp_path: Path) -> Repositories:
    return Repositories(PROJECT, tmp_path)


@pytest.fixture
def gate(forks: GateForks, embedded_server_dsn: str) -> Gate:
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}

    def run(repository: ConsumerRepository) -> tuple[int, str, dict[str, object]]:
        report = repository.folder.parent / "report"
        arguments = ["gate", "--mode", "blocking", "--report-dir", str(report)]
        done = forks.run(arguments, repository.folder, environment | {"RATIBA_DATABASE_URL": embedded_server_dsn})
        outputs = json.loads((report / "results.json").read_text())["outputs"]
        return done.returncode, done.stdout + done.stderr, outputs

    return run


def test_conversations_with_a_system_at_an_address_hold(make_repository: Repositories, server: str, gate: Gate) -> None:
    repository = make_repository.consumer({".github/ratiba.yml": CONFIGURATION.format(url=server)})
    code, printed, outputs = gate(repository)
    assert code == 0, printed
    assert outputs["passed"] == 2


def test_an_address_where_nobody_answers_is_named_and_nothing_passes(make_repository: Repositories, gate: Gate) -> None:
    repository = make_repository.consumer({".github/ratiba.yml": CONFIGURATION.format(url="http://127.0.0.1:1")})
    code, printed, outputs = gate(repository)
    assert (code, outputs["conclusion"]) == (3, "incomplete")
    assert "POST http://127.0.0.1:1/migrate failed: " in printed
    assert "Traceback" not in printed


def test_a_system_that_refuses_is_quoted(make_repository: Repositories, server: str, gate: Gate) -> None:
    repository = make_repository.consumer({".github/ratiba.yml": CONFIGURATION.format(url=f"{server}/nowhere")})
    code, printed, _ = gate(repository)
    assert code == 3, printed
    assert "/nowhere/migrate" in printed
