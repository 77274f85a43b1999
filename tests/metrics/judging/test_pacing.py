import asyncio

import pytest

from ratiba_action.errors import JudgeError
from ratiba_action.metrics.judging.run_metric import RunMetric
from ratiba_action.model.measurement import Case, Score
from tests.support.cases import case, exchange

ONE = case(exchange("Habari", "Karibu"))


class TracedMetric:
    """Writes down when it begins and when its question is sent, one turn of the loop later."""

    name = "ToneMetric"
    version = "1.0.0"
    judged = True

    def __init__(self, log: list[str], answer: asyncio.Event, failure: Exception | None = None) -> None:
        self._log = log
        self._answer = answer
        self._failure = failure

    def evidence(self, case: Case) -> str:
        return case.scenario.id

    async def measure(self, case: Case, threshold: float) -> Score:
        assert case is ONE
        self._log.append("begun")
        await asyncio.sleep(0)
        self._log.append("sent")
        try:
            await self._answer.wait()
        except asyncio.CancelledError:
            self._log.append("cancelled")
            raise
        if self._failure:
            raise self._failure
        return Score(self.name, self.version, 0.9, threshold, judged=True)


def paced(metric: TracedMetric, turn: asyncio.Lock) -> RunMetric:
    return RunMetric(lambda _: metric, turn=turn)


async def test_each_question_is_sent_before_the_next_is_worded_and_all_wait_together() -> None:
    log: list[str] = []
    answer, turn = asyncio.Event(), asyncio.Lock()
    measuring = [asyncio.ensure_future(paced(TracedMetric(log, answer), turn).measure(ONE, 0.8)) for _ in range(5)]
    for _ in range(200):
        await asyncio.sleep(0)
    assert log == ["begun", "sent"] * 5
    assert not any(one.done() for one in measuring)
    answer.set()
    assert [score.value for score in await asyncio.gather(*measuring)] == [0.9] * 5


async def test_an_error_is_passed_on_and_the_next_has_its_turn() -> None:
    log: list[str] = []
    answer, turn = asyncio.Event(), asyncio.Lock()
    answer.set()
    with pytest.raises(JudgeError):
        await paced(TracedMetric(log, answer, JudgeError("garbage")), turn).measure(ONE, 0.8)
    assert (await paced(TracedMetric(log, answer), turn).measure(ONE, 0.8)).value == 0.9


@pytest.mark.parametrize(
    ("passes", "traced"), [(1, []), (2, ["begun"]), (40, ["begun", "sent", "cancelled"])], ids=["turn", "word", "wait"]
)
async def test_cancelling_cancels_what_is_measured_and_frees_the_turn(passes: int, traced: list[str]) -> None:
    log: list[str] = []
    turn = asyncio.Lock()
    measuring = asyncio.ensure_future(paced(TracedMetric(log, asyncio.Event()), turn).measure(ONE, 0.8))
    for _ in range(passes):
        await asyncio.sleep(0)
    measuring.cancel()
    with pytest.raises(asyncio.CancelledError):
        await measuring
    assert not turn.locked()
    assert log == traced
