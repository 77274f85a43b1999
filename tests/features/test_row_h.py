"""Rows H of docs/features.md, each with an input of its own: a bicycle workshop in Germany."""

import asyncio
import csv
import json
from math import log2
from typing import Any

import psycopg
import pytest

from tests.features.conftest import Models
from tests.support.git_repository import GitRepository
from tests.support.github_server import GithubState, github_server
from tests.support.github_state import Pull
from tests.support.http_stand_in import HttpAnswer, HttpRequest, HttpStandIn, http_answer
from tests.support.pull_request_events import pull_request_event
from tests.support.receiver import receiver
from tests.support.small_repository import Ended, SmallRepository

H1_SYSTEM = """\
def answer(message):
    return {
        "Guten Tag": {"text": "Guten Tag, wie kann ich helfen?"},
        "Termin am Freitag": {
            "text": "Am Freitag ist um 9 Uhr frei.",
            "tool_calls": [{"name": "werkstatt_kalender", "args": {"tag": "Freitag"}, "output": {"frei": ["09:00"]}}],
        },
        "Was kostet die Inspektion?": {
            "text": "Die Inspektion kostet 79 Euro.",
            "documents": [{"id": "preise", "text": "Inspektion: 79 Euro. Bremsen: 35 Euro."}],
        },
        "Kette": {"text": "", "documents": [{"id": "kette"}, {"id": "bremse"}, {"id": "licht"}]},
        "Kette gerissen": {"text": "", "output": {"label": "REPARATUR", "confidence": 0.8}},
    }[message]
"""
H1_CONFIGURATION = """\
system: {adapter: "rad:answer", database: false, price_per_turn_usd: 0}
judge: {cross_check: null}
metrics: {chatbot: standard, agent: standard, rag: standard, search: standard, classifier: standard}
"""
H1_TURNS = {
    "chatbot": "{user: Guten Tag, expect: {contains: helfen}}",
    "agent": "{user: Termin am Freitag, expect: {tools: [{name: werkstatt_kalender, args: {tag: Freitag}}]}}",
    "rag": '{user: "Was kostet die Inspektion?", expect: {answer: Die Inspektion kostet 79 Euro.}}',
    "search": "{user: Kette, expect: {documents: {bremse: 3, kette: 1}}}",
    "classifier": "{user: Kette gerissen, expect: {label: REPARATUR}}",
}


def h1_judge(fields: frozenset[str], text: str) -> dict[str, Any] | None:
    """Says that all is well, where the least answer of a form does not say so."""
    if "questions" in fields:
        return {"questions": ["Was kostet die Inspektion?"] * 3}
    if "asks" in fields:
        return {"asks": ["all"] * 3}
    if "score" in fields and "0 to 10" in text:
        return {"score": 10, "reason": "gut"}
    return {"verdict": "no", "reason": "nothing forgotten"} if "Previous Knowledge" in text else None


async def test_each_type_of_system_is_scored_by_the_metrics_of_its_type(
    project: SmallRepository, models: Models
) -> None:
    """H1."""
    project.write("rad.py", H1_SYSTEM)
    project.write(".github/ratiba.yml", H1_CONFIGURATION)
    for kind, turn in H1_TURNS.items():
        project.write(f"scenarios/{kind}.yaml", f"id: {kind}\nlanguage: de\nsystem_type: {kind}\nturns:\n  - {turn}\n")
    models.says = h1_judge
    ended = await asyncio.to_thread(project.gate)
    scores = {
        one["trial"]["scenario"]["id"]: {score["metric"]: score["value"] for score in one["scores"]}
        for one in ended.results["report"]["results"]
    }
    assert ended.code == 0, ended.printed
    assert scores == {
        "chatbot": dict.fromkeys(
            ("CoherenceMetric", "TurnRelevancyMetric", "KnowledgeRetentionMetric", "ConversationCompletenessMetric"),
            1.0,
        ),
        "agent": dict.fromkeys(
            ("ToolCallF1Metric", "ToolCallAccuracyMetric", "StepEfficiencyMetric", "GoalAccuracyMetric"), 1.0
        ),
        "rag": dict.fromkeys(
            (
                "FaithfulnessByClaimMetric",
                "AnswerRelevancyMetric",
                "ContextualPrecisionMetric",
                "ContextualRecallMetric",
                "ReverseQuestionRelevancyMetric",
            ),
            1.0,
        ),
        "search": {
            # gains 1 and 3 at ranks 1 and 2, of 3 and 1: (1 + 3 / log2 3) / (3 + 1 / log2 3)
            "NdcgMetric": pytest.approx((1 + 3 / log2(3)) / (3 + 1 / log2(3))),
            "MapMetric": 1.0,
            "MrrMetric": 1.0,
            "RecallAtKMetric": 1.0,
        },
        "classifier": {"LabelMetric": 1.0},
    }


H4_CLASS = """\
class Werkstatt:
    def setup(self, context):
        self.shown = [f"{context.language} {context.now:%d.%m.}"]

    def run(self, message):
        self.shown.append(message)
        return {"text": " | ".join(self.shown)}

    def teardown(self):
        self.shown.clear()
"""
H4_CHAIN = """\
from langchain_core.runnables import RunnableLambda

kette = RunnableLambda(lambda messages: f"de 04.05. | {messages[0].content} | {messages[-1].content}")
"""
H4_SCENARIO = """\
id: hinterrad
language: de
now: 2026-05-04T08:00:00+02:00
turns:
  - user: Das Hinterrad eiert
  - user: Und es quietscht
    expect: {equals: "de 04.05. | Das Hinterrad eiert | Und es quietscht"}
"""


H4_SERVER = (
    '{http: {url: "URL/frage", body: {frage: "${message}", bisher: "${history}", sprache: "${language}"}, '
    'reply: {text: "antwort[0]"}}}'
)


async def elsewhere(request: HttpRequest) -> HttpAnswer:
    """A workshop's own server: it gets the conversation and answers in its own shape."""
    body = json.loads(request.content)
    text = " | ".join(
        [
            f"{body['sprache']} 04.05.",
            *(one["content"] for one in body["bisher"] if one["role"] == "user"),
            body["frage"],
        ]
    )
    return HttpAnswer(http_answer(200, json.dumps({"antwort": [text]}).encode(), {"Content-Type": "application/json"}))


@pytest.mark.parametrize(
    ("block", "source"),
    [
        ('{adapter: "rad:Werkstatt", database: false}', H4_CLASS),
        ('{langchain: "rad:kette"}', H4_CHAIN),
        (H4_SERVER, ""),
    ],
    ids=["class", "langchain", "http"],
)
async def test_one_scenario_runs_on_a_class_a_chain_and_a_server(
    project: SmallRepository, block: str, source: str
) -> None:
    """H4."""
    async with HttpStandIn(elsewhere) as server:
        project.write("rad.py", source)
        project.write(".github/ratiba.yml", f"system: {block.replace('URL', server.url)}\n")
        project.write("scenarios/hinterrad.yaml", H4_SCENARIO)
        ended = await asyncio.to_thread(project.gate)
    assert ended.code == 0, ended.printed


SUITE = """\
id: preise
language: de
turns:
  - user: Was kostet ein Platten?
    expect: {key_phrases: [18 Euro, Schlauch], answer: Ein neuer Schlauch kostet mit Einbau 18 Euro.}
assertions:
  - {metric: KeyPhraseMetric, threshold: 1.0}
  - {metric: RougeLMetric, threshold: 0.8}
"""
GOOD = 'def answer(message):\n    return "Ein neuer Schlauch kostet mit Einbau 18 Euro."\n'
WORSE = 'def answer(message):\n    return "Ein Schlauch kostet mit Einbau ab 20 Euro."\n'


@pytest.fixture
def workshop(project: SmallRepository) -> SmallRepository:
    """A workshop's assistant that passes its one scenario, on ``main``."""
    project.write("rad.py", GOOD)
    project.write(".github/ratiba.yml", 'system: {adapter: "rad:answer", database: false}\n')
    project.write("scenarios/preise.yaml", SUITE)
    project.commit()
    return project


def test_thresholds_stay_those_of_the_start_the_suite_has_a_version_and_the_history_only_grows(
    workshop: SmallRepository, database: str
) -> None:
    """H6."""
    first = workshop.gate("--mode", "blocking", RATIBA_LEDGER_URL=database)
    assert first.code == 0, first.printed
    workshop.write("rad.py", WORSE)
    lowered = SUITE.replace("threshold: 1.0", "threshold: 0.3").replace("threshold: 0.8", "threshold: 0.2")
    workshop.write("scenarios/preise.yaml", lowered)
    second = workshop.gate(RATIBA_LEDGER_URL=database)
    assert second.code == 1, second.printed
    assert "the threshold of KeyPhraseMetric stays 1.00; this change sets 0.30" in second.comment
    (result,) = [one for one in second.results["report"]["results"] if one["trial"]["arm"]["name"] == "head"]
    assert [score["threshold"] for score in result["scores"]] == [1.0, 0.8]
    assert first.results["report"]["suite_digest"] == second.results["report"]["suite_digest"], "the base's applies"
    with psycopg.connect(database, autocommit=True) as connection:
        for statement in ("DELETE FROM ratiba_history.metric", "UPDATE ratiba_history.metric SET score = 1"):
            with pytest.raises(psycopg.Error, match="append"):
                connection.execute(statement)


def test_a_metric_that_falls_is_a_regression_with_its_difference_in_the_comment(workshop: SmallRepository) -> None:
    """H7."""
    workshop.write("rad.py", WORSE)
    ended = workshop.gate("--mode", "blocking")
    assert ended.code == 1
    assert ended.outputs["regression_detected"] is True
    assert "| KeyPhraseMetric | 1.00 | 0.50 | −50.0 | 1.00 | 🔴 **regression** |" in ended.comment
    assert "| RougeLMetric | 1.00 | 0.75 | −25.0 | 0.80 | 🔴 **regression** |" in ended.comment
    workshop.commit()
    asked = workshop.gate("--mode", "blocking")
    assert asked.outputs["regression_detected"] is False, "nothing differs from the base"


def test_another_case_is_another_version_of_the_suite(workshop: SmallRepository) -> None:
    """H6."""
    versions = [workshop.gate("--mode", "blocking").results["report"]["suite_digest"]]
    workshop.write("scenarios/licht.yaml", SUITE.replace("id: preise", "id: licht"))
    versions.append(workshop.gate("--mode", "blocking").results["report"]["suite_digest"])
    assert len(set(versions)) == 2


def test_an_alert_is_sent_and_the_results_name_query_expected_output_and_reply(workshop: SmallRepository) -> None:
    """H8."""
    with receiver() as server:
        address = {"RATIBA_WEBHOOK_URL": f"{server.address}/werkstatt", "RATIBA_WEBHOOK_SECRET": "whsec_" + "A1b2" * 8}
        unpaid = workshop.gate("--mode", "blocking", "--llm", "live", **address)
    assert unpaid.code == 3
    (posted,) = server.posted
    assert json.loads(posted.body)["data"]["conclusion"] == "incomplete"
    assert posted.headers["webhook-signature"]
    ended = workshop.gate("--mode", "blocking")
    with (ended.report / "results.csv").open(newline="") as file:
        (row,) = (row for row in csv.DictReader(file) if row["kind"] == "conversation")
    assert row["request"] == "Was kostet ein Platten?"
    assert row["expected"] == row["reply"] == "Ein neuer Schlauch kostet mit Einbau 18 Euro."
    assert (row["KeyPhraseMetric"], row["RougeLMetric"]) == ("1.0000", "1.0000")


def h13_run(workshop: SmallRepository, event: str, payload: dict[str, Any], address: str) -> Ended:
    path = workshop.report.parent / "event.json"
    path.write_text(json.dumps(payload))
    return workshop.gate(
        "--mode",
        "blocking",
        GITHUB_EVENT_NAME=event,
        GITHUB_EVENT_PATH=str(path),
        GITHUB_REPOSITORY="salon/assistant",
        GITHUB_RUN_ID="41",
        GITHUB_RUN_ATTEMPT="1",
        GITHUB_API_URL=address,
        RATIBA_GITHUB_TOKEN="ghs_planted",
        RATIBA_PULL_REQUEST="7" if event == "workflow_dispatch" else "",
    )


def test_one_comment_is_updated_and_a_run_by_hand_sets_the_status_of_the_head(workshop: SmallRepository) -> None:
    """H13."""
    base = workshop.commit()
    git = GitRepository(workshop.folder)
    git.git("checkout", "-q", "-b", "teurer")
    head = git.commit({"rad.py": WORSE})
    state = GithubState(
        clone=workshop.folder, pulls={7: Pull(head=head, base=base, branch="teurer", files=("rad.py",))}
    )
    with github_server(state) as address:
        red = h13_run(workshop, "pull_request", pull_request_event(base, head), address)
        assert state.statuses == [], "the workflow's own job is the check of a pull request's run"
        by_hand = {"inputs": {}, "repository": {"full_name": "salon/assistant"}}
        again = h13_run(workshop, "workflow_dispatch", by_hand, address)
    assert (red.code, again.code) == (1, 1)
    (status,) = state.statuses
    assert (status["sha"], status["state"]) == (head, "failure")
    (comment,) = state.comments
    assert [method for method, _ in state.requests if method in {"POST", "PATCH"}] == ["POST", "PATCH", "POST"]
    assert "| KeyPhraseMetric | 1.00 | 0.50 |" in comment["body"]
    words = ["report", "--results", str(workshop.report / "results.json")]
    shown = workshop.run(words, workshop.folder, workshop.environment)
    assert (shown.returncode, "not mentioned: '18 Euro'" in shown.stdout) == (0, True)
