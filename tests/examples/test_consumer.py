"""The example of a repository that uses the action, on a laptop: no Docker, nothing installed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ratiba_action.testing.consumer_repository import ConsumerRepository, Repositories

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def repository(tmp_path: Path) -> ConsumerRepository:
    return Repositories(PROJECT, tmp_path).consumer()


def ratiba(repository: ConsumerRepository, *words: str) -> str:
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-m", "ratiba_action", *words],
        cwd=repository.folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_its_configuration_scenarios_and_recordings_hold_no_mistake(repository: ConsumerRepository) -> None:
    assert "2 scenarios" in ratiba(repository, "validate")


@pytest.mark.parametrize(
    ("path", "mode"),
    [
        ("README.md", "skip"),
        ("bakery/orders.py", "advisory"),
        ("bakery/order_fsm.py", "blocking"),
        ("prompts/order_taker.md", "blocking"),
        ("scenarios/recordings/order_bread_english.jsonl", "blocking"),
        (".github/workflows/eval-on-prompt-change.yml", "blocking"),
    ],
)
def test_each_part_of_it_has_its_mode(repository: ConsumerRepository, path: str, mode: str) -> None:
    repository.propose({path: repository.text(path) + "\n"})
    event = repository.folder.parent / "event.json"
    event.write_text(json.dumps(repository.pull_request_event()))
    decided = ratiba(repository, "decide", "--json", "--event", str(event), "--event-name", "pull_request")
    assert json.loads(decided)["mode"] == mode


def test_every_recording_says_that_it_was_written_by_hand(repository: ConsumerRepository) -> None:
    lines = [
        json.loads(line)
        for path in (repository.folder / "scenarios" / "recordings").glob("*.jsonl")
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert {line["source"] for line in lines} == {"authored"}
    assert {line["kind"] for line in lines} == {"model", "judge"}
