import pytest

from ratiba_action.core.model.conversation import Party, Transcript
from ratiba_action.errors import BudgetError, JudgeError
from ratiba_action.judging.judge_model import JudgeModel
from ratiba_action.judging.live_pairwise import LivePairwiseJudge, parse_preference
from ratiba_action.judging.pairwise import Comparison, Side, compare_both_orders
from ratiba_action.testing.cases import case, exchange
from ratiba_action.testing.judges import FirstPlaceJudge, KeenJudge, ScriptedPaidCalls

SHORT = case(exchange("Habari", "Karibu")).transcript
LONG = case(exchange("Habari", "Karibu sana, Wanjiku. Naomba nikusaidie.")).transcript
MODELS = {"anthropic": JudgeModel("anthropic", "claude-opus-5-5"), "openai": JudgeModel("openai", "gpt-5.6")}


def comparison(first: Transcript = SHORT, second: Transcript = LONG) -> Comparison:
    return Comparison("spa", "swahili_fluency:1.0.0", ("Compare the Swahili.",), first, second, trial=1)


def chosen(better: str) -> str:
    return f'{{"reason": "because", "better": "{better}"}}'


async def test_a_judge_that_favours_the_first_place_decides_nothing() -> None:
    outcome = await compare_both_orders(comparison(), FirstPlaceJudge())
    assert (outcome.winner, outcome.consistent) == (Side.TIE, False)
    assert (outcome.as_given.better, outcome.swapped.better) == (Side.FIRST, Side.SECOND)


@pytest.mark.parametrize(
    ("first", "second", "winner"), [(SHORT, LONG, Side.SECOND), (LONG, SHORT, Side.FIRST)]
)  # fmt: skip
async def test_the_conversation_that_wins_in_both_orders_wins(
    first: Transcript, second: Transcript, winner: Side
) -> None:
    outcome = await compare_both_orders(comparison(first, second), KeenJudge(len))
    assert (outcome.winner, outcome.consistent) == (winner, True)


async def test_a_judge_to_whom_both_are_the_same_sees_a_tie() -> None:
    outcome = await compare_both_orders(comparison(), KeenJudge(lambda _: 1))
    assert (outcome.winner, outcome.consistent) == (Side.TIE, True)


@pytest.mark.parametrize(("given", "turned"), [("A", "tie"), ("tie", "A"), ("tie", "B"), ("A", "A"), ("B", "B")])
async def test_orders_that_disagree_are_a_tie(given: str, turned: str) -> None:
    calls = ScriptedPaidCalls([chosen(given), chosen(turned)])
    outcome = await compare_both_orders(comparison(), LivePairwiseJudge(calls, MODELS["anthropic"]))
    assert (outcome.winner, outcome.consistent) == (Side.TIE, False)


@pytest.mark.parametrize("provider", MODELS)
async def test_a_live_judge_is_shown_both_orders_as_two_questions(provider: str) -> None:
    calls = ScriptedPaidCalls([chosen("B"), chosen("A")])
    outcome = await compare_both_orders(comparison(), LivePairwiseJudge(calls, MODELS[provider], Party.CROSS_CHECK))
    assert outcome.winner == Side.SECOND
    assert {(sent.party, sent.trial, sent.scenario_id) for sent in calls.sent} == {(Party.CROSS_CHECK, 1, "spa")}
    assert len({sent.key for sent in calls.sent}) == 2
    forms = [sent.body["messages"][-1]["content"] for sent in calls.sent]
    assert [form.index("Karibu sana") < form.index('"Karibu"') for form in forms] == [False, True]


async def test_conversations_that_say_the_same_are_a_tie_without_a_call() -> None:
    calls = ScriptedPaidCalls([])
    outcome = await compare_both_orders(comparison(SHORT, SHORT), LivePairwiseJudge(calls, MODELS["anthropic"]))
    assert (outcome.winner, outcome.consistent, calls.sent) == (Side.TIE, True, [])


async def test_a_system_that_said_nothing_cannot_be_compared() -> None:
    silent = case(exchange("Habari", " ")).transcript
    with pytest.raises(JudgeError, match="said nothing"):
        await compare_both_orders(comparison(SHORT, silent), FirstPlaceJudge())


async def test_an_unusable_answer_is_asked_for_once_more() -> None:
    calls = ScriptedPaidCalls(["", chosen("B")])
    preference = await LivePairwiseJudge(calls, MODELS["openai"]).prefer(comparison())
    assert preference.better == Side.SECOND
    assert [sent.ordinal for sent in calls.sent] == [0, 1]


async def test_an_order_that_cannot_be_judged_is_an_error_and_never_a_tie() -> None:
    calls = ScriptedPaidCalls([chosen("B"), BudgetError("spent")])
    with pytest.raises(BudgetError):
        await compare_both_orders(comparison(), LivePairwiseJudge(calls, MODELS["openai"]))


@pytest.mark.parametrize(
    "text",
    [
        "", "A", "[]", "{}", '{"better": "A"}', '{"better": "A", "reason": " "}', '{"better": "C", "reason": "x"}',
        '{"better": "a", "reason": "x"}', '{"better": null, "reason": "x"}', '{"better": ["A"], "reason": "x"}',
        '{"better": "A", "reason": 1}', "[" * 9_000,
    ],
)  # fmt: skip
def test_a_preference_outside_the_contract_is_an_error_and_never_a_tie(text: str) -> None:
    with pytest.raises(JudgeError, match="cannot be used"):
        parse_preference(text)
