"""The booking assistant by its own configuration, for a team whose only key is Anthropic's: recorded, then replayed."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from ratiba_action.llm.scripted_answers import Step
from tests.support.booking_example import PROJECT, copy_booking_example
from tests.support.gate_forks import GateForks
from tests.support.git_repository import GitRepository
from tests.support.model_servers import ModelServer, Received
from tests.support.provider_faults import Served
from tests.support.served_models import served_models
from tests.support.small_repository import Ended

SCENARIO, KEY, JUDGE = "spa_booking_swahili_happy", "sk-ant-planted-0123456789", "claude-opus-5-5"
CLAUDE = """\
intent_classifier: {provider: anthropic, model: claude-haiku-4-5, max_tokens: 600}
booking_orchestrator: {provider: anthropic, model: claude-sonnet-5-5, max_tokens: 400}
"""
NOTHING_UNDERSTOOD = dict.fromkeys(("intent", "service", "start", "rail", "phone", "reason"))


class Claude:
    """Answers each role as the authored answers of the scenario say; a judge is content."""

    def __init__(self) -> None:
        authored = yaml.safe_load((PROJECT / "examples/authored" / f"{SCENARIO}.yaml").read_text(encoding="utf-8"))
        scenario = yaml.safe_load((PROJECT / "scenarios" / f"{SCENARIO}.yaml").read_text(encoding="utf-8"))
        texts = [turn["user"] for turn in scenario["turns"]]
        self._answers: dict[str, Any] = dict(zip(texts, authored["turns"], strict=True))

    def __call__(self, received: Received) -> Served:
        if received.body["model"] == JUDGE:
            return Step("anthropic", data={"reason": "Natural Swahili of a receptionist.", "score": 9})
        answer = self._answers[json.loads(received.body["messages"][-1]["content"])["message"]]
        if "output_config" in received.body:
            return Step("anthropic", data=NOTHING_UNDERSTOOD | answer["understand"])
        return Step("anthropic", text=answer["reply"])


@dataclass(frozen=True)
class Clinic:
    """The example in a repository of its own, and the commands that are typed in it."""

    folder: Path
    models: ModelServer
    forks: GateForks
    environment: dict[str, str]

    def ratiba(self, *words: str, **variables: str) -> Ended:
        done = self.forks.run(words, self.folder, self.environment | variables)
        return Ended(done.returncode, done.stdout + done.stderr, self.folder / "ratiba-report")


@pytest.fixture
def clinic(tmp_path: Path, forks: GateForks, embedded_server_dsn: str) -> Iterator[Clinic]:
    folder = tmp_path / "clinic"
    copy_booking_example(folder, "recordings")
    (folder / "examples/booking_assistant/roles.yaml").write_text(CLAUDE, encoding="utf-8")
    GitRepository(folder).commit({})
    (tmp_path / "home").mkdir()
    with served_models(ModelServer(Claude(), KEY)) as models:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path / "home"),
            "NO_COLOR": "1",
            "RATIBA_DATABASE_URL": embedded_server_dsn,
            "RATIBA_ANTHROPIC_BASE_URL": models.url,
        }
        yield Clinic(folder, models, forks, environment)


def test_its_own_configuration_records_with_a_claude_system_and_replays_without_a_key(clinic: Clinic) -> None:
    recorded = clinic.ratiba("record", "--accept", "--scenario", SCENARIO, ANTHROPIC_API_KEY=KEY)
    assert recorded.code == 0, recorded.printed
    assert "Models are called with the key in ANTHROPIC_API_KEY" in recorded.printed
    lines = [
        json.loads(line)
        for line in (clinic.folder / f"scenarios/recordings/{SCENARIO}.jsonl").read_text("utf-8").splitlines()
    ]
    models = {(line["provider"], line["model"]) for line in lines if line["kind"] == "model"}
    assert models == {("anthropic", "claude-haiku-4-5"), ("anthropic", "claude-sonnet-5-5")}
    assert {line["model"] for line in lines if line["kind"] == "judge"} == {"claude-opus-5-5"}
    asked = len(clinic.models.received)

    replayed = clinic.ratiba("gate", "--mode", "blocking", "--scenario", SCENARIO)
    assert replayed.code == 0, replayed.printed
    assert len(clinic.models.received) == asked
    assert replayed.outputs["conclusion"] == "passed"
