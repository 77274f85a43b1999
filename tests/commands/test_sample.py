"""``ratiba sample`` against stand-ins on loopback: a Langfuse with conversations of production, and a provider."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langfuse", reason="needs the extra 'langfuse'")

from ratiba_action.llm.scripted_answers import Step
from ratiba_action.main import run
from ratiba_action.model.conversation import Usage
from tests.support.langfuse_server import LangfuseState, Mode, langfuse_server
from tests.support.live_repository import RATES
from tests.support.model_servers import ModelServer, Received
from tests.support.production_traces import add_conversation, add_feedback
from tests.support.served_models import served_models

pytestmark = pytest.mark.processes
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
    used: list[Usage]
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


@pytest.fixture
def stage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Stage]:
    score, used = [9], [Usage(1_000, 100)]

    def judge(_: Received) -> Step:
        return Step("anthropic", data={"reason": "plain", "score": score[0]}, usage=used[-1])

    (tmp_path / ".github").mkdir()
    (tmp_path / ".github" / "ratiba.yml").write_text(CONFIGURATION)
    state = LangfuseState()
    with langfuse_server(state) as host, served_models(ModelServer(judge, KEY, RATES)) as models:
        environment = {
            "HOME": str(tmp_path / "home"),
            **state.environment(host),
            "RATIBA_ANTHROPIC_API_KEY": KEY,
            "RATIBA_ANTHROPIC_BASE_URL": models.url,
            "RATIBA_REPORT_DIR": str(tmp_path / "report"),
        }
        yield Stage(state, models, tmp_path, environment, score, used, capsys)


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
    assert stage.last["feedback"] == {"positive": 1, "negative": 1, "other": 0, "negative_share": 0.5}
    assert stage.scores_of(plain) == {}
    expected = {"SwahiliFluencyMetric": 0.9, "PiiLeakMetric": 1.0, "ratiba_passed": True}
    assert stage.scores_of(failed) == stage.scores_of(disliked) == expected
    assert Decimal(stage.last["spent_usd"]) == stage.models.bill.total


NAMES = (("plain", ""), ("failed", "the tool timed out"), ("disliked", ""))


def test_judges_and_everything_written_are_masked_and_exact_metrics_read_what_was_said(stage: Stage) -> None:
    turns = [("Habari", "Simu ya Wanjiku Kamau ni +254 733 111 222.")]
    metadata = {"tenant_id": "amani", "language": "sw", "vertical": "spa", "customer_name": NAME}
    trace = add_conversation(stage.state, "leak", turns, BEGAN, metadata=metadata)
    assert stage.sample("--share", "1") == 0
    asked = json.dumps([received.body for received in stage.models.received], ensure_ascii=False)
    written = json.dumps(list(stage.state.scores.values()), ensure_ascii=False)
    for text in (asked, written, stage.events, json.dumps(stage.last, ensure_ascii=False)):
        assert "733 111" not in text
        assert "Wanjiku" not in text
    assert stage.scores_of(trace)["PiiLeakMetric"] == 0.0
    failures = [json.loads(line) for line in stage.events.splitlines() if "EVAL_FAIL" in line]
    assert [(one["type"], one["scenario"], one["data"]["name"]) for one in failures] == [
        ("EVAL_FAIL", trace, "PiiLeakMetric")
    ]


def test_a_second_look_at_the_same_time_pays_nothing_and_makes_no_copies(stage: Stage) -> None:
    conversation(stage, "one", error="it broke")
    assert stage.sample("--since", "6h") == 0
    before, asked = dict(stage.state.scores), len(stage.models.received)
    assert stage.sample("--since", "6h") == 0
    assert (stage.last["measured"], stage.last["measured_before"]) == (0, 1)
    assert (stage.state.scores, len(stage.models.received)) == (before, asked)


def test_without_the_scores_on_the_server_a_second_look_writes_the_same_ones_again(stage: Stage) -> None:
    conversation(stage, "one", error="it broke")
    assert stage.sample("--since", "6h") == 0
    before, asked = set(stage.state.scores), len(stage.models.received)
    stage.state.scores.clear()
    assert stage.sample("--since", "6h") == 0
    assert set(stage.state.scores) == before
    assert len(stage.models.received) == asked, "the judge cache knows what was paid for"


def test_the_next_run_goes_on_where_the_last_one_ended(stage: Stage) -> None:
    conversation(stage, "one", error="it broke")
    assert stage.sample() == 0
    ended = stage.last["until"]
    assert stage.sample() == 0
    assert datetime.fromisoformat(stage.last["since"]) == datetime.fromisoformat(ended) - timedelta(days=1)
    assert (stage.last["measured"], stage.last["measured_before"]) == (0, 1)


def test_a_conversation_whose_trace_comes_late_is_not_missed(stage: Stage) -> None:
    assert stage.sample() == 0
    conversation(stage, "one", error="it broke")
    assert stage.sample() == 0
    assert stage.last["measured"] == 1


def test_an_error_of_a_conversation_that_began_earlier_is_looked_at_and_the_gates_own_traces_are_not(
    stage: Stage,
) -> None:
    trace = conversation(stage, "one", error="it broke")
    own = conversation(stage, "of the gate", error="a metric failed", environment="ratiba-gate")
    assert stage.sample("--since", (BEGAN + timedelta(seconds=1)).isoformat(), "--share", "1") == 0
    assert stage.last["chosen"] == {"error": 1}
    assert "ratiba_passed" in stage.scores_of(trace)
    assert stage.scores_of(own) == {}


def test_a_look_at_a_time_of_ones_own_moves_no_cursor(stage: Stage) -> None:
    assert stage.sample() == 0
    (cursor,) = (stage.folder / "home").rglob("samples/*.json")
    before = cursor.read_text()
    assert stage.sample("--since", "9d", "--until", "8d") == 0
    assert cursor.read_text() == before


def test_out_of_budget_what_was_measured_is_kept_and_the_rest_is_named_and_comes_next(stage: Stage) -> None:
    traces = {conversation(stage, f"number {number}", error="it broke") for number in range(4)}
    stage.used.append(Usage(10_000, 1_000))
    assert stage.sample("--budget-usd", "0.45") == 3
    left = {one["trace"] for one in stage.last["not_looked_at"]}
    measured = {trace for trace in traces if "ratiba_passed" in stage.scores_of(trace)}
    assert left
    assert measured
    assert left | measured == traces
    assert stage.models.bill.total <= Decimal("0.45")
    assert datetime.fromisoformat(stage.last["next_since"]) == BEGAN
    assert stage.sample("--budget-usd", "5") == 0
    assert stage.last["measured_before"] == len(measured)
    assert {trace for trace in traces if "ratiba_passed" in stage.scores_of(trace)} == traces


def test_a_conversation_whose_masking_is_not_known_is_shown_to_nobody(stage: Stage) -> None:
    metadata = {"tenant_id": "meno", "language": "sw", "vertical": "dental", "customer_name": NAME}
    add_conversation(stage.state, "tooth", [("Jino linauma", "Pole")], BEGAN, error="x", metadata=metadata)
    assert stage.sample() == 2
    assert "teeth" in stage.last["blocked"][0]["reason"]
    assert (stage.models.received, stage.state.scores) == ((), {})
    assert "Jino" not in stage.events


def test_scores_that_the_server_refuses_are_reported_and_written_by_the_next_run(stage: Stage) -> None:
    trace = conversation(stage, "one", error="it broke")
    stage.state.mode = Mode.REJECTING
    assert stage.sample() == 3
    assert "refused" in stage.last["scores_not_written"]
    stage.state.mode = Mode.HEALTHY
    stage.state.scores.clear()
    assert stage.sample() == 0
    assert "ratiba_passed" in stage.scores_of(trace)


def test_a_server_that_fails_leaves_the_cursor_where_it_was(stage: Stage) -> None:
    stage.state.mode = Mode.FAILING
    assert stage.sample("--seconds", "2") == 3
    assert not (stage.folder / "home").exists()
    assert stage.models.received == ()


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-opus-5-5-20260901", "anthropic/Claude-Opus-5.5"])
def test_the_model_that_wrote_the_replies_does_not_judge_them(model: str, stage: Stage) -> None:
    trace = conversation(stage, "own", error="it broke", model=model)
    assert stage.sample() == 3
    assert "generated this conversation itself" in stage.last["not_looked_at"][0]["reason"]
    assert (stage.models.received, stage.scores_of(trace)) == ((), {})


def test_without_a_key_nothing_is_judged_and_it_is_said(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    conversation(stage, "one", error="it broke")
    del stage.environment["RATIBA_ANTHROPIC_API_KEY"]
    assert run(["sample", "--repo", str(stage.folder)], stage.environment) == 3
    assert "there is no key" in capsys.readouterr().err


def test_exact_metrics_alone_need_no_key_and_cost_nothing(stage: Stage) -> None:
    path = stage.folder / ".github" / "ratiba.yml"
    path.write_text(path.read_text().replace("metrics:\n", "metrics:\n  fluency: false\n"))
    del stage.environment["RATIBA_ANTHROPIC_API_KEY"]
    trace = conversation(stage, "one", error="it broke")
    assert stage.sample() == 0
    assert stage.scores_of(trace) == {"PiiLeakMetric": 1.0, "ratiba_passed": True}
    assert stage.last["spent_usd"] == "0"


def test_time_that_is_over_leaves_the_rest_for_the_next_run(stage: Stage) -> None:
    trace = conversation(stage, "one", error="it broke")
    assert stage.sample("--deadline", "0.0001") == 3
    assert [one["trace"] for one in stage.last["not_looked_at"]] == [trace]
    assert "deadline" in stage.last["not_looked_at"][0]["reason"]
    assert stage.models.received == ()


def test_a_provider_that_is_down_costs_nothing_and_the_conversation_comes_again(stage: Stage) -> None:
    trace = conversation(stage, "one", error="it broke")
    stage.environment["RATIBA_ANTHROPIC_BASE_URL"] = "http://127.0.0.1:9"
    path = stage.folder / ".github" / "ratiba.yml"
    path.write_text(f"{path.read_text()}models: {{retries: 0}}\n")
    assert stage.sample() == 3
    assert [one["trace"] for one in stage.last["not_looked_at"]] == [trace]
    # What is exact was measured all the same, and is kept.
    assert stage.scores_of(trace) == {"PiiLeakMetric": 1.0}
    assert stage.last["spent_usd"] == "0"
    assert datetime.fromisoformat(stage.last["next_since"]) == BEGAN


@pytest.mark.parametrize(
    ("option", "value"),
    [("--since", "yesterday"), ("--since", "2026-11-22T06:00:00"), ("--share", "5"), ("--until", "9d")],
)
def test_a_wrong_option_is_reported(stage: Stage, option: str, value: str) -> None:
    assert run(["sample", "--repo", str(stage.folder), option, value], stage.environment) == 2


def test_people_read_the_same_in_lines(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    stage.score[0] = 3
    trace = conversation(stage, "one", error="it broke")
    add_feedback(stage.state, trace, 0, BEGAN + timedelta(minutes=5))
    assert run(["sample", "--repo", str(stage.folder)], stage.environment) == 0
    output = capsys.readouterr().out
    assert "1 conversations began, selected: 1 for negative feedback." in output
    assert "Feedback: 1 of 1 negative (100%)." in output
    assert f"  {trace}: SwahiliFluencyMetric 0.30 < 0.80" in output


def test_drift_reads_the_scores_that_a_sample_has_written(stage: Stage) -> None:
    conversation(stage, "late", error="no slot")
    assert stage.sample("--share", "0") == 0
    code = run(["drift", "--window", "6h", "--share", "1", "--minimum", "5", "--json"], stage.environment)
    found = json.loads(stage.printed.readouterr().out)
    assert code == 3
    assert [(one["metric"], one["status"], one["recent"]) for one in found["metrics"]] == [
        ("PiiLeakMetric", "too few", 1),
        ("SwahiliFluencyMetric", "too few", 1),
    ]
    written = {one["name"]: one["metadata"] for one in stage.state.scores.values() if one.get("metadata")}
    assert written["SwahiliFluencyMetric"]["judge"] == "claude-opus-5-5"
    assert "judge" not in written["PiiLeakMetric"]
    assert stage.state.violations == []


def test_drift_without_an_answer_of_langfuse_is_incomplete(stage: Stage) -> None:
    stage.state.mode = Mode.FAILING
    assert run(["drift", "--seconds", "1"], stage.environment) == 3
    assert "Scores could not be read" in stage.printed.readouterr().err


def test_a_reply_of_low_confidence_is_flagged_among_those_that_were_read(stage: Stage) -> None:
    metadata = {"tenant_id": "amani", "language": "und", "vertical": "spa", "customer_name": NAME}
    turns = [("Habari", "Karibu.")]
    unsure = add_conversation(stage.state, "unsure", turns, BEGAN, metadata={**metadata, "confidence": "0.2"})
    add_conversation(stage.state, "sure", turns, BEGAN, metadata={**metadata, "confidence": "0.8"})
    assert stage.sample("--share", "1") == 0
    reasons = ["reply 1 has a confidence of 0.20"]
    assert stage.last["flagged"] == [{"trace": unsure, "reasons": reasons}]
    assert stage.sample("--share", "1", "--since", "1d", "--low-confidence", "0") == 0
    assert stage.last["flagged"] == []
