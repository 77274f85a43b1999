"""``ratiba sample`` against stand-ins on loopback: a Langfuse with conversations of production, and a provider."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langfuse", reason="needs the extra 'langfuse'")

from ratiba_action.core.model.conversation import Usage
from ratiba_action.gateway.script import Step
from ratiba_action.judging.deepeval_bridge import prepare_deepeval
from ratiba_action.main import run
from ratiba_action.testing.langfuse_server import LangfuseState, langfuse_server
from ratiba_action.testing.live_repository import RATES
from ratiba_action.testing.model_servers import ModelServer, Received
from ratiba_action.testing.production_traces import add_conversation, add_feedback
from ratiba_action.testing.served_models import served_models

KEY = "sk-planted-0123456789abcdef"
PHONE = "+254 712 345 432"
NAME = "Wanjiku Kamau"
CONFIGURATION = """\
system:
  adapter: adapter:Adapter
judge:
  model: claude-opus-5-5
  votes: 1
  cross_check: null
metrics:
  chatbot:
    - {metric: PiiLeakMetric, threshold: 1.0}
prices:
  claude-opus-5-5: {input_per_million: 5, output_per_million: 25}
"""
BEGAN = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=3)


@dataclass
class Stage:
    """Stand-ins, a checkout, and what the judge says."""

    state: LangfuseState
    models: ModelServer
    folder: Path
    environment: dict[str, str]
    score: list[int]
    printed: pytest.CaptureFixture[str]
    last: dict[str, Any] = field(default_factory=dict)

    def sample(self, *options: str) -> int:
        """Run the command; what it prints is kept."""
        code = run(["sample", "--repo", str(self.folder), "--json", *options], self.environment)
        out = self.printed.readouterr().out
        self.last = json.loads(out) if out else {}
        return code

    @property
    def events(self) -> str:
        return (self.folder / "report" / "events.jsonl").read_text()

    def scores_of(self, trace: str) -> dict[str, Any]:
        return {
            one["name"]: one["value"]
            for one in self.state.scores.values()
            if one["traceId"] == trace and one["name"] != "user_feedback"
        }


@pytest.fixture(autouse=True, scope="module")
def quiet_deepeval(tmp_path_factory: pytest.TempPathFactory) -> None:
    # Not undone: DeepEval reads its opt-out again when the interpreter ends.
    prepare_deepeval(os.environ, tmp_path_factory.mktemp("deepeval"))


@pytest.fixture
def stage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Stage]:
    score = [9]

    def judge(_: Received) -> Step:
        return Step("anthropic", data={"reason": "plain", "score": score[0]}, usage=Usage(1_000, 100))

    (tmp_path / ".github").mkdir()
    (tmp_path / ".github" / "ratiba.yml").write_text(CONFIGURATION)
    state = LangfuseState()
    with langfuse_server(state) as host, served_models(ModelServer(judge, KEY, RATES)) as models:
        environment = {
            "HOME": str(tmp_path / "home"),
            "RATIBA_LANGFUSE_HOST": host,
            "RATIBA_LANGFUSE_PUBLIC_KEY": state.public_key,
            "RATIBA_LANGFUSE_SECRET_KEY": state.secret_key,
            "RATIBA_ANTHROPIC_API_KEY": KEY,
            "RATIBA_ANTHROPIC_BASE_URL": models.url,
            "RATIBA_REPORT_DIR": str(tmp_path / "report"),
        }
        yield Stage(state, models, tmp_path, environment, score, capsys)


def conversation(stage: Stage, name: str, **more: Any) -> str:
    turns = [(f"Naitwa {NAME}, simu yangu ni {PHONE}", "Asante, umehifadhiwa kesho saa nane.")]
    metadata = {"tenant_id": "amani", "language": "sw", "vertical": "spa", "customer_name": NAME}
    return add_conversation(stage.state, name, turns, BEGAN, metadata=metadata, **more)


def test_errors_and_negative_feedback_are_measured_and_scored_on_their_own_traces(stage: Stage) -> None:
    plain, failed, disliked = (conversation(stage, name, error=error) for name, error in NAMES)
    add_feedback(stage.state, disliked, 0, BEGAN + timedelta(minutes=5))
    add_feedback(stage.state, plain, 1, BEGAN + timedelta(minutes=6))
    assert stage.sample("--share", "0") == 0
    assert stage.last["chosen"] == {"negative feedback": 1, "error": 1}
    assert stage.last["feedback"] == {"positive": 1, "negative": 1, "negative_share": 0.5}
    assert stage.scores_of(plain) == {}
    expected = {"SwahiliFluencyMetric": 0.9, "PiiLeakMetric": 1.0, "ratiba_passed": True}
    assert stage.scores_of(failed) == stage.scores_of(disliked) == expected
    assert Decimal(stage.last["spent_usd"]) == stage.models.bill.total


NAMES = (("plain", ""), ("failed", "the tool timed out"), ("disliked", ""))
