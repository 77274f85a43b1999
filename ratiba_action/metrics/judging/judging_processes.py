"""The gate's side of the processes that DeepEval's metrics run in: it sends cases, and answers for the judge.

What a process reports is untrusted: which scenario, metric and evidence a question is about is known here.
"""

import asyncio
import itertools
import json
import math
import pickle
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from ratiba_action.errors import JudgeError
from ratiba_action.metrics.judging.cache_key import metric_version
from ratiba_action.metrics.judging.judged_identity import BY_DEEPEVAL
from ratiba_action.metrics.judging.judging_server import ERRORS, LENGTH, read_frame
from ratiba_action.model.measurement import Answer, Case, Question, Score
from ratiba_action.model.values import JsonObject
from ratiba_action.ports import Judge, JudgedMetric
from ratiba_action.util.text import cut

_AGAIN = "Run the scenario again."
_MAX_PROMPT, _SHOWN = 1_000_000, 20_000
"""Characters of a prompt, and of a reason or an error that are kept."""


@dataclass(slots=True)
class _Measurement:
    """One measurement that a process makes.

    Args:
        first: its first question, not worded.
        ordinals: how many ordinals its questions may have, from the first one's on.
        problems: why a question was not answered, by its number.
        asked: ordinals of the questions so far.
    """

    first: Question
    ordinals: int
    judge: Judge
    done: "asyncio.Future[JsonObject]"
    asking: "set[asyncio.Task[None]]" = field(default_factory=set)
    problems: dict[int, Exception] = field(default_factory=dict)
    asked: set[int] = field(default_factory=set)

    def question(self, asked: JsonObject) -> Question:
        """What is asked, as the gate knows it.

        Raises:
            ValueError: a process may not ask it.
        """
        ordinal, prompt, schema, temperature = (asked[name] for name in ("ordinal", "prompt", "schema", "temperature"))
        usable = type(ordinal) is int and 0 <= ordinal - self.first.ordinal < self.ordinals
        if not usable or ordinal in self.asked:
            raise ValueError("a question of another measurement, or one that was asked")
        if not isinstance(prompt, str) or len(prompt) > _MAX_PROMPT or not isinstance(schema, dict | None):
            raise ValueError("a prompt that is no text of a usual length, or a schema that is none")
        if temperature is not None and type(temperature) not in (int, float):
            raise ValueError("a temperature that is no number")
        self.asked.add(ordinal)
        return replace(self.first, ordinal=ordinal, prompt=prompt, schema=schema, temperature=temperature)


class _Channel:
    """A process, until it ends."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._measurements: dict[int, _Measurement] = {}
        self._numbers = itertools.count()
        self._reading = asyncio.create_task(self._read())

    @property
    def ended(self) -> bool:
        """Whether it measures no more."""
        return self._reading.done()

    @property
    def load(self) -> int:
        """Measurements that it makes."""
        return len(self._measurements)

    async def measure(self, measurement: _Measurement, *what: Any) -> JsonObject:
        """The outcome of a measurement, as the process reports it."""
        number = next(self._numbers)
        self._measurements[number] = measurement
        try:
            self._send("measure", number, *what)
            return await measurement.done
        finally:
            del self._measurements[number]
            if not measurement.done.done() or measurement.done.cancelled():
                self._send("cancel", number)
                if not self._measurements:
                    self._reading.cancel()  # it may hang, and another one costs milliseconds
            for task in measurement.asking:
                task.cancel()
            await asyncio.gather(*measurement.asking, return_exceptions=True)

    async def close(self) -> None:
        """End the process."""
        self._reading.cancel()
        with suppress(asyncio.CancelledError):
            await self._reading

    def _send(self, *message: Any) -> None:
        content = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        self._writer.write(LENGTH.pack(len(content)) + content)

    async def _read(self) -> None:
        try:
            while (frame := await read_frame(self._reader)) is not None:
                self._take(json.loads(frame))
        except (ValueError, KeyError, TypeError, RecursionError):
            pass  # whatever breaks the protocol is ended
        finally:
            self._writer.close()
            for measurement in self._measurements.values():
                if not measurement.done.done():
                    measurement.done.set_result({"ended": True})

    def _take(self, body: JsonObject) -> None:
        measurement = self._measurements.get(body["measurement"])
        if measurement is None or measurement.done.done():  # cancelled meanwhile
            return
        if "question" not in body:
            measurement.done.set_result(body)
            return
        number = body["question"]
        if type(number) is not int:
            raise ValueError("a question without a number")
        answering = self._answer(body["measurement"], number, measurement, measurement.question(body))
        measurement.asking.add(asyncio.create_task(answering))

    async def _answer(self, number: int, asked: int, measurement: _Measurement, question: Question) -> None:
        answer: Answer | None = None
        try:
            answer = await measurement.judge.answer(question)
        except Exception as error:  # noqa: BLE001 - raised again where the measurement is waited for
            measurement.problems[asked] = error
        self._send("answer", number, asked, answer)


class JudgingProcesses:
    """Processes that DeepEval's metrics run in, each started when it is first needed.

    Args:
        connect: starts one; gives the gate's end of its channel.
        maximum: how many work beside each other.
    """

    def __init__(self, connect: Callable[[], Awaitable[socket.socket]], maximum: int = 1) -> None:
        self._connect, self._maximum = connect, maximum
        self._channels: list[_Channel] = []
        self._connecting = asyncio.Lock()

    def metric(self, metric: JudgedMetric, parameters: JsonObject, judge: Judge, ordinals: int) -> JudgedMetric:
        """The same metric, measured in a process where DeepEval words its questions.

        Args:
            metric: as the gate knows it.
            parameters: of the assertion.
            judge: answers its questions.
            ordinals: see ``registry.question_stride``.
        """
        if BY_DEEPEVAL not in metric.version:
            return metric
        return _RemoteMetric(metric, parameters, judge, ordinals, self._measure)

    async def start(self) -> None:
        """Start the first process, so that it can measure at once.

        Raises:
            InfrastructureError: it could not be started.
        """
        await self._channel()

    async def close(self) -> None:
        """End every process; may be called twice."""
        await asyncio.gather(*(channel.close() for channel in self._channels))
        self._channels = []

    async def _measure(self, measurement: _Measurement, *what: Any) -> JsonObject:
        return await (await self._channel()).measure(measurement, *what)

    async def _channel(self) -> _Channel:
        """The process with the fewest measurements; another one where all are busy and there may be more."""
        async with self._connecting:
            self._channels = [channel for channel in self._channels if not channel.ended]
            idle = min(self._channels, key=lambda channel: channel.load, default=None)
            if idle is not None and (not idle.load or len(self._channels) >= self._maximum):
                return idle
            channel = _Channel(*await asyncio.open_unix_connection(sock=await self._connect()))
            self._channels.append(channel)
            return channel


class _RemoteMetric:
    """Implements ``JudgedMetric`` by a process."""

    def __init__(
        self,
        metric: JudgedMetric,
        parameters: JsonObject,
        judge: Judge,
        ordinals: int,
        measure: Callable[..., Awaitable[JsonObject]],
    ) -> None:
        self.name, self.version, self.judged = metric.name, metric.version, metric.judged
        self._metric, self._parameters, self._judge = metric, parameters, judge
        self._ordinals, self._measure = ordinals, measure

    def evidence(self, case: Case) -> str:
        """See ``JudgedMetric``."""
        return self._metric.evidence(case)

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score one case in a process; see ``Metric.measure``.

        Raises:
            JudgeError: besides, the process ended, or reported something else than a score.
        """
        asks = metric_version(self.name, self.version.partition(BY_DEEPEVAL)[0])
        first = case.question(asks, self.evidence(case))
        measurement = _Measurement(first, self._ordinals, self._judge, asyncio.get_running_loop().create_future())
        what = (self.name, dict(self._parameters), case, self._judge.model)
        outcome = await self._measure(measurement, *what)
        if measurement.problems:  # no score stands without an answer that was asked for
            refused = outcome.get("refused")
            number = refused if type(refused) is int and refused in measurement.problems else min(measurement.problems)
            raise measurement.problems[number]
        value, error = outcome.get("value"), outcome.get("error")
        reason, problem, remedy = (_text(outcome.get(name)) for name in ("reason", "problem", "remedy"))
        if isinstance(error, str) and error in ERRORS:
            raise ERRORS[error](problem, remedy)
        if type(value) not in (int, float) or not 0 <= (value or 0) <= 1 or not math.isfinite(value or 0):
            how = "ended" if outcome.get("ended") else "gave no score"
            raise JudgeError(
                f"The process in which {self.name} measures {how}, for scenario {case.scenario.id!r}.", _AGAIN
            )
        return Score(self.name, self.version, float(value or 0), threshold, judged=True, reason=reason)


def _text(value: object) -> str:
    """What a process wrote, as text of a limited length that can be stored."""
    return cut(str(value), _SHOWN).encode("utf-8", "replace").decode()
