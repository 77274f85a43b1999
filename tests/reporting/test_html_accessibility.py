"""report.html for people who read it on a phone, with a keyboard, in the dark or by ear."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from ratiba_action.model.attribution import Attribution, ChangedPart, Explanation, Finding
from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.model.reads import FileReaders, ReadMap
from ratiba_action.model.scenario import Strategy
from ratiba_action.model.values import Usd
from ratiba_action.model.verdict import Report
from ratiba_action.reporting.html import render_html
from ratiba_action.reporting.summary import summarise
from ratiba_action.verdict.agreement import thresholds_of
from tests.support.accessibility import axe_core, violations
from tests.support.browser import Page, browser_page, needs_chromium
from tests.support.sample_comparison import sample_compared_report
from tests.support.sample_report import (
    sample_check,
    sample_data_set,
    sample_live_report,
    sample_results,
    sample_scored,
)

pytestmark = pytest.mark.processes

WIDTHS = (390, 768, 1280, 1920)
"""Of a phone, a tablet, a laptop and a screen, in CSS pixels."""


def noisy() -> list[ScenarioResult]:
    """A scenario of which two of three trials failed; the second decides."""
    strategy = Strategy(trials=3, passes=2)
    found = [sample_scored("noisy", (sample_check(passed=number == 0),), strategy=strategy) for number in range(3)]
    return [replace(each, trial=replace(each.trial, number=number)) for number, each in enumerate(found)]


def rich() -> Report:
    """A report with every part."""
    compared = sample_compared_report(results=(*sample_results(), *noisy()), data_sets=(sample_data_set(),))
    parts = (ChangedPart("prompts/a.md", 14, "Count from dawn.\n", "Count from midnight.\n"),)
    found = Explanation(parts, {"salon_reschedule": Attribution(Finding.FOUND, ((0,),), 3)}, 3, Usd("0.12"))
    live = sample_live_report()
    return replace(
        compared,
        explanation=found,
        notes=("The recordings were changed.",),
        reads=ReadMap((FileReaders("agent.py", sent=True, scenarios=("noisy",)),), 0, ("web/",), 0),
        spending=live.spending,
        shared_spending=live.shared_spending,
    )


REPORTS = {"failed": rich, "passed": sample_live_report}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser_page(tmp_path_factory.mktemp("profile")) as page:
        yield page


def written(report: Report, folder: Path) -> str:
    rated = [(number / 80, 1 + number // 18) for number in range(80)]
    thresholds = [thresholds_of("claude", "tone", "Tone", rated, golden=[0.5, 0.6, 0.7, 0.8, 0.9])]
    path = folder / "report.html"
    path.write_text(render_html(summarise(report), thresholds), "utf-8")
    return path.as_uri()


@needs_chromium
@pytest.mark.parametrize("name", REPORTS)
def test_axe_core_finds_nothing_at_any_width_in_either_theme(name: str, tmp_path: Path, browser: Page) -> None:
    script, address = axe_core(), written(REPORTS[name](), tmp_path)
    found: dict[str, list[str]] = {}
    for unfolded in ("false", "true"):
        browser.open("about:blank")
        browser.open(address)
        browser.evaluate(f"if ({unfolded}) document.querySelectorAll('details').forEach((e) => e.open = true)")
        for width, theme in product(WIDTHS, ("light", "dark")):
            browser.look(width, theme)
            found[f"{width} {theme} {unfolded}"] = violations(browser, script)
    assert {place: listed for place, listed in found.items() if listed} == {}


@needs_chromium
def test_axe_core_finds_what_a_page_lacks(tmp_path: Path, browser: Page) -> None:
    path = tmp_path / "bad.html"
    path.write_text("<title>x</title><p style='color: #999; background: #fff'>pale</p>", "utf-8")
    browser.open(path.as_uri())
    found = " ".join(violations(browser, axe_core()))
    assert "color-contrast" in found
    assert "landmark-one-main" in found


@needs_chromium
@pytest.mark.parametrize("width", WIDTHS)
def test_the_contents_stay_in_view_and_lead_to_each_part(width: int, tmp_path: Path, browser: Page) -> None:
    browser.look(width, "light")
    browser.open(written(rich(), tmp_path))
    targets = browser.evaluate("Array.from(document.querySelectorAll('nav a'), (link) => link.hash)")
    headings = browser.evaluate("Array.from(document.querySelectorAll('h2'), (each) => '#' + each.id)")
    assert targets == ["#top", *headings]
    browser.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    assert browser.evaluate("document.querySelector('nav').getBoundingClientRect().top") == 0
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), "only tables scroll sideways"


@needs_chromium
def test_what_failed_is_unfolded_with_the_trial_that_decides_and_what_passed_is_folded(
    tmp_path: Path, browser: Page
) -> None:
    browser.look(390, "light")
    browser.open(written(rich(), tmp_path))
    rows = "Array.from(document.querySelectorAll('details[data-outcome]'))"
    seen = browser.evaluate(f"{rows}.filter((row) => row.checkVisibility()).map((row) => row.id)")
    assert seen[0] == "scenario-salon_reschedule", "the critical one first"
    assert "scenario-noisy" in seen
    assert "scenario-spa_booking" not in seen
    trials = "document.querySelectorAll('#scenario-noisy details[class]')"
    assert browser.evaluate(f"Array.from({trials}, (trial) => trial.open)") == [False, True, False]


@needs_chromium
def test_the_filters_stand_in_the_address_and_are_read_from_it(tmp_path: Path, browser: Page) -> None:
    address = written(rich(), tmp_path)
    browser.open(address)
    browser.evaluate(
        "(() => { const search = document.getElementById('search'); search.value = 'spa & booking';"
        " search.dispatchEvent(new Event('input')); const outcome = document.getElementById('outcome');"
        " outcome.value = 'passed'; outcome.dispatchEvent(new Event('change')); })()"
    )
    hash_of = browser.evaluate("location.hash")
    assert hash_of == "#filter?outcome=passed&search=spa+%26+booking"
    browser.open("about:blank")
    browser.open(f"{address}#filter?outcome=passed&search=spa_booking")
    controls = "[document.getElementById('outcome').value, document.getElementById('search').value]"
    assert browser.evaluate(controls) == ["passed", "spa_booking"]
    assert browser.evaluate("document.getElementById('scenario-spa_booking').checkVisibility()")
    browser.open("about:blank")
    browser.open(f"{address}#filter?outcome=nonsense")
    assert browser.evaluate(controls) == ["all", ""]
