"""What a run leaves in events.jsonl: everything that happened, in order, masked, wherever it may be written."""

import json
import os
from collections import Counter
from pathlib import Path

import jsonschema

import ratiba_action.observability
from ratiba_action.model.event import EvaluationFailed, Event, PaymentChanged, RunEnded, RunStarted
from ratiba_action.observability.event_lines import read_events
from tests.support.small_repository import CONFIGURATION, SmallRepository

SCHEMA = Path(ratiba_action.observability.__path__[0]) / "events.schema.json"
TOKEN = "ghp_PLANTED0123456789"
REPLACES_EVENTS = """
import contextlib, pathlib
with contextlib.suppress(OSError):
    path = pathlib.Path({path!r})
    path.unlink()
    path.mkdir()
"""
PAID = {
    "text": f"Asante Amina, 0712 345 432. {TOKEN}",
    "state": "PAID",
    "payment": "PAID",
    "tool_calls": [{"name": "request_payment", "args": {"rail": "mpesa", "amount_kes": 3500, "phone": "0712345432"}}],
    "events": [{"type": "handoff", "data": {"reason": "0712345432 asks for a person"}}],
}


def test_a_run_tells_everything_that_happened_flags_what_failed_and_keeps_nothing_that_it_must_not(
    local: SmallRepository,
) -> None:
    local.write("in_the_way", "a file")
    local.write(".github/ratiba.yml", CONFIGURATION.format(timeout=20) + "events: {directory: in_the_way/events}\n")
    local.scenario("passes", "say hello", "say bye")
    local.scenario("fails", f"reply {json.dumps(PAID)}")
    local.scenario("breaks", "say hello", "raise oh no")
    ended = local.gate(RATIBA_GITHUB_TOKEN=TOKEN)
    assert ended.code == 1, ended.printed
    assert_masked_and_described((ended.report / "events.jsonl").read_text())
    found = read_events(ended.report / "events.jsonl").events
    assert [one.sequence for one in found] == list(range(1, len(found) + 1))
    assert sorted(found, key=lambda one: one.at) == list(found)
    assert_complete([one.event for one in found])
    flags = {one["trial"]["scenario"]["id"]: one["eval_fail"] for one in ended.results["report"]["results"]}
    assert flags == {"passes": False, "fails": True, "breaks": True}
    assert "They are written to the report directory instead" in " ".join(ended.results["report"]["notes"])
    assert (ended.report / ".gitignore").read_text() == "*\n"


def assert_masked_and_described(text: str) -> None:
    for secret in (TOKEN, "Amina", "0712345432", "0712 345 432"):
        assert secret not in text
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    for line in text.splitlines():
        validator.validate(json.loads(line))


def assert_complete(events: list[Event]) -> None:
    assert isinstance(events[0].data, RunStarted)
    assert isinstance(events[-1].data, RunEnded)
    assert events[-1].data.conclusion == "failed"
    reported = Counter((event.place.scenario, event.type) for event in events)
    for name in ("passes", "fails", "breaks"):
        assert reported[name, "conversation_started"] == reported[name, "conversation_ended"] == 1
    assert [reported[name, "turn"] for name in ("passes", "fails", "breaks")] == [2, 1, 1]
    assert [reported["fails", name] for name in ("tool_call", "payment", "hand_off", "state_transition")] == [
        1,
        1,
        1,
        1,
    ]
    (payment,) = [event.data for event in events if isinstance(event.data, PaymentChanged)]
    assert (payment.state, payment.rail, str(payment.amount)) == ("PAID", "mpesa", "3500")
    failed = {(one.place.scenario, one.data.kind) for one in events if isinstance(one.data, EvaluationFailed)}
    assert failed == {("fails", "check"), ("breaks", "check"), ("breaks", "error")}


def test_a_folder_of_its_own_keeps_the_events_of_all_runs(local: SmallRepository, tmp_path: Path) -> None:
    local.write(".github/ratiba.yml", CONFIGURATION.format(timeout=20) + f"events: {{directory: {tmp_path}/log}}\n")
    local.scenario("passes", "say hello")
    local.report.mkdir()
    (local.report / "events.jsonl").write_text("forged")
    codes = [local.gate().code, local.gate().code]
    runs = Counter(one.run for one in read_events(tmp_path / "log" / "events.jsonl").events)
    assert codes == [0, 0]
    assert len(runs) == 2
    assert len(set(runs.values())) == 1
    assert not (local.report / "events.jsonl").exists()


def test_the_events_are_the_run_s_own_whatever_the_change_brings_and_the_system_does(small: SmallRepository) -> None:
    small.scenario("passes", "say hello")
    commit = small.commit()
    adapter = (small.folder / "adapter.py").read_text()
    small.write("adapter.py", f"{adapter}\n{REPLACES_EVENTS.format(path=str(small.report / 'events.jsonl'))}")
    small.write(str(small.report / "events.jsonl" / "brought_by_the_change"), "in the way")
    ended = small.gate("--scenario", "passes")
    assert ended.code == 0, ended.printed
    notes = "were replaced while the run went on" in " ".join(ended.results["report"]["notes"])
    assert notes is (os.getuid() != 0), "only a gate that is root can run the system as somebody else"
    found = [one.event for one in read_events(ended.report / "events.jsonl").events]
    assert isinstance(found[0].data, RunStarted)
    assert found[0].data.commit == f"{commit}-dirty", "the adapter was changed after it"
    assert isinstance(found[-1].data, RunEnded)
