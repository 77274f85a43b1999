"""What a new recording changes, told so that a person can accept it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.llm.recordings.comparison import LineFate, compare, read_answer, render, without_noise
from ratiba_action.llm.recordings.lines import JudgeRecording, ModelRecording, Recording


def model(text: str, asked: str = "Habari", **changes: Any) -> ModelRecording:
    body = {"id": "msg_1", "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 1}}
    line = ModelRecording(
        asked.encode().hex().ljust(64, "0")[:64], 0, "live", "anthropic", "claude", asked, "0" * 12, body
    )
    return replace(line, **changes)


def judge(score: float, reason: str = "Natural.", **changes: Any) -> JudgeRecording:
    usage = {"input_tokens": 1, "output_tokens": 1}
    line = JudgeRecording("b" * 64, 0, "live", "fluency:1.0", "opus", "c" * 64, score, reason, usage)
    return replace(line, **changes)


def shown(old: Sequence[Recording], new: Sequence[Recording]) -> list[str]:
    return list(render(compare(old, new)))


def test_nothing_differs_between_a_recording_and_itself() -> None:
    lines: list[Recording] = [model("Karibu"), model("Asante", "Ndio"), judge(0.9)]
    assert compare(lines, lines).differences == ()
    assert compare(lines, lines).summary == "the same answers"


def test_usage_in_another_order_is_no_difference() -> None:
    usage = {"input_tokens": 1, "output_tokens": 2}
    turned = dict(reversed(usage.items()))
    body = {"content": [{"type": "text", "text": "Karibu"}]}
    old = model("Karibu", response={**body, "id": "msg_1", "usage": usage})
    new = model("Karibu", response={**body, "id": "msg_2", "usage": turned})
    assert shown([old], [new]) == ["~ answer of claude to 'Habari': only ids differ"]
    more = model("Karibu", response={**body, "id": "msg_2", "usage": {**turned, "input_tokens": 3}})
    assert shown([old], [more])[1:] == [
        '    - usage: {"input_tokens":1,"output_tokens":2}',
        '    + usage: {"input_tokens":3,"output_tokens":2}',
    ]


def test_another_answer_is_shown_before_and_after() -> None:
    assert shown([model("Karibu sana")], [model("Karibu tena")]) == [
        "~ answer of claude to 'Habari'",
        "    - said: Karibu sana",
        "    + said: Karibu tena",
    ]


def test_an_answer_of_another_trial_is_added_and_never_a_change() -> None:
    assert shown([model("Karibu")], [model("Karibu"), model("Sawa", trial=1)]) == [
        "+ answer of claude to 'Habari' in trial 2",
        "    + said: Sawa",
        "    + prompt: 000000000000",
        "    + model: claude",
        "    + source: live",
    ]


def test_another_score_is_shown_with_its_reason() -> None:
    assert shown([judge(0.9)], [judge(0.75, "One calque.")]) == [
        "~ score of fluency:1.0 by opus",
        "    - score: 0.9",
        "    + score: 0.75",
        "    - reason: Natural.",
        "    + reason: One calque.",
    ]


def test_added_and_removed_lines_are_shown_whole_the_removed_ones_last() -> None:
    lines = shown([model("Karibu", "Habari"), judge(0.9)], [model("Sawa", "Ndio"), judge(0.9)])
    assert [line for line in lines if not line.startswith(" ")] == [
        "+ answer of claude to 'Ndio'",
        "- answer of claude to 'Habari'",
    ]
    assert "    + said: Sawa" in lines
    assert "    - said: Karibu" in lines


def test_an_edited_prompt_changes_every_key_and_the_answers_are_still_compared() -> None:
    old = [model("Karibu"), model("Sawa", "Ndio")]
    new = [replace(line, key="f" * 63 + str(at), system="1" * 12) for at, line in enumerate(old)]
    comparison = compare(old, new)
    assert comparison.summary == "2 changed"
    assert [one.after for one in comparison.differences] == [(("prompt", "1" * 12),)] * 2


def test_another_model_or_version_of_a_metric_is_a_change_of_the_same_line() -> None:
    old: list[Recording] = [model("Karibu"), judge(0.9)]
    new: list[Recording] = [
        model("Karibu", key="d" * 64, model="claude-2"),
        judge(0.9, key="e" * 64, metric="fluency:2.0"),
    ]
    assert [(one.kind, one.before, one.after) for one in compare(old, new).differences] == [
        (LineFate.CHANGED, (("model", "claude"),), (("model", "claude-2"),)),
        (LineFate.CHANGED, (("metric", "fluency:1.0"),), (("metric", "fluency:2.0"),)),
    ]


def test_tools_are_shown_with_their_arguments() -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "book", "input": {"hour": 14}}
    new = model("Sawa", response={"content": [call], "stop_reason": "tool_use", "usage": {}})
    assert shown([model("Sawa")], [new]) == [
        "~ answer of claude to 'Habari'",
        "    - said: Sawa",
        '    + tools: book({"hour":14})',
        "    + ended: tool_use",
    ]


def test_a_change_of_what_nobody_reads_is_named() -> None:
    line = model("Karibu")
    (request,) = compare([line], [replace(line, key="e" * 64)]).differences
    assert request.after == (("request", "e" * 12),)
    (ids,) = compare([line], [replace(line, response={**line.response, "id": "msg_2"})]).differences
    assert ids.what.endswith("only ids differ")


def test_a_long_answer_is_shown_around_its_first_difference_and_many_changes_are_counted() -> None:
    long = "a" * 5_000
    lines = shown([model(f"{long}x{long}")], [model(f"{long}y{long}")])
    assert max(map(len, lines)) < 450
    assert "ax" in lines[1]
    assert "ay" in lines[2]
    many = [model("Sawa", f"number {at}") for at in range(100)]
    assert shown([], many)[-1] == "… and 60 more; git diff shows all of them"


def test_ids_times_and_usage_alone_change_no_file() -> None:
    old: list[Recording] = [model("Karibu"), model("Sawa", "Ndio"), judge(0.9)]
    again = [
        replace(line, response={**line.response, "id": "msg_2", "created": 5, "usage": {"input_tokens": 2}})
        for line in old
        if isinstance(line, ModelRecording)
    ]
    usage = {"input_tokens": 2, "output_tokens": 2}
    assert without_noise(old, [*again, judge(0.9, usage=usage)]) == tuple(old)


CALL_IDS = {
    "Anthropic": lambda at: {
        "content": [{"type": "tool_use", "id": f"toolu_{at}", "name": "book", "input": {"id": 7}}]
    },
    "OpenAI": lambda at: {
        "choices": [
            {"message": {"tool_calls": [{"id": f"call_{at}", "function": {"name": "book", "arguments": '{"id": 7}'}}]}}
        ]
    },
    "Responses": lambda at: {
        "output": [
            {"type": "function_call", "id": f"fc_{at}", "call_id": f"call_{at}", "name": "book", "arguments": "{}"}
        ]
    },
    "Gemini": lambda at: {
        "candidates": [{"content": {"parts": [{"functionCall": {"id": f"{at}", "name": "book", "args": {"id": 7}}}]}}]
    },
}
"""The same call of a tool, under another id each time, as each format writes it."""


@pytest.mark.parametrize("called", CALL_IDS.values(), ids=CALL_IDS)
def test_ids_of_tool_calls_alone_change_no_file(called: Callable[[int], dict[str, Any]]) -> None:
    old, new = (
        [model("", response={"id": f"msg_{at}", **called(at)}), model("Sawa", "Ndio", key="d" * 64)] for at in (1, 2)
    )
    assert without_noise(old, new) == tuple(old)


def test_an_id_that_a_model_wrote_for_a_tool_is_its_answer() -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "book", "input": {"id": "slot-1"}}
    old = [model("", response={"content": [call]})]
    new = [model("", response={"content": [{**call, "input": {"id": "slot-2"}}]})]
    assert without_noise(old, new) == tuple(new)


def test_the_answers_of_models_are_kept_together() -> None:
    old = [model("Karibu"), model("Sawa", "Ndio")]
    new = [replace(old[0], response={**old[0].response, "id": "msg_2"}), model("Haya", "Ndio")]
    assert without_noise(old, new) == tuple(new)


def test_an_answer_that_a_model_confirms_is_no_longer_one_written_by_hand() -> None:
    authored, live = model("Karibu", source="authored"), model("Karibu")
    assert without_noise([authored], [live]) == (live,)
    assert shown([authored], [live])[1:] == ["    - source: authored", "    + source: live"]


LINES = st.lists(
    st.builds(model, st.sampled_from(["a", "b", "c"]), st.sampled_from(["x", "y", "z"]))
    | st.builds(judge, st.sampled_from([0.1, 0.9])),
    max_size=6,
)


@given(LINES, LINES)
def test_every_line_of_both_sides_is_accounted_for(old: list[Recording], new: list[Recording]) -> None:
    comparison = compare(old, new)
    assert len(new) - comparison.count(LineFate.ADDED) == len(old) - comparison.count(LineFate.REMOVED)
    assert render(comparison) == render(compare(old, new))


@pytest.mark.parametrize(
    ("response", "text", "tools"),
    [
        (
            {"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "Sawa"}}], "usage": {}},
            "Sawa",
            (),
        ),
        (
            {
                "choices": [
                    {"message": {"content": None, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}}
                ]
            },
            "",
            ("f({})",),
        ),
        ({"output": [{"type": "message", "content": [{"type": "output_text", "text": "Sawa"}]}]}, "Sawa", ()),
        ({"output": [{"type": "function_call", "name": "f", "arguments": '{"a":1}'}]}, "", ('f({"a":1})',)),
        ({"choices": [{"message": {"content": None, "refusal": "Siwezi"}}]}, "Siwezi", ()),
    ],
)
def test_what_was_said_is_read_from_every_endpoint(response: dict[str, Any], text: str, tools: tuple[str, ...]) -> None:
    words = read_answer(response)
    assert (words.text, words.tools) == (text, tools)


def test_an_embedding_is_reported_by_a_digest_that_changes_with_it() -> None:
    one, other = ({"data": [{"embedding": [value]}], "usage": {}} for value in (0.25, 0.5))
    assert read_answer(one).text.startswith("(no text; content ")
    assert read_answer(one) != read_answer(other)
