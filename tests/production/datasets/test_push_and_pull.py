"""``ratiba dataset push`` and ``pull``: the real SDK against a stand-in for Langfuse on loopback."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langfuse", reason="needs the extra 'langfuse'")

from ratiba_action.main import run
from tests.support.import_times import ASKED_FOR, imported
from tests.support.langfuse_server import LangfuseState, Mode, langfuse_server
from tests.support.small_repository import run_process

SCENARIO = """\
# This comment stays while nothing changes.
id: books_a_massage
language: sw
now: 2026-04-25T10:00:00+03:00
customer: {name: Amina, phone: "+254 700 000 001"}
tags: [smoke]
turns:
  - user: Habari, saa 14:00?
    expect: {state: CONFIRMING_SLOT}
  - user: Ndio
assertions:
  - {metric: BookingSlotConsistencyMetric, threshold: 1.0}
"""
INTENTS = """\
id: intents
language: en
system_type: classifier
now: 2026-04-25T10:00:00+03:00
customer: {name: Amina, phone: "+254 700 000 001"}
cases: intents.jsonl
turns:
  - user: "${message}"
    expect: {label: "${intent}"}
gates:
  - {metric: macro_f1, at_least: 0.80}
"""
ROWS = (
    '{"id": "c1", "message": "How does pricing work?", "intent": "LEARN"}\n'
    '{"id": "c2", "message": "I cannot log in", "intent": "SUPPORT", "_note": "from the help desk"}\n'
)


class Checkout:
    """A checkout with scenarios, the dataset tasks in it, and the server that they ask."""

    def __init__(self, folder: Path, state: LangfuseState, host: str, printed: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.state = state
        self._printed = printed
        self._environment = state.environment(host)

    def write(self, name: str, content: str) -> None:
        path = self.folder / "scenarios" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def read(self, name: str) -> str:
        return (self.folder / "scenarios" / name).read_text()

    def do(self, *words: str) -> tuple[int, str]:
        code = run(["dataset", *words, "--repo", str(self.folder)], dict(self._environment))
        printed = self._printed.readouterr()
        assert self.state.secret_key not in printed.out + printed.err
        return code, printed.out + printed.err

    def output(self, *words: str) -> dict[str, Any]:
        code = run(["dataset", *words, "--json", "--repo", str(self.folder)], dict(self._environment))
        output: dict[str, Any] = json.loads(self._printed.readouterr().out)
        return {**output, "code": code}

    @property
    def writes(self) -> int:
        return sum(one.method == "POST" for one in self.state.received)

    def item(self, start: str) -> dict[str, Any]:
        (found,) = [one for one in self.state.items.values() if one["id"].startswith(start)]
        return found


@pytest.fixture
def checkout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Checkout]:
    state = LangfuseState()
    with langfuse_server(state) as host:
        made = Checkout(tmp_path / "checkout", state, host, capsys)
        made.write("spa/massage.yaml", SCENARIO)
        made.write("intents.yaml", INTENTS)
        made.write("intents.jsonl", ROWS)
        yield made


def test_a_scenario_and_each_case_become_an_item_that_says_what_is_given_and_what_is_expected(
    checkout: Checkout,
) -> None:
    code, printed = checkout.do("push")
    assert code == 0
    assert printed.endswith("ratiba: 3 created, 0 updated, 0 unchanged\n")
    massage, case = checkout.item("books_a_massage"), checkout.item("intents__c1")
    assert massage["input"]["turns"] == [{"user": "Habari, saa 14:00?"}, {"user": "Ndio"}]
    assert massage["expectedOutput"]["turns"] == [{"expect": {"state": "CONFIRMING_SLOT"}}, {}]
    assert massage["metadata"]["ratiba"]["path"] == "spa/massage.yaml"
    assert (case["input"], case["expectedOutput"]) == (
        {"message": "How does pricing work?"},
        {"intent": "LEARN"},
    )


def test_push_then_pull_then_push_changes_nothing(checkout: Checkout) -> None:
    checkout.do("push")
    written = checkout.writes
    assert checkout.do("pull") == (0, "ratiba: no change\n")
    output = checkout.output("push")
    assert (output["created"], output["updated"], output["unchanged"], output["written"]) == ([], [], 3, 0)
    assert checkout.writes == written
    assert checkout.read("spa/massage.yaml") == SCENARIO


def test_a_pull_into_an_empty_checkout_makes_files_that_push_as_they_are(checkout: Checkout) -> None:
    checkout.do("push")
    for name in ("spa/massage.yaml", "intents.yaml", "intents.jsonl"):
        (checkout.folder / "scenarios" / name).unlink()
    output = checkout.output("pull")
    assert output["code"] == 1
    assert output["waiting"] == ["scenarios/intents.jsonl", "scenarios/intents.yaml", "scenarios/spa/massage.yaml"]
    assert not list((checkout.folder / "scenarios").rglob("*.yaml"))
    assert checkout.output("pull", "--accept")["written"] == output["waiting"]
    assert checkout.output("push")["unchanged"] == 3
    assert sorted(checkout.read("intents.jsonl").splitlines()) == sorted(ROWS.splitlines())


def test_changed_content_updates_the_same_item_and_keeps_what_others_noted_on_it(checkout: Checkout) -> None:
    checkout.do("push")
    checkout.item("books_a_massage")["metadata"]["reviewed_by"] = "Wanjiku"
    checkout.write("spa/massage.yaml", SCENARIO.replace("Ndio", "Ndiyo"))
    output = checkout.output("push")
    assert (len(output["updated"]), output["created"], output["unchanged"]) == (1, [], 2)
    assert checkout.item("books_a_massage")["input"]["turns"][1] == {"user": "Ndiyo"}
    assert checkout.item("books_a_massage")["metadata"]["reviewed_by"] == "Wanjiku"


def test_what_is_gone_from_the_suite_is_reported_and_archived_only_when_asked(checkout: Checkout) -> None:
    checkout.do("push")
    checkout.write("intents.jsonl", ROWS.splitlines()[0])
    code, printed = checkout.do("push")
    assert code == 0
    assert "no longer in the suite: intents__c2" in printed
    assert checkout.item("intents__c2")["status"] == "ACTIVE"
    checkout.do("push", "--archive")
    assert checkout.item("intents__c2")["status"] == "ARCHIVED"
    assert checkout.item("intents__c2")["expectedOutput"] == {"intent": "SUPPORT"}
    checkout.write("intents.jsonl", ROWS)
    assert checkout.output("pull")["archived"] == ["intents__c2"]
    assert len(checkout.output("push")["updated"]) == 1
    assert checkout.item("intents__c2")["status"] == "ACTIVE"


def test_what_was_edited_in_langfuse_is_not_overwritten_and_is_taken_by_a_pull(checkout: Checkout) -> None:
    checkout.do("push")
    checkout.item("intents__c2")["expectedOutput"] = {"intent": "OTHER"}
    code, printed = checkout.do("push")
    assert (code, "edited in Langfuse, left alone: intents__c2" in printed) == (1, True)
    assert checkout.item("intents__c2")["expectedOutput"] == {"intent": "OTHER"}
    code, printed = checkout.do("pull")
    assert code == 1
    assert '+{"id": "c2", "message": "I cannot log in", "intent": "OTHER", "_note": "from the help desk"}' in printed
    assert checkout.read("intents.jsonl") == ROWS
    checkout.do("pull", "--accept")
    first, second = checkout.read("intents.jsonl").splitlines()
    assert (first, json.loads(second)["intent"]) == (ROWS.splitlines()[0], "OTHER")
    assert checkout.output("push")["code"] == 0
    assert checkout.output("push")["unchanged"] == 3


def test_an_edit_may_be_overwritten_on_purpose(checkout: Checkout) -> None:
    checkout.do("push")
    checkout.item("intents__c2")["expectedOutput"] = {"intent": "OTHER"}
    assert checkout.do("push", "--overwrite")[0] == 0
    assert checkout.item("intents__c2")["expectedOutput"] == {"intent": "SUPPORT"}


def test_an_item_made_in_langfuse_becomes_a_case_and_its_first_form_is_archived(checkout: Checkout) -> None:
    checkout.do("push")
    dataset = checkout.state.datasets["ratiba"]
    checkout.state.items["4f1d-made-there"] = {
        **checkout.item("intents__c1"),
        "id": "4f1d-made-there",
        "datasetId": dataset["id"],
        "input": {"message": "Can you help me debug?"},
        "expectedOutput": {"intent": "SUPPORT"},
        "metadata": {"source": "manual"},
    }
    checkout.do("pull", "--accept")
    added = json.loads(checkout.read("intents.jsonl").splitlines()[-1])
    assert added == {"id": "4f1d-made-there", "message": "Can you help me debug?", "intent": "SUPPORT"}
    output = checkout.output("push", "--archive")
    assert output["archived"] == ["4f1d-made-there"]
    assert len(output["created"]) == 1
    assert checkout.output("push", "--archive")["written"] == 0


def test_more_items_than_a_page_holds_are_all_read(checkout: Checkout) -> None:
    checkout.do("push")
    made = checkout.item("intents__c1")
    for number in range(210):
        checkout.state.items[f"made-{number:03}"] = {**made, "id": f"made-{number:03}", "metadata": {}}
    checkout.do("pull", "--accept")
    assert len(checkout.read("intents.jsonl").splitlines()) == 212
    assert sum("page=3" in one.path for one in checkout.state.received) == 1


@pytest.mark.parametrize("task", ["push", "pull"])
@pytest.mark.parametrize(
    ("mode", "seconds", "message"),
    [
        (Mode.FAILING, "60", "status 500"),
        (Mode.BUSY, "60", "status 429"),
        (Mode.BLACK_HOLE, "0.5", "in time|the time for sending was over"),
    ],
)
def test_a_server_that_fails_is_reported_in_words(
    checkout: Checkout, task: str, mode: Mode, seconds: str, message: str
) -> None:
    checkout.state.mode = mode
    code, printed = checkout.do(task, "--seconds", seconds)
    assert code == 3
    assert re.search(message, printed), printed


def test_a_dry_run_writes_nothing(checkout: Checkout) -> None:
    code, printed = checkout.do("push", "--dry-run")
    assert (code, checkout.writes) == (0, 0)
    assert "would be created: books_a_massage" in printed
    assert "3 would be created" in printed


@pytest.mark.parametrize("dataset", [(), ("--dataset", "ratiba"), ("--name", "mine", "--dataset", "mine")])
def test_one_file_of_cases_never_replaces_the_suites_dataset(checkout: Checkout, dataset: tuple[str, ...]) -> None:
    checkout.do("push", *dataset)
    written = checkout.writes
    code, printed = checkout.do("push", "--only", "intents", "--archive", *dataset)
    assert (code, checkout.writes) == (2, written), "nothing was sent"
    assert "--only pushes one file of cases, and the suite's dataset holds all of them." in printed
    assert "Name its dataset: --dataset NAME" in printed
    assert checkout.item("books_a_massage")["status"] == "ACTIVE"
    code, printed = checkout.do("push", "--only", "intents", "--archive", "--dataset", "intent-classifier")
    assert code == 0
    assert printed.endswith("intent-classifier: 2 created, 0 updated, 0 unchanged\n")


def test_a_dataset_that_is_not_there_is_reported(checkout: Checkout) -> None:
    code, printed = checkout.do("pull", "--dataset", "nowhere")
    assert (code, "Langfuse has no dataset 'nowhere'" in printed) == (2, True)


def test_a_suite_that_is_wrong_or_holds_a_secret_is_not_sent(checkout: Checkout) -> None:
    checkout.write("intents.jsonl", ROWS.replace("I cannot log in", "my key is sk-proj-abcdefghijklmnop"))
    code, printed = checkout.do("push")
    assert (code, checkout.state.received) == (2, [])
    assert "scenarios/intents.jsonl: it contains an API key" in printed
    assert "sk-proj-abcdefghijklmnop" not in printed
    checkout.write("intents.jsonl", ROWS)
    checkout.write("spa/massage.yaml", SCENARIO.replace("language: sw", "language: Swahili"))
    assert checkout.do("push")[0] == 2
    assert checkout.state.received == []


def test_a_push_that_broke_off_goes_on_and_makes_nothing_twice(checkout: Checkout) -> None:
    checkout.state.mode = Mode.ANSWER_LOST
    code, printed = checkout.do("push", "--seconds", "2")
    assert code == 3
    assert "0 items were written; another push continues from there" in printed
    checkout.state.mode = Mode.HEALTHY
    assert checkout.do("push")[0] == 0
    assert (len(checkout.state.datasets), len(checkout.state.items)) == (1, 3)


@pytest.mark.parametrize("value", [float("nan"), json.loads("[" * 100 + "]" * 100)])
def test_an_item_that_no_suite_can_hold_is_reported_without_a_traceback(checkout: Checkout, value: Any) -> None:
    checkout.do("push")
    checkout.item("intents__c1")["input"] = {"message": value}
    code, printed = checkout.do("pull")
    assert code == 3
    assert "no JSON, or too deeply nested" in printed


def test_words_of_an_item_cannot_command_the_terminal(checkout: Checkout) -> None:
    checkout.do("push")
    checkout.item("intents__c1")["input"] = {"message": "\x1b[2J ##[command] \u202e"}
    code, printed = checkout.do("pull")
    assert code == 1
    assert not {"\x1b", "\u202e"} & set(printed)
    assert "##[command]" not in printed


def test_truth_is_not_one(checkout: Checkout) -> None:
    checkout.write("spa/massage.yaml", SCENARIO + "critical: true\n")
    checkout.do("push")
    checkout.item("books_a_massage")["metadata"]["ratiba"]["scenario"]["critical"] = 1
    code, printed = checkout.do("pull")
    assert (code, "critical: 1 is not allowed" in printed) == (2, True)


@pytest.mark.processes
def test_without_keys_nothing_of_langfuse_is_imported(tmp_path: Path) -> None:
    done = run_process(["dataset", "push"], tmp_path, {"PATH": os.environ["PATH"], **ASKED_FOR})
    assert done.returncode == 2
    assert "The keys of Langfuse are not set, so nothing can be pushed." in done.stderr
    assert imported(done.stderr) & {"langfuse", "opentelemetry", "httpx", "deepeval"} == set()
