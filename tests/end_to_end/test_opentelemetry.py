"""The gate as a process with a collector: sent to one in health, and never held up by one that is not."""

from pathlib import Path

import pytest

from ratiba_action.main import run
from tests.support.receiver import Reply, receiver
from tests.support.small_repository import SmallRepository

HEADERS = "authorization=Bearer%20PLANTED-header,content-type=application/json"


def resend(events: Path, address: str) -> int:
    return run(["report", "--resend-otlp", str(events)], {"RATIBA_OTLP_ENDPOINT": address})


def test_scenarios_are_at_the_collector_and_the_headers_nowhere_else(small: SmallRepository) -> None:
    small.scenario("holds", "say hello")
    small.scenario("fails", "say hello", expect="NEVER")
    with receiver() as collector:
        ended = small.gate(RATIBA_OTLP_ENDPOINT=collector.address, RATIBA_OTLP_HEADERS=HEADERS)
    assert ended.code == 1, ended.printed
    traces, logs = (posted.body.decode() for posted in collector.posted)
    assert '"name":"invoke_agent holds"' in traces
    assert '"name":"invoke_agent fails"' in traces
    assert "ratiba.EVAL_FAIL" in logs
    assert {posted.headers["authorization"] for posted in collector.posted} == {"Bearer PLANTED-header"}
    assert "OpenTelemetry" not in ended.comment
    files = [path.read_text(errors="replace") for path in ended.report.rglob("*") if path.is_file()]
    assert not any("PLANTED" in text for text in (ended.printed, *files, traces, logs))


@pytest.mark.parametrize(
    ("reply", "expect", "verdict"),
    [(Reply(0), "SAID", (0, "passed")), (Reply(500), "NEVER", (1, "failed"))],
    ids=["black hole", "500"],
)
def test_a_collector_that_is_not_well_changes_no_verdict_and_can_be_sent_to_later(
    small: SmallRepository, capsys: pytest.CaptureFixture[str], reply: Reply, expect: str, verdict: tuple[int, str]
) -> None:
    small.scenario("one", "say hello", expect=expect)
    with receiver(usual=reply) as collector:
        ended = small.gate(RATIBA_OTLP_ENDPOINT=collector.address, RATIBA_OTLP_SECONDS="1")
    assert (ended.code, ended.outputs["conclusion"]) == verdict, ended.printed
    assert "The OpenTelemetry collector did not take" in ended.comment
    assert "ratiba report --resend-otlp" in ended.comment
    assert resend(ended.report / "events.jsonl", collector.address) == 3
    with receiver() as healthy:
        assert resend(ended.report / "events.jsonl", healthy.address) == 0
    assert "has taken everything" in capsys.readouterr().out
    assert [posted.path for posted in healthy.posted] == ["/v1/traces", "/v1/logs"]


def test_without_a_collector_there_is_nothing_to_send_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], small: SmallRepository
) -> None:
    assert run(["report", "--resend-otlp", str(tmp_path / "events.jsonl")], {}) == 2
    assert "Set RATIBA_OTLP_ENDPOINT" in capsys.readouterr().err
    small.scenario("one", "say hello")
    ended = small.gate(RATIBA_OTLP_ENDPOINT="otel.example:4317")
    assert ended.code == 2
    assert "otlp-endpoint (RATIBA_OTLP_ENDPOINT): 'otel.example:4317' is not allowed" in ended.printed
    assert not ended.report.exists()
