"""``ratiba calibrate``, task by task, as a person and as a workflow run it."""

import html
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.canonical import digest
from ratiba_action.model.conversation import Exchange, Reply, Usage
from ratiba_action.model.measurement import Score, Scored
from ratiba_action.model.scenario import Turn
from ratiba_action.reporting.results_json import render_results
from ratiba_action.reporting.summary import summarise
from tests.support.command_run import CommandRun
from tests.support.live_repository import RATES
from tests.support.model_servers import ModelServer, Received
from tests.support.provider_faults import Served
from tests.support.receiver import receiver
from tests.support.sample_report import sample_report
from tests.support.served_models import served_models

pytestmark = pytest.mark.usefixtures("quiet_deepeval")

EXAMPLE = Path(__file__).parents[2] / "examples" / "calibration"
KEY = "sk-planted-0123456789abcdef"
CONFIGURATION = """\
system: {adapter: "a:A"}
judge: {model: claude-opus-5-5, cross_check: {model: gpt-5.6, provider: openai}}
prices:
  claude-opus-5-5: {input_per_million: 5, output_per_million: 25}
  gpt-5.6: {input_per_million: 3, output_per_million: 15}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github/ratiba.yml").write_text(CONFIGURATION)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def kept(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((folder / "scenarios/calibration/human_labelled.yaml").read_text("utf-8"))
    return found


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("today", "code", "overdue", "days"),
    [("2026-12-06", 0, False, 0), ("2026-12-07", 1, True, 0), ("2026-12-14", 1, True, 7), ("2027-01-04", 1, True, 28)],
)
def test_a_workflow_learns_what_is_due(
    today: str,
    code: int,
    overdue: bool,  # noqa: FBT001 - a case
    days: int,
    ratiba: CommandRun,
) -> None:
    output = ratiba.json("calibrate", "due", "--today", today, code=code)
    assert (output["overdue"], output["overdue_days"], output["owner"]) == (overdue, days, "Adrian")
    assert output["title"] == "Label the calibration set"
    assert "1 conversation to label" in output["body"]


def test_without_a_set_nothing_is_due_and_the_other_tasks_say_how_to_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ratiba: CommandRun
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "ratiba calibrate add" in ratiba("calibrate", "due")
    for task in ("label", "run", "thresholds"):
        ratiba("calibrate", task, code=2)
        assert "There is no calibration set" in ratiba.err


def test_conversations_are_added_once_and_masked(folder: Path, ratiba: CommandRun) -> None:
    assert len(ratiba.json("calibrate", "add", "conversations.jsonl")["added"]) == 2
    assert "Added 0 of 2 conversations" in ratiba("calibrate", "add", "conversations.jsonl")
    text = (folder / "scenarios/calibration/human_labelled.yaml").read_text("utf-8")
    assert "Achieng" not in text
    assert "345 432" not in text


def test_a_person_is_asked_one_by_one_and_what_was_said_is_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch, ratiba: CommandRun
) -> None:
    ratiba("calibrate", "add", "conversations.jsonl")
    monkeypatch.setattr(sys, "stdin", io.StringIO("s\n9\nfour\n4\n3\n5\n1\nq\n"))
    ratiba("calibrate", "label", "--by", "Njeri", "--today", "2026-12-07")
    assert "Labelled 1; 2 left" in ratiba.out
    assert "customer: Mimi ni" in ratiba.err
    skipped, labelled, stopped = kept(folder)["conversations"][-3:]
    assert "labels" not in skipped
    assert "labels" not in stopped, "half of the numbers are none"
    (label,) = labelled["labels"]
    assert (label["by"], str(label["day"]), list(label["scores"].values())) == ("Njeri", "2026-12-07", [4, 3, 5])
    ratiba("calibrate", "due", "--today", "2026-12-08")


def test_a_form_holds_the_conversations_and_its_labels_are_read(folder: Path, ratiba: CommandRun) -> None:
    path = folder / "scenarios/calibration/human_labelled.yaml"
    path.write_text(path.read_text("utf-8").replace("Naweza kuja na rafiki?", "</script><b>Naweza?"), "utf-8")
    ratiba("calibrate", "label", "--form", "form.html")
    page = (folder / "form.html").read_text("utf-8")
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    (conversation,) = json.loads(data)["conversations"]
    assert conversation["turns"][0]["user"] == "</script><b>Naweza?"
    scores = "{intent comprehension: 5, response naturalness: 4, cultural appropriateness: 3}"
    line = f"- {{id: {conversation['id']}, by: Njeri, day: 2026-11-07, scores: {scores}}}\n"
    before = path.read_bytes()
    (folder / "labels.yaml").write_text(f"labels:\n{line}- {{id: cal_x, by: N, day: 2026-11-07, scores: {{a: 1}}}}\n")
    ratiba("calibrate", "label", "--from", "labels.yaml", code=2)
    assert "labels.yaml:3: The calibration set has no conversation 'cal_x'" in ratiba.err
    assert path.read_bytes() == before, "all labels or none"
    (folder / "labels.yaml").write_text(f"labels:\n{line}")
    ratiba("calibrate", "label", "--from", "labels.yaml")
    assert kept(folder)["conversations"][-1]["labels"][0]["by"] == "Njeri"


def test_a_label_of_a_day_to_come_is_refused_with_its_line(folder: Path, ratiba: CommandRun) -> None:
    before = kept(folder)
    name = before["conversations"][-1]["id"]
    scores = "{intent comprehension: 5, response naturalness: 4, cultural appropriateness: 3}"
    (folder / "labels.yaml").write_text(f"labels:\n- {{id: {name}, by: N, day: 2099-01-01, scores: {scores}}}\n")
    ratiba("calibrate", "label", "--from", "labels.yaml", "--today", "2026-11-25", code=2)
    assert "labels.yaml:2: day: 2099-01-01 is after today, 2026-11-25" in ratiba.err
    assert kept(folder) == before


def test_a_long_id_of_a_conversation_is_cut(folder: Path, ratiba: CommandRun) -> None:
    turns = [{"role": "user", "content": "Habari"}, {"role": "assistant", "content": "Karibu sana"}]
    (folder / "long.jsonl").write_text(json.dumps({"id": "x" * 150, "messages": turns}) + "\n")
    ratiba("calibrate", "add", "long.jsonl")
    assert len(kept(folder)["conversations"][-1]["source"]) == 100


def test_kept_scores_need_no_key(folder: Path, ratiba: CommandRun) -> None:
    output = ratiba.json("calibrate", "run", "--recorded")
    assert [each["status"] for each in output["agreements"]] == ["uncalibrated"] * 3
    assert output["agreements"][0]["advice"].startswith("Label 18 more conversations")
    assert (output["missing"], output["spent_usd"], output["agreements"][0]["n"]) == (0, "0", 12)
    assert "of the good conversations: 8 are labelled, and at least 59 are needed." in ratiba("calibrate", "thresholds")
    assert not (folder / "thresholds.json").exists(), "it writes nothing unless told"
    ratiba("calibrate", "thresholds", "--write", "thresholds.json")
    assert len(json.loads((folder / "thresholds.json").read_text("utf-8"))["thresholds"]) == 3


def labels_of_forty(folder: Path, kappa: str) -> None:
    """Labels 1, 2, 3, 4, 5 that are scored 2, 3, 4, 5, 5."""
    labels = [1 + number % 5 for number in range(40)]
    labels_like(folder, [(label, min(label, 4) / 4) for label in labels], kappa)


def labels_like(folder: Path, pairs: Sequence[tuple[int, float]], kappa: str = "quadratic") -> None:
    """A calibration set of these labels, and the judge's scores of the same conversations."""
    conversations, marks = [], []
    for number, (label, score) in enumerate(pairs):
        text = f"message {number}"
        labels = [{"by": "A", "day": date(2026, 10, 5), "scores": {"tone": label}}]
        turns = [{"user": text, "reply": "Karibu"}]
        one = {"id": f"c{number}", "added": date(2026, 10, 5), "source": "s", "turns": turns, "labels": labels}
        conversations.append(one)
        named = {"id": f"c{number}", "digest": digest([[text, "Karibu"]]), "judge": "opus", "criterion": "tone"}
        measured = {"asked": digest(["CoherenceMetric", {}]), "metric": "CoherenceMetric", "version": "1"}
        marks.append(json.dumps({**named, **measured, "score": score}))
    document = {"owner": "A", "kappa": kappa, "criteria": {"tone": {"metric": "CoherenceMetric"}}}
    below = folder / "scenarios/calibration"
    (below / "human_labelled.yaml").write_text(yaml.safe_dump({**document, "conversations": conversations}))
    (below / "judge_scores.jsonl").write_text("\n".join(marks) + "\n")


@pytest.mark.parametrize(("kappa", "status"), [("quadratic", "biased"), ("unweighted", "below")])
def test_a_judge_that_is_never_right_is_not_calibrated(
    folder: Path, kappa: str, status: str, ratiba: CommandRun
) -> None:
    labels_of_forty(folder, kappa)
    printed = ratiba("calibrate", "run", "--recorded", code=1)
    assert f"opus, tone: {status}, n = 40" in printed
    assert "quadratic kappa 0.80" in printed
    assert "exactly the label 0.20, bias 0.80 (95 %:" in printed
    assert "The judge is more lenient than people by 0.8, a constant shift. Add anchors" in printed


def test_it_says_what_people_would_give_the_golden_set_and_how_many_more_labels_halve_the_interval(
    folder: Path, ratiba: CommandRun
) -> None:
    labels_of_forty(folder, "quadratic")
    golden_run(folder, [0.5 + number / 40 for number in range(12)])
    ratiba("calibrate", "thresholds", "--results", "golden.json")
    shown = r"people would give the golden set 0\.\d\d on average \(95 %: 0\.\d\d to 0\.\d\d\)"
    counted = r", by 40 labels and 12 scenarios\. \d+ more labels halve this interval\."
    assert re.search(shown + counted, ratiba.out)


def test_what_people_would_give_the_golden_set_has_no_interval_where_labels_do_not_vary(
    folder: Path, ratiba: CommandRun
) -> None:
    labels_like(folder, [(4, 1.0)] * 30)
    golden_run(folder, [1.0] * 12)
    assert (
        "people would give the golden set 0.75 on average, by 30 labels and 12 scenarios. There is no interval: these "
        "labels do not show how far the judge is from people there. Label conversations of other quality."
    ) in ratiba("calibrate", "thresholds", "--results", "golden.json")


@pytest.mark.parametrize(("head", "differs"), [(0.75, False), (1.0, True)])
def test_it_compares_the_judges_bias_on_base_and_change_where_people_labelled_both(
    folder: Path, head: float, ratiba: CommandRun, *, differs: bool
) -> None:
    both_arms_labelled(folder, head)
    printed = ratiba("calibrate", "thresholds", "--results", "golden.json")
    bias = round(100 * (head - 0.75))
    shown = f"is +0 points on the base (12 labels) and {bias:+} on the change (12 labels)"
    assert f"tone, base and change of that run: its score minus people's {shown}" in printed
    assert ("compare the labels of both" in printed) is differs
    assert (
        ratiba.json("calibrate", "thresholds", "--results", "golden.json")["bias_difference"]["tone"]["differs"]
        is differs
    )


def test_conversations_of_both_arms_of_a_run_are_added_to_be_labelled(folder: Path, ratiba: CommandRun) -> None:
    both_arms_labelled(folder, 1.0)
    (folder / "scenarios/calibration/human_labelled.yaml").write_text("owner: A\ncriteria: {tone: {}}\n")
    assert "Added 10 of 24 conversations" in ratiba("calibrate", "add", "--results", "golden.json")
    added = kept(folder)["conversations"]
    assert {each["source"].partition(":")[0] for each in added} == {"base", "head"}
    ratiba("calibrate", "add", "--results", "golden.json", "--max", "100")
    assert len(kept(folder)["conversations"]) == 24, "the ten are not added again"


def both_arms_labelled(folder: Path, head: float) -> None:
    """A run of twelve scenarios on both arms in ``golden.json``, all labelled 4; the judge gives the base 0.75."""
    labels_like(folder, [(4, 0.75)] * 24)
    report = sample_report()
    scored = next(result for result in report.results if isinstance(result, Scored))
    document = yaml.safe_load((folder / "scenarios/calibration/human_labelled.yaml").read_text())
    results = []
    for number, labelled in enumerate(document["conversations"]):
        arm = replace(scored.trial.arm, name="base" if number % 2 else "head")
        exchanges = tuple(Exchange(Turn(turn["user"]), Reply(turn["reply"])) for turn in labelled["turns"])
        score = Score("CoherenceMetric", "1", 0.75 if number % 2 else head, 0.0, judged=True)
        transcript = replace(scored.transcript, exchanges=exchanges)
        results.append(replace(scored, trial=replace(scored.trial, arm=arm), transcript=transcript, scores=(score,)))
    run = render_results(summarise(replace(report, judge_model="opus", results=tuple(results))))
    (folder / "golden.json").write_text(run)


def test_a_judge_that_fails_too_many_good_conversations_is_no_question_of_how_many_are_labelled(
    folder: Path, ratiba: CommandRun
) -> None:
    labels_like(folder, [(5, 0.9)] * 60 + [(5, 0.0)] * 15)
    assert (
        "No threshold is proven to fail at most 5 % of the good conversations: even the lowest, 0.05, fails 15 of 75."
    ) in ratiba("calibrate", "thresholds")


def golden_run(folder: Path, scores: Sequence[float]) -> None:
    """A run of so many scenarios in ``golden.json``."""
    report = sample_report()
    scored = next(result for result in report.results if isinstance(result, Scored))
    golden = [
        replace(
            scored,
            trial=replace(scored.trial, scenario=replace(scored.trial.scenario, id=f"golden_{number}")),
            scores=(Score("CoherenceMetric", "1", value, 0.0, judged=True),),
        )
        for number, value in enumerate(scores)
    ]
    run = render_results(summarise(replace(report, judge_model="opus", results=tuple(golden))))
    (folder / "golden.json").write_text(run)


def test_the_report_of_a_run_is_written_again_with_a_plot_of_the_thresholds(folder: Path, ratiba: CommandRun) -> None:
    path = folder / "ratiba-report/report.html"
    ratiba("calibrate", "thresholds", "--html", str(path), code=2)
    assert "--html writes the report of a run of the golden set, and there is none." in ratiba.err
    assert not path.exists()
    path.parent.mkdir()
    (path.parent / "results.json").write_text(render_results(summarise(sample_report())))
    secret = "cultural appropriateness"
    options = ("--html", str(path), "--write", "found.json", "--results", "ratiba-report")
    assert f"Wrote {path}." in ratiba(
        "calibrate", "thresholds", *options, environment={"RATIBA_OPENAI_API_KEY": secret}
    )
    page = path.read_text("utf-8")
    assert "Thresholds of the judges" in page
    assert "spa_booking" in page, "it is the report of the run"
    assert 'aria-label="intent comprehension by claude-opus-5-5: no threshold is suggested"' in page
    assert "SwahiliFluencyMetric: on the golden set: minimum" in page, "judged there, and no label is about it"
    assert "BookingSlotConsistencyMetric: on the golden set" not in page, "no judge gives it"
    assert secret not in page + (folder / "found.json").read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("thresholds", "--write", "scenarios"), "'scenarios' cannot be written: Is a directory."),
        (("thresholds", "--html", "a.html", "--results", "nowhere"), "The results 'nowhere' cannot be read"),
        (("thresholds", "--html", "a.html", "--results", "broken.jsonl"), "results.json could not be read as JSON"),
        (("add",), "Give one of FILE, --results and --langfuse"),
        (("add", "nowhere.json"), "cannot be read"),
        (("add", "nowhere.jsonl"), "cannot be read"),
        (("add", "broken.jsonl"), "broken.jsonl:2: this is not JSON"),
        (("add", "conversations.jsonl", "--max", "0"), "from 1 to 9999"),
        (("add", "--langfuse"), "production cannot be read"),
        (("due", "--today", "tomorrow"), "a day such as 2026-11-02"),
        (("due", "--today", "9999-12-31"), "a day from 2000 to 2999"),
        (("label", "--by", "x" * 101), "a name of 1 to 100 characters"),
        (("due", "file"), "takes no FILE"),
        (
            ("run", "--html", "x y.html"),
            "calibrate run does not use --html. Run: ratiba calibrate thresholds --html 'x y.html'\n",
        ),
        (("thresholds", "--recorded"), "Run: ratiba calibrate run --recorded\n"),
        (("thresholds", "--budget-usd", "2"), "Run: ratiba calibrate run --budget-usd 2\n"),
        (("due", "--name", "Amina", "--name", "Juma"), "Run: ratiba calibrate add --name Amina\n"),
        (("label", "--max", "10"), "Run: ratiba calibrate add --max 10\n"),
        (("add", "conversations.jsonl", "--from", "labels.yaml"), "Run: ratiba calibrate label --from labels.yaml\n"),
        (("label", "--from", "nowhere"), "cannot be read"),
        (("due", "--repo", "nowhere"), "There is no folder"),
    ],
)
def test_wrong_options_are_refused(folder: Path, options: tuple[str, ...], message: str, ratiba: CommandRun) -> None:
    (folder / "broken.jsonl").write_text('{"messages": [{"role": "user", "content": "a"}]}\n{"messages"\n')
    before = kept(folder)
    ratiba("calibrate", *options, code=2)
    assert message in ratiba.err
    assert kept(folder) == before


def scored(received: Received) -> Served:
    api = "anthropic" if "claude" in json.dumps(received.body) else "openai"
    return Step(api, data={"reason": "plain", "score": 9}, usage=Usage(1_000, 100))


@pytest.fixture
def models() -> Iterator[ModelServer]:
    with served_models(ModelServer(scored, KEY, RATES)) as server:
        yield server


@pytest.mark.processes
def test_each_judge_is_paid_once_for_each_score_and_together_within_the_budget(
    folder: Path, models: ModelServer, ratiba: CommandRun
) -> None:
    (folder / "scenarios/calibration/judge_scores.jsonl").unlink()
    path = folder / "scenarios/calibration/human_labelled.yaml"
    path.write_text(path.read_text("utf-8").replace("Bei ya kunyoa", "Mimi 0712 345 432, bei ya kunyoa"), "utf-8")
    output = ratiba.json("calibrate", "run", "--budget-usd", "0.30", code=3, environment=models.environment)
    assert 0 < models.bill.total <= Decimal("0.30")
    assert Decimal(output["spent_usd"]) == models.bill.total
    assert output["missing"] > 0
    assert any("budget" in problem for problem in output["problems"])
    output = ratiba.json("calibrate", "run", "--budget-usd", "5", environment=models.environment)
    assert output["missing"] == 0
    assert {each["judge"] for each in output["agreements"]} == {"claude-opus-5-5", "gpt-5.6"}
    calls = len(models.received)
    assert calls == 2 * 3 * 12, "what is kept is not asked again"
    assert not any("345 432" in json.dumps(received.body) for received in models.received)
    ratiba("calibrate", "run", "--budget-usd", "5", environment=models.environment)
    assert len(models.received) == calls


@pytest.mark.usefixtures("folder")
def test_an_overdue_session_is_an_alert_where_it_is_listed_and_a_server_that_is_away_only_warns(
    ratiba: CommandRun,
) -> None:
    with receiver() as slack:
        variables = {"RATIBA_SLACK_WEBHOOK_URL": f"{slack.address}/hook"}
        ratiba("calibrate", "due", "--today", "2026-12-06", environment=variables)
        ratiba("calibrate", "due", "--today", "2026-12-14", code=1, environment=variables)
        Path(".github/ratiba.yml").write_text(f"{CONFIGURATION}notifications: {{events: [failed]}}\n")
        ratiba("calibrate", "due", "--today", "2026-12-14", code=1, environment=variables)
        (posted,) = slack.posted
    assert "session of 2026-12-07 is overdue by 7 days" in str(posted.body)
    Path(".github/ratiba.yml").write_text(CONFIGURATION)
    ratiba("calibrate", "due", "--today", "2026-12-14", code=1, environment=variables)
    assert "The notification was not sent" in ratiba.err


_FILL = """
<script>
document.getElementById("by").value = 'Nje"ri: {x}';
document.querySelectorAll("fieldset").forEach((row, at) => row.querySelectorAll("input")[at % 5].click());
document.getElementById("make").click();
const told = document.createElement("pre");
told.id = "told";
told.textContent = JSON.stringify([document.getElementById("yaml").value, window.attacked || "inert"]);
document.body.append(told);
</script></body>"""
_HOSTILE = "</script><script>window.attacked='yes'</script><img src=x onerror=\"window.attacked='yes'\">'\"&lt;"


@pytest.mark.processes
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_what_a_person_fills_into_the_form_is_read_and_hostile_text_is_inert(folder: Path, ratiba: CommandRun) -> None:
    path = folder / "scenarios/calibration/human_labelled.yaml"
    content = kept(folder)
    content["conversations"][-1]["turns"][0]["user"] = _HOSTILE
    path.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True), "utf-8")
    ratiba("calibrate", "label", "--form", "form.html")
    page = folder / "form.html"
    page.write_text(page.read_text("utf-8").replace("</body>", _FILL), "utf-8")
    browser = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
    shown = subprocess.run(
        [*browser, "--dump-dom", page.as_uri()], capture_output=True, check=True, text=True, timeout=120
    ).stdout
    (reported,) = re.findall(r'<pre id="told">(.*?)</pre>', shown, re.DOTALL)
    labels, attacked = json.loads(html.unescape(reported))
    assert attacked == "inert"
    (folder / "labels.yaml").write_text(labels, "utf-8")
    ratiba("calibrate", "label", "--from", "labels.yaml")
    (label,) = kept(folder)["conversations"][-1]["labels"]
    assert (label["by"], list(label["scores"].values())) == ('Nje"ri: {x}', [1, 2, 3])


_GH = """#!/bin/sh
echo "$*" >>calls.txt
[ "$1 $2" = "issue list" ] && cat open.txt
exit 0
"""
_RATIBA = """#!/bin/sh
echo '{"title": "Label the set", "body": "It is overdue."}'
exit "$(cat code.txt)"
"""


@pytest.mark.processes
@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
@pytest.mark.parametrize(
    ("code", "opened", "did"),
    [(1, "", "issue create"), (1, "7", ""), (0, "7", "issue close 7"), (0, "", "")],
)
def test_the_scheduled_workflow_opens_one_issue_and_closes_it(tmp_path: Path, code: int, opened: str, did: str) -> None:
    workflow = yaml.safe_load((EXAMPLE.parent / "workflows/calibration-due.yml").read_text("utf-8"))
    script = workflow["jobs"]["due"]["steps"][-1]["run"]
    for name, text in (("gh", _GH), ("ratiba", _RATIBA)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "open.txt").write_text(opened)
    (tmp_path / "code.txt").write_text(str(code))
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "LABEL": "ratiba-calibration"}
    subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, env=environment, check=True)
    calls = (tmp_path / "calls.txt").read_text().splitlines()
    assert [call for call in calls if call.startswith(("issue create", "issue close"))] == [
        call for call in calls if did and call.startswith(did)
    ]
    assert any(call.startswith(did) for call in calls)
