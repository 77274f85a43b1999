"""Conversations of files, JSON Lines and OpenTelemetry exports, and ``ratiba sample`` on them without any server."""

import contextlib
import json
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import SuiteError, UsageError
from ratiba_action.main import run
from ratiba_action.model.canonical import digest
from ratiba_action.model.conversation import ToolCall
from ratiba_action.model.scenario import SystemType
from ratiba_action.production.conversation import DISLIKED, LIKED
from ratiba_action.production.sample_files import find_in_files
from ratiba_action.production.sample_reading import SampleRules, SelectedConversations, Why, in_share

PROJECT = Path(__file__).parents[2]
EXAMPLES = PROJECT / "examples/production"
RULES = SampleRules(datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC), share=0)
FACTS = {"tenant_id": "amani", "vertical": "spa", "language": "sw"}
NANOSECONDS = 1_776_675_600 * 10**9


def line(**changes: Any) -> dict[str, Any]:
    turns = [{"user": "Habari", "reply": "Karibu", "seconds": 1.0, "confidence": 0.9}]
    started = "2026-04-20T09:12:00+03:00"
    return {"id": "chat", "started": started, **FACTS, "customer_names": ["Wanjiku Kamau"], "turns": turns, **changes}


def span(number: int, name: str, parent: str = "", trace: str = "a" * 32, **own: Any) -> dict[str, Any]:
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in own.items()]
    start = NANOSECONDS + number * 10**9
    ids = {"traceId": trace, "spanId": f"{number:016}", "parentSpanId": parent}
    times = {"startTimeUnixNano": str(start), "endTimeUnixNano": str(start + 5 * 10**8)}
    return {**ids, **times, "name": name, "attributes": attributes}


def export(*spans: dict[str, Any], service: str = "assistant") -> dict[str, Any]:
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": list(spans)}]}]}


def found(folder: Path, *values: object, rules: SampleRules = RULES) -> SelectedConversations:
    path = folder / "production.jsonl"
    path.write_text("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values), "utf-8")
    return find_in_files([path], rules)


def reasons(chosen: SelectedConversations) -> dict[str, Why]:
    return {item.trace_id: item.why for item in chosen.chosen}


def test_dislikes_errors_and_flags_are_chosen_whatever_the_share(tmp_path: Path) -> None:
    turn = {"user": "Habari", "reply": "Karibu"}
    chosen = found(
        tmp_path,
        line(id="plain"),
        line(id="disliked", feedback="thumbs_down"),
        line(id="failed", turns=[{**turn, "error": True}]),
        line(id="slow", turns=[turn, {**turn, "seconds": 10.5}]),
        line(id="unsure", turns=[{**turn, "confidence": 0.49}]),
        line(id="at-the-limits", turns=[{**turn, "seconds": 10, "confidence": 0.5}]),
        line(id="liked", feedback="thumbs_up"),
    )
    flagged = dict.fromkeys(("slow", "unsure"), Why.FLAG)
    assert reasons(chosen) == {"disliked": Why.NEGATIVE_FEEDBACK, "failed": Why.ERROR, **flagged}
    assert chosen.flagged == {
        "slow": ("reply 2 took 10.5 s",),
        "unsure": ("reply 1 has a confidence of 0.49",),
    }
    assert chosen.traces == 7
    assert len(found(tmp_path, line(id="plain"), rules=SampleRules(RULES.since, RULES.until, share=1)).chosen) == 1


def test_the_period_and_a_missing_identity_table_hold_as_for_langfuse(tmp_path: Path) -> None:
    early = line(id="early", started="2025-12-31T23:59:59+00:00", feedback="thumbs_down")
    nameless = line(id="nameless", customer_names=[], feedback="thumbs_down")
    forbidden = line(id="forbidden", vertical="dental", feedback="thumbs_down")
    chosen = found(tmp_path, early, nameless, forbidden)
    assert set(reasons(chosen)) == {"nameless", "forbidden"}
    assert set(chosen.blocked) == {"nameless", "forbidden"}
    assert chosen.conversations == ()


def test_an_export_becomes_turns_tools_and_models(tmp_path: Path) -> None:
    message = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Naomba facial"}]}])
    reply = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Sawa\u2028kabisa"}]}])
    root = span(1, "invoke_agent", "f" * 16, **FACTS, customer_name="Wairimu", confidence="0.2")
    root["attributes"] += span(
        1, "", **{"gen_ai.input.messages": message, "gen_ai.output.messages": reply, "gen_ai.conversation.id": "talk"}
    )["attributes"]
    arguments = {"gen_ai.tool.name": "create_booking", "gen_ai.tool.call.arguments": '{"service": "facial"}'}
    tool = span(2, "execute_tool x", "0" * 15 + "1", **{"gen_ai.operation.name": "execute_tool"}, **arguments)
    chat = span(3, "chat", "0" * 15 + "1", **{"gen_ai.request.model": "claude-sonnet-5-5"})
    second = span(9, "turn 2", trace="b" * 32, input="Asante", output="Karibu", **{"session.id": "talk"}, **FACTS)
    second["status"] = {"code": "STATUS_CODE_ERROR"}
    chosen = found(tmp_path, export(root), export(tool, chat), export(second))
    assert reasons(chosen) == {"talk": Why.ERROR}
    (conversation,) = chosen.conversations
    assert conversation.models == ("claude-sonnet-5-5",)
    assert (conversation.scenario.id, conversation.names) == ("talk", ("Wairimu",))
    assert [turn.user for turn in conversation.scenario.turns] == ["Naomba facial", "Asante"]
    first = conversation.replies[0]
    assert (first.text, first.tool_calls) == ("Sawa\u2028kabisa", (ToolCall("create_booking", {"service": "facial"}),))
    assert chosen.flagged == {"talk": ("reply 1 has a confidence of 0.20",)}


def test_the_gates_own_spans_are_left_out(tmp_path: Path) -> None:
    own = found(tmp_path, export(span(1, "turn 1", input="a", output="b", confidence="0"), service="ratiba-eval-gate"))
    assert (own.traces, own.chosen) == (0, ())


@pytest.mark.parametrize("name", ["+254 712 345 432", "0712345432", "../../etc", "a\nb"])
def test_a_name_that_is_a_number_or_a_path_is_replaced(tmp_path: Path, name: str) -> None:
    chosen = found(tmp_path, line(id=name, feedback="thumbs_down"))
    (item,) = chosen.chosen
    assert item.trace_id == f"conversation-{digest(name)[:12]}"
    assert chosen.conversations[0].scenario.id == item.trace_id


def test_every_wrong_line_is_named_at_once(tmp_path: Path) -> None:
    path = tmp_path / "wrong.jsonl"
    turns = [{"user": "a", "event": {"type": "x"}, "confidence": 2, "seconds": -1}]
    values = [line(), line(), line(id="b", turns=turns, extra=1), {"resourceSpans": [{"scopeSpans": 3}]}, 7]
    path.write_text("".join(json.dumps(value) + "\n" for value in values) + "{\n\n" + '{"started": "2026-04-20"}\n')
    with pytest.raises(SuiteError) as raised:
        find_in_files([path], RULES)
    lines = [problem.line for problem in raised.value.problems]
    assert lines == sorted(lines)
    assert set(lines) == {2, 3, 4, 5, 6, 8}
    message = str(raised.value)
    parts = ("is there twice", "turns.0.confidence", "turns.0.seconds", "extra", "no export of spans", "not JSON")
    assert [part for part in (*parts, "started: ") if part not in message] == []


def test_a_file_that_cannot_be_read_is_a_wrong_option(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for name in ("missing", "bytes", "."):
        with pytest.raises(UsageError, match="cannot be read"):
            find_in_files([tmp_path / name], RULES)


_scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
_values = st.recursive(
    _scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["resourceSpans", "scopeSpans", "spans", "attributes", "key", "value", "turns", "id", "traceId"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(_values)
def test_any_json_is_a_sample_or_a_list_of_problems(value: Any) -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(SuiteError):
        found(Path(folder), value)


def test_the_example_is_measured_without_a_server_or_a_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(EXAMPLES / name) for name in ("conversations.jsonl", "spans.jsonl")]
    environment = {"HOME": str(tmp_path), "RATIBA_REPORT_DIR": str(tmp_path / "report")}
    options = ["--repo", str(PROJECT), "--config", "examples/production/ratiba.yml", "--share", "0", "--json"]
    assert run(["sample", *files, *options], environment) == 0
    out = capsys.readouterr().out
    printed = json.loads(out)
    assert printed["chosen"] == {"negative feedback": 1, "slow or of low confidence": 3}
    assert [(entry["trace"], entry["scores"][0]["metric"]) for entry in printed["below_a_threshold"]] == [
        ("chat-4", "PiiLeakMetric"),
        ("chat-3", "TerminologyMetric"),
    ]
    assert [entry["trace"] for entry in printed["flagged"]] == ["chat-2", "chat-3", "otel-chat-1"]
    events = (tmp_path / "report/events.jsonl").read_text("utf-8")
    assert "EVAL_FAIL" in events
    assert not any(text in out + events for text in ("733 111", "Otieno", "Wairimu", "Wanjiku"))
    assert run(["sample", files[0], *options, "--slow", "0"], environment) == 2
    assert run(["sample", files[0], *options, "--low-confidence", "1.5"], environment) == 2
    assert "a share from 0 to 1" in capsys.readouterr().err


def otel(number: int, version: str, opinion: str) -> dict[str, Any]:
    """An export of one conversation, which began ``number`` hours after the first."""
    own = {**FACTS, "customer_name": "Wairimu", "prompt_version": version, "user_feedback": opinion}
    step = span(number * 3600, "turn 1", trace=f"{number:032}", input="Habari", output="Karibu sana", **own)
    return export(step)


def test_a_canary_is_compared_on_samples_of_files_by_version_time_and_feedback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both versions have digits only, and both readers keep when a conversation began and what its customer thought."""
    stable, canary = "bo@1111111", "bo@2222222"
    lines: list[object] = []
    for number in range(40):
        version, opinion = (stable, canary)[number % 2], ("thumbs_up", "thumbs_down", "asante")[number % 3]
        began = datetime.fromtimestamp(NANOSECONDS / 10**9 + number * 3600, UTC).isoformat()
        own = {"prompt_version": version, "feedback": opinion, "started": began}
        lines.append(otel(number, version, opinion) if number >= 20 else line(id=f"chat-{number}", **own))
    (tmp_path / "production.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    environment = {"HOME": str(tmp_path), "RATIBA_REPORT_DIR": str(tmp_path / "report")}
    options = ["--repo", str(PROJECT), "--config", "examples/production/ratiba.yml", "--share", "1"]
    assert run(["sample", str(tmp_path / "production.jsonl"), *options], environment) == 0
    events = tmp_path / "report/events.jsonl"
    capsys.readouterr()
    names = ["--stable", stable, "--canary", canary, "--by", "prompt_version", "--share", "1", "--json"]
    since = datetime.fromtimestamp(NANOSECONDS / 10**9 + 9.5 * 3600, UTC).isoformat()
    until = datetime.fromtimestamp(NANOSECONDS / 10**9 + 60 * 3600, UTC).isoformat()
    assert run(["canary", "--samples", str(events), *names, "--since", since, "--until", until], environment) == 3
    shown = json.loads(capsys.readouterr().out)
    assert (shown["stable"], shown["canary"]) == (
        {"name": stable, "conversations": 15},
        {"name": canary, "conversations": 15},
    )
    assert shown["began"] == datetime.fromtimestamp(NANOSECONDS / 10**9 + 11 * 3600, UTC).isoformat()
    opinions = next(each for each in shown["metrics"] if each["metric"] == "feedback")
    assert (opinions["stable"] + opinions["canary"], opinions["stable_mean"] is None) == (19, False)
    assert not any("began" in reason for reason in shown["reasons"])
    begun = [
        each for each in map(json.loads, events.read_text().splitlines()) if each["type"] == "conversation_started"
    ]
    assert {each["data"]["began"][:10] for each in begun} == {"2026-04-20", "2026-04-21", "2026-04-22"}
    missing = ["--stable", stable, "--canary", "bo@3333333", "--by", "prompt_version", "--share", "1"]
    assert run(["canary", "--samples", str(events), *missing, "--since", since, "--until", until], environment) == 3
    assert "no conversation has the prompt_version 'bo@3333333'" in capsys.readouterr().out


def test_the_last_decided_feedback_of_a_conversation_counts_and_a_comment_is_none(tmp_path: Path) -> None:
    early = span(1, "turn 1", input="a", output="b", user_feedback="thumbs_up", customer_name="W", **FACTS)
    late = span(9, "turn 2", input="a", output="b", user_feedback="thumbs_down", customer_name="W", **FACTS)
    liked, comment = line(id="liked", feedback="thumbs_up"), line(id="comment", feedback="asante")
    chosen = found(tmp_path, export(late), export(early), liked, comment, rules=replace(RULES, share=1))
    tags = {each.scenario.id: each.scenario.tags for each in chosen.conversations}
    assert {name: sorted(tag for tag in own if "feedback" in tag) for name, own in tags.items()} == {
        "a" * 32: [DISLIKED],
        "liked": [LIKED],
        "comment": [],
    }


def test_a_kind_of_system_has_a_share_of_its_own(tmp_path: Path) -> None:
    shared = [line(id=f"{kind}-{number}", system_type=kind) for kind in ("rag", "chatbot") for number in range(200)]
    rules = replace(RULES, share=0.05, shares={SystemType.RAG: 0.2})
    chosen = [item.trace_id for item in found(tmp_path, *shared, rules=rules).chosen]
    rag = [name for name in chosen if name.startswith("rag")]
    assert sorted(rag) == sorted(f"rag-{number}" for number in range(200) if in_share(0.2, f"rag-{number}"))
    assert 25 < len(rag) < 55
    chat = [f"chatbot-{number}" for number in range(200) if in_share(0.05, f"chatbot-{number}")]
    assert sorted(chosen) == sorted([*rag, *chat])


def test_a_share_by_kind_is_an_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "production.jsonl"
    path.write_text(json.dumps(line(system_type="rag")) + "\n" + json.dumps(line(id="b")) + "\n")
    environment = {"HOME": str(tmp_path), "RATIBA_REPORT_DIR": str(tmp_path / "report")}
    options = ["sample", str(path), "--repo", str(PROJECT), "--config", "examples/production/ratiba.yml", "--json"]
    run([*options, "--share", "0,rag=1"], environment)
    assert json.loads(capsys.readouterr().out)["chosen"] == {"share": 1}
    for wrong in ("0.05,rga=0.2", "0.05,rag=2", "rag=0.2", "0.05,rag", "0.05,rag=0.1,rag=0.2"):
        assert run([*options, "--share", wrong], environment) == 2
        assert f"--share is {wrong!r}" in capsys.readouterr().err
