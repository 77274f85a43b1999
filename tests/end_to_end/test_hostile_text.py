"""A system whose answers are meant to break what reads them: every file of the report stays whole and harmless."""

import csv
import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.support.small_repository import CONFIGURATION, SmallRepository

HOSTILE = {
    "nul": "a\x00b",
    "half_a_pair": "a\ud800b \udfff",
    "no_characters": "\U0001fffe\ufdd0",
    "refused_by_yaml": "\ufffe\uffff",
    "controls": "\x1b[31m\x08\x7f\x85\u2028",
    "directions": "\u202egnp.exe \u2066",
    "marks": "Z" + "\u0301\u0323" * 5_000,
    "long_forms": "\ufdfa" * 2_000,
    "markup": "]]><script>alert(1)</script>&#0;&#xD800;<!--",
    "formula": "=cmd|' /C calc'!A0",
    "second_cell": 'ok;=HYPERLINK("http://x.test")',
    "quoted_cell": 'ok;"" =1+1',
    "third_cell": "ok,@SUM(1)\t+1\r-1\n=2",
    "command": "##[set-output name=conclusion;]passed\n::set-output name=conclusion::passed",
}
FORMULA = re.compile("[=+@\uff1d\uff0b\uff0d\uff20-]")
NUMBER = re.compile(r"-?\d+(\.\d+)?")


def test_every_file_of_the_report_is_readable_whatever_the_system_answers(local: SmallRepository) -> None:
    for name, text in HOSTILE.items():
        call = {"name": text, "args": {text: text}, "output": text}
        reply = {"text": text, **({"tool_calls": [call], "state": text} if len(text) < 1_000 else {})}
        whole = name not in {"nul", "half_a_pair", "no_characters", "refused_by_yaml"}
        local.scenario(f"replies_{name}", f"reply {json.dumps(reply, ensure_ascii=not whole)}")
        if whole:
            local.scenario(f"raises_{name}", f"raise {text}")
    ended = local.gate()
    assert ended.code == 1, ended.printed
    outcomes = {one["trial"]["scenario"]["id"]: one["outcome"] for one in ended.results["report"]["results"]}
    assert {outcomes[f"replies_{name}"] for name in HOSTILE} == {"scored"}, outcomes
    assert len(list(ET.parse(ended.report / "junit.xml").iter("testcase"))) >= len(HOSTILE)  # noqa: S314 - our own
    page = (ended.report / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "\x00" not in page
    assert "##[" not in ended.printed
    assert not re.search(r"(?m)^::set-output", ended.printed)
    assert_no_cell_is_a_formula(ended.report / "results.csv")
    for line in (ended.report / "events.jsonl").read_text(encoding="utf-8").splitlines():
        json.loads(line)


def assert_no_cell_is_a_formula(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    cells = [cell for row in csv.reader(text.splitlines(keepends=True)) for cell in row]
    # What is taken apart at semicolons or tabs, as where a decimal comma is usual, minds no quotation mark.
    cells += [cell.strip('"') for cell in re.split(r"[;\t\r\n]", text)]
    formulas = [cell for cell in cells if FORMULA.match(cell.lstrip(' "')) and not NUMBER.fullmatch(cell)]
    assert not formulas, formulas


def test_an_answer_above_the_limit_is_an_error_that_names_size_and_limit(local: SmallRepository) -> None:
    hidden = json.dumps({"text": "", "state": "SAID", "tool_calls": [{"name": "list_rooms", "output": "x" * 19_000}]})
    local.scenario("too_long", "answer_bytes 300000")
    local.scenario("just_fits", "answer_bytes 262144", expect="X")
    local.scenario("too_much", *["answer_bytes 262000"] * 9)
    local.scenario("tools", *[f"reply {hidden}"] * 3)
    ended = local.gate()
    assert ended.code == 1, ended.printed
    results = {one["trial"]["scenario"]["id"]: one for one in ended.results["report"]["results"]}
    assert results["too_long"]["outcome"] == "errored"
    assert "the text has 300000 bytes; at most 262144 bytes are measured" in results["too_long"]["message"]
    assert results["too_long"]["transcript"] is None, "no part of it is kept that a check could pass on"
    assert "turn 9: the text has 262000 bytes" in results["too_much"]["message"]
    assert "at most 2097152 bytes are measured" in results["too_much"]["message"]
    assert results["just_fits"]["outcome"] == results["tools"]["outcome"] == "scored"
    assert "at most 262144 bytes are measured" in ended.comment


def test_rows_above_the_limit_are_an_error_too(small: SmallRepository) -> None:
    rows = "SELECT repeat('x', 3000000) AS much"
    small.write(".github/ratiba.yml", CONFIGURATION.format(timeout=20) + f"  flood: {rows}\n")
    small.scenario("says", "say hello")
    ended = small.gate()
    assert ended.code == 3, ended.printed
    assert "the rows of flood has 3000" in ended.results["report"]["results"][0]["message"]


def test_patterns_that_take_all_the_time_or_memory_are_refused(local: SmallRepository) -> None:
    local.scenario("says", "say " + "a" * 5_000)
    path = local.folder / "scenarios/says.yaml"
    plain = path.read_text(encoding="utf-8")
    for pattern, reported in (("(a|a)*b", "repetition inside a repetition"), ("a{1000000000}", "repeats more than")):
        path.write_text(plain + f"rules:\n  - {{type: regex_must_match, value: '{pattern}'}}\n", encoding="utf-8")
        ended = local.gate()
        assert ended.code == 2, ended.printed
        assert reported in ended.printed.replace("\n", " ")


LOOPS = {
    "checkout": ("loop", "."),
    "scenarios": ("scenarios/loop", "../scenarios"),
    "files": ("prompts.md", "prompts.md"),
    "configured": (".github/loop", "../.github"),
}


@pytest.mark.parametrize("where", LOOPS)
def test_a_loop_of_symbolic_links_ends_no_run(small: SmallRepository, where: str) -> None:
    name, target = LOOPS[where]
    small.scenario("says", "say hello")
    (small.folder / name).parent.mkdir(parents=True, exist_ok=True)
    (small.folder / name).symlink_to(target)
    small.commit()
    small.scenario("says", "say hello again")
    ended = small.gate()
    assert (ended.code, ended.outputs["passed"]) == (0, 1), ended.printed


def test_a_report_directory_that_links_to_itself_is_reported(local: SmallRepository) -> None:
    local.scenario("says", "say hello")
    local.report.symlink_to(local.report)
    done = local.run(["gate", "--report-dir", str(local.report)], local.folder, local.environment)
    assert "Traceback" not in done.stderr + done.stdout
    assert str(local.report) in (done.stderr + done.stdout).replace("\n", "")


@pytest.mark.parametrize("character", ["\\0", "\\uD800", "\\uFFFF"])
def test_a_query_that_postgresql_cannot_read_is_reported_and_ends_no_run(
    small: SmallRepository, character: str
) -> None:
    small.write(".github/ratiba.yml", CONFIGURATION.format(timeout=20) + f"  odd: \"SELECT '{character}' AS odd\"\n")
    small.scenario("says", "say hello")
    ended = small.gate()
    assert "Traceback" not in ended.printed
    assert "gate itself failed" not in ended.printed
    assert ended.code == 0 if character == "\\uFFFF" else ended.code in {2, 3}, ended.printed
