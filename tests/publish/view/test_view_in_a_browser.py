"""The served pages as people look at them: a run that goes on, a talk with the system, and pages of somebody else."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.publish.view.chat_channel import ChatChannel
from ratiba_action.reporting.results_json import render_results
from ratiba_action.reporting.summary import summarise
from tests.support.accessibility import axe_core, violations
from tests.support.browser import Page, browser_page, needs_chromium
from tests.support.eventually import eventually
from tests.support.growing_log import GrowingLog
from tests.support.run_history import branch_run
from tests.support.served_pages import served

pytestmark = [pytest.mark.processes, needs_chromium]

HOSTILE = "</script><img src=x onerror='window.ran = true'>\u202egnp.exe " + "w" * 400


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser_page(tmp_path_factory.mktemp("profile")) as page:
        yield page


def text_of(browser: Page, name: str) -> str:
    return str(browser.evaluate(f"document.getElementById('{name}').innerText"))


def until(browser: Page, expression: str) -> None:
    """Wait for something to be true in the page."""
    eventually(lambda: browser.evaluate(expression))


def leave_results(report: Path, number: int) -> None:
    report.mkdir(exist_ok=True)
    (report / "new").write_text(render_results(summarise(branch_run(number))))
    (report / "new").replace(report / "results.json")


def test_a_run_is_followed_to_its_end_and_into_the_next_one(tmp_path: Path, browser: Page) -> None:
    log = GrowingLog(tmp_path)
    with served(tmp_path, page="live.html") as pages:
        browser.look(1280, "light")
        browser.open(pages.address.url)
        until(browser, "!document.getElementById('live-none').hidden")
        log.begin(scenarios=2)
        log.spend("0.125")
        with log.conversation("books", passed=False) as place:
            log.say(place, "Un massage", HOSTILE)
            until(browser, "document.querySelector('#live-conversations details')?.innerText.includes('gnp.exe')")
        until(browser, "document.getElementById('live-done').innerText === '1 of 2 scenarios'")
        assert text_of(browser, "live-money") == "USD 0.1250 of 5.00 spent"
        assert text_of(browser, "live-conclusion") == "running"
        log.end("failed", "1 of 2 scenarios failed.")
        until(browser, "document.getElementById('live-conclusion').innerText === 'failed'")
        assert browser.evaluate("window.ran === undefined && document.images.length === 0")
        log.begin(scenarios=3)
        until(browser, "document.getElementById('live-done').innerText === '0 of 3 scenarios'")
        assert browser.evaluate("document.querySelectorAll('#live-conversations details').length") == 0


def test_every_page_says_that_a_run_goes_on_and_that_a_newer_one_is_there(tmp_path: Path, browser: Page) -> None:
    log = GrowingLog(tmp_path)
    leave_results(tmp_path, 0)
    with served(tmp_path) as pages:
        browser.open(f"{pages.folder}/runs.html")
        assert browser.evaluate("document.getElementById('run-status').hidden")
        log.begin(scenarios=2)
        until(browser, "document.getElementById('run-status').innerText.includes('0 of 2 scenarios')")
        log.end()
        leave_results(tmp_path, 1)
        until(browser, "document.getElementById('run-status').innerText.includes('There is a newer run.')")
        browser.open(browser.evaluate("document.querySelector('#run-status a').href"))
        assert browser.evaluate("document.querySelectorAll('[data-row]').length") == 2


def test_axe_core_finds_nothing_on_the_pages_that_are_alive(tmp_path: Path, browser: Page) -> None:
    script, log, chat = axe_core(), GrowingLog(tmp_path), ChatChannel()
    leave_results(tmp_path, 0)
    log.begin(scenarios=2)
    log.spend("0.1")
    for name, passed in (("books", True), ("asks " + HOSTILE, False)):
        with log.conversation(name, passed=passed) as place:
            log.say(place, "Un massage", HOSTILE)
    for thing in THINGS:
        chat.write(json.dumps(thing))
    with served(tmp_path, chat=chat) as pages:
        for page, there in (
            ("live.html", "document.querySelectorAll('#live-conversations details').length === 2"),
            ("chat.html", f"document.querySelectorAll('#chat-log > div').length === {len(THINGS)}"),
            ("index.html", "!document.getElementById('run-status').hidden"),
        ):
            browser.open(f"{pages.folder}/{page}")
            until(browser, there)
            browser.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
            for width, theme in product((390, 1280), ("light", "dark")):
                browser.look(width, theme)
                assert violations(browser, script) == [], (page, width, theme)
                assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), (page, width)
            assert browser.evaluate("window.ran === undefined && document.images.length === 0"), page


TURN = {
    "kind": "turn",
    "user": "Vendredi",
    "reply": f"C'est fait. {HOSTILE}",
    "state": "BOOKED",
    "state_before": "ASKING",
    "payment": "NONE",
    "tools": [{"name": "book", "args": {"day": "Friday"}, "output": {"ok": True}}],
    "events": [{"type": "paid", "data": {"usd": 1}}],
    "documents": ["doc-1"],
    "output": None,
    "rows": [{"table": "bookings", "added": [{"id": 1}], "removed": []}],
    "seconds": 0.5,
    "model_calls": 2,
    "recorded": False,
    "paid_usd": "0.002",
    "spent_usd": "0.004",
    "cap_usd": "20",
}
THINGS: list[dict[str, Any]] = [
    {
        "kind": "start",
        "keys": "OpenAI: RATIBA_OPENAI_API_KEY",
        "notes": ["a note"],
        "now": "2026-04-25T10:00:00+03:00",
        "language": "fr",
        "customer": {"name": "Amina", "phone": "+254 700 000 001"},
    },
    {"kind": "line", "line": "Vendredi"},
    TURN,
    {"kind": "line", "line": "/expect"},
    {"kind": "expect", "offers": [{"number": 1, "shown": f"state {HOSTILE}"}], "chosen": []},
    {"kind": "base", "turns": [TURN], "error": None, "paid_usd": "0"},
    {"kind": "error", "problem": HOSTILE, "remedy": "Say something first."},
    {"kind": "saved", "id": "books", "written": ["scenarios/books.yaml"], "assertions": 3},
    {"kind": "mutants", "lines": ["fails if  app.py:3"]},
]


class Typed(ChatChannel):
    """Keeps the lines that the page posts."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def put(self, line: str) -> bool:
        """See ``Conversing``."""
        self.lines.append(line)
        return True


def test_what_is_typed_and_clicked_is_posted_as_the_lines_of_a_terminal(tmp_path: Path, browser: Page) -> None:
    chat = Typed()
    chat.write(json.dumps(TURN))
    chat.write(
        json.dumps(
            {"kind": "expect", "offers": [{"number": 1, "shown": "a"}, {"number": 2, "shown": "b"}], "chosen": []}
        )
    )
    with served(tmp_path, page="chat.html", chat=chat) as pages:
        browser.open(pages.address.url)
        until(browser, "document.querySelectorAll('#chat-log input').length === 2")
        find = "document.querySelector"
        for action in (
            f"{find}('#chat-line').value = 'Un massage'; {find}('#chat-say').requestSubmit()",
            f"{find}('[data-line=\"/undo\"]').click()",
            f"{find}('#chat-log input[value=\"2\"]').click(); {find}('#chat-log form button').click()",
            f"{find}('#chat-by').value = 'Asha'; {find}('button[value=good]').click()",
            f"{find}('#chat-id').value = 'books'; {find}('[data-line=\"/save\"] button').click()",
        ):
            before = len(chat.lines)
            browser.evaluate(f"{action}; true")
            eventually(lambda: len(chat.lines), until=range(before + 1, 9).__contains__)
    assert chat.lines == ["Un massage", "/undo", "/expect 2", "/label good Asha", "/save books"]


def test_each_turn_is_marked_as_that_of_the_base_or_not(tmp_path: Path, browser: Page) -> None:
    chat = ChatChannel()
    base = {"kind": "base", "turns": [{**TURN, "same": True}, {**TURN, "same": False}], "error": None, "paid_usd": "0"}
    chat.write("".join(f"{json.dumps(thing)}\n" for thing in (TURN, TURN, base)))
    with served(tmp_path, page="chat.html", chat=chat) as pages:
        browser.open(pages.address.url)
        heads = "Array.from(document.querySelectorAll('#chat-log tr:has(.chat-cell) th'), (head) => head.textContent)"
        eventually(lambda: browser.evaluate(heads), until=["1 =", "2 ≠"].__eq__)


class Echo(ChatChannel):
    """Shows each line that is posted, and has a reply to all but one."""

    def put(self, line: str) -> bool:
        """See ``Conversing``."""
        self.write(json.dumps({"kind": "line", "line": line}))
        if line != "and then?":
            self.write(f"{json.dumps(TURN)}\n{json.dumps({'kind': 'ready'})}")
        return True


def say(browser: Page, line: str) -> None:
    browser.evaluate(f"document.querySelector('#chat-line').value = {json.dumps(line)}; true")
    browser.evaluate("document.querySelector('#chat-say').requestSubmit(); true")


def test_two_windows_and_a_tab_show_the_same_conversation_whoever_talks(tmp_path: Path, browser: Page) -> None:
    with served(tmp_path, page="chat.html", chat=Echo()) as pages:
        first, second = browser, browser.beside(window=True)
        for window, line in ((first, "Un massage"), (second, "Demain")):
            window.open(pages.address.url)
            say(window, line)
            until(window, "document.getElementById('chat-state').innerText === 'Ready.'")
        until(first, "document.getElementById('chat-log').innerText.includes('Demain')")
        assert text_of(first, "chat-log") == text_of(second, "chat-log")
        say(first, "and then?")
        until(second, "document.getElementById('chat-state').innerText === 'Waiting for the reply …'")
        later = second.beside(window=False)
        later.open(pages.address.url)
        until(later, "document.getElementById('chat-state').innerText === 'Waiting for the reply …'")
        assert text_of(later, "chat-log") == text_of(first, "chat-log")


def test_more_windows_than_the_browser_has_connections_show_the_same_conversation_and_talk(
    tmp_path: Path, browser: Page
) -> None:
    with served(tmp_path, page="chat.html", chat=Echo()) as pages:
        windows = [browser.beside(window=True) for _ in range(7)]
        for number, window in enumerate(windows):
            window.open(pages.address.url)
            say(window, f"line {number}")
            until(window, f"document.getElementById('chat-log').innerText.includes('line {number}')")
        for window in windows:
            until(window, "document.querySelectorAll('.chat-system').length === 7")
            until(window, "document.getElementById('chat-state').innerText === 'Ready.'")
        assert len({text_of(window, "chat-log") for window in windows}) == 1
        for window in windows:
            window.open("about:blank")


@pytest.mark.parametrize(
    "script",
    [
        "delete Navigator.prototype.locks",
        "LockManager.prototype.request = () => Promise.reject(new DOMException('denied', 'SecurityError'))",
    ],
    ids=["old browser", "nothing may be stored"],
)
def test_a_browser_without_locks_shows_the_conversation_too(script: str, tmp_path: Path, browser: Page) -> None:
    with served(tmp_path, page="chat.html", chat=Echo()) as pages:
        window = browser.beside(window=True)
        window.run_first(script)
        window.open(pages.address.url)
        say(window, "Un massage")
        until(window, "document.getElementById('chat-state').innerText === 'Ready.'")
        window.open("about:blank")


class Full(ChatChannel):
    """Takes no line."""

    def put(self, _line: str) -> bool:
        """See ``Conversing``."""
        return False


def test_a_line_that_is_refused_stays_to_be_sent_again(tmp_path: Path, browser: Page) -> None:
    with served(tmp_path, page="chat.html", chat=Full()) as pages:
        browser.open(pages.address.url)
        say(browser, "Un massage")
        until(browser, "document.getElementById('chat-state').innerText.includes('Lines are waiting')")
        until(browser, "document.getElementById('chat-line').value === 'Un massage'")


@contextmanager
def other_site(content: str) -> Iterator[str]:
    """A page of another origin."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(content.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


ATTACK = Path(__file__).with_name("another_site.html")


def test_a_page_of_another_origin_that_knows_the_token_reads_posts_and_frames_nothing(
    tmp_path: Path, browser: Page
) -> None:
    chat = Typed()
    with (
        served(tmp_path, chat=chat) as pages,
        other_site(ATTACK.read_text("utf-8").replace("PAGE", pages.address.url)) as evil,
    ):
        browser.open(evil)
        found = browser.evaluate(f"window.attack('{pages.folder}')")
    assert found.pop("form") in {"sent", "refused"}  # nobody hears of an answer that is not for him
    assert found == dict.fromkeys(("read", "opaque", "post", "image", "script", "events", "frame"), "refused")
    assert chat.lines == []


def test_what_the_chat_writes_last_is_shown_though_its_server_ends_with_it(tmp_path: Path, browser: Page) -> None:
    chat = ChatChannel()
    with served(tmp_path, page="chat.html", chat=chat) as pages:
        browser.open(pages.address.url)
        chat.write(f"{json.dumps(TURN)}\n")
        until(browser, "document.querySelectorAll('.chat-system').length === 1")
        pages.at_the_end = lambda: chat.write(json.dumps({"kind": "end", "saved": False}))
    until(browser, "document.getElementById('chat-state').innerText === 'The chat has ended, and was not saved.'")


def test_a_server_that_has_ended_is_said(tmp_path: Path, browser: Page) -> None:
    with served(tmp_path) as pages:
        browser.open(f"{pages.folder}/live.html")
        until(browser, "!document.getElementById('live-none').hidden")
    until(browser, "document.getElementById('run-status').innerText.includes('Is ratiba view still running?')")
