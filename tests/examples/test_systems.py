"""The example of each kind of system, run by the gate; without a database where it needs none."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.gate_forks import GateForks
from tests.support.git_repository import GitRepository
from tests.support.small_repository import Ended, SmallRepository

EXAMPLES = Path(__file__).parents[2] / "examples" / "systems"
NOBODY = "postgresql://127.0.0.1:1/nobody"
"""Whoever connects to it fails."""

MakeRepository = Callable[[str], SmallRepository]


@pytest.fixture
def make_repository(tmp_path: Path, forks: GateForks) -> MakeRepository:
    def make(name: str) -> SmallRepository:
        folder = tmp_path / name
        shutil.copytree(EXAMPLES / name, folder, ignore=shutil.ignore_patterns("__pycache__"))
        environment = {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}
        GitRepository(folder, environment["PATH"])
        return SmallRepository(
            folder,
            tmp_path / "report",
            environment | {"RATIBA_DATABASE_URL": NOBODY, "NO_COLOR": "1"},
            run=forks.run,
        )

    return make


@pytest.fixture
def server() -> Iterator[str]:
    """``host:port`` of the example's server."""
    command = [sys.executable, "server.py", "0"]
    with subprocess.Popen(command, cwd=EXAMPLES / "http", stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline() if process.stdout else ""
        yield f"127.0.0.1:{line.split()[-1]}"
        process.terminate()


def gate(repository: SmallRepository, *options: str, passed: int = 1, **variables: str) -> Ended:
    repository.commit()
    ended = repository.gate("--mode", "blocking", *options, **variables)
    assert (ended.code, ended.outputs.get("conclusion")) == (0, "passed"), ended.printed
    assert ended.outputs["passed"] == passed
    return ended


@pytest.mark.parametrize("name", ["command", "function", "prompt"])
def test_the_example_passes_without_a_database_or_a_key(make_repository: MakeRepository, name: str) -> None:
    assert "no system ran" not in gate(make_repository(name)).comment


@pytest.mark.parametrize("configuration", [".github/ratiba.yml", ".github/stream.yml"])
def test_a_server_with_an_interface_of_its_own_is_spoken_to(
    make_repository: MakeRepository, server: str, configuration: str
) -> None:
    repository = make_repository("http")
    path = repository.folder / configuration
    path.write_text(path.read_text().replace("127.0.0.1:8200", server))
    ended = gate(repository, "--config", configuration)
    exchanges = ended.results["report"]["results"][0]["transcript"]["exchanges"]
    assert [one["reply"]["text"] for one in exchanges] == [
        "Bonjour ! Pour quelle date ?",
        "C'est réservé pour le 6 mai.",
    ]
    if configuration == ".github/ratiba.yml":
        assert exchanges[1]["reply"]["tool_calls"] == [{"name": "book_room", "args": {"date": "6 mai"}, "output": None}]
        assert exchanges[0]["reply"]["documents"] == [{"id": "rooms.md", "text": "", "score": 0.9}]


@pytest.mark.parametrize("configuration", [".github/ratiba.yml", ".github/transcripts.yml"])
def test_captured_replies_are_judged_and_the_headline_says_that_no_system_ran(
    make_repository: MakeRepository, configuration: str
) -> None:
    ended = gate(make_repository("replay"), "--config", configuration)
    assert " passed, on captured replies: no system ran · ratiba" in ended.comment
    assert ended.results["report"]["system_ran"] is False


def test_one_turn_and_a_promoted_conversation_leave_their_rows_in_tables_of_their_own(
    make_repository: MakeRepository, embedded_server_dsn: str
) -> None:
    ended = gate(make_repository("tables"), passed=2, RATIBA_DATABASE_URL=embedded_server_dsn)
    found = {one["trial"]["scenario"]["layer"]: one for one in ended.results["report"]["results"]}
    assert {layer: one["transcript"]["rows"]["orders"] for layer, one in found.items()} == {
        "turn": [{"item": "mandazi", "quantity": 10, "phone": "+254***101"}],
        "production": [{"item": "pain", "quantity": 2, "phone": "+254***101"}],
    }
