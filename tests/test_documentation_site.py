"""The built documentation on a phone and a laptop, in both themes. `make docs` installs MkDocs."""

import os
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.accessibility import axe_core, violations
from tests.support.browser import Page, browser_page, needs_chromium

pytestmark = pytest.mark.processes

PROJECT = Path(__file__).parents[1]
MKDOCS = PROJECT / ".venv/docs/bin/mkdocs"
OF_THE_THEME = frozenset({"aria-dialog-name", "landmark-unique", "scrollable-region-focusable"})
"""Rules that the theme's own elements break: its search, its navigation, and blocks of code wider than the page."""

ON_EVERY_PAGE = (".md-header", ".md-tabs", ".md-sidebar--primary", ".md-footer")
"""Selectors of the theme's frame: most elements of a page, and looked at on the first and the last page."""
LOOKS = ((390, "dark"), (1280, "light"))
"""Width in CSS pixels, and theme."""
SCHEMES = {"dark": "slate", "light": "default"}
"""What the theme calls them. A page that is open is given the other one as its own script gives it."""
SCHEME = "document.body.dataset.mdColorScheme"
STILL = """
const style = document.createElement("style")
style.textContent = "* {transition: none !important}"
document.head.append(style)
"""
"""No colour is on its way to that of another theme when it is looked at."""


class _WithoutSearch(SimpleHTTPRequestHandler):
    """Half of what a page takes to load is the index of all pages, which is not what is looked at."""

    def do_GET(self) -> None:
        if self.path.startswith("/search/"):
            self.send_error(404)
        else:
            super().do_GET()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not MKDOCS.exists():
        pytest.skip("make docs installs MkDocs")
    folder = tmp_path_factory.mktemp("documentation")
    command = [str(MKDOCS), "build", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_WithoutSearch, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser_page(tmp_path_factory.mktemp("profile")) as page:
        yield page


def pages(site: Path) -> list[str]:
    """Every page that leads nowhere else; of the decisions, which have one form, the first and the last."""
    files = (path for path in site.rglob("index.html") if 'http-equiv="refresh"' not in path.read_text("utf-8"))
    found = sorted(path.parent.relative_to(site).as_posix() for path in files)
    decisions = [page for page in found if page.startswith("decisions/0")]
    return [page for page in found if page not in decisions[1:-1]]


@needs_chromium
@pytest.mark.parametrize("theme", SCHEMES)
def test_a_page_opens_in_the_theme_that_its_reader_prefers(theme: str, address: str, browser: Page) -> None:
    browser.look(1280, theme)
    browser.open(address)
    assert browser.evaluate(SCHEME) == SCHEMES[theme]


@needs_chromium
def test_every_page_is_accessible(site: Path, address: str, browser: Page) -> None:
    script, wrong, known = axe_core(), dict[str, list[str]](), pages(site)
    for page in known:
        browser.look(*LOOKS[0])
        browser.open(f"{address}/{page}/")
        browser.evaluate(STILL)
        for width, theme in LOOKS:
            browser.look(width, theme)
            browser.evaluate(f"{SCHEME} = '{SCHEMES[theme]}'")
            found = violations(browser, script, without=() if page in {known[0], known[-1]} else ON_EVERY_PAGE)
            found = [each for each in found if each.partition(":")[0] not in OF_THE_THEME]
            if found:
                wrong[f"{page} {width} {theme}"] = found
    assert wrong == {}
