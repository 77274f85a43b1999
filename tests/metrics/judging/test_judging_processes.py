"""What the gate makes of a process in which DeepEval measures, whatever that process says."""

import asyncio
import json
import pickle
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from ratiba_action.errors import BudgetError, ConfigurationError, JudgeError
from ratiba_action.metrics.judging.judging_processes import JudgingProcesses
from ratiba_action.metrics.judging.judging_server import LENGTH, read_frame
from ratiba_action.metrics.registry import load_judged_metric, question_stride
from ratiba_action.model.measurement import Answer, Question, Score
from ratiba_action.ports import JudgedMetric
from tests.support.judges import ObligingJudge
from tests.support.metric_samples import full_case

NAME = "ToxicityMetric"
Says = Callable[[int], list[Any]]
QUESTION = {"ordinal": 0, "prompt": "Is it?", "schema": None, "temperature": None}


class FarEnd:
    """A process that says what the test makes it say: after each message of the gate, the next of its lines."""

    def __init__(self, lines: list[Any]) -> None:
        self.lines, self.started = lines, 0
        self.cancelled = asyncio.Event()
        self._serving = set[asyncio.Task[None]]()

    async def connect(self) -> socket.socket:
        """Start another one."""
        self.started += 1
        near, far = socket.socketpair()
        self._serving.add(asyncio.create_task(self._serve(far)))
        return near

    async def _serve(self, far: socket.socket) -> None:
        reader, writer = await asyncio.open_unix_connection(sock=far)
        while (frame := await read_frame(reader)) is not None:
            if pickle.loads(frame)[0] == "cancel":  # noqa: S301 - the gate's own
                self.cancelled.set()
            if not self.lines:
                break
            line = self.lines.pop(0)
            content = line if isinstance(line, bytes) else json.dumps(line).encode()
            writer.write(LENGTH.pack(len(content)) + content)
        writer.close()


@asynccontextmanager
async def measured_by(lines: list[Any], judge: Any = None) -> AsyncIterator[tuple[JudgedMetric, FarEnd]]:
    """A metric whose process says these lines."""
    far, judge = FarEnd(lines), judge or ObligingJudge()
    processes = JudgingProcesses(far.connect)
    metric = load_judged_metric(NAME, judge)
    try:
        yield processes.metric(metric, {}, judge, question_stride(NAME)), far
    finally:
        await processes.close()


async def score_of(*lines: Any, judge: Any = None) -> Score:
    async with measured_by(list(lines), judge) as (metric, _):
        return await metric.measure(full_case(), 0.5)


async def test_a_score_is_the_metrics_own_with_the_gates_threshold() -> None:
    score = await score_of({"measurement": 0, "value": 0.25, "reason": "Rude."})
    metric = load_judged_metric(NAME, ObligingJudge())
    assert score == Score(NAME, metric.version, 0.25, 0.5, judged=True, reason="Rude.")


@pytest.mark.parametrize("value", [-0.1, 1.1, True, "1", None, [1], float("nan"), float("inf")])
async def test_what_is_no_score_from_0_to_1_never_becomes_one(value: Any) -> None:
    with pytest.raises(JudgeError, match="gave no score"):
        await score_of({"measurement": 0, "value": value, "reason": ""})


@pytest.mark.parametrize(
    "content",
    [
        b"no JSON",
        b"[]",
        b'{"measurement": []}',
        {"measurement": 0, "question": 0},
        {"measurement": 0, "question": 0, **QUESTION, "ordinal": -1},
        {"measurement": 0, "question": 0, **QUESTION, "ordinal": question_stride(NAME)},
        {"measurement": 0, "question": 0, **QUESTION, "ordinal": True},
        {"measurement": 0, "question": 0, **QUESTION, "prompt": 3},
        {"measurement": 0, "question": 0, **QUESTION, "schema": "all"},
        {"measurement": 0, "question": 0, **QUESTION, "temperature": "hot"},
        {"measurement": 0, "question": [], **QUESTION},
        {"measurement": 0, "question": 0, **QUESTION, "prompt": "a" * 1_000_001},
        b"[" * 100_000,
    ],
    ids=lambda content: str(content)[:60],
)
async def test_whatever_breaks_the_protocol_ends_the_process_and_no_judge_is_asked(content: Any) -> None:
    judge = ObligingJudge()
    with pytest.raises(JudgeError, match=f"The process in which {NAME} measures ended"):
        await score_of(content, judge=judge)
    assert judge.asked == []


async def test_a_frame_that_is_too_long_is_not_read() -> None:
    near, far = socket.socketpair()
    with near, far:
        far.sendall(LENGTH.pack(2**31))
        reader, writer = await asyncio.open_unix_connection(sock=near)
        with pytest.raises(ValueError, match="a frame of 2147483648 bytes"):
            await read_frame(reader)
        writer.close()


async def test_a_question_is_about_the_scenario_that_the_gate_sent_whatever_the_process_says() -> None:
    judge = ObligingJudge()
    asks = {"measurement": 0, "question": 0, **QUESTION, "scenario_id": "another", "metric": "FluencyMetric:1"}
    await score_of(asks, {"measurement": 0, "value": 1, "reason": ""}, judge=judge)
    metric = load_judged_metric(NAME, judge)
    [asked] = judge.asked
    assert asked.scenario_id == full_case().scenario.id
    assert asked.metric == "toxicity:1.0.0"
    assert asked.transcript == metric.evidence(full_case())


async def test_a_question_that_the_gate_cannot_answer_ends_the_measurement_with_the_gates_own_error() -> None:
    class Refusing(ObligingJudge):
        async def answer(self, question: Question) -> Answer:
            raise BudgetError(f"No money for {question.ordinal}.", "Raise it.")

    asks = [{"measurement": 0, "question": number, **QUESTION, "ordinal": number} for number in (0, 1)]
    with pytest.raises(BudgetError, match="No money for 1"):
        await score_of(*asks, {"measurement": 0, "refused": 1}, judge=Refusing())


async def test_no_score_stands_whose_question_was_not_answered() -> None:
    class Refusing(ObligingJudge):
        async def answer(self, question: Question) -> Answer:
            raise BudgetError("No money.", f"Raise it for {question.ordinal}.")

    asks = {"measurement": 0, "question": 0, **QUESTION}
    outcomes: list[dict[str, Any]] = [{"value": 1, "reason": ""}, {"error": "JudgeError"}, {"refused": []}]
    for outcome in outcomes:
        with pytest.raises(BudgetError, match="No money"):
            await score_of(asks, {"measurement": 0, **outcome}, judge=Refusing())


async def test_a_question_is_asked_once_so_that_a_measurement_costs_no_more_than_its_metric_says() -> None:
    judge = ObligingJudge()
    again = [{"measurement": 0, "question": number, **QUESTION} for number in (0, 1)]
    with pytest.raises(JudgeError, match="ended"):
        await score_of(*again, judge=judge)
    assert len(judge.asked) == 1


async def test_what_a_process_writes_is_text_of_a_limited_length() -> None:
    score = await score_of({"measurement": 0, "value": 1, "reason": "a" * 10_000_000 + "\ud800"})
    assert len(score.reason) == 20_000
    assert (await score_of(b'{"measurement": 0, "value": 1, "reason": "\\ud800"}')).reason == "?"


async def test_an_error_of_the_metric_keeps_its_kind_and_no_other_kind_can_be_made() -> None:
    error = {"measurement": 0, "error": "ConfigurationError", "problem": "Nothing to measure.", "remedy": "Reply."}
    with pytest.raises(ConfigurationError, match="Nothing to measure"):
        await score_of(error)
    with pytest.raises(JudgeError, match="gave no score"):
        await score_of({**error, "error": "BudgetError"})
    with pytest.raises(JudgeError, match="gave no score"):
        await score_of({"measurement": 0, "refused": 7})
    with pytest.raises(JudgeError, match="gave no score"):
        await score_of({"measurement": 0, "error": []})


async def test_after_a_process_has_ended_the_next_measurement_has_another_one() -> None:
    async with measured_by([]) as (metric, far):
        with pytest.raises(JudgeError, match="ended"):
            await metric.measure(full_case(), 0.5)
        far.lines = [{"measurement": 0, "value": 1, "reason": ""}]
        assert (await metric.measure(full_case(), 0.5)).value == 1
        assert far.started == 2


async def test_a_measurement_that_is_cancelled_is_cancelled_there_too_and_asks_no_more() -> None:
    class Slow(ObligingJudge):
        def __init__(self) -> None:
            super().__init__()
            self.began, self.ended = asyncio.Event(), False

        async def answer(self, question: Question) -> Answer:
            self.began.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.ended = True
            return await super().answer(question)

    judge = Slow()
    async with measured_by([{"measurement": 0, "question": 0, **QUESTION}], judge) as (metric, far):
        measuring = asyncio.create_task(metric.measure(full_case(), 0.5))
        await judge.began.wait()
        measuring.cancel()
        with pytest.raises(asyncio.CancelledError):
            await measuring
        await far.cancelled.wait()
    assert judge.ended


def test_a_metric_that_deepeval_does_not_word_stays_in_this_process() -> None:
    judge = ObligingJudge()
    metric = load_judged_metric("RefusalByJudgeMetric", judge)
    assert JudgingProcesses(FarEnd([]).connect).metric(metric, {}, judge, 1) is metric
