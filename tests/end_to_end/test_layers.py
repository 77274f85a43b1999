"""Scenarios of several layers, run by the gate as a user runs it, without a key."""

import json
from typing import Any

import pytest
import yaml

from ratiba_action.reporting.markdown import visible
from tests.support.small_repository import CONFIGURATION, SmallRepository

SYSTEM = '''\
"""Asks a model once a turn and moves on."""

import json
import os
import urllib.request

import psycopg


class Adapter:
    def migrate(self, database_url):
        with psycopg.connect(database_url) as connection:
            connection.execute("CREATE TABLE notes (id serial PRIMARY KEY, text text NOT NULL)")

    def open(self, context):
        self.state = "GREETING"
        return self

    def send(self, message):
        body = {"model": "claude-haiku-4-5", "max_tokens": 50, "messages": [{"role": "user", "content": message}]}
        headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}
        address = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
        request = urllib.request.Request(address, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request) as answer:
            text = json.load(answer)["content"][0]["text"]
        before, self.state = self.state, "ANSWERED"
        move = {"type": "state_transition", "data": {"from": before, "to": self.state}}
        return {"text": text, "state": self.state, "events": [move], "output": {"n": [2, 1], "at": text}}
'''

OWN = """\
def polite(evidence):
    return {"passed": all("Karibu" in turn["reply"]["text"] for turn in evidence["turns"])}


class Warmth:
    def measure(self, evidence):
        return {"value": evidence["parameters"]["gives"], "reason": evidence["scenario"]["id"]}
"""

FSM: dict[str, Any] = {
    "id": "scripted",
    "layer": "fsm",
    "language": "fr",
    "now": "2026-04-25T10:00:00+03:00",
    "customer": {"name": "Amina", "phone": "+254 700 000 001"},
    "script": [{"text": "Karibu!"}],
    "limits": {"seconds": 60},
    "turns": [
        {
            "user": "Habari",
            "expect": {
                "transitions": [{"from": "GREETING", "to": "ANSWERED"}],
                "output": {"value": {"n": [1, 2]}, "ignore": ["at"], "ignore_order": True},
            },
        }
    ],
    "rules": [{"type": "custom", "value": "own.tone:polite"}],
    "assertions": [{"metric": "own.tone:Warmth", "threshold": 0.5, "with": {"gives": 0.75}}],
}


@pytest.fixture
def talking(small: SmallRepository) -> SmallRepository:
    """The small repository with a system that asks a model, and rules and metrics of its own."""
    small.write(".github/ratiba.yml", CONFIGURATION.format(timeout=20).replace("adapter:Adapter", "talker:Adapter"))
    small.write("talker.py", SYSTEM)
    small.write("own/__init__.py", "")
    small.write("own/tone.py", OWN)
    return small


def result(repository: SmallRepository, **changes: Any) -> tuple[int, dict[str, Any]]:
    repository.write("scenarios/scripted.yaml", yaml.safe_dump({**FSM, **changes}))
    ended = repository.gate()
    (only,) = ended.results["report"]["results"]
    return ended.code, only


def test_a_run_of_mocked_models_says_what_it_cannot_notice(talking: SmallRepository) -> None:
    talking.write("scenarios/scripted.yaml", yaml.safe_dump(FSM))
    ended = talking.gate()
    assert "> [!NOTE]\n> ## Passed: 1 of 1 scenario passed · ratiba\n" in ended.comment
    assert "every model was mocked" in ended.comment
    assert "this run cannot notice what a changed prompt does" in visible(ended.comment)


def test_a_scripted_model_answers_and_everything_is_checked(talking: SmallRepository) -> None:
    code, only = result(talking)
    assert code == 0, json.dumps(only)
    assert [(check["kind"], check["passed"], check["measured"]) for check in only["checks"]] == [
        ("transitions", True, True),
        ("output", True, True),
        ("limit", True, False),
        ("rule", True, True),
    ]
    (score,) = only["scores"]
    assert (score["metric"], score["value"], score["reason"]) == ("own.tone:Warmth", 0.75, "scripted")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"script": []}, "The script has no answer to call 1"),
        ({"script": [{"text": "Karibu!"}, {"text": "Kwaheri"}]}, "asked for 1 of 2 steps of the script"),
        ({"script": [{"provider": "openai", "text": "Karibu!"}]}, "'anthropic' was asked"),
        ({"rules": [{"type": "custom", "value": "own.nowhere:polite"}]}, "own.nowhere:polite"),
        ({"assertions": [{"metric": "own.tone:Warmth", "threshold": 0.5}]}, "own.tone:Warmth"),
    ],
)
def test_what_does_not_fit_is_an_error_of_the_scenario(
    talking: SmallRepository, changes: dict[str, Any], message: str
) -> None:
    code, only = result(talking, **changes)
    assert code == 3
    assert message in only["message"]


def test_steps_that_are_left_over_hide_no_failure(talking: SmallRepository) -> None:
    """What the conversation came to is measured to its end, and its failure is no milder for them."""
    steps = [{"text": "Karibu!"}, {"text": "Kwaheri"}]
    rules = [{"type": "must_contain", "value": "09:00"}]
    code, only = result(talking, script=steps, rules=rules)
    assert code == 1
    assert [check["kind"] for check in only["checks"] if not check["passed"]] == ["rule"]
    assert [score["metric"] for score in only["scores"]] == ["own.tone:Warmth"]
    comment = (talking.report / "comment.md").read_text(encoding="utf-8")
    assert "must_contain" in comment
    assert "asked for 1 of 2 steps of the script" in comment


def test_a_score_below_its_threshold_of_a_metric_of_ones_own_fails_the_run(talking: SmallRepository) -> None:
    code, only = result(talking, assertions=[{"metric": "own.tone:Warmth", "threshold": 0.9, "with": {"gives": 0.75}}])
    assert (code, only["outcome"]) == (1, "scored")


CAPTURED = {
    "language": "fr",
    "layer": "replay",
    "now": "2026-04-25T10:00:00+03:00",
    "customer": {"name": "Amina", "phone": "+254 700 000 001"},
    "turns": [{"user": "Habari", "reply": "Karibu!"}, {"user": "Asante", "reply": "Karibu tena!"}],
}


@pytest.mark.parametrize(
    "compared",
    [{}, {"compare": "metric", "assertions": [{"metric": "ChrfMetric", "threshold": 0.9}]}],
    ids=["exact", "metric"],
)
def test_captured_replies_are_measured_without_any_system(compared: dict[str, Any], small: SmallRepository) -> None:
    small.write(".github/ratiba.yml", "system:\n  replay: {}\n")
    small.write("scenarios/captured.yaml", yaml.safe_dump({"id": "captured", **CAPTURED, **compared}))
    ended = small.gate("--mode", "blocking")
    assert ended.code == 0, ended.printed
    (only,) = ended.results["report"]["results"]
    assert [exchange["reply"]["text"] for exchange in only["transcript"]["exchanges"]] == ["Karibu!", "Karibu tena!"]


def test_a_row_of_cases_may_hold_what_was_said_before(small: SmallRepository) -> None:
    template = {"id": "asked", "language": "fr", "now": CAPTURED["now"], "customer": CAPTURED["customer"]}
    turns = [{"user": "${message}", "expect": {"state": "SAID"}}]
    small.write("scenarios/asked.yaml", yaml.safe_dump({**template, "cases": "asked.jsonl", "turns": turns}))
    before = [{"role": "user", "content": "say one"}, {"role": "assistant", "content": "one"}]
    rows = [{"id": "later", "message": "say two", "history": before}, {"id": "first", "message": "say one"}]
    small.write("scenarios/asked.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    ended = small.gate("--mode", "blocking")
    assert ended.code == 0, ended.printed
    spoken = {
        one["trial"]["scenario"]["id"]: [each["reply"]["text"] for each in one["transcript"]["exchanges"]]
        for one in ended.results["report"]["results"]
    }
    assert [len(spoken["asked__later"]), len(spoken["asked__first"])] == [2, 1]
