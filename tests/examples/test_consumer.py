"""The example of a repository that uses the action, on a laptop: no Docker, nothing installed."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.consumer_repository import ConsumerRepository, Repositories

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
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_configuration_scenarios_and_recordings_hold_no_mistake(repository: ConsumerRepository) -> None:
    assert "2 scenarios" in ratiba(repository, "validate")


def test_with_the_minimal_files_of_the_documentation_in_their_places_it_holds_no_mistake_either(
    repository: ConsumerRepository,
) -> None:
    page = (PROJECT / "docs/workflows.md").read_text(encoding="utf-8")
    files = dict(re.findall(r"```yaml\n# (\S+\.ya?ml)\n(.*?)```", page, re.DOTALL))
    assert set(files) == {".github/ratiba.yml", "scenarios/order_bread_english.yaml"}
    repository.propose(files)
    assert "2 scenarios" in ratiba(repository, "validate")
    assert "Would run 2 scenarios" in ratiba(repository, "gate", "--dry-run", "--mode", "blocking")
    system = yaml.safe_load((PROJECT / "examples/consumer/.github/ratiba.yml").read_text(encoding="utf-8"))["system"]
    assert yaml.safe_load(files[".github/ratiba.yml"]) == {"system": system}


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
    assert {line["source"] for line in lines if line["kind"] != "reads"} == {"authored"}
    assert {line["kind"] for line in lines} == {"reads", "model", "judge"}
