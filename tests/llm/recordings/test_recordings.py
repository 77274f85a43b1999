"""Recording files: read strictly, written so that a diff can be reviewed."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import RecordingError, SuiteError
from ratiba_action.llm.recordings.folder import (
    model_recordings,
    read_folder,
    read_reads,
    recorded_models,
    recording_path,
)
from ratiba_action.llm.recordings.lines import JudgeRecording, ModelRecording, Recording
from ratiba_action.llm.recordings.reader import parse_recordings, read_recordings
from ratiba_action.llm.recordings.writer import render_recordings, write_all, write_recordings
from ratiba_action.model.reads import Reads, parse_reads

KEY = "a" * 64
MODEL: dict[str, Any] = {
    "kind": "model",
    "key": KEY,
    "ordinal": 0,
    "source": "authored",
    "provider": "anthropic",
    "model": "claude-haiku-4-5",
    "asked": "Habari",
    "system": "0" * 12,
    "response": {"content": [], "usage": {"input_tokens": 1, "output_tokens": 1}},
}
JUDGE: dict[str, Any] = {
    "kind": "judge",
    "key": KEY,
    "ordinal": 0,
    "source": "authored",
    "metric": "swahili_fluency:1.0.0",
    "model": "claude-opus-5-5",
    "transcript": "b" * 64,
    "score": 0.9,
    "reason": "Natural.",
    "usage": {"input_tokens": 10, "output_tokens": 5},
}

TEXT = st.text(st.characters(codec=None), max_size=30)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
HEX = st.text("0123456789abcdef", min_size=64, max_size=64)
NAMES = st.text(min_size=1, max_size=20)
MODEL_LINES = st.builds(
    ModelRecording,
    key=HEX,
    ordinal=st.integers(0, 99),
    source=NAMES,
    provider=st.sampled_from(["anthropic", "openai"]),
    model=NAMES,
    asked=TEXT,
    system=st.text("0123456789abcdef", min_size=12, max_size=12),
    response=st.builds(
        lambda body, name: {**body, name: {"promptTokenCount": 1}},
        st.dictionaries(TEXT, JSON, max_size=3),
        st.sampled_from(["usage", "usageMetadata"]),
    ),
    usage_estimated=st.booleans(),
    trial=st.integers(0, 3),
)
JUDGE_LINES = st.builds(
    JudgeRecording,
    key=HEX,
    ordinal=st.integers(0, 99),
    source=NAMES,
    metric=NAMES,
    model=NAMES,
    transcript=HEX,
    score=st.floats(0, 1),
    reason=TEXT,
    usage=st.just({"input_tokens": 3, "output_tokens": 4}),
)
ANSWER_LINES = st.builds(
    lambda line, answer: replace(line, score=None, reason=None, answer=answer),
    JUDGE_LINES,
    st.dictionaries(TEXT, JSON, max_size=3),
)


def lines(*objects: object) -> bytes:
    return "\n".join(json.dumps(each) for each in objects).encode()


def mistakes(content: bytes) -> list[str]:
    with pytest.raises(SuiteError) as caught:
        parse_recordings(content, "scenarios/recordings/spa.jsonl")
    return [str(problem) for problem in caught.value.problems]


@given(
    st.lists(
        MODEL_LINES | JUDGE_LINES | ANSWER_LINES,
        max_size=6,
        unique_by=lambda line: (type(line), line.key, line.ordinal),
    )
)
def test_what_is_written_is_read_back(recordings: list[Recording]) -> None:
    models_first = sorted(recordings, key=lambda line: 99 if isinstance(line, JudgeRecording) else line.trial)
    rendered = render_recordings(recordings)
    assert list(parse_recordings(rendered, "spa.jsonl")) == models_first
    assert render_recordings(models_first) == rendered, "a file has one order"


def test_a_judges_answer_is_a_grade_or_an_object_and_not_both() -> None:
    grade = {name: value for name, value in JUDGE.items() if name not in {"score", "reason"}}
    (answer,) = parse_recordings(lines({**grade, "answer": {"claims": ["a"]}}), "spa.jsonl")
    (graded,) = parse_recordings(lines(JUDGE), "spa.jsonl")
    assert isinstance(answer, JudgeRecording)
    assert isinstance(graded, JudgeRecording)
    assert (answer.body, graded.body) == ({"claims": ["a"]}, {"score": 0.9, "reason": "Natural."})
    assert "score: unknown" in mistakes(lines({**JUDGE, "answer": {}}))[0]
    assert "answer: 'a' is not an object" in mistakes(lines({**grade, "answer": "a"}))[0]


def test_an_answer_may_stand_once_in_each_trial_and_the_first_is_not_numbered() -> None:
    (first,) = parse_recordings(lines(MODEL), "spa.jsonl")
    (second,) = parse_recordings(lines({**MODEL, "trial": 1}), "spa.jsonl")
    rendered = render_recordings([second, first])
    assert parse_recordings(rendered, "spa.jsonl") == (first, second)
    assert [json.loads(line).get("trial") for line in rendered.splitlines()] == [None, 1]
    (mistake,) = mistakes(lines({**MODEL, "trial": 1}, {**MODEL, "trial": 1}))
    assert "the same model key" in mistake


def test_a_line_is_compact_sorted_and_readable() -> None:
    recordings = parse_recordings(lines({**MODEL, "asked": "Saa nane “mchana”, ndiyo"}), "spa.jsonl")
    (line,) = render_recordings(recordings).decode().splitlines()
    assert list(json.loads(line)) == sorted(MODEL)
    assert '"asked":"Saa nane “mchana”, ndiyo","key":"' in line


def test_the_order_of_first_use_is_kept_with_model_answers_before_judge_answers() -> None:
    given_order = [
        {**JUDGE},
        {**MODEL, "key": "c" * 64},
        {**MODEL, "key": "b" * 64},
    ]
    rendered = render_recordings(parse_recordings(lines(*given_order), "spa.jsonl"))
    assert [json.loads(line)["key"][0] for line in rendered.splitlines()] == ["c", "b", "a"]


def test_a_missing_file_holds_no_recordings(tmp_path: Path) -> None:
    assert read_recordings(tmp_path / "spa.jsonl") == ()


def test_a_folder_in_place_of_a_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "spa.jsonl").mkdir()
    with pytest.raises(SuiteError, match=r"spa\.jsonl: cannot be read"):
        read_recordings(tmp_path / "spa.jsonl")


def test_every_mistake_is_reported_with_its_line() -> None:
    without_source = {name: value for name, value in MODEL.items() if name != "source"}
    content = b"\n".join(
        [
            lines(MODEL),
            b"{",
            b"",
            lines({**MODEL, "kind": "oracle"}),
            lines(without_source),
            lines(MODEL),
            b'{"kind": "model", "asked": "\xff"}',
            b"[1]",
            lines({**JUDGE, "score": 1.5, "reason": 7}),
            b'{"score": NaN}',
        ]
    )
    found = mistakes(content)
    assert [text.split(": ")[0].rsplit(":", 1)[1] for text in found] == ["2", "4", "5", "6", "7", "8", "9", "9", "10"]
    for part in (
        "is not JSON",
        "kind: 'oracle' is unknown",
        "source: missing",
        "ordinal 0 as line 1",
        "is not UTF-8 at byte 29",
        "must be a JSON object, is list",
        "score: 1.5 is not a number from 0 to 1",
        "reason: 7 is not a text",
        "NaN is not a JSON number",
    ):
        assert any(part in text for text in found), part


@pytest.mark.parametrize(
    "change",
    [
        {"key": "short"},
        {"key": KEY.upper()},
        {"ordinal": -1},
        {"ordinal": True},
        {"ordinal": 0.0},
        {"source": ""},
        {"provider": "No Body"},
        {"model": None},
        {"asked": 1},
        {"system": "0" * 11},
        {"response": {}},
        {"response": {"usage": None}},
        {"response": {"usageMetadata": 3}},
        {"usage_estimated": "yes"},
        {"note": "unknown"},
    ],
)
def test_a_value_outside_its_kind_is_refused(change: dict[str, object]) -> None:
    (name,) = change
    (found,) = mistakes(lines({**MODEL, **change}))
    assert found.startswith(f"scenarios/recordings/spa.jsonl:1: {name}: ")


@pytest.mark.parametrize(
    "change",
    [
        {"score": -0.1},
        {"score": True},
        {"score": "0.9"},
        {"usage": {"input_tokens": 1}},
        {"usage": {"input_tokens": -1, "output_tokens": 1}},
        {"usage": {"input_tokens": 10**9 + 1, "output_tokens": 1}},
        {"transcript": "b"},
        {"metric": ""},
    ],
)
def test_a_judges_answer_is_checked_as_strictly(change: dict[str, object]) -> None:
    (name,) = change
    assert f": {name}: " in mistakes(lines({**JUDGE, **change}))[0]


def test_a_model_and_a_judge_may_share_a_key() -> None:
    assert len(parse_recordings(lines(MODEL, JUDGE), "spa.jsonl")) == 2


def test_deep_nesting_is_a_mistake_and_no_crash() -> None:
    assert "is not JSON" in mistakes(b"[" * 100_000)[0]


def test_writing_replaces_the_whole_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "recordings" / "spa.jsonl"
    first, second = (parse_recordings(lines({**MODEL, "asked": asked}), "spa.jsonl") for asked in ("a", "b"))
    write_recordings(path, first)
    write_recordings(path, second)
    assert read_recordings(path) == second
    assert list(path.parent.iterdir()) == [path]
    assert path.stat().st_mode & 0o777 == 0o644


def test_recordings_that_could_not_be_read_back_leave_the_old_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "spa.jsonl"
    (recording,) = parse_recordings(lines(MODEL), "spa.jsonl")
    write_recordings(path, [recording])
    with pytest.raises(SuiteError, match="as line 1"):
        write_recordings(path, [recording, recording])
    assert read_recordings(path) == (recording,)


def test_a_folder_that_cannot_be_made_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "recordings").write_text("a file")
    with pytest.raises(RecordingError, match="cannot be written"):
        write_recordings(tmp_path / "recordings" / "spa.jsonl", [])


def test_the_mistakes_of_several_files_are_reported_together(tmp_path: Path) -> None:
    for name in ("salon", "spa"):
        recording_path(tmp_path, name).write_bytes(b"{")
    with pytest.raises(SuiteError) as caught:
        read_folder(tmp_path, ["salon", "barbershop", "spa"])
    assert len(caught.value.problems) == 2


def test_the_models_that_need_a_price_are_those_that_answered_the_system(tmp_path: Path) -> None:
    recording_path(tmp_path, "spa").write_bytes(lines(MODEL, JUDGE))
    recordings = read_folder(tmp_path, ["spa", "salon"])
    assert recorded_models(recordings) == {("claude-haiku-4-5", "anthropic")}
    assert {name: len(found) for name, found in model_recordings(recordings).items()} == {"spa": 1, "salon": 0}


def test_several_files_are_written_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    first, second = (parse_recordings(lines({**MODEL, "asked": asked}), "spa.jsonl") for asked in ("one", "two"))
    write_recordings(tmp_path / "a.jsonl", first)
    (tmp_path / "c.jsonl").mkdir()
    with pytest.raises(RecordingError, match=r"c\.jsonl' cannot be written"):
        write_all({tmp_path / name: second for name in ("a.jsonl", "b.jsonl", "c.jsonl")})
    assert read_recordings(tmp_path / "a.jsonl") == first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "c.jsonl"]
    (tmp_path / "c.jsonl").rmdir()
    write_all({tmp_path / name: second for name in ("a.jsonl", "b.jsonl", "c.jsonl")})
    assert {path.name: read_recordings(path) for path in tmp_path.iterdir()} == dict.fromkeys(
        ("a.jsonl", "b.jsonl", "c.jsonl"), second
    )


def test_nothing_is_written_when_one_of_several_files_could_not_be_read_back(tmp_path: Path) -> None:
    good = parse_recordings(lines(MODEL), "spa.jsonl")
    with pytest.raises(SuiteError, match=r"b\.jsonl:2: the same model key"):
        write_all({tmp_path / "a.jsonl": good, tmp_path / "b.jsonl": [*good, *good]})
    assert list(tmp_path.iterdir()) == []


READS = b'{"files":["agent.py","knowledge/"],"kind":"reads","sent":{"knowledge/returns.md":"turn 1"}}'


def test_what_is_read_is_the_first_line_and_changes_no_answer(tmp_path: Path) -> None:
    answers = render_recordings(parse_recordings(json.dumps(MODEL).encode(), "x"))
    reads = Reads(("agent.py", "knowledge/"), {"knowledge/returns.md": "turn 1"})
    write_all({tmp_path / "x.jsonl": parse_recordings(answers, "x")}, {tmp_path / "x.jsonl": reads})
    content = (tmp_path / "x.jsonl").read_bytes()
    assert content == READS + b"\n" + answers
    assert parse_recordings(content, "x") == parse_recordings(answers, "x")
    assert read_reads(tmp_path, ["x", "missing"]) == {"x": reads}
    assert parse_reads(answers.partition(b"\n")[0]) is None


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"files": ["../../etc/passwd"]}, "files: ['../../etc/passwd'] is not a list"),
        ({"files": ["/etc/passwd"]}, "files:"),
        ({"files": ["a\nb"]}, "files:"),
        ({"files": "agent.py"}, "files:"),
        ({"files": ["a"] * 20_001}, "files:"),
        ({"sent": {"a.py": "turn 0"}}, "sent:"),
        ({"sent": {"a.py": 1}}, "sent:"),
        ({"sent": {"../a.py": "turn 1"}}, "sent:"),
        ({"more": 1}, "more: unknown; allowed are files, sent"),
    ],
)
def test_a_line_of_reads_with_a_mistake_is_refused(changed: dict[str, Any], message: str) -> None:
    line = json.dumps({"kind": "reads", "files": [], "sent": {}, **changed}).encode()
    with pytest.raises(SuiteError) as refused:
        parse_recordings(line, "x.jsonl")
    assert refused.value.problems[0].message.startswith(message)


def test_what_is_read_stands_in_the_first_line_only() -> None:
    with pytest.raises(SuiteError, match="is the first one"):
        parse_recordings(json.dumps(MODEL).encode() + b"\n" + READS, "x.jsonl")
