"""``assert_scenario``: a scenario and a system in a test of one's own, and the report of a pytest session."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.errors import ConfigurationError, RatibaError, SuiteError
from ratiba_action.pytest_plugin import assert_scenario
from tests.pytest_plugin.test_collection import PROJECT, WRONG, repository, run_pytest
from tests.support.git_repository import GitRepository

__all__ = ["repository"]

PERSON = {"now": "2026-05-04T08:15:00+03:00", "customer": {"name": "Amina", "phone": "0700 000 101"}}
HOURS: dict[str, Any] = {
    "id": "opening_hours",
    "language": "en",
    **PERSON,
    "turns": [
        {"user": "Are you open?", "expect": {"contains": "9:00"}},
        {"user": "And tomorrow?", "expect": {"state": "ANSWERED"}},
    ],
    "rules": [{"type": "must_not_contain", "value": "closed"}],
}


def answer(message: str) -> dict[str, str]:
    return {"text": "We open at 9:00.", "state": "ANSWERED" if "tomorrow" in message else "OPEN"}


class Counting:
    """One conversation: a class is made anew for each."""

    def __init__(self) -> None:
        self.turns = 0

    async def send(self, message: str) -> dict[str, str]:
        self.turns += 1
        assert message
        return {"text": f"9:00, turn {self.turns}", "state": "ANSWERED"}


def test_a_function_that_does_what_the_scenario_asserts_passes() -> None:
    assert_scenario(HOURS, answer)


def test_a_former_name_of_a_key_is_warned_of(tmp_path: Path) -> None:
    former = {**HOURS, "strategy": {"trials": 2, "least_mean": 0.5}}
    with pytest.warns(FutureWarning, match=r"scenario\.yaml:1: strategy\.least_mean is now min_mean"):
        assert_scenario(former, answer)
    path = tmp_path / "scenarios/opening_hours.yaml"
    path.parent.mkdir()
    path.write_text(json.dumps(former))
    with pytest.warns(FutureWarning, match=r"scenarios/opening_hours\.yaml:1: strategy\.least_mean is now min_mean"):
        assert_scenario(path, answer)


def test_the_failed_assertions_are_the_message() -> None:
    with pytest.raises(AssertionError) as failed:
        assert_scenario({**HOURS, "rules": [{"type": "must_not_contain", "value": "open"}]}, lambda _: "We open at 8.")
    shown = [line.strip() for line in str(failed.value).splitlines()]
    assert shown[0] == "scenario opening_hours:"
    assert "turn 1: reply contains" in str(failed.value)
    assert {"expected: ANSWERED", "system:   We open at 8.", "customer: And tomorrow?"} <= set(shown)
    assert any("must_not_contain" in line for line in shown)


def test_each_trial_makes_a_class_anew() -> None:
    two = {**HOURS, "strategy": {"trials": 2}}
    two["turns"] = [{"user": "Are you open?", "expect": {"contains": "turn 1"}}]
    assert_scenario(two, Counting)


async def test_a_test_with_an_event_loop_of_its_own_may_call_it() -> None:
    def with_a_loop(message: str) -> str:
        return asyncio.run(asyncio.sleep(0, f"9:00 {message}"))

    assert_scenario({**HOURS, "turns": HOURS["turns"][:1]}, with_a_loop)


def test_what_the_system_raised_is_the_cause() -> None:
    def broken(_: str) -> str:
        raise KeyError("hours")

    with pytest.raises(AssertionError, match="the system raised KeyError") as failed:
        assert_scenario(HOURS, broken)
    assert isinstance(failed.value.__cause__, KeyError)


@pytest.mark.parametrize("system", [None, 3, lambda: "no message", lambda _: {"reply": "9:00"}, lambda _: None])
def test_what_is_no_system_fails(system: Any) -> None:
    with pytest.raises(AssertionError, match="system error"):
        assert_scenario(HOURS, system)


def test_a_scenario_that_asserts_nothing_fails() -> None:
    with pytest.raises(AssertionError, match="nothing was measured"):
        assert_scenario({**HOURS, "rules": [], "turns": [{"user": "Hello"}]}, answer)


def test_a_file_with_cases_runs_each_of_them(tmp_path: Path) -> None:
    (tmp_path / "hours.jsonl").write_text('{"message": "Are you open?"}\n{"message": "Open on Sunday?"}\n')
    file = tmp_path / "hours.yaml"
    turn = {"user": "${message}", "expect": {"contains": "9:00"}}
    file.write_text(json.dumps({**HOURS, "id": "hours", "rules": [], "cases": "hours.jsonl", "turns": [turn]}))
    (tmp_path / "broken.yaml").write_text("not: [a scenario")
    assert_scenario(file, answer)
    with pytest.raises(AssertionError) as failed:
        assert_scenario(str(file), lambda _: "8:00")
    assert str(failed.value).count("scenario hours") == 2
    file.write_text(
        json.dumps({**json.loads(file.read_text()), "gates": [{"metric": "answer_accuracy", "at_least": 0.9}]})
    )
    with pytest.raises(ConfigurationError, match="answer_accuracy, which assert_scenario does not have"):
        assert_scenario(file, answer)


def test_mistakes_of_a_scenario_are_named_with_their_lines(tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("id: wrong\nlanguage: en\nturns: [{user: Hello}]\nlayr: fsm\n")
    with pytest.raises(SuiteError, match=r"wrong\.yaml:4: layr"):
        assert_scenario(tmp_path / "wrong.yaml", answer)
    with pytest.raises(RatibaError, match="There is no scenario file"):
        assert_scenario(tmp_path / "missing.yaml", answer)


@pytest.mark.parametrize(
    ("more", "needs"),
    [
        ({"assertions": [{"metric": "CoherenceMetric", "threshold": 0.5}]}, "a judge for CoherenceMetric"),
        ({"assertions": [{"metric": "checks.own:Tone", "threshold": 0.5}]}, "a worker for code"),
        ({"rows": [{"table": "bookings", "count": 1}]}, "a database"),
    ],
)
def test_what_needs_a_gate_is_refused_before_the_system_is_called(more: dict[str, Any], needs: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{needs}.*ratiba gate --scenario opening_hours"):
        assert_scenario({**HOURS, **more}, pytest.fail)


def test_a_refusal_that_only_a_judge_can_decide_about_fails_and_says_what_helps() -> None:
    scenario = {**HOURS, "turns": [{"user": "Her number?"}], "rules": [{"type": "must_refuse"}]}
    assert_scenario(scenario, lambda _: "Sorry, I can't share that.")
    with pytest.raises(AssertionError, match=r"no judge can decide must_refuse.*ratiba gate.*value: \{judge: false\}"):
        assert_scenario(scenario, lambda _: "Ask her yourself.")


TESTS = """
import os
from ratiba_action.pytest_plugin import assert_scenario

HOURS = {
    "language": "en",
    "now": "2026-05-04T08:15:00+03:00",
    "customer": {"name": "Amina", "phone": "0700 000 101"},
    "turns": [{"user": "Are you open?", "expect": {"contains": "9:00"}}],
}

def test_hours():
    assert_scenario({"id": "hours", **HOURS}, lambda _: "9:00")

def test_late():
    reply = "8:00 " + os.environ["SHOP_API_KEY"]
    assert_scenario({"id": "late", **HOURS}, lambda _: reply)
"""


def test_scenario_files_and_assert_scenario_have_one_report(repository: Path, embedded_server_dsn: str) -> None:
    (repository / "scenarios/another.yaml").write_text(WRONG)
    (repository / "test_own.py").write_text(TESTS)
    GitRepository(repository).commit({})
    given = ("--ratiba", "--ratiba-database-url", embedded_server_dsn, "--ratiba-report", "out", "scenarios", ".")
    ended = run_pytest(repository, *given, SHOP_API_KEY="sk-shop-0123456789abcdef")
    assert "2 failed, 2 passed" in ended.stdout, ended.stdout
    assert "ratiba: report: " in ended.stdout
    report = json.loads((repository / "out/results.json").read_text())["report"]
    assert report["verdict"]["conclusion"] == "failed"
    assert {result["trial"]["scenario"]["id"] for result in report["results"]} == {
        "first_conversation",
        "another",
        "hours",
        "late",
    }
    files = {path.name: path.read_text() for path in (repository / "out").iterdir()}
    assert {"results.json", "junit.xml", "report.html", "comment.md", "results.csv"} <= set(files)
    assert [name for name, text in files.items() if "sk-shop" in text] == []
    assert "late" in files["junit.xml"]


@pytest.mark.processes
def test_the_test_of_the_guide_passes(tmp_path: Path) -> None:
    guide = (PROJECT / "docs" / "pytest.md").read_text(encoding="utf-8")
    (test,) = [code for code in re.findall(r"```python\n(.*?)```", guide, re.DOTALL) if "assert_scenario" in code]
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios/opening_hours.yaml").write_text(json.dumps({**HOURS, "turns": HOURS["turns"][:1]}))
    (tmp_path / "test_guide.py").write_text(test)
    ended = run_pytest(tmp_path, "test_guide.py")
    assert "1 passed" in ended.stdout, ended.stdout


@pytest.mark.processes
def test_a_report_needs_one_process_and_a_scenario(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text("def test_own():\n    pass\n")
    ended = run_pytest(tmp_path, "--ratiba-report", "out")
    assert "no scenario was run, so no report was written" in ended.stdout
    assert not (tmp_path / "out").exists()
    several = run_pytest(tmp_path, "--ratiba-report", "out", "-n", "1", plugins=("xdist",))
    assert several.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--ratiba-report needs one process" in several.stderr
