"""report.html in dark and light: a person switches, and the browser keeps it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ratiba_action.reporting.html import render_html
from ratiba_action.reporting.summary import summarise
from tests.support.browser import Page, browser_page, needs_chromium
from tests.support.eventually import eventually
from tests.support.sample_report import sample_report

pytestmark = pytest.mark.processes

BUTTON = "document.getElementById('theme')"


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "report.html"
    path.write_text(render_html(summarise(sample_report())), "utf-8")
    return path


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("profile")


@pytest.fixture
def page(document: Path, profile: Path) -> Iterator[Page]:
    with browser_page(profile) as opened:
        opened.open(document.as_uri())
        opened.evaluate("localStorage.clear()")
        yield reopened(opened, document)


def reopened(page: Page, document: Path) -> Page:
    page.open("about:blank")
    page.open(document.as_uri())
    return page


def keeps(page: Page, document: Path, expected: int) -> bool:
    """Whether the report has a brightness when it is opened again; the browser stores the choice a little later."""
    return eventually(lambda: brightness(reopened(page, document)), 30, lambda found: found == expected) == expected


def brightness(page: Page) -> int:
    """Of the page's ground, 0 to 255."""
    found: int = page.evaluate("Number(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0])")
    return found


@needs_chromium
def test_the_switch_changes_the_colours_and_the_browser_keeps_it(page: Page, document: Path) -> None:
    assert page.evaluate(f"{BUTTON}.getClientRects().length") == 1
    before, offered = brightness(page), page.evaluate(f"{BUTTON}.textContent")
    assert (before > 128, offered) in {(True, "Dark mode"), (False, "Light mode")}
    page.evaluate(f"{BUTTON}.click()")
    switched = brightness(page)
    assert (switched > 128) != (before > 128)
    assert page.evaluate(f"{BUTTON}.textContent") != offered
    assert keeps(page, document, switched), "kept when the report is opened again"
    page.evaluate(f"{BUTTON}.click()")
    assert keeps(page, document, before)


@needs_chromium
def test_without_the_script_there_is_no_switch_and_the_system_decides(page: Page, document: Path) -> None:
    before = brightness(page)
    page.open("about:blank")
    page.open(document.as_uri(), script=False)
    assert page.evaluate(f"{BUTTON}.getClientRects().length") == 0
    assert brightness(page) == before


@needs_chromium
def test_a_value_that_is_no_theme_is_not_taken(page: Page, document: Path) -> None:
    before = brightness(page)
    page.evaluate("localStorage.setItem('ratiba-theme', 'x\\\"><script>')")
    assert brightness(reopened(page, document)) == before
    assert page.evaluate("document.documentElement.getAttribute('data-theme')") is None
