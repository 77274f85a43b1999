"""The consumer's system as a server of its own: the gate is told an address and installs nothing."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.consumer_repository import ConsumerRepository, Repositories

PROJECT = Path(__file__).parents[2]
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


def gate(repository: ConsumerRepository, dsn: str) -> "tuple[int, str, dict[str, object]]":
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    report = repository.folder.parent / "report"
    done = subprocess.run(
        [sys.executable, "-m", "ratiba_action", "gate", "--mode", "blocking", "--report-dir", str(report)],
        cwd=repository.folder,
        env=environment | {"RATIBA_DATABASE_URL": dsn},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    outputs = json.loads((report / "results.json").read_text())["outputs"]
    return done.returncode, done.stdout + done.stderr, outputs


def test_conversations_with_a_system_at_an_address_hold(
    make_repository: Repositories, server: str, embedded_server_dsn: str
) -> None:
    repository = make_repository.consumer({".github/ratiba.yml": CONFIGURATION.format(url=server)})
    code, printed, outputs = gate(repository, embedded_server_dsn)
    assert code == 0, printed
    assert outputs["passed"] == 2


def test_an_address_where_nobody_answers_is_named_and_nothing_passes(
    make_repository: Repositories, embedded_server_dsn: str
) -> None:
    repository = make_repository.consumer({".github/ratiba.yml": CONFIGURATION.format(url="http://127.0.0.1:1")})
    code, printed, outputs = gate(repository, embedded_server_dsn)
    assert (code, outputs["conclusion"]) == (3, "incomplete")
    assert "POST http://127.0.0.1:1/migrate failed: " in printed
    assert "Traceback" not in printed


def test_a_system_that_refuses_is_quoted(make_repository: Repositories, server: str, embedded_server_dsn: str) -> None:
    repository = make_repository.consumer({".github/ratiba.yml": CONFIGURATION.format(url=f"{server}/nowhere")})
    code, printed, _ = gate(repository, embedded_server_dsn)
    assert code == 3, printed
    assert "/nowhere/migrate" in printed
