import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from ratiba_action.errors import BudgetError, ConfigurationError, JudgeError, ProviderError
from ratiba_action.metrics.judging.answer import JudgeModel, judge_score
from ratiba_action.metrics.judging.replay_judge import ReplayJudge, ScoreCollector
from ratiba_action.metrics.judging.run_metric import JudgeChain
from ratiba_action.metrics.judging.structured_calls import INSTRUCTIONS, LiveJudge
from ratiba_action.model.conversation import Party, Usage
from ratiba_action.model.measurement import Answer, JudgeScore, Question
from ratiba_action.model.plan import HEAD
from ratiba_action.model.values import JsonObject
from tests.support.judges import ScriptedPaidCalls, whole_answer

MODELS = {"anthropic": JudgeModel("anthropic", "claude-opus-5-5"), "openai": JudgeModel("openai", "gpt-5.6")}
QUESTION = Question("spa", "swahili_fluency:1.0.0", "ab" * 32, 0, "Grade: [{'role': 'user', 'content': 'Habari'}]")
GOOD = '{"reason": "Reads well.", "score": 9}'

both = pytest.mark.parametrize("provider", MODELS)


def judge(calls: ScriptedPaidCalls, provider: str = "anthropic", party: Party = Party.JUDGE) -> LiveJudge:
    return LiveJudge(calls, MODELS[provider], party)


def _ended(provider: str, anthropic: str, openai: str, text: str = GOOD) -> JsonObject:
    body = dict(whole_answer(provider, text))
    if provider == "anthropic":
        return {**body, "stop_reason": anthropic}
    return {**body, "choices": [{**body["choices"][0], "finish_reason": openai}]}


def _refused(provider: str) -> JsonObject:
    if provider == "anthropic":
        return {**whole_answer(provider, ""), "content": [], "stop_reason": "refusal"}
    message = {"role": "assistant", "content": None, "refusal": "I cannot grade this."}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


def _twice(provider: str) -> JsonObject:
    body = dict(whole_answer(provider, GOOD))
    if provider == "anthropic":
        return {**body, "content": body["content"] * 2}
    return {**body, "choices": body["choices"] * 2}


BROKEN: Mapping[str, tuple[Callable[[str], JsonObject], str]] = {
    "refusal": (_refused, "refused"),
    "content filter": (lambda provider: _ended(provider, "refusal", "content_filter"), "refused"),
    "truncation": (lambda provider: _ended(provider, "max_tokens", "length", '{"reason": "Rea'), "cut off"),
    "truncation behind a whole answer": (lambda provider: _ended(provider, "max_tokens", "length"), "cut off"),
    "full context": (lambda provider: _ended(provider, "model_context_window_exceeded", "length"), "cut off"),
    "a tool instead": (lambda provider: _ended(provider, "tool_use", "tool_calls"), "unexpected stop reason"),
    "no stop reason": (lambda provider: _ended(provider, "", ""), "unexpected stop reason"),
    "empty text": (lambda provider: whole_answer(provider, " \n"), "empty"),
    "no text": (lambda provider: {**whole_answer(provider, ""), "content": []}, "empty"),
    "empty body": (lambda _: {}, "unexpected"),
    "content is a number": (
        lambda _: {
            "content": 7,
            "stop_reason": "end_turn",
            "choices": [{"message": {"content": 7}, "finish_reason": "stop"}],
        },
        "unexpected content",
    ),
    "two answers": (_twice, "unexpected choices|not JSON"),
    "garbage": (lambda provider: whole_answer(provider, "nine out of ten"), "not JSON"),
    "another shape": (lambda provider: whole_answer(provider, '{"grade": 9}'), "not a number"),
    "a list": (lambda provider: whole_answer(provider, "[9]"), "not a JSON object"),
    "a text for a number": (lambda provider: whole_answer(provider, '{"score": "10", "reason": "x"}'), "not a number"),
    "too high": (lambda provider: whole_answer(provider, '{"score": 11, "reason": "x"}'), "not between 0 and 10"),
    "too low": (lambda provider: whole_answer(provider, '{"score": -1, "reason": "x"}'), "not between 0 and 10"),
    "not a number": (lambda provider: whole_answer(provider, '{"score": NaN, "reason": "x"}'), "not between 0 and 10"),
    "no reason": (lambda provider: whole_answer(provider, '{"score": 9, "reason": ""}'), "no reason"),
    "nested too deep": (lambda provider: whole_answer(provider, "[" * 9_000), "not JSON"),
}  # fmt: skip


@both
async def test_a_grade_is_the_models_answer_divided_by_ten(provider: str) -> None:
    assert await judge_score(judge(ScriptedPaidCalls([GOOD]), provider), QUESTION) == JudgeScore(0.9, "Reads well.")


async def test_thinking_before_the_answer_is_passed_over() -> None:
    body = dict(whole_answer("anthropic", GOOD))
    body["content"] = [{"type": "thinking", "thinking": "hm", "signature": "s"}, *body["content"]]
    assert (await judge_score(judge(ScriptedPaidCalls([body])), QUESTION)).score == 0.9


async def test_anthropic_is_asked_for_structured_output_without_a_temperature() -> None:
    calls = ScriptedPaidCalls([GOOD])
    await judge_score(judge(calls), QUESTION)
    (sent,) = calls.sent
    assert (sent.provider, sent.endpoint, sent.model) == ("anthropic", "messages", "claude-opus-5-5")
    assert set(sent.body) == {"model", "max_tokens", "system", "messages", "output_config"}
    assert sent.body["system"] == INSTRUCTIONS
    assert sent.body["messages"] == [{"role": "user", "content": QUESTION.prompt}]
    assert sent.body["output_config"]["format"]["type"] == "json_schema"
    _assert_schema(sent.body["output_config"]["format"]["schema"])


async def test_openai_is_asked_for_structured_output_without_a_temperature() -> None:
    calls = ScriptedPaidCalls([GOOD])
    await judge_score(judge(calls, "openai"), QUESTION)
    (sent,) = calls.sent
    assert (sent.provider, sent.endpoint, sent.model) == ("openai", "chat/completions", "gpt-5.6")
    assert set(sent.body) == {"model", "max_completion_tokens", "messages", "response_format"}
    assert sent.body["messages"] == [
        {"role": "system", "content": INSTRUCTIONS},
        {"role": "user", "content": QUESTION.prompt},
    ]
    named = sent.body["response_format"]["json_schema"]
    assert (named["name"], named["strict"]) == ("grade", True)
    _assert_schema(named["schema"])


def _assert_schema(schema: Mapping[str, Any]) -> None:
    # What both providers ask of a strict schema: every property required, no other one, no numerical range.
    assert set(schema["required"]) == set(schema["properties"]) == {"reason", "score"}
    assert schema["additionalProperties"] is False
    assert schema["properties"]["score"] == {
        **schema["properties"]["score"],
        "type": "integer",
        "enum": list(range(11)),
    }
    assert "minimum" not in json.dumps(schema)


@both
@pytest.mark.parametrize("name", BROKEN)
async def test_an_unusable_answer_is_asked_for_once_more_and_then_an_error(provider: str, name: str) -> None:
    make, reported = BROKEN[name]
    calls = ScriptedPaidCalls([make(provider)] * 3)
    with pytest.raises(JudgeError, match=reported) as caught:
        await judge_score(judge(calls, provider), QUESTION)
    assert "asked twice" in str(caught.value)
    assert len(calls.sent) == 2


@both
@pytest.mark.parametrize("name", BROKEN)
async def test_a_second_answer_that_is_usable_counts(provider: str, name: str) -> None:
    calls = ScriptedPaidCalls([BROKEN[name][0](provider), GOOD])
    assert (await judge_score(judge(calls, provider), QUESTION)).score == 0.9


async def test_the_second_attempt_is_a_call_of_its_own_so_that_a_resumed_run_does_not_find_the_bad_answer_again() -> (
    None
):
    calls = ScriptedPaidCalls(["", GOOD])
    await judge_score(judge(calls), QUESTION)
    first, second = calls.sent
    assert (first.ordinal, second.ordinal) == (0, 1)
    assert second == replace(first, ordinal=1)


async def test_a_retry_that_the_budget_does_not_hold_leaves_the_first_error_and_says_so() -> None:
    calls = ScriptedPaidCalls(["", BudgetError("It may cost $0.03.", "Raise the cap.")])
    with pytest.raises(JudgeError, match=r"empty.*not asked again.*\$0\.03"):
        await judge_score(judge(calls), QUESTION)


@pytest.mark.parametrize("refused", [BudgetError("spent"), ProviderError("down"), ConfigurationError("no price")])
async def test_a_call_that_is_refused_is_not_asked_again(refused: Exception) -> None:
    calls = ScriptedPaidCalls([refused, GOOD])
    with pytest.raises(type(refused)):
        await judge_score(judge(calls), QUESTION)
    assert len(calls.sent) == 1


@pytest.mark.parametrize(
    "other",
    [
        replace(QUESTION, ordinal=1),
        replace(QUESTION, metric="swahili_fluency:1.0.1"),
        replace(QUESTION, transcript="cd" * 32),
        replace(QUESTION, arm="base"),
        replace(QUESTION, prompt="Grade otherwise."),
    ],
)
async def test_another_question_has_another_key_even_with_the_same_words(other: Question) -> None:
    calls = ScriptedPaidCalls([GOOD, GOOD])
    for question in (QUESTION, other):
        await judge_score(judge(calls), question)
    assert calls.sent[0].key != calls.sent[1].key


async def test_the_same_question_has_the_same_key_and_its_trial_is_reported() -> None:
    calls = ScriptedPaidCalls([GOOD, GOOD])
    await judge_score(judge(calls), QUESTION)
    await judge_score(judge(calls), replace(QUESTION, trial=2))
    assert calls.sent[0].key == calls.sent[1].key
    assert [sent.trial for sent in calls.sent] == [0, 2]


@pytest.mark.parametrize("party", [Party.JUDGE, Party.CROSS_CHECK])
async def test_the_call_is_booked_on_whoever_judges(party: Party) -> None:
    calls = ScriptedPaidCalls([GOOD])
    await judge_score(judge(calls, party=party), QUESTION)
    assert (calls.sent[0].party, calls.sent[0].scenario_id) == (party, "spa")


async def test_an_unknown_provider_is_refused_before_anything_is_sent() -> None:
    calls = ScriptedPaidCalls([GOOD])
    with pytest.raises(ConfigurationError, match="'acme'"):
        await judge_score(LiveJudge(calls, JudgeModel("acme", "m")), QUESTION)
    assert calls.sent == []


def collecting(judge: LiveJudge, collector: ScoreCollector) -> JudgeChain:
    """The judge at the end of a chain, as a run has it."""
    chain = JudgeChain(judge.model, lambda *_: None, collector.keep)
    chain.add(HEAD, live=judge.answer)
    return chain


async def test_live_grades_are_collected_as_recordings_that_replay() -> None:
    collector = ScoreCollector(MODELS["anthropic"].name)
    usage = Usage(input_tokens=1_000, output_tokens=90, cache_read_tokens=150, cache_write_tokens=50)
    live = collecting(LiveJudge(ScriptedPaidCalls([GOOD], usage), MODELS["anthropic"]), collector)
    given = await judge_score(live, QUESTION)
    (line,) = collector.recordings()["spa"]
    assert (line.source, line.score, line.reason, line.ordinal) == ("live", 0.9, "Reads well.", 0)
    assert line.usage == {"input_tokens": 1_200, "output_tokens": 90}
    replay = ReplayJudge(live.model, {line.key: line.body})
    assert await judge_score(replay, QUESTION) == replace(given, replayed=True)


@both
async def test_answers_of_other_shapes_are_held_to_them_collected_and_replayed(provider: str) -> None:
    properties = {"claims": {"type": "array", "items": {"type": "string"}, "minItems": 1}}
    schema = {"title": "Claims", "type": "object", "properties": properties, "required": ["claims"]}
    question, collector = replace(QUESTION, schema=schema), ScoreCollector(MODELS[provider].name)
    calls = ScriptedPaidCalls(['{"claims": []}', '{"claims": ["a"]}'])
    live = collecting(LiveJudge(calls, MODELS[provider]), collector)
    assert await live.answer(question) == Answer({"claims": ["a"]})
    assert [sent.ordinal for sent in calls.sent] == [0, 1]
    assert "minItems" not in json.dumps(calls.sent[0].body)
    (line,) = collector.recordings()["spa"]
    assert (line.score, line.reason, line.answer) == (None, None, {"claims": ["a"]})
    replay = ReplayJudge(live.model, {line.key: line.body})
    assert await replay.answer(question) == Answer({"claims": ["a"]}, replayed=True)


async def test_collected_grades_are_in_one_order_and_the_first_trials_count() -> None:
    orders = []
    questions = [
        replace(QUESTION, trial=trial, ordinal=ordinal, metric=metric)
        for trial in (0, 1)
        for ordinal in (0, 1)
        for metric in ("b:1", "a:1")
    ]
    for order in (questions, questions[::-1]):
        collector = ScoreCollector("m")
        for question in order:
            collector.keep(question, Answer({"score": 0.1 * question.trial, "reason": "x"}))
        orders.append(collector.recordings())
    assert orders[0] == orders[1]
    assert [(line.metric, line.ordinal, line.score) for line in orders[0]["spa"]] == [
        ("a:1", 0, 0.0), ("a:1", 1, 0.0), ("b:1", 0, 0.0), ("b:1", 1, 0.0),
    ]  # fmt: skip


async def test_a_failed_question_is_not_collected() -> None:
    collector = ScoreCollector(MODELS["anthropic"].name)
    live = collecting(LiveJudge(ScriptedPaidCalls(["", ""]), MODELS["anthropic"]), collector)
    with pytest.raises(JudgeError):
        await judge_score(live, QUESTION)
    assert collector.recordings() == {}
