"""The scenario files that the pages of metrics point at give the scores that they state."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.metrics.registry import load_metric, metric_names, metric_problems
from ratiba_action.model.conversation import Document, Exchange, Reply, ToolCall, Transcript
from ratiba_action.model.measurement import Case
from ratiba_action.model.scenario import Scenario
from ratiba_action.model.values import JsonObject
from ratiba_action.ports import CodeMetric
from ratiba_action.suite.load import load_suite
from ratiba_action.worker.code_tests import run_test
from tests.support.metric_catalogue import END, FAMILIES, catalogue_table, with_catalogue, with_parameters

PROJECT = Path(__file__).resolve().parents[2]
PAGE = (PROJECT / "docs" / "metrics.md").read_text(encoding="utf-8")
EXAMPLES = PROJECT / "examples" / "metrics"
PAGES = "".join(path.read_text(encoding="utf-8") for path in sorted((PROJECT / "docs").glob("metrics*.md")))
STATED = re.findall(r"^\| `examples/metrics/(\w+)\.yaml` \| ([\w -]+) \| ([\d.]+) \|", PAGES, re.MULTILINE)

CALLS = (
    ToolCall("search", {"to": "Kisumu"}),
    ToolCall("search", {"to": "Kisumu", "page": 2}),
    ToolCall("order", {"count": 3, "on": "2026-04-27"}),
)
MADE: dict[tuple[str, int], Reply] = {
    ("tools", 0): Reply("", tool_calls=CALLS),
    ("search", 0): Reply("", documents=tuple(Document(f"D{number}") for number in range(1, 7))),
    ("labels", 0): Reply("", output={"label": "BOOKING"}),
    ("labels", 1): Reply("", output={"labels": ["hours", "prices", "menu"]}),
}
"""What else a turn's reply held; a captured reply is text only."""


class LocalCode:
    """Runs the worker's own functions in a thread; the code of the examples is the project's."""

    async def run(self, address: str, evidence: JsonObject, judge: object = None) -> Any:
        assert judge is None
        assert address == "ratiba_worker.code_tests:run_test"
        return await asyncio.to_thread(run_test, dict(evidence))

    async def describe(self, address: str) -> JsonObject:
        raise NotImplementedError(address)


def scenario_of(name: str) -> Scenario:
    files = {f"scenarios/{path.name}": path.read_bytes() for path in EXAMPLES.glob("*.yaml")}
    suite = load_suite(files, metric_problems, validate_rule)
    return next(one for one in suite.scenarios if one.id == name)


def held(scenario: Scenario) -> Case:
    """The conversation as it was captured."""
    exchanges = [
        Exchange(turn, replace(MADE.get((scenario.id, number), Reply("")), text=text))
        for number, (turn, text) in enumerate(zip(scenario.turns, scenario.replies, strict=True))
    ]
    return Case(scenario, Transcript(scenario.id, tuple(exchanges)))


@pytest.mark.processes  # one of them runs a test of code
@pytest.mark.parametrize(("name", "label", "value"), STATED)
async def test_a_stated_score_is_what_the_example_gives(name: str, label: str, value: str) -> None:
    scenario = scenario_of(name)
    (assertion,) = [one for one in scenario.assertions if one.label == label]
    measured = load_metric(assertion.metric, None, assertion.parameters)
    if isinstance(measured, CodeMetric):
        measured = measured.with_code(LocalCode())
    score = await measured.measure(held(scenario), assertion.threshold)
    assert f"{score.value:.2f}" == value
    assert score.passed == (float(value) >= assertion.threshold)


def test_every_assertion_of_every_example_has_its_score_stated() -> None:
    names = {path.stem for path in EXAMPLES.glob("*.yaml") if path.stem not in {"house.terms", "exact_checks"}}
    asserted = {(name, one.label) for name in names for one in scenario_of(name).assertions}
    assert {(name, label) for name, label, _ in STATED} == asserted


def test_the_catalogue_of_the_page_is_the_registrys() -> None:
    assert with_catalogue(PAGE) == PAGE, "run `make catalogue`"


@pytest.mark.parametrize("name", FAMILIES)
def test_the_page_of_a_family_has_the_parameters_of_its_metrics(name: str) -> None:
    page = (PROJECT / "docs" / name).read_text(encoding="utf-8")
    assert with_parameters(name, page) == page, "run `make catalogue`"


def test_the_catalogue_has_a_row_for_every_metric_with_the_page_of_its_family() -> None:
    rows = catalogue_table().splitlines()[2:]
    assert [row.split("]")[0].removeprefix("| [") for row in rows] == list(metric_names())
    (row,) = [row for row in rows if "SecretLeakMetric" in row]
    assert "(metrics-safety.md)" in row


def test_a_family_says_what_its_metrics_need_and_take() -> None:
    assert "`forbidden` (required)" in (PROJECT / "docs/metrics-safety.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| ChrfMetric \|.*$", (PROJECT / "docs/metrics-texts.md").read_text("utf-8"), re.MULTILINE)
    assert "`word_order` = 0" in row
    assert "| `expect.answer` |" in row


def test_a_page_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="markers"):
        with_catalogue(PAGE.replace(END, ""))
