"""``ratiba check``: files of answers, and what it prints."""

import io
import json
import sys
from pathlib import Path

import pytest

from tests.support.command_run import CommandRun

RULES = """\
language: sw
rules:
  - {type: must_not_contain, value: dhamana}
assertions:
  - {metric: PiiLeakMetric, threshold: 1.0}
"""
ANSWERS = (
    {"id": "a", "question": "Bei?", "answer": "Ni KES 2,500."},
    {"question": "Namba?", "answer": "Asha: +254 733 111 222", "names": ["Asha"]},
    {"id": "0733 111 222", "question": "Je?", "answer": "Tunakupa dhamana, hemlock-9.", "contexts": ["a"]},
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "checks.yaml").write_text(RULES)
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(answer) + "\n" for answer in ANSWERS))
    monkeypatch.chdir(tmp_path)
    return tmp_path


CHECK = ("check", "--rules", "checks.yaml")


@pytest.mark.usefixtures("folder")
def test_a_blocked_answer_is_exit_1_and_has_its_reasons(ratiba: CommandRun) -> None:
    printed = ratiba(*CHECK, "answers.jsonl", "--json", code=1, environment={"RATIBA_GITHUB_TOKEN": "hemlock-9"})
    report = json.loads(printed)
    assert report["counts"] == {"pass": 1, "flag": 1, "block": 1}
    assert [(each["line"], each["action"], each["flagged"], each["blocked"]) for each in report["answers"]] == [
        (1, "pass", False, False),
        (2, "flag", True, False),
        (3, "block", True, True),
    ]
    (reason,) = report["answers"][2]["reasons"]
    assert (reason["file"], reason["line"], reason["name"]) == ("checks.yaml", 3, "must_not_contain")
    for secret in ("733 111", "Asha", "hemlock"):
        assert secret not in printed


def test_a_former_name_of_a_key_is_warned_of(folder: Path, ratiba: CommandRun) -> None:
    share = "  - {metric: ReplyLanguageMetric, threshold: 1.0, with: {least_share: 0.5}}\n"
    (folder / "checks.yaml").write_text(RULES + share)
    ratiba(*CHECK, "answers.jsonl", code=1)
    warned = "ratiba: Keys have new names: checks.yaml:6: assertions.1.with.least_share is now min_share."
    assert ratiba.err.startswith(warned)


@pytest.mark.usefixtures("folder")
def test_people_read_what_failed_and_where_the_rule_stands(ratiba: CommandRun) -> None:
    printed = ratiba(*CHECK, "answers.jsonl", code=1)
    assert printed.startswith("3 answers: 1 passed, 1 flagged, 1 blocked. Slowest: ")
    assert "block: must_not_contain: expected no reply of any turn has 'dhamana' (case is ignored)" in printed
    assert "(checks.yaml:3)" in printed


@pytest.mark.usefixtures("folder")
def test_one_answer_is_given_by_options_and_standard_input_is_read(
    monkeypatch: pytest.MonkeyPatch, ratiba: CommandRun
) -> None:
    ratiba(*CHECK, "--question", "Bei?", "--answer", "Ni KES 2,500.", "--context", "a")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(ANSWERS[1]).encode())))
    assert "0 passed, 1 flagged" in ratiba(*CHECK, "-")


def test_events_are_appended(folder: Path, ratiba: CommandRun) -> None:
    for _ in range(2):
        ratiba(*CHECK, "answers.jsonl", "--events", "events.jsonl", code=1)
    lines = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    assert [line["data"]["flag"] for line in lines] == ["flagged", "blocked"] * 2
    assert "733 111" not in (folder / "events.jsonl").read_text()


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ("", "the file has no rows"),
        ("{", "answers.jsonl:1: not a JSON object"),
        ('{"question": "a"}', "answers.jsonl:1: answer is missing"),
        ('{"question": "a", "answer": 7}', "answer is 7; give a text"),
        ('{"question": "a", "answer": "b", "contexts": "c"}', "contexts is 'c'; give a list of texts"),
        ('{"question": "a", "answer": "b", "contexts": [1]}', "give a list of texts"),
        ('{"question": "a", "answer": "b", "context": []}', "unknown key 'context'; allowed: id, question"),
        ("\xff", "not a JSON object"),
    ],
)
def test_a_mistake_in_the_answers_is_reported_and_nothing_is_checked(
    folder: Path, content: str, wrong: str, ratiba: CommandRun
) -> None:
    (folder / "answers.jsonl").write_text(content)
    ratiba(*CHECK, "answers.jsonl", "--events", "events.jsonl", code=2)
    assert (ratiba.out, wrong in ratiba.err) == ("", True)
    assert not (folder / "events.jsonl").exists()


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ((), "No answer is given"),
        (("answers.jsonl", "--answer", "b"), "given twice"),
        (("--answer", "b"), "belong together"),
        (("missing.jsonl",), "cannot be read"),
        (("answers.csv",), "is a CSV file"),
        (("answers.jsonl", "--judge"), "no assertion that needs a judge"),
        (("answers.jsonl", "--events", "none/events.jsonl"), "cannot be written"),
        (("answers.jsonl", "--budget-usd", "-1"), "budget-usd"),
    ],
)
def test_a_wrong_option_is_exit_2(folder: Path, options: tuple[str, ...], wrong: str, ratiba: CommandRun) -> None:
    (folder / "answers.csv").write_text("question,answer\na,b\n")
    ratiba(*CHECK, *options, code=2)
    assert wrong in ratiba.err


def test_a_judge_without_a_key_is_exit_3(folder: Path, ratiba: CommandRun) -> None:
    (folder / "checks.yaml").write_text("language: sw\nassertions:\n  - {metric: CoherenceMetric, threshold: 0.7}\n")
    (folder / ".github").mkdir()
    (folder / ".github" / "ratiba.yml").write_text("system: {adapter: 'a:A'}\n")
    ratiba(*CHECK, "answers.jsonl", "--judge", code=3)
    assert "no key" in ratiba.err


def test_the_example_is_what_the_page_says(monkeypatch: pytest.MonkeyPatch, ratiba: CommandRun) -> None:
    monkeypatch.chdir(Path(__file__).parents[2] / "examples" / "inline_checks")
    actions = [answer["action"] for answer in ratiba.json(*CHECK, "answers.jsonl", code=1)["answers"]]
    assert actions == ["pass", "flag", "block"]
