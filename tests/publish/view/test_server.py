"""Who may read the pages that are served, and what nobody can: pages of other sites, other names, other paths."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ratiba_action.errors import UsageError
from ratiba_action.history.run_files import find_runs
from ratiba_action.publish.view.server import HEADERS, MAX_BODY, MAX_CONNECTIONS, MAX_UNKNOWN
from ratiba_action.reporting.results_json import render_results
from ratiba_action.reporting.summary import summarise
from tests.support.eventually import eventually
from tests.support.growing_log import GrowingLog
from tests.support.run_history import branch_run, write_history
from tests.support.served_pages import EventStream, RawAnswer, ServedPages, ask, served

LINE = b'{"line": "Salut"}'


class Heard:
    """Implements ``Conversing``: keeps the lines that came in."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def put(self, line: str) -> bool:
        """See ``Conversing``."""
        self.lines.append(line)
        return len(self.lines) < 3

    def since(self, number: int) -> list[tuple[int, str]]:
        """See ``Conversing``."""
        return [(each, json.dumps(self.lines[each - 1])) for each in range(number + 1, len(self.lines) + 1)]


@pytest.fixture(scope="module")
def heard() -> Heard:
    return Heard()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, heard: Heard) -> Iterator[ServedPages]:
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "report").mkdir()
    (folder / "report/results.json").write_text(render_results(summarise(branch_run(3))))
    (folder / "secret.html").write_text("planted")
    (folder / "report/link.html").symlink_to(folder / "secret.html")
    write_history(folder / "runs", [branch_run(0), branch_run(1)])
    history = find_runs(str(folder / "runs"), lambda: None)
    with served(folder / "report", history, chat=heard) as found:
        yield found


def get(pages: ServedPages, page: str = "index.html", method: str = "GET", **headers: str) -> RawAnswer:
    return ask(pages.address.base, f"/{pages.address.token}/{page}", method, headers=headers)


def say(pages: ServedPages, body: bytes = LINE, *, method: str = "POST", **headers: str) -> RawAnswer:
    given = {"Origin": pages.address.base, "Content_Type": "application/json", **headers}
    return ask(
        pages.address.base,
        f"/{pages.address.token}/chat/say",
        method,
        body,
        {name: text for name, text in given.items() if text},
    )


def test_the_last_run_and_those_of_the_history_have_pages(pages: ServedPages) -> None:
    answer = get(pages, "runs.html")
    assert answer.status == 200
    assert answer.body.count("<tr data-row") == 3
    assert "this checkout and the folder" in answer.body
    assert get(pages, "badge.json").headers["Content-Type"].startswith("application/json")
    assert get(pages, "").headers["Location"] == "index.html", "no header repeats the token"


def test_every_answer_forbids_other_pages_to_read_frame_or_keep_it(pages: ServedPages) -> None:
    for answer in (
        get(pages),
        get(pages, "none.html"),
        get(pages, Host="evil.test"),
        ask(pages.address.base, "/x/index.html"),
    ):
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        assert not [name for name in answer.headers if name.lower().startswith("access-control")]
        assert "Set-Cookie" not in answer.headers
    assert "frame-ancestors 'none'" in HEADERS["Content-Security-Policy"]
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize(
    "path",
    ["/", "/index.html", "//index.html", "/x/index.html", "/{token}x/index.html", "/%00/index.html", "*"],
)
def test_without_the_token_nothing_is_shown(path: str, pages: ServedPages) -> None:
    answer = ask(pages.address.base, path.format(token=pages.address.token))
    assert answer.status in {400, 403}
    assert "<html" not in answer.body
    assert pages.address.token not in answer.body


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.test"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1.evil.test"},
        {"Host": ""},
        {"Origin": "https://evil.test"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "image"},
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"},
        {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "cors", "Sec_Fetch_Dest": "empty"},
    ],
)
def test_what_another_site_or_another_name_asks_for_is_refused_with_the_token_too(
    headers: dict[str, str], pages: ServedPages
) -> None:
    answer = get(pages, **headers)
    assert answer.status in {403, 421}
    assert "<html" not in answer.body


def test_a_second_host_is_refused(pages: ServedPages) -> None:
    assert get(pages, X="\r\nHost: evil.test").status in {400, 421}


def test_an_address_that_somebody_follows_from_elsewhere_is_shown(pages: ServedPages) -> None:
    followed = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    assert get(pages, **followed).status == 200
    port = pages.address.base.rpartition(":")[2]
    assert get(pages, Host=f"localhost:{port}").status == 200


def test_no_more_connections_that_sent_the_token_than_the_limit_are_open(tmp_path: Path) -> None:
    with served(tmp_path, chat=Heard()) as pages, ExitStack() as opened:
        host = pages.address.base.removeprefix("http://")
        unfinished = (
            f"POST /{pages.address.token}/chat/say HTTP/1.1\r\nHost: {host}\r\nOrigin: {pages.address.base}\r\n"
            "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n"
        )
        for _ in range(MAX_CONNECTIONS):
            opened.enter_context(connected(pages)).sendall(unfinished.encode())
        eventually(lambda: get(pages).status, until=lambda status: status == 503)
        opened.close()
        eventually(lambda: get(pages).status, until=lambda status: status == 200)


def test_whoever_opens_connections_without_the_token_loses_the_oldest_and_keeps_no_reader_out(tmp_path: Path) -> None:
    with served(tmp_path) as pages, ExitStack() as opened:
        reader = EventStream(pages.folder)
        next(iter(reader))
        held = [opened.enter_context(connected(pages)) for _ in range(3 * MAX_UNKNOWN)]
        assert get(pages).status == 200
        assert [each.recv(1) for each in held[:MAX_UNKNOWN]] == [b""] * MAX_UNKNOWN
        log = GrowingLog(tmp_path)
        log.begin(scenarios=5)
        reader.run_until(planned=5)
        reader.close()


def test_a_connection_that_was_refused_is_closed(pages: ServedPages) -> None:
    with connected(pages) as connection:
        host = pages.address.base.removeprefix("http://")
        connection.sendall(f"GET /x/index.html HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        answer = b""
        while read := connection.recv(65_536):
            answer += read
    assert answer.startswith(b"HTTP/1.1 403")


def connected(pages: ServedPages) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(pages.address.base.rpartition(":")[2])), timeout=60)


def test_a_connection_without_a_whole_request_is_closed(pages: ServedPages) -> None:
    port = int(pages.address.base.rpartition(":")[2])
    with ExitStack() as stack:
        connections = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60)) for _ in range(2)]
        connections[1].sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert [connection.recv(1) for connection in connections] == [b"", b""]


@pytest.mark.parametrize(
    "page",
    [
        "../secret.html",
        "..%2fsecret.html",
        "%2e%2e/secret.html",
        "..\\secret.html",
        "link.html",
        "results.json",
        "events.jsonl",
        "/etc/passwd",
        "run/../../secret.html",
        ".nojekyll",
        "index.html/",
        "index.html%00",
    ],
)
def test_nothing_but_the_pages_can_be_read(page: str, pages: ServedPages) -> None:
    answer = get(pages, page)
    assert answer.status == 404
    assert "planted" not in answer.body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE"])
def test_nothing_can_be_written(method: str, pages: ServedPages) -> None:
    assert get(pages, method=method).status == 405
    assert get(pages, "events", method=method).status == 405


def test_a_line_of_the_chat_needs_its_own_page_and_json(pages: ServedPages, heard: Heard) -> None:
    assert say(pages).status == 200
    assert heard.lines == ["Salut"]
    refused = {
        403: [{"Origin": ""}, {"Origin": "https://evil.test"}, {"Sec_Fetch_Site": "none"}],
        415: [
            {"Content_Type": "text/plain"},
            {"Content_Type": ""},
            {"Content_Type": "application/x-www-form-urlencoded"},
        ],
        421: [{"Host": "evil.test"}],
    }
    assert {status: [say(pages, LINE, **headers).status for headers in given] for status, given in refused.items()} == {
        status: [status] * len(given) for status, given in refused.items()
    }
    assert say(pages, method="GET").status == 405
    for body in (
        b"{}",
        b"[]",
        b'{"line": 1}',
        b'{"line": "a", "x": 1}',
        b'{"line": "a", "line": "b"}',
        b"\xff",
        b"[" * 60_000,
    ):
        assert say(pages, body).status == 400, body[:20]
    assert say(pages, json.dumps({"line": "x" * MAX_BODY}).encode()).status == 413
    assert (
        ask(pages.address.base, "/x/chat/say", "POST", b'{"line": "x"}', {"Content_Type": "application/json"}).status
        == 403
    )
    assert heard.lines == ["Salut"]
    assert [say(pages).status for _ in range(2)] == [200, 429]


def test_without_a_chat_nothing_can_be_posted(tmp_path: Path) -> None:
    with served(tmp_path) as pages:
        assert say(pages).status == 405
        assert get(pages, "chat.html").status == 404
        assert get(pages, "chat/events").status == 404


def test_before_any_run_there_is_a_page_that_waits_for_one(tmp_path: Path) -> None:
    with served(tmp_path / "none") as pages:
        assert "No run has begun" in get(pages, "live.html").body
        assert get(pages, "index.html").status == 200


def test_the_token_stands_in_no_page_and_results_that_are_none_end_no_server(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text("{}")
    with served(tmp_path) as pages:
        index = get(pages)
        assert "results.json" in index.body
        for page in ("index.html", "live.html", "runs.html", "compare.html"):
            assert pages.address.token not in get(pages, page).body


def test_a_report_directory_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/results.json").write_text(render_results(summarise(branch_run(0))))
    (tmp_path / "report").symlink_to(tmp_path / "other")
    with served(tmp_path / "report") as pages:
        assert "<tr data-row" not in get(pages, "runs.html").body


def test_a_port_that_is_taken_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"Port {port} of 127.0.0.1 cannot be used"):
            raise_of(port)


def raise_of(port: int) -> None:
    import asyncio

    from ratiba_action.privacy.masking import Redactor
    from ratiba_action.publish.view.live_run import EventTail
    from ratiba_action.publish.view.local_runs import LocalRuns
    from ratiba_action.publish.view.server import serving

    async def serve() -> None:
        runs = LocalRuns(Path("none"), None, branch="", redactor=Redactor())
        async with serving(runs, EventTail([]), warn=print, port=port):
            pass

    asyncio.run(serve())


def test_a_reader_follows_runs_and_comes_back_to_what_was_missed(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path)
    with served(tmp_path) as pages:
        reader = EventStream(pages.folder)
        log.begin()
        with log.conversation("first"):
            pass
        reader.run_until(done=1)
        last = reader.last
        reader.close()
        with log.conversation("second", passed=False):
            pass
        log.end("failed")
        again = EventStream(pages.folder, last=last)
        news = again.run_until(conclusion="failed")
        assert news["whole"] is False
        assert [each["name"] for each in news["conversations"]] == ["second"]
        log.begin(scenarios=7)
        news = again.run_until(planned=7)
        assert (news["whole"], news["conversations"]) == (True, [])
        again.close()


def test_whoever_asks_once_is_sent_what_is_new_and_keeps_no_connection(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path)
    with served(tmp_path) as pages:
        log.begin(scenarios=7)
        eventually(lambda: '"planned":7' in get(pages, "events?after=&once").body)
        first = get(pages, "events?after=&once")
        last = first.body.partition("id: ")[2].partition("\n")[0]
        assert "data:" not in get(pages, f"events?after={last}&once").body


def test_a_run_that_ends_stands_in_the_pages_beside_the_one_before(tmp_path: Path) -> None:
    with served(tmp_path) as pages:
        for number in range(2):
            text = render_results(summarise(branch_run(number)))
            (tmp_path / "new").write_text(text)
            (tmp_path / "new").replace(tmp_path / "results.json")
            eventually(
                lambda: get(pages, "runs.html").body.count("<tr data-row"), until=range(number + 1, 3).__contains__
            )
        assert get(pages, "runs.html").body.count('href="run/') == 2
        assert pages.warnings == []
