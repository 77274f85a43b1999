"""What a report says of its traces, and whether there is anything to send."""

import re
from base64 import b64encode
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

from ratiba_action.model.verdict import Conclusion, TraceDelivery, TraceLink, Verdict
from ratiba_action.observability.event_lines import event_line
from ratiba_action.observability.langfuse_delivery import deliver
from ratiba_action.observability.traces.conversations import traced_runs
from ratiba_action.observability.traces.metadata import missing_note
from ratiba_action.reporting.comment import render_comment
from ratiba_action.reporting.html import render_html
from ratiba_action.reporting.results_json import load_report, render_results
from ratiba_action.reporting.summary import summarise
from ratiba_action.run.event_logging import langfuse_access, limited, tracer_of
from ratiba_action.settings.environment import take_secrets
from ratiba_action.settings.settings import Settings, read_settings
from tests.support.logged_runs import logged_run
from tests.support.sample_report import sample_report

KEYS = {
    "RATIBA_LANGFUSE_HOST": "http://127.0.0.1:1",
    "RATIBA_LANGFUSE_PUBLIC_KEY": "pk-lf-planted",
    "RATIBA_LANGFUSE_SECRET_KEY": "sk-lf-planted",
}


class WrittenEvents:
    """A log of one run that has ended."""

    run = "2026-11-22-a1b2c3"

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def emit(self, event: object) -> None:
        raise AssertionError(event)


def settings(**variables: str) -> Settings:
    return read_settings(variables, {})


def test_without_keys_or_events_there_is_nothing_to_send(tmp_path: Path) -> None:
    assert tracer_of(settings(), {}, WrittenEvents(tmp_path / "events.jsonl")) is None
    assert tracer_of(settings(**KEYS), {}, WrittenEvents(None)) is None


def test_a_proxy_with_a_password_is_reported_to_the_connection_itself() -> None:
    """Its variable is in no environment by then."""
    asked: list[str | None] = []

    class Proxy(BaseHTTPRequestHandler):
        def do_CONNECT(self) -> None:
            asked.append(self.headers["Proxy-Authorization"])
            self.send_error(502)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with HTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        Thread(target=proxy.serve_forever, daemon=True).start()
        variables = {**KEYS, "RATIBA_LANGFUSE_HOST": "https://langfuse.example"}
        variables["HTTPS_PROXY"] = f"http://user:PLANTED@127.0.0.1:{proxy.server_port}"
        environment = take_secrets(variables)
        access = langfuse_access(read_settings(environment, {}), environment)
        assert access is not None
        assert "PLANTED" not in repr(access)
        delivery = deliver(access, traced_runs(logged_run(1)))
        proxy.shutdown()
    assert not delivery.complete
    assert set(asked) == {"Basic " + b64encode(b"user:PLANTED").decode()}


def test_the_time_for_sending_is_ten_seconds_or_what_the_variable_says() -> None:
    access = langfuse_access(settings(**KEYS), {})
    assert access is not None
    assert access.seconds == 10
    assert "planted" not in repr(access)
    longer = langfuse_access(settings(**KEYS), {"RATIBA_LANGFUSE_SECONDS": "2.5"})
    assert longer is not None
    assert longer.seconds == 2.5


def test_a_run_that_was_cut_off_waits_three_seconds_at_most() -> None:
    access = langfuse_access(settings(**KEYS), {})
    assert access is not None
    cut_off = sample_report(verdict=Verdict(Conclusion.INCOMPLETE, "the run was cancelled by SIGINT"))
    assert limited(access, cut_off).seconds == 3
    assert limited(replace(access, seconds=1.0), cut_off).seconds == 1
    assert limited(access, sample_report()) == access


def test_a_server_that_cannot_be_reached_is_a_note_and_changes_no_verdict(tmp_path: Path) -> None:
    path = tmp_path / "ratiba-report" / "events.jsonl"
    path.parent.mkdir()
    path.write_text("".join(f"{event_line(one)}\n" for one in (*logged_run(2), *logged_run(1, "another run"))))
    trace = tracer_of(settings(**KEYS), {"RATIBA_LANGFUSE_SECONDS": "1"}, WrittenEvents(path))
    assert trace is not None
    before = sample_report()
    report = trace(before)
    assert (report.verdict, report.results) == (before.verdict, before.results)
    assert report.traces is not None
    assert report.traces.traces == 2
    assert report.notes[-1].startswith("Langfuse lacks 14 of 14 spans and 4 of 4 scores of this run: ")
    assert report.notes[-1].endswith(
        "'ratiba report --resend-langfuse ratiba-report/events.jsonl' sends what is missing, and nothing twice."
    )
    assert load_report(render_results(summarise(report)).encode()) == report


def test_a_delivery_that_is_complete_needs_no_note() -> None:
    assert missing_note(TraceDelivery("https://langfuse.example", 1, 7, 7, 2, 2), "events.jsonl") == ""


def test_the_html_report_leads_to_the_run_and_to_each_conversation_by_plain_addresses_only() -> None:
    root = "https://langfuse.example/project/p"
    links = (
        TraceLink("<b>held</b>", f"{root}/traces/1", passed=True),
        TraceLink("broken", f"{root}/traces/2", passed=False),
        TraceLink("evil", "javascript:alert(1)", passed=True),
    )
    delivery = TraceDelivery("https://langfuse.example", 3, 3, 3, links=links, run_url=f"{root}/sessions/a-run")
    page = render_html(summarise(replace(sample_report(), traces=delivery)))
    assert re.findall(r'<a href="(https://langfuse[^"]*|javascript[^"]*)"', page) == [
        f"{root}/sessions/a-run",
        f"{root}/traces/2",
        f"{root}/traces/1",
    ]
    assert "&lt;b&gt;held&lt;/b&gt;</a>: passed" in page
    evil = render_html(
        summarise(replace(sample_report(), traces=replace(delivery, links=(), run_url="javascript:alert(1)")))
    )
    assert "In Langfuse" not in evil


def test_links_in_the_comment_cannot_become_anything_else() -> None:
    urls = [
        "https://langfuse.example/project/p/traces/1",
        "javascript:alert(1)",
        "https://a.example/x)](https://b.example/y",
    ]
    links = tuple(TraceLink("a](https://evil.example) | <b>", url, passed=True) for url in urls)
    delivery = TraceDelivery("https://langfuse.example", 3, 3, 3, links=links)
    comment = render_comment(summarise(replace(sample_report(), traces=delivery)))
    assert "1 scenario in Langfuse" in comment
    assert "(https://langfuse.example/project/p/traces/1): passed" in comment
    assert "javascript" not in comment
    assert "b.example" not in comment
    assert "](https://evil" not in comment
    assert "<b>" not in comment
