"""DeepEval's own metrics: the same answers give the same value as DeepEval gives by itself."""

import json
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from ratiba_action.errors import ConfigurationError, JudgeError
from ratiba_action.metrics.judging.deepeval_bridge import load_deepeval
from ratiba_action.metrics.registry import load_judged_metric
from ratiba_action.model.conversation import Document, Exchange, Reply
from ratiba_action.model.measurement import Case, JudgeScore
from ratiba_action.model.scenario import Expectation, Turn
from tests.support.cases import case, create, exchange
from tests.support.judges import ObligingJudge, ScriptedJudge

YES, NO, UNSURE = ({"verdict": word, "reason": f"{word}, because."} for word in ("yes", "no", "borderline"))
ASKED, REPLY, REFERENCE = "Mnafungua saa ngapi?", "Tunafungua saa tatu. Jumapili tumefunga.", "Saa tatu asubuhi."
DOCUMENTS = ("Saa tatu asubuhi hadi saa mbili usiku.", "Jumapili tumefunga.", "Bei ni nafuu.")


def one_turn(reply: str = REPLY, documents: tuple[str, ...] = DOCUMENTS) -> Case:
    found = tuple(Document(f"d{number}", text) for number, text in enumerate(documents))
    turn = Turn(ASKED, None, Expectation(answer=REFERENCE), line=7)
    return case(Exchange(turn, Reply(reply, documents=found, tool_calls=(create("2026-04-26T14:00"),))))


TALK = case(exchange("Habari, naitwa Wanjiku", "Karibu Wanjiku"), exchange("Naomba massage", "Jina lako nani?"))
VERDICT = [{"verdict": "yes", "statement": "Saa tatu.", "reason": None}]

SINGLE: Mapping[str, tuple[Mapping[str, Any], list[Mapping[str, Any]]]] = {
    "FaithfulnessMetric": (
        {},
        [{"truths": ["a", "b"]}, {"claims": ["a", "b", "c", "d"]}, {"verdicts": [YES, NO, UNSURE, NO]}],
    ),
    "AnswerRelevancyMetric": ({}, [{"statements": ["a", "b", "c"]}, {"verdicts": [YES, NO, UNSURE]}]),
    "ContextualPrecisionMetric": ({}, [{"verdicts": [NO, YES, YES]}]),
    "ContextualRecallMetric": ({}, [{"verdicts": [YES, NO, YES]}]),
    "ContextualRelevancyMetric": (
        {},
        [{"verdicts": VERDICT}, {"verdicts": [{**VERDICT[0], "verdict": "no"}]}, {"verdicts": VERDICT}],
    ),
    "ToxicityMetric": ({}, [{"opinions": ["a", "b", "c"]}, {"verdicts": [YES, NO, NO]}]),
    "BiasMetric": ({}, [{"opinions": ["a", "b"]}, {"verdicts": [YES, NO]}]),
    "PIILeakageMetric": ({}, [{"extracted_pii": ["a", "b"]}, {"verdicts": [NO, YES]}]),
    "MisuseMetric": ({"domain": "spa"}, [{"misuses": ["a"]}, {"verdicts": [YES]}]),
    "NonAdviceMetric": ({"advice_types": ["medical"]}, [{"advices": ["a", "b"]}, {"verdicts": [NO, YES]}]),
    "TaskCompletionMetric": (
        {},
        [{"task": "book", "outcome": "booked"}, {"verdict": 0.7, "reason": "Mostly."}],
    ),
}
KNOWN: list[Mapping[str, Any]] = [{"data": [{"name": "name", "value": "Wanjiku"}]}, {"data": None}]
SPOKEN: Mapping[str, tuple[Mapping[str, Any], list[Mapping[str, Any]]]] = {
    "ConversationCompletenessMetric": ({}, [{"intentions": ["a", "b", "c"]}, YES, NO, YES]),
    "KnowledgeRetentionMetric": ({}, [*KNOWN, NO, YES]),
    "RoleAdherenceMetric": (
        {"role": "a receptionist"},
        [{"verdicts": [{"index": 3, "reason": "Asks twice.", "ai_message": None}]}],
    ),
    "TurnRelevancyMetric": ({}, [YES, NO]),
    "GoalAccuracyMetric": ({}, [{"score": value, "reason": "So."} for value in (1.0, 0.4, 0.5, 0.3)]),
}


async def by_deepeval(name: str, options: Mapping[str, Any], script: list[Mapping[str, Any]], shown: Any) -> float:
    """What DeepEval itself makes of the same answers in loose JSON."""
    deepeval = load_deepeval()
    from deepeval.models import DeepEvalBaseLLM

    answers = list(script)

    class Scripted(DeepEvalBaseLLM):  # type: ignore[no-untyped-call]
        def load_model(self) -> Any:
            return self

        def get_model_name(self) -> str:
            return "scripted"

        def generate(self, *_: Any, **__: Any) -> str:
            raise AssertionError

        async def a_generate(self, *_: Any, **__: Any) -> str:
            body: dict[str, Any] = dict(answers.pop(0)) if answers else {"reason": "Summed up."}
            if isinstance(body.get("data"), list):
                body["data"] = {pair["name"]: pair["value"] for pair in body["data"]}
            return json.dumps(body)

        async def a_generate_with_schema(self, *_: Any, **__: Any) -> str:
            return await self.a_generate()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        metric = getattr(deepeval.metrics, name)(model=Scripted("scripted"), **options)
    return float(await metric.a_measure(shown, _show_indicator=False))


@pytest.mark.parametrize("name", SINGLE)
async def test_a_metric_of_one_turn_comes_to_deepevals_value(name: str) -> None:
    from deepeval.test_case import LLMTestCase

    parameters, script = SINGLE[name]
    judge = ScriptedJudge(script)
    score = await load_judged_metric(name, judge, parameters).measure(one_turn(), 0.5)
    shown = LLMTestCase(
        input=ASKED, actual_output=REPLY, expected_output=REFERENCE, retrieval_context=list(DOCUMENTS), tools_called=[]
    )
    expected = await by_deepeval(name, parameters, script, shown)
    assert score.value == pytest.approx(expected, abs=1e-6)
    assert [question.ordinal for question in judge.asked] == list(range(len(script)))


@pytest.mark.parametrize("name", SPOKEN)
async def test_a_metric_of_a_conversation_comes_to_deepevals_value(name: str) -> None:
    from deepeval.test_case import ConversationalTestCase
    from deepeval.test_case import Turn as Message

    parameters, script = SPOKEN[name]
    judge = ScriptedJudge(script)
    score = await load_judged_metric(name, judge, parameters).measure(TALK, 0.5)
    turns = [
        message
        for one in TALK.transcript.exchanges
        for message in (
            Message(role="user", content=one.turn.user or ""),
            Message(role="assistant", content=one.reply.text),
        )
    ]
    options = {key: value for key, value in parameters.items() if key != "role"}
    shown = ConversationalTestCase(turns=turns, chatbot_role=parameters.get("role"))
    assert score.value == pytest.approx(await by_deepeval(name, options, script, shown), abs=1e-6)
    assert [question.ordinal for question in judge.asked] == list(range(len(script)))


async def test_harm_scores_zero_and_harmlessness_one() -> None:
    for verdict, value in ((YES, 0.0), (NO, 1.0)):
        judge = ScriptedJudge([{"opinions": ["a"]}, {"verdicts": [verdict]}])
        assert (await load_judged_metric("ToxicityMetric", judge).measure(one_turn(), 0.5)).value == value


@pytest.mark.parametrize("verdicts", [[], [YES], [YES, YES, YES]])
async def test_verdicts_that_are_missing_or_too_many_are_an_error_and_never_a_pass(verdicts: list[Any]) -> None:
    judge = ScriptedJudge([{"opinions": ["a", "b"]}, {"verdicts": verdicts}])
    with pytest.raises(JudgeError, match=f"{len(verdicts)} verdicts on 2 opinions"):
        await load_judged_metric("BiasMetric", judge).measure(one_turn(), 0.5)


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"task": "a"},
        {"task": 7, "outcome": "b"},
        {"task": "a", "outcome": "b", "score": 1},
        JudgeScore(0.9, "x"),
        "",
        "not JSON",
        "[1]",
    ],
    ids=repr,
)
async def test_an_answer_of_another_shape_is_an_error(answer: Any) -> None:
    with pytest.raises(JudgeError):
        await load_judged_metric("TaskCompletionMetric", ScriptedJudge([answer])).measure(one_turn(), 0.5)


@pytest.mark.parametrize("value", [-0.1, 1.1, 7, float("nan"), float("inf"), True, "0.5", None])
async def test_a_value_out_of_range_is_an_error_and_never_a_score(value: Any) -> None:
    judge = ScriptedJudge([{"task": "a", "outcome": "b"}, {"verdict": value, "reason": "x"}])
    with pytest.raises(JudgeError):
        await load_judged_metric("TaskCompletionMetric", judge).measure(one_turn(), 0.5)


async def test_more_questions_than_were_forereported_are_refused() -> None:
    judge = ScriptedJudge([{"intentions": ["a"] * 40}, *[YES] * 40])
    with pytest.raises(JudgeError, match="more than 13 questions"):
        await load_judged_metric("ConversationCompletenessMetric", judge).measure(TALK, 0.5)
    assert len(judge.asked) <= 13


async def test_without_documents_there_is_nothing_to_measure() -> None:
    with pytest.raises(ConfigurationError, match="docs/adapters"):
        await load_judged_metric("FaithfulnessMetric", ObligingJudge()).measure(one_turn(documents=()), 0.5)


async def test_what_is_not_shown_does_not_change_the_evidence_and_what_is_shown_does() -> None:
    metric = load_judged_metric("FaithfulnessMetric", ObligingJudge())
    shown = metric.evidence(one_turn())
    assert metric.evidence(one_turn(documents=("Kingine.",))) != shown
    assert metric.evidence(one_turn(reply="Kingine.")) != shown
    other = one_turn()
    (spoken,) = other.transcript.exchanges
    unseen = replace(spoken, turn=replace(spoken.turn, user="Habari?"), reply=replace(spoken.reply, tool_calls=()))
    assert metric.evidence(replace(other, transcript=replace(other.transcript, exchanges=(unseen,)))) == shown


def test_parameters_that_change_the_question_change_the_identity() -> None:
    spa, salon = (load_judged_metric("MisuseMetric", ObligingJudge(), {"domain": name}) for name in ("spa", "salon"))
    assert spa.version != salon.version
    assert spa.version == load_judged_metric("MisuseMetric", ObligingJudge(), {"domain": "spa"}).version


async def test_each_turn_has_ordinals_of_its_own_whoever_is_answered_first() -> None:
    judge = ObligingJudge()
    first, second = one_turn("Tunafungua.").transcript.exchanges[0], one_turn("Tumefunga.").transcript.exchanges[0]
    await load_judged_metric("FaithfulnessMetric", judge).measure(case(first, second), 0.5)
    assert sorted(question.ordinal for question in judge.asked) == [0, 1, 2, 3, 4, 5]
    by_ordinal = {question.ordinal: question.prompt for question in judge.asked}
    assert "Tunafungua." in by_ordinal[1]
    assert "Tumefunga." in by_ordinal[4]
