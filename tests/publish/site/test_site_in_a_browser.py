"""The site as people look at it: on a phone and a laptop, in both themes, with a keyboard, and with hostile texts."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from ratiba_action.main import run
from ratiba_action.model.verdict import Report
from tests.support.accessibility import axe_core, violations
from tests.support.browser import Page, browser_page, needs_chromium
from tests.support.elsewhere_files import ALL
from tests.support.eventually import eventually
from tests.support.run_history import branch_run, long_history, write_history
from tests.support.sample_report import sample_check, sample_score, sample_scored

pytestmark = pytest.mark.processes

LISTS = ("index", "runs", "runs-2", "compare", "scenarios", "metrics", "judges", "production", "money")
HOSTILE = (
    "</script><script>window.ran = true</script>",
    "<img src=x onerror='window.ran = true'>",
    '" onmouseover="window.ran = true" x="',
    "javascript:window.ran=true",
    "\u202egnp.exe\u2066",
    "w" * 3_000,
    "{{ 7 * 7 }}{% raw %}",
    "\\u003c/script>\u2028</style><!--",
)


def written(folder: Path, reports: list[Report], transcripts: str = "none") -> Path:
    (folder / ".github").mkdir()
    text = f"system: {{adapter: 'a.b:C'}}\nsite: {{transcripts: {transcripts}}}\n"
    (folder / ".github/ratiba.yml").write_text(text)
    write_history(folder / "runs", reports)
    variables, more = {"GITHUB_WORKSPACE": str(folder)}, list[str]()
    for name, content in ALL.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
        more += ["--with", str(folder / f"{name}.json")]
    assert run(["site", "--from", str(folder / "runs"), "--to", str(folder / "site"), *more], variables) == 0
    return folder / "site"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("site"), long_history(), "all")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser_page(tmp_path_factory.mktemp("profile")) as page:
        yield page


def show(browser: Page, page: Path, anchor: str = "") -> None:
    browser.open("about:blank")
    browser.open(page.as_uri() + anchor)


def pages_of(site: Path) -> list[Path]:
    """Every kind of page, a run that failed among them."""
    failed = next(page for page in sorted((site / "run").iterdir()) if '<details id="s03" open>' in page.read_text())
    return [
        *(site / f"{name}.html" for name in LISTS if (site / f"{name}.html").exists()),
        failed,
        site / "scenario/s03.html",
    ]


def test_the_name_of_the_repository_may_break_after_its_owner(site: Path) -> None:
    assert "<h1>ratiba/<wbr>assistant</h1>" in (site / "index.html").read_text()


@needs_chromium
def test_axe_core_finds_nothing_and_only_tables_scroll_sideways(site: Path, browser: Page) -> None:
    script, found = axe_core(), dict[str, list[str]]()
    for page in pages_of(site):
        show(browser, page)
        browser.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
        for width, theme in product((390, 1280), ("light", "dark")):
            browser.look(width, theme)
            found[f"{page.name} {width} {theme}"] = violations(browser, script)
            assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), (page.name, width)
    assert {name: listed for name, listed in found.items() if listed} == {}


@needs_chromium
def test_the_heat_map_is_filtered_and_the_address_has_the_filter(site: Path, browser: Page) -> None:
    show(browser, site / "scenarios.html", "#filter?state=flaky")
    shown = "Array.from(document.querySelectorAll('[data-row]')).filter((row) => row.checkVisibility()).length"
    assert browser.evaluate(shown) == 1
    assert browser.evaluate("document.getElementById('count').textContent") == "1 of 12 shown"
    browser.evaluate(
        "(() => { const set = (name, value) => { const field = document.querySelector(`[name=${name}]`);"
        " field.value = value; field.dispatchEvent(new Event('input', {bubbles: true})); };"
        " set('state', ''); set('language', 'sw'); set('text', 'booking s0'); })()"
    )
    assert browser.evaluate(shown) == 5
    assert browser.evaluate("location.hash") == "#filter?text=booking+s0&language=sw"


@needs_chromium
def test_up_to_six_runs_are_compared_by_an_address(site: Path, browser: Page) -> None:
    runs = sorted(path.stem for path in (site / "run").iterdir())
    failed = next(name for name in runs if 'id="s03" open' in (site / f"run/{name}.html").read_text())
    show(browser, site / "compare.html", f"#{runs[0]},{failed}")
    assert browser.evaluate("document.getElementById('many').textContent") == "1 of 12 scenarios ended differently."
    cells = "Array.from(document.querySelectorAll('#differing tr:last-child > *'), (cell) => cell.textContent)"
    assert browser.evaluate(cells) == ["s03", "passed", "failed"]
    assert browser.evaluate("document.querySelector('#differing a').getAttribute('href')") == "scenario/s03.html"
    browser.evaluate(
        "(() => { const last = document.querySelectorAll('#choice select')[5]; last.selectedIndex = 7;"
        " last.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )
    assert browser.evaluate("location.hash.split(',').length") == 3
    assert browser.evaluate("document.querySelectorAll('#figures tr:first-child th').length") == 4


@needs_chromium
def test_without_a_script_everything_but_the_choice_of_runs_is_there(site: Path, browser: Page) -> None:
    browser.look(1280, "light")
    browser.open("about:blank")
    browser.open((site / "scenarios.html").as_uri(), script=False)
    assert browser.evaluate("document.querySelectorAll('[data-row]').length") == 12
    assert browser.evaluate("document.getElementById('controls').checkVisibility()") is False
    browser.open((site / "compare.html").as_uri(), script=False)
    assert "ratiba compare" in browser.evaluate("document.body.innerText")


@needs_chromium
def test_the_theme_is_switched_and_kept_on_every_page(site: Path, browser: Page) -> None:
    browser.look(1280, "light")
    show(browser, site / "index.html")
    browser.evaluate("document.getElementById('theme').click()")
    # Straight on, as by a link: another renderer may read the storage before this one has written it.
    browser.open((site / "money.html").as_uri())
    assert browser.evaluate("document.documentElement.dataset.theme") == "dark"
    browser.evaluate("document.getElementById('theme').click()")


@needs_chromium
def test_the_button_names_the_other_theme_when_the_system_changes_its_own(site: Path, browser: Page) -> None:
    browser.look(1280, "light")
    show(browser, site / "money.html")
    browser.evaluate("localStorage.clear(); delete document.documentElement.dataset.theme; true")
    for theme, named in (("dark", "Light mode"), ("light", "Dark mode")):
        browser.look(1280, theme)
        eventually(lambda: browser.evaluate("document.getElementById('theme').innerText"), until=named.__eq__)


@needs_chromium
def test_hostile_texts_are_shown_and_never_run(tmp_path: Path, browser: Page) -> None:
    reports = []
    for number, text in enumerate(HOSTILE):
        scored = sample_scored(
            text[:200],
            (sample_check(passed=False, what=text, expected=text, got=text),),
            (sample_score(0.1, metric=text[:200], reason=text),),
            reply=text,
            title=text,
            tags=frozenset({text}),
            path=text,
            language=text[:100],
        )
        report = branch_run(number, (scored,), judge_model=text)
        subject = replace(report.subject, title=text, branch=text, repository=text, run_url=text)
        verdict = replace(report.verdict, reason=text, warnings=(text,))
        reports.append(replace(report, subject=subject, verdict=verdict, commit=text))
    site = written(tmp_path, reports, "all")
    pages = sorted(site.rglob("*.html"))
    assert len(pages) == 8 + 2 * len(HOSTILE)
    browser.look(390, "light")
    for page in pages:
        show(browser, page)
        browser.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
        assert browser.evaluate("window.ran === undefined"), page.name
        assert browser.evaluate("document.querySelectorAll('script').length") <= 2, page.name
        assert browser.evaluate("document.images.length") == 0, page.name
        links = browser.evaluate("Array.from(document.links, (link) => link.protocol)")
        assert set(links) <= {"file:"}, page.name
        assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), page.name
        assert "\u202e" not in page.read_text("utf-8")
    show(browser, site / "compare.html")
    assert json.loads(browser.evaluate("document.getElementById('data').textContent"))["runs"]
