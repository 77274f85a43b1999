from decimal import Decimal

import pytest

from ratiba_action.errors import ConfigurationError, RecordingError
from ratiba_action.metrics.judging.answer import judge_score
from ratiba_action.metrics.judging.replay_judge import BookedReplayJudge, ReplayJudge, judge_recording_key
from ratiba_action.model.conversation import Party, Usage
from ratiba_action.model.measurement import JudgeScore, Question
from ratiba_action.money.budget import Ledger
from ratiba_action.money.prices import PriceList

MODEL = "claude-opus-5-5"
QUESTION = Question("spa", "swahili_fluency:1.0.0", "ab" * 32, 0, "wording")
KEY = judge_recording_key(QUESTION.metric, MODEL, QUESTION.transcript, 0)
USAGE = Usage(input_tokens=1_000_000, output_tokens=0)


def booked(ledger: Ledger, model: str = MODEL) -> BookedReplayJudge:
    key = judge_recording_key(QUESTION.metric, model, QUESTION.transcript, 0)
    replay = ReplayJudge(model, {key: {"score": 0.9, "reason": "good"}})
    return BookedReplayJudge(replay, "anthropic", {key: USAGE}, ledger, PriceList())


async def test_a_replayed_grade_costs_nothing_and_its_list_price_is_known() -> None:
    ledger = Ledger(Decimal(0))
    assert await judge_score(booked(ledger), QUESTION) == JudgeScore(0.9, "good", replayed=True)
    (call,) = ledger.calls
    assert (call.party, call.scenario_id, call.model, call.replayed) == (Party.JUDGE, "spa", MODEL, True)
    assert call.cost == 0
    assert call.list_price == PriceList().price(MODEL, "anthropic", USAGE) > 0


async def test_an_answer_that_was_not_recorded_is_not_booked() -> None:
    ledger = Ledger(Decimal(0))
    with pytest.raises(RecordingError):
        await judge_score(booked(ledger), Question("spa", "swahili_fluency:2.0.0", "ab" * 32, 0, "wording"))
    assert ledger.calls == ()


async def test_a_judge_without_a_price_is_an_error_never_free() -> None:
    with pytest.raises(ConfigurationError):
        await judge_score(booked(Ledger(Decimal(0)), "nobody-knows-this-model"), QUESTION)
