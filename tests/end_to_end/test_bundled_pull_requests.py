"""The bundled pull requests, by the command that ``make demo`` runs."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.bare_loop import KEY
from benchmarks.provider_stand_in import stand_in
from benchmarks.side_by_side import write_repository
from tests.support.import_times import ASKED_FOR, imported
from tests.support.measured_facts import measured_facts
from tests.support.pictures import IMAGES, shown

pytestmark = pytest.mark.processes

PROJECT = Path(__file__).parent.parent.parent
BEFORE = PROJECT / "tests/end_to_end/measured_before"
"""Facts of runs by the version before the gate was made faster; they change only with the example or a measure."""


def demo(pull_request: str, report: Path, *options: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "examples/demo.py", "--pull-request", pull_request, "--report-dir", str(report)]
    command += options
    return subprocess.run(
        command,
        cwd=PROJECT,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def outputs(report: Path) -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads((report / "results.json").read_text())["outputs"]
    return content


def comparison(report: Path) -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads((report / "results.json").read_text())["report"]["verdict"]["comparison"]
    return content


def tables(report: Path) -> str:
    """The comment's headings and tables, without seconds and commits, and without the table that was added since."""
    comment = (report / "comment.md").read_text()
    added = re.compile(r"<details><summary>What a conversation costs</summary>.*?</details>", re.DOTALL)
    lines = added.sub("", comment).splitlines()
    kept = [line.removeprefix("> ") for line in lines if line.startswith(("#", "> #", "|"))]
    text = "".join(f"{line}\n" for line in kept)
    return re.sub(r"\b[0-9a-f]{7,40}\b", "commit", re.sub(r"\| [0-9.]+ \|$", "| seconds |", text, flags=re.MULTILINE))


def test_a_tone_edit_passes_and_its_comment_says_what_was_measured(tmp_path: Path) -> None:
    done = demo("prompt", tmp_path / "report")
    assert done.returncode == 0, done.stdout + done.stderr
    measured = outputs(tmp_path / "report")
    assert (measured["mode"], measured["conclusion"], measured["failed"]) == ("blocking", "passed", 0)
    assert measured["passed"] == len(list((PROJECT / "scenarios").rglob("*.yaml")))
    assert measured["spent_usd"] == "0"
    comment = (tmp_path / "report/comment.md").read_text()
    assert "## Passed" in comment
    assert "## Passed: 43 of 43 scenarios passed, with recordings changed in this PR · ratiba" in comment
    assert "written by hand" in comment
    assert sorted(path.name for path in (tmp_path / "report").iterdir()) == [
        ".gitignore",
        "comment.md",
        "events.jsonl",
        "junit.xml",
        "ratiba.sarif",
        "report.html",
        "results.csv",
        "results.json",
    ]


def test_a_lost_rule_for_swahili_hours_breaks_exactly_two_conversations(tmp_path: Path) -> None:
    done = demo("regression", tmp_path / "report")
    assert done.returncode == 1, done.stdout + done.stderr
    measured = outputs(tmp_path / "report")
    assert (measured["conclusion"], measured["failed"], measured["errored"]) == ("failed", 2, 0)
    comment = (tmp_path / "report/comment.md").read_text()
    broken = "spa_booking_swahili_happy, salon_manicure_swahili_details"
    assert f"2 of {measured['passed'] + 2} scenarios failed a deterministic assertion: {broken}." in comment
    expected = "check_availability(service=massage, start=2026-04-26T14:00)"
    got = "check_availability(service=massage, start=2026-04-26T08:00)"
    asked = "Habari, naomba kuhifadhi massage kesho saa nane mchana"
    row = f"| 1 | tool calls of the turn after “{asked}” | {expected} | {got} |"
    assert row in comment.replace("\\_", "_")
    assert "First difference, turn 1: “…26 Aprili saa nane mchana (14:00) iko wazi,…” → “…26 Aprili saa" in comment
    assert shown(comment) == (IMAGES / "comment_swahili.txt").read_text(encoding="utf-8"), "run 'make pictures'"
    page = (tmp_path / "report/report.html").read_text()
    assert "Ijumaa 12 Juni saa <del>nane mchana</del> (<del>14:00</del>)" in page
    assert "start=<ins>&#34;2026-06-12T08:00&#34;</ins>" in page
    found = comparison(tmp_path / "report")
    assert (found["exact"], measured["regression_detected"]) == (True, True)
    exact = "The mean score fell by 0.4 points, exactly: each side ran once, and the gateway saw no new model call."
    assert f"{exact} The interval is an estimate for other scenarios like these" in comment
    assert "| all scenarios | 0.96 | 0.95 | −0.4 (−1.0 to +0.1) | above −10.0 | a little lower |" in comment
    assert measured_facts(tmp_path / "report") == json.loads((BEFORE / "regression.json").read_text())
    assert tables(tmp_path / "report") == (BEFORE / "regression.md").read_text()


def test_the_line_that_makes_a_guard_fail_is_named(tmp_path: Path) -> None:
    done = demo("blame", tmp_path / "report", "--scenario", "guard_payment_amount")
    assert done.returncode == 1, done.stdout + done.stderr
    (comment,) = [line for line in (tmp_path / "report/comment.md").read_text().splitlines() if "line did it" in line]
    assert comment.startswith(
        "**Which line did it:** `examples/booking_assistant/booking_assistant/settlement.py` line 91 "
        "(“if callback.amount_kes != asked_kes:” removed, and 1 more line) makes guard_payment_amount fail; "
        "the other 4 changed parts do not."
    )


def test_scores_that_fell_in_the_first_trials_and_not_in_the_further_ones_are_within_noise(tmp_path: Path) -> None:
    done = demo("noise", tmp_path / "report")
    assert done.returncode == 0, done.stdout + done.stderr
    measured = outputs(tmp_path / "report")
    assert (measured["conclusion"], measured["regression_detected"], measured["spent_usd"]) == ("passed", False, "0")
    found = comparison(tmp_path / "report")
    assert (found["tier"], found["exact"], len(found["scenarios"])) == ("within noise", False, 12)
    assert found["screen_p"] <= 0.10, "the first trials alone raise an alarm"
    assert found["confirm_p"] > 0.025
    assert -found["margin"] < found["low"] < found["difference"] < 0 < found["high"]
    comment = (tmp_path / "report/comment.md").read_text()
    assert "No drop beyond chance, and a drop of 10 points is ruled out." in comment
    assert "**Within noise.**" in comment
    assert "−0.6 (−2.1 to +1.0)" in (tmp_path / "report/report.html").read_text()


def test_a_change_of_documentation_is_skipped_and_loads_neither_database_nor_web_server_nor_judge(
    tmp_path: Path,
) -> None:
    done = demo("docs", tmp_path / "report", **ASKED_FOR)
    assert done.returncode == 0, done.stdout + done.stderr
    measured = outputs(tmp_path / "report")
    assert (measured["mode"], measured["conclusion"], measured["passed"]) == ("skip", "skipped", 0)
    loaded = imported(done.stderr)
    assert "ratiba_action" in loaded
    assert loaded & {"psycopg", "aiohttp", "deepeval"} == set()


def test_judged_calls_settle_what_they_settled_before(tmp_path: Path) -> None:
    write_repository(tmp_path / "repository", 6)
    command = [sys.executable, "-m", "ratiba_action", "gate", "--mode", "blocking", "--llm", "live"]
    with stand_in(0.0) as url:
        live = {"RATIBA_ANTHROPIC_API_KEY": KEY, "RATIBA_ANTHROPIC_BASE_URL": url, "RATIBA_CONCURRENCY": "20"}
        done = subprocess.run(
            [*command, "--report-dir", str(tmp_path / "report")],
            cwd=tmp_path / "repository",
            env=os.environ | live | {"HOME": str(tmp_path), "PYTHONPATH": str(PROJECT)},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert measured_facts(tmp_path / "report") == json.loads((BEFORE / "live.json").read_text())
