import asyncio

import pytest

from ratiba_action.errors import BudgetError, JudgeError, ProviderError
from ratiba_action.metrics.judging.cross_check import CrossCheck
from ratiba_action.metrics.judging.run_metric import RunMetric
from ratiba_action.metrics.registry import load_judged_metric
from ratiba_action.model.canonical import transcript_digest
from ratiba_action.model.comparison import CrossCheckStatus, ScorePair
from ratiba_action.model.measurement import Case, JudgeScore, Score
from ratiba_action.ports import JudgedMetric, Metric
from ratiba_action.verdict.agreement import judges_agreement
from tests.support.cases import case, exchange
from tests.support.judges import ScriptedJudge


class FixedMetric:
    """A judged metric with a value, an error, or one that waits for a signal first."""

    name = "ToneMetric"
    version = "1.0.0"

    def __init__(
        self,
        value: float | Exception,
        *,
        judged: bool = True,
        cached: bool = False,
        after: asyncio.Event | None = None,
    ) -> None:
        self.judged = judged
        self.asked = 0
        self._value = value
        self._cached = cached
        self._after = after

    def evidence(self, case: Case) -> str:
        return transcript_digest(case.transcript)

    async def measure(self, case: Case, threshold: float) -> Score:
        self.asked += 1
        assert case.scenario.id
        if self._after is not None:
            await self._after.wait()
        if isinstance(self._value, Exception):
            raise self._value
        return Score(
            self.name, self.version, self._value, threshold, judged=self.judged, reason="r", cached=self._cached
        )


def spoken(number: int = 0) -> Case:
    return case(exchange("Habari", f"Karibu {number}"), scenario_id=f"spa_{number}")


def cross_checked(first: JudgedMetric, second: Metric, cross_check: CrossCheck) -> RunMetric:
    return RunMetric(
        lambda _: first, offer=lambda score, one, shown: cross_check.offer(score, one, shown, lambda: second)
    )


async def checked(
    second: Metric, cross_check: CrossCheck, first: JudgedMetric | None = None, one: Case | None = None
) -> Score:
    metric = cross_checked(first or FixedMetric(0.9), second, cross_check)
    async with cross_check:
        return await metric.measure(one or spoken(), 0.8)


async def test_a_sampled_score_is_given_to_the_second_judge_and_the_pair_is_kept() -> None:
    cross_check = CrossCheck(1)
    score = await checked(FixedMetric(0.7), cross_check)
    assert score == Score("ToneMetric", "1.0.0", 0.9, 0.8, judged=True, reason="r")
    digest = transcript_digest(spoken().transcript)
    assert cross_check.pairs == (ScorePair("spa_0", "tone:1.0.0", digest, 0.8, 0.9, 0.7),)
    assert cross_check.status == CrossCheckStatus(1, sampled=1, compared=1)
    assert judges_agreement(cross_check.pairs).same_side == 0


@pytest.mark.parametrize("error", [JudgeError("garbage"), ProviderError("down"), TypeError("boom")])
async def test_a_failure_of_the_second_judge_is_a_note_and_never_an_error(error: Exception) -> None:
    cross_check = CrossCheck(1)
    score = await checked(FixedMetric(error), cross_check)
    assert score.value == 0.9
    (note,) = cross_check.notes
    assert "ToneMetric" not in note
    assert "tone:1.0.0 for scenario 'spa_0' failed" in note
    assert (cross_check.pairs, cross_check.status) == ((), CrossCheckStatus(1, sampled=1, compared=0))


async def test_an_error_of_the_first_judge_is_passed_on_and_nothing_is_compared() -> None:
    second, cross_check = FixedMetric(0.9), CrossCheck(1)
    with pytest.raises(JudgeError):
        await checked(second, cross_check, FixedMetric(JudgeError("garbage")))
    assert (second.asked, cross_check.status.sampled) == (0, 0)


async def test_a_deterministic_score_is_not_checked() -> None:
    second, cross_check = FixedMetric(0.9), CrossCheck(1)
    await checked(second, cross_check, FixedMetric(1.0, judged=False))
    assert second.asked == 0


@pytest.mark.parametrize("first", [False, True], ids=["fresh score", "kept score"])
@pytest.mark.parametrize("second", [False, True], ids=["second asked", "second kept"])
async def test_a_kept_score_is_checked_like_a_fresh_one_and_kept_second_scores_are_counted(
    *, first: bool, second: bool
) -> None:
    cross_check = CrossCheck(1)
    await checked(FixedMetric(0.7, cached=second), cross_check, FixedMetric(0.9, cached=first))
    assert [(pair.first, pair.second) for pair in cross_check.pairs] == [(0.9, 0.7)]
    assert cross_check.status == CrossCheckStatus(1, sampled=1, compared=1, cached=int(second))


async def run(share: float, numbers: range) -> CrossCheck:
    async with CrossCheck(share) as cross_check:
        for number in numbers:
            await cross_checked(FixedMetric(0.9), FixedMetric(0.9), cross_check).measure(spoken(number), 0.8)
    return cross_check


async def test_the_sample_is_the_same_in_every_run_and_in_every_order() -> None:
    forth, back = await run(0.3, range(60)), await run(0.3, range(59, -1, -1))
    assert forth.pairs == back.pairs
    assert 8 <= len(forth.pairs) <= 30
    assert forth.status.compared == forth.status.sampled


async def test_a_share_of_zero_asks_nothing() -> None:
    assert (await run(0, range(30))).status == CrossCheckStatus(0, 0, 0)


async def test_after_a_refusal_what_needs_no_money_is_compared_and_the_first_reason_is_kept() -> None:
    seconds: list[float | Exception] = [BudgetError("the cap is reached"), 0.6, BudgetError("again")]
    async with CrossCheck(1) as cross_check:
        for number, second in enumerate(seconds):
            other = FixedMetric(second)
            await cross_checked(FixedMetric(0.9), other, cross_check).measure(spoken(number), 0.8)
            await cross_check.finish()
    assert [pair.second for pair in cross_check.pairs] == [0.6]
    assert cross_check.status == CrossCheckStatus(1, 3, 1, "the cap is reached")
    assert cross_check.notes == ()


async def test_a_slow_second_judge_delays_no_scenario_and_is_waited_for_at_the_end() -> None:
    answer, cross_check = asyncio.Event(), CrossCheck(1)
    async with cross_check:
        score = await cross_checked(FixedMetric(0.9), FixedMetric(0.6, after=answer), cross_check).measure(
            spoken(), 0.8
        )
        assert (score.value, cross_check.pairs) == (0.9, ())
        answer.set()
    assert [pair.second for pair in cross_check.pairs] == [0.6]


async def test_a_second_judge_that_never_answers_is_given_up_after_a_while() -> None:
    async with CrossCheck(1) as cross_check:
        never = FixedMetric(0.6, after=asyncio.Event())
        await cross_checked(FixedMetric(0.9), never, cross_check).measure(spoken(), 0.8)
        await cross_check.finish(0)
        assert cross_check.notes == ("1 cross-checks were not answered in time.",)


async def test_a_cancelled_run_leaves_no_check_behind() -> None:
    before = asyncio.all_tasks()

    async def cancelled() -> None:
        async with CrossCheck(1) as cross_check:
            never = FixedMetric(0.6, after=asyncio.Event())
            await cross_checked(FixedMetric(0.9), never, cross_check).measure(spoken(), 0.8)
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await cancelled()
    assert asyncio.all_tasks() == before


async def test_two_judges_score_by_the_same_metric() -> None:
    judges = [ScriptedJudge([JudgeScore(value, "x")], name) for value, name in ((0.9, "judge-1"), (0.5, "judge-2"))]
    first, second = (load_judged_metric("SwahiliFluencyMetric", judge) for judge in judges)
    cross_check = CrossCheck(1)
    assert (await checked(second, cross_check, first)).value == 0.9
    (pair,) = cross_check.pairs
    assert (pair.first, pair.second) == (0.9, 0.5)
    assert pair.metric.startswith("swahili_fluency:1.0.0+deepeval-")
    assert judges[0].asked[0].prompt == judges[1].asked[0].prompt
