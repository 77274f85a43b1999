"""report.html of 10,000 scenarios: failures first, in pages, searchable, and whole without its script."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ratiba_action.model.measurement import Scored
from ratiba_action.reporting.html import render_html
from ratiba_action.reporting.summary import summarise
from tests.support.browser import Page, browser_page, needs_chromium
from tests.support.sample_report import sample_check, sample_report, sample_scored

pytestmark = pytest.mark.processes

COUNT, FAILING = 10_000, 2_500
LAST = f"case_{COUNT - 2:05}"
"""The last one that passed, and so the last of the report."""


def scored(number: int) -> Scored:
    failed = number % (COUNT // FAILING) == COUNT // FAILING - 1
    result = sample_scored(f"case_{number:05}", (sample_check(passed=not failed),), reply=f"Word{number:05}.")
    return replace(result, trial=replace(result.trial, scenario=replace(result.trial.scenario, path="")))


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Path:
    report = sample_report(results=tuple(map(scored, range(COUNT))))
    path = tmp_path_factory.mktemp("large") / "report.html"
    path.write_text(render_html(summarise(report)), "utf-8")
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser_page(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture
def page(document: Path, browser: Page) -> Page:
    browser.open("about:blank")
    browser.open(document.as_uri())
    return browser


def shown(page: Page) -> list[str]:
    """Names of the scenarios that are seen, in their order."""
    rows = "Array.from(document.querySelectorAll('details[data-outcome]'))"
    names: list[str] = page.evaluate(
        f"{rows}.filter((row) => row.getClientRects().length > 0).map((row) => row.querySelector('b').textContent)"
    )
    return names


def set_control(page: Page, name: str, value: str) -> str:
    """Fill in a control as a person does; what the page says then."""
    page.evaluate(
        f"(() => {{ const control = document.getElementById('{name}'); control.value = '{value}';"
        " control.dispatchEvent(new Event('input')); control.dispatchEvent(new Event('change')); })()"
    )
    return says(page)


def says(page: Page) -> str:
    text: str = page.evaluate("document.getElementById('count').textContent")
    return text


def test_failures_stand_first_and_the_first_of_them_are_unfolded(document: Path) -> None:
    content = document.read_text("utf-8")
    outcomes = re.findall(r'data-outcome="(\w+)"', content)
    assert outcomes == ["failed"] * FAILING + ["passed"] * (COUNT - FAILING)
    assert len(re.findall(r"<details id=[^>]* open>", content)) == 20
    assert not re.search(r'data-outcome="\w+"[^>]* hidden', content), "without the script every scenario is shown"
    assert re.search(r"details\[data-outcome\] { content-visibility: auto;", content), "no layout out of view"


@needs_chromium
def test_one_page_is_shown_and_more_on_demand(page: Page) -> None:
    assert shown(page) == [f"case_{number:05}" for number in range(3, 400, 4)]
    assert says(page) == "100 of 10,000 shown"
    page.evaluate("document.getElementById('next').click()")
    assert len(shown(page)) == 200
    page.evaluate("document.getElementById('all').click()")
    assert len(shown(page)) == COUNT
    assert page.evaluate("document.getElementById('more').hidden")


@needs_chromium
def test_the_search_finds_a_scenario_of_the_last_page_by_name_and_by_its_reply(page: Page) -> None:
    assert LAST not in shown(page)
    for words in (LAST, f"passed word{COUNT - 2:05}"):
        assert set_control(page, "search", words) == "1 of 10,000 found"
        assert shown(page) == [LAST]
    assert set_control(page, "search", "") == "100 of 10,000 shown"
    assert set_control(page, "outcome", "passed") == "7,500 of 10,000 found, 100 shown"
    assert shown(page)[0] == "case_00000"
    assert set_control(page, "search", "no such word") == "0 of 10,000 found"
    assert shown(page) == []


@needs_chromium
def test_a_link_leads_to_a_scenario_that_is_not_on_the_page(document: Path, browser: Page) -> None:
    browser.open("about:blank")
    browser.open(f"{document.as_uri()}#scenario-{LAST}")
    assert shown(browser)[-1] == LAST
    assert len(shown(browser)) == 101
    place = f"document.getElementById('scenario-{LAST}')"
    assert browser.evaluate(f"{place}.open && {place}.getBoundingClientRect().top < innerHeight")


@needs_chromium
def test_every_scenario_is_shown_without_the_script(document: Path, browser: Page) -> None:
    browser.open("about:blank")
    browser.open(document.as_uri(), script=False)
    assert len(shown(browser)) == COUNT
    assert not browser.evaluate("document.getElementById('controls').getClientRects().length")
