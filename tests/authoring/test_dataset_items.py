"""Items of a Langfuse dataset that ``ratiba`` did not make become a scenario with a file of cases, by a mapping."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langfuse", reason="needs the extra 'langfuse'")

from ratiba_action.main import run
from tests.support.langfuse_clients import langfuse_api
from tests.support.langfuse_server import LangfuseState, Mode, langfuse_server

INTENT = ["--map", "input=input.message", "--map", "label=expectedOutput.intent"]
SCENARIO, ROWS = "scenarios/intents/intents_label_labelmetric.yaml", "scenarios/intents/intents_label_labelmetric.jsonl"


@pytest.fixture
def state() -> LangfuseState:
    return LangfuseState()


@pytest.fixture
def host(state: LangfuseState) -> Iterator[str]:
    with langfuse_server(state) as url:
        yield url


def item(message: str, intent: str, **more: Any) -> dict[str, Any]:
    return {"input": {"message": message}, "expected_output": {"intent": intent}, **more}


def dataset(state: LangfuseState, host: str, items: dict[str, dict[str, Any]], name: str = "intents") -> None:
    with langfuse_api(state, host) as api:
        api.datasets.create(name=name)
        for item_id, values in items.items():
            api.dataset_items.create(dataset_name=name, id=item_id, **values)


THREE = {
    "cm-1": item("How does pricing work?", "LEARN", metadata={"source": "manual"}),
    "cm-2": item("Can you help me debug?", "SUPPORT"),
    "cm-3": {
        "input": {
            "message": "And on weekends?",
            "history": [{"role": "user", "content": "When are you open?"}, {"role": "assistant", "content": "From 9."}],
        },
        "expected_output": {"intent": "LEARN"},
    },
}


class Checkout:
    """A folder with scenarios, and the commands in it."""

    def __init__(self, folder: Path, host: str, state: LangfuseState, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys
        self.environment = state.environment(host)

    def pull(self, *words: str) -> tuple[int, str]:
        code = run(["dataset", "pull", "intents", "--repo", str(self.folder), *words], dict(self.environment))
        printed = self.capsys.readouterr()
        return code, printed.out + printed.err

    def report(self, *words: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.pull("--json", *words)[1])
        return found

    def manual(self, *words: str) -> dict[str, str]:
        """What is left to a person, by item."""
        findings = self.report(*words)["findings"]
        return {each["file"]: each["result"] for each in findings if each["outcome"] == "manual"}

    def files(self) -> dict[str, bytes]:
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in self.folder.rglob("*.*")}

    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / ROWS).read_text().splitlines()]


@pytest.fixture
def checkout(tmp_path: Path, host: str, state: LangfuseState, capsys: pytest.CaptureFixture[str]) -> Checkout:
    return Checkout(tmp_path, host, state, capsys)


def test_items_become_cases_that_validate_accepts_and_a_second_pull_changes_nothing(
    checkout: Checkout, state: LangfuseState, host: str
) -> None:
    dataset(state, host, THREE)
    code, output = checkout.pull(*INTENT, "--map", "history=input.history")
    assert code == 1
    assert f"not written without --accept: {SCENARIO}" in output
    assert checkout.files() == {}
    assert checkout.pull(*INTENT, "--map", "history=input.history", "--accept")[0] == 0
    assert checkout.rows() == [
        {"id": "cm_1", "input": "How does pricing work?", "_item": "cm-1", "label": "LEARN"},
        {"id": "cm_2", "input": "Can you help me debug?", "_item": "cm-2", "label": "SUPPORT"},
        {
            "id": "cm_3",
            "input": "And on weekends?",
            "_item": "cm-3",
            "history": [{"role": "user", "content": "When are you open?"}],
            "label": "LEARN",
        },
    ]
    scenario = (checkout.folder / SCENARIO).read_text()
    assert "label: ${label}" in scenario
    assert "metric: macro_f1\n  at_least: 0.8" in scenario
    before = checkout.files()
    code, output = checkout.pull(*INTENT, "--map", "history=input.history", "--accept")
    assert (code, checkout.files()) == (0, before)
    assert "intents: no change" in output
    configuration = checkout.folder / ".github/ratiba.yml"
    configuration.parent.mkdir()
    configuration.write_text("system: {adapter: desk:Desk, database: false, price_per_turn_usd: 0}\n")
    (checkout.folder / "desk.py").write_text("class Desk: ...\n")
    assert run(["validate", "--repo", str(checkout.folder)], {}) == 0


def test_one_item_becomes_a_file_of_cases_which_grows(checkout: Checkout, state: LangfuseState, host: str) -> None:
    dataset(state, host, {"cm-1": THREE["cm-1"]})
    checkout.pull(*INTENT, "--accept")
    scenario = checkout.folder / SCENARIO
    edited = scenario.read_text().replace("0.8\n", "0.9\n") + "tags: [intents]\n"
    edited = edited.replace("tags:\n- imported\n", "")
    scenario.write_text(edited)
    dataset(state, host, {"cm-2": THREE["cm-2"]})
    assert checkout.pull(*INTENT, "--accept")[0] == 0
    assert scenario.read_text() == edited
    assert [row["id"] for row in checkout.rows()] == ["cm_1", "cm_2"]
    state.items["cm-1"]["expectedOutput"] = {"intent": "OTHER"}
    assert checkout.pull(*INTENT)[0] == 1
    assert checkout.pull(*INTENT, "--accept")[0] == 0
    assert [row["label"] for row in checkout.rows()] == ["OTHER", "SUPPORT"]


def test_what_cannot_be_mapped_is_listed_by_the_items_id_and_the_others_are_written(
    checkout: Checkout, state: LangfuseState, host: str
) -> None:
    dataset(
        state,
        host,
        {
            **THREE,
            "no-input": {"input": {"text": "?"}, "expected_output": {"intent": "LEARN"}},
            "no-label": {"input": {"message": "?"}, "expected_output": "LEARN"},
            "number": {"input": {"message": 7}, "expected_output": {"intent": "LEARN"}},
            "object": item("Hi", "LEARN") | {"expected_output": {"intent": None}},
            "credential": item("My key is AKIAIOSFODNN7EXAMPLE", "LEARN"),
            "ours": item("Hi", "LEARN", metadata={"ratiba": {"schema": 1}}),
        },
    )
    manual = checkout.manual(*INTENT, "--accept")
    assert manual["item no-input"].startswith("not mapped: there is nothing at input.message")
    assert "no assertion is left" in manual["item no-label"]
    assert manual["item number"].startswith("not imported: its input 7 is not a text")
    assert "no assertion is left" in manual["item object"]
    assert "pull it without --map" in manual["item ours"]
    assert "AKIAIOSFODNN7EXAMPLE" not in "".join(text.decode() for text in checkout.files().values())
    assert {row["_item"] for row in checkout.rows()} >= set(THREE)
    assert {"no-input", "no-label", "number", "object", "ours"}.isdisjoint(row["_item"] for row in checkout.rows())


def test_numbers_of_persons_are_masked_before_they_are_written(
    checkout: Checkout, state: LangfuseState, host: str
) -> None:
    dataset(state, host, {"cm-1": item("Call me: +254 712 345 678, wanjiku@example.com", "SUPPORT")})
    report = checkout.report(*INTENT, "--accept")
    written = b"".join(checkout.files().values()).decode()
    assert "712 345" not in written
    assert "wanjiku@" not in written + json.dumps(report)
    results = [each["result"] for each in report["findings"] if each["file"] == "item cm-1"]
    assert "secrets, and what identifies a person, are masked" in results


def test_several_labels_answers_and_texts_can_be_mapped(checkout: Checkout, state: LangfuseState, host: str) -> None:
    expected = {"skills": ["demo", "email"], "reply": "At nine.", "must": ["nine"]}
    dataset(state, host, {"a": {"input": "When?", "expected_output": expected}})
    words = ["labels=expectedOutput.skills", "answer=expectedOutput.reply", "contains=expectedOutput.must"]
    code, output = checkout.pull(
        *(part for word in words for part in ("--map", word)), "--metric", "RougeLMetric=0.4", "--accept"
    )
    assert code == 0, output
    (path,) = (checkout.folder / "scenarios/intents").glob("*.yaml")
    scenario = path.read_text()
    for part in ("labels: ${labels}", "answer: ${answer}", "metric: RougeLMetric\n  threshold: 0.4", "skill_recall"):
        assert part in scenario


def test_nothing_that_can_be_mapped_writes_nothing(checkout: Checkout, state: LangfuseState, host: str) -> None:
    dataset(state, host, THREE)
    code, output = checkout.pull("--map", "label=expected.intent", "--map", "input=input.message", "--accept")
    assert code == 2
    assert " and 2 more" in next(line for line in output.splitlines() if "nothing at expected.intent" in line)
    assert checkout.files() == {}


def test_a_suite_that_would_be_wrong_is_not_written(checkout: Checkout, state: LangfuseState, host: str) -> None:
    dataset(state, host, {"cm-1": THREE["cm-1"]})
    taken = checkout.folder / "scenarios/other.yaml"
    taken.parent.mkdir()
    taken.write_text(
        "id: intents_label_labelmetric__cm_1\nlanguage: fr\nturns:\n  - {user: Salut, expect: {contains: [a]}}\n"
    )
    before = checkout.files()
    code, output = checkout.pull(*INTENT, "--accept")
    assert code == 2
    assert "intents_label_labelmetric" in output
    assert checkout.files() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--map", "label"], "--map is 'label'. Give FIELD=COLUMN"),
        (["--map", "intent=expectedOutput"], "--map is 'intent=expectedOutput'"),
        (["--map", "label=expectedOutput..intent"], "is not a JMESPath"),
        (["--prefix", "x"], "--prefix needs --map"),
        (["--threshold", "macro_f1=0.5"], "--threshold needs --map"),
        (["--system-type", "classifier"], "--system-type needs --map"),
        ([*INTENT, "--threshold", "macro_f1=2"], "the least from 0 to 1"),
        ([*INTENT, "--prefix", "../x"], "up to 24 lower-case letters"),
        ([*INTENT, "--metric", "LabelMetric=1"], "NAME=THRESHOLD with one of"),
        ([*INTENT, "--language", "Klingon"], "--language is 'Klingon'"),
        ([*INTENT, "--dataset", "another"], "NAME is 'intents' and --dataset is 'another'"),
    ],
)
def test_an_option_that_is_wrong_is_refused(
    checkout: Checkout, state: LangfuseState, host: str, words: list[str], message: str
) -> None:
    dataset(state, host, THREE)
    code, output = checkout.pull(*words, "--accept")
    assert (code, checkout.files()) == (2, {})
    assert message in output


def test_a_server_that_fails_writes_nothing(checkout: Checkout, state: LangfuseState) -> None:
    state.mode = Mode.FAILING
    code, output = checkout.pull(*INTENT, "--accept", "--seconds", "5")
    assert (code, checkout.files()) == (3, {})
    assert "it answered with status 500" in output
