"""``ratiba calibrate``, task by task, as a person and as a workflow run it."""

import io
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from ratiba_action.llm.scripted_answers import Step
from ratiba_action.main import run
from ratiba_action.metrics.judging.deepeval_bridge import configure_deepeval
from ratiba_action.model.conversation import Usage
from tests.support.live_repository import RATES
from tests.support.model_servers import ModelServer, Received
from tests.support.provider_faults import Served
from tests.support.served_models import served_models

EXAMPLE = Path(__file__).parents[2] / "examples" / "calibration"
KEY = "sk-planted-0123456789abcdef"
CONFIGURATION = """\
system: {adapter: "a:A"}
judge: {model: claude-opus-5-5, cross_check: {model: gpt-5.6, provider: openai}}
prices:
  claude-opus-5-5: {input_per_million: 5, output_per_million: 25}
  gpt-5.6: {input_per_million: 3, output_per_million: 15}
"""


@pytest.fixture(autouse=True, scope="module")
def quiet_deepeval(tmp_path_factory: pytest.TempPathFactory) -> None:
    # Not undone: DeepEval reads its opt-out again when the interpreter ends.
    configure_deepeval(os.environ, tmp_path_factory.mktemp("deepeval"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github/ratiba.yml").write_text(CONFIGURATION)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def calibrate(*options: str, **environment: str) -> int:
    return run(["calibrate", *options], dict(environment))


def kept(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((folder / "scenarios/calibration/human_labelled.yaml").read_text("utf-8"))
    return found


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("today", "code", "overdue", "days"),
    [("2026-12-06", 0, False, 0), ("2026-12-07", 1, True, 0), ("2026-12-14", 1, True, 7), ("2027-01-04", 1, True, 28)],
)
def test_a_workflow_learns_what_is_due(
    capsys: pytest.CaptureFixture[str],
    today: str,
    code: int,
    overdue: bool,  # noqa: FBT001 - a case
    days: int,
) -> None:
    assert calibrate("due", "--today", today, "--json") == code
    told = json.loads(capsys.readouterr().out)
    assert (told["overdue"], told["overdue_days"], told["owner"]) == (overdue, days, "Adrian")
    assert told["title"] == "Label the calibration set"
    assert "1 conversation to label" in told["body"]


def test_without_a_set_nothing_is_due_and_the_other_tasks_say_how_to_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert calibrate("due") == 0
    assert "ratiba calibrate add" in capsys.readouterr().out
    for task in ("label", "run", "thresholds"):
        assert calibrate(task) == 2
        assert "There is no calibration set" in capsys.readouterr().err


def test_conversations_are_added_once_and_masked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert calibrate("add", "conversations.jsonl", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["added"]) == 2
    assert calibrate("add", "conversations.jsonl") == 0
    assert "Added 0 of 2 conversations" in capsys.readouterr().out
    text = (folder / "scenarios/calibration/human_labelled.yaml").read_text("utf-8")
    assert "Achieng" not in text
    assert "345 432" not in text


def test_a_person_is_asked_one_by_one_and_what_was_said_is_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert calibrate("add", "conversations.jsonl") == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("s\n9\nfour\n4\n3\n5\n1\nq\n"))
    assert calibrate("label", "--by", "Njeri", "--today", "2026-12-07") == 0
    printed = capsys.readouterr()
    assert "Labelled 1; 2 left" in printed.out
    assert "customer: Mimi ni" in printed.err
    skipped, labelled, stopped = kept(folder)["conversations"][-3:]
    assert "labels" not in skipped
    assert "labels" not in stopped, "half of the numbers are none"
    (label,) = labelled["labels"]
    assert (label["by"], str(label["day"]), list(label["scores"].values())) == ("Njeri", "2026-12-07", [4, 3, 5])
    assert calibrate("due", "--today", "2026-12-08") == 0


def test_a_form_holds_the_conversations_and_its_labels_are_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "scenarios/calibration/human_labelled.yaml"
    path.write_text(path.read_text("utf-8").replace("Naweza kuja na rafiki?", "</script><b>Naweza?"), "utf-8")
    assert calibrate("label", "--form", "form.html") == 0
    page = (folder / "form.html").read_text("utf-8")
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    (conversation,) = json.loads(data)["conversations"]
    assert conversation["turns"][0]["user"] == "</script><b>Naweza?"
    scores = "{intent comprehension: 5, response naturalness: 4, cultural appropriateness: 3}"
    line = f"- {{id: {conversation['id']}, by: Njeri, day: 2026-11-07, scores: {scores}}}\n"
    before = path.read_bytes()
    (folder / "labels.yaml").write_text(f"labels:\n{line}- {{id: cal_x, by: N, day: 2026-11-07, scores: {{a: 1}}}}\n")
    assert calibrate("label", "--from", "labels.yaml") == 2
    assert "labels.yaml:3: The calibration set has no conversation 'cal_x'" in capsys.readouterr().err
    assert path.read_bytes() == before, "all labels or none"
    (folder / "labels.yaml").write_text(f"labels:\n{line}")
    assert calibrate("label", "--from", "labels.yaml") == 0
    assert kept(folder)["conversations"][-1]["labels"][0]["by"] == "Njeri"


def test_a_label_of_a_day_to_come_is_refused_with_its_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = kept(folder)
    name = before["conversations"][-1]["id"]
    scores = "{intent comprehension: 5, response naturalness: 4, cultural appropriateness: 3}"
    (folder / "labels.yaml").write_text(f"labels:\n- {{id: {name}, by: N, day: 2099-01-01, scores: {scores}}}\n")
    assert calibrate("label", "--from", "labels.yaml", "--today", "2026-11-25") == 2
    assert "labels.yaml:2: day: 2099-01-01 is after today, 2026-11-25" in capsys.readouterr().err
    assert kept(folder) == before


def test_a_long_id_of_a_conversation_is_cut(folder: Path) -> None:
    turns = [{"role": "user", "content": "Habari"}, {"role": "assistant", "content": "Karibu sana"}]
    (folder / "long.jsonl").write_text(json.dumps({"id": "x" * 150, "messages": turns}) + "\n")
    assert calibrate("add", "long.jsonl") == 0
    assert len(kept(folder)["conversations"][-1]["source"]) == 100


def test_kept_scores_need_no_key(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert calibrate("run", "--recorded", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert [each["status"] for each in told["agreements"]] == ["uncalibrated"] * 3
    assert told["agreements"][0]["advice"].startswith("Label 18 more conversations")
    assert (told["missing"], told["spent_usd"], told["agreements"][0]["n"]) == (0, "0", 12)
    assert calibrate("thresholds") == 0
    assert "Too few good conversations for a threshold: 8 of 20." in capsys.readouterr().out
    assert not (folder / "thresholds.json").exists(), "it writes nothing unless told"
    assert calibrate("thresholds", "--write", "thresholds.json") == 0
    assert len(json.loads((folder / "thresholds.json").read_text("utf-8"))["thresholds"]) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("add",), "Give FILE or --langfuse"),
        (("add", "nowhere.json"), "cannot be read"),
        (("add", "nowhere.jsonl"), "cannot be read"),
        (("add", "broken.jsonl"), "broken.jsonl:2: this is not JSON"),
        (("add", "conversations.jsonl", "--most", "0"), "from 1 to 9999"),
        (("add", "--langfuse"), "production cannot be read"),
        (("due", "--today", "tomorrow"), "a day such as 2026-11-02"),
        (("due", "--today", "9999-12-31"), "a day from 2000 to 2999"),
        (("label", "--by", "x" * 101), "a name of 1 to 100 characters"),
        (("due", "file"), "takes no FILE"),
        (("label", "--from", "nowhere"), "cannot be read"),
        (("due", "--repo", "nowhere"), "There is no folder"),
    ],
)
def test_wrong_options_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], message: str
) -> None:
    (folder / "broken.jsonl").write_text('{"messages": [{"role": "user", "content": "a"}]}\n{"messages"\n')
    before = kept(folder)
    assert calibrate(*options) == 2
    assert message in capsys.readouterr().err
    assert kept(folder) == before


def scored(received: Received) -> Served:
    api = "anthropic" if "claude" in json.dumps(received.body) else "openai"
    return Step(api, data={"reason": "plain", "score": 9}, usage=Usage(1_000, 100))


@pytest.fixture
def models() -> Iterator[ModelServer]:
    with served_models(ModelServer(scored, KEY, RATES)) as server:
        yield server


def keys(models: ModelServer) -> Mapping[str, str]:
    return {
        "RATIBA_ANTHROPIC_API_KEY": KEY,
        "RATIBA_ANTHROPIC_BASE_URL": models.url,
        "RATIBA_OPENAI_API_KEY": KEY,
        "RATIBA_OPENAI_BASE_URL": f"{models.url}/v1",
    }


def test_each_judge_is_paid_once_for_each_score_and_together_within_the_budget(
    folder: Path, models: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "scenarios/calibration/judge_scores.jsonl").unlink()
    path = folder / "scenarios/calibration/human_labelled.yaml"
    path.write_text(path.read_text("utf-8").replace("Bei ya kunyoa", "Mimi 0712 345 432, bei ya kunyoa"), "utf-8")
    assert calibrate("run", "--budget-usd", "0.30", "--json", **keys(models)) == 3, "the budget is too small for all"
    told = json.loads(capsys.readouterr().out)
    assert 0 < models.bill.total <= Decimal("0.30")
    assert Decimal(told["spent_usd"]) == models.bill.total
    assert told["missing"] > 0
    assert any("budget" in problem for problem in told["problems"])
    assert calibrate("run", "--budget-usd", "5", "--json", **keys(models)) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["missing"] == 0
    assert {each["judge"] for each in told["agreements"]} == {"claude-opus-5-5", "gpt-5.6"}
    calls = len(models.received)
    assert calls == 2 * 3 * 12, "what is kept is not asked again"
    assert not any("345 432" in json.dumps(received.body) for received in models.received)
    calibrate("run", "--budget-usd", "5", **keys(models))
    assert len(models.received) == calls
