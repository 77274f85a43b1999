"""The processes that DeepEval's metrics run in: they hold no key, and ask the gate for each answer of a judge.

``main`` imports DeepEval once. Then each byte on its control socket carries the end of a channel, for which it forks a
process that measures until the channel ends. Frames are four bytes of length and as many of content: the gate's are
pickled tuples, a process's are JSON, since the gate trusts nothing that comes out of it.
"""

import asyncio
import gc
import importlib
import itertools
import json
import os
import pickle
import signal
import socket
import struct
import traceback
from collections.abc import Awaitable, Callable, Mapping
from typing import NoReturn

from ratiba_action.errors import ConfigurationError, JudgeError, NothingToMeasureError, RatibaError
from ratiba_action.metrics.judging.deepeval_bridge import load_deepeval_only
from ratiba_action.metrics.registry import load_judged_metric
from ratiba_action.model.measurement import Answer, Case, Question
from ratiba_action.model.values import JsonObject

READY = b"ready\n"
LENGTH = struct.Struct(">I")
MAX_FRAME = 16 * 1024 * 1024
ERRORS: Mapping[str, type[RatibaError]] = {
    kind.__name__: kind for kind in (ConfigurationError, JudgeError, NothingToMeasureError)
}
"""What a metric itself may raise; anything else that it raises is a ``JudgeError`` to the gate."""
_METRICS = ("coherence", "deepeval_metrics", "fluency", "g_eval", "rubric", "turn_by_turn", "whole_conversation")


def main(control: int) -> None:
    """Import DeepEval, say so, and serve until the gate is gone.

    Args:
        control: number of the socket.

    Raises:
        SystemExit: DeepEval cannot be imported, with how to install it.
    """
    gc.disable()  # nearly all that an import makes stays
    try:
        load_deepeval_only()
    except ConfigurationError as error:
        raise SystemExit(str(error)) from error
    for name in _METRICS:
        importlib.import_module(f"ratiba_action.metrics.{name}")
    gc.collect()
    gc.freeze()
    gc.enable()
    with socket.socket(fileno=control) as connection:
        connection.set_inheritable(False)
        connection.sendall(READY)
        serve(connection)


def serve(control: socket.socket) -> None:
    """Fork a process for each channel that arrives; returns when no more can come."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        order, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not order:
            return
        try:
            if os.fork() == 0:
                control.close()
                _measure_until_the_end(descriptors[0])
        except OSError as problem:  # the channel ends, and the gate asks again for the next measurement
            os.write(2, f"cannot fork: {problem}\n".encode())
        os.close(descriptors[0])


def _measure_until_the_end(descriptor: int) -> NoReturn:
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        asyncio.run(_Measuring().run(socket.socket(fileno=descriptor)))
        code = 0
    except BaseException:  # noqa: BLE001 - the process ends here, whatever it was
        traceback.print_exc()
    finally:
        os._exit(code)


class _Measuring:
    """Measures what is asked for on a channel, all at once."""

    def __init__(self) -> None:
        self._measuring: dict[int, asyncio.Task[None]] = {}
        self._asked: dict[tuple[int, int], asyncio.Future[Answer]] = {}

    async def run(self, channel: socket.socket) -> None:
        reader, self._writer = await asyncio.open_unix_connection(sock=channel)
        while (frame := await read_frame(reader)) is not None:
            kind, number, *given = pickle.loads(frame)  # noqa: S301 - the gate's own, on a channel of its own
            if kind == "measure":
                self._measuring[number] = asyncio.create_task(self._measure(number, *given))
            elif kind == "cancel" and number in self._measuring:
                self._measuring[number].cancel()
            elif kind == "answer":
                self._resolve(number, *given)

    def _resolve(self, number: int, question: int, answer: Answer | None) -> None:
        asked = self._asked.pop((number, question), None)
        if asked is None or asked.done():  # cancelled meanwhile
            return
        if answer is None:
            asked.set_exception(_UnansweredError(question))
        else:
            asked.set_result(answer)

    async def _measure(self, number: int, name: str, parameters: JsonObject, case: Case, model: str) -> None:
        try:
            metric = load_judged_metric(name, _FarJudge(model, number, self._ask), parameters)
            score = await metric.measure(case, 0.0)  # whether it passes is the gate's to say
            outcome: JsonObject = {"value": score.value, "reason": score.reason}
        except Exception as error:  # noqa: BLE001 - whatever DeepEval raises is this score's error
            outcome = _described(error, name, case)
        finally:
            del self._measuring[number]
        self._send({"measurement": number, **outcome})

    async def _ask(self, number: int, question: int, asked: Question) -> Answer:
        waiting: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._asked[number, question] = waiting
        body = {
            "ordinal": asked.ordinal,
            "prompt": asked.prompt,
            "schema": asked.schema,
            "temperature": asked.temperature,
        }
        self._send({"measurement": number, "question": question, **body})
        return await waiting

    def _send(self, body: JsonObject) -> None:
        content = json.dumps(body).encode()
        self._writer.write(LENGTH.pack(len(content)) + content)


class _FarJudge:
    """Implements ``Judge`` by the gate.

    Args:
        ask: sends a question with the numbers of its measurement and its own, and waits for the answer.
    """

    def __init__(self, model: str, number: int, ask: Callable[[int, int, Question], Awaitable[Answer]]) -> None:
        self.model = model
        self._number, self._ask = number, ask
        self._questions = itertools.count()

    async def answer(self, question: Question) -> Answer:
        return await self._ask(self._number, next(self._questions), question)


class _UnansweredError(RatibaError):
    """The gate has no answer; it knows why.

    Args:
        question: number of it.
    """

    def __init__(self, question: int) -> None:
        super().__init__("The gate has no answer.")
        self.question = question


def _described(error: Exception, name: str, case: Case) -> JsonObject:
    if isinstance(error, _UnansweredError):
        return {"refused": error.question}
    if isinstance(error, RatibaError) and type(error).__name__ in ERRORS:
        return {"error": type(error).__name__, "problem": error.problem, "remedy": error.remedy}
    problem = f"{name} of scenario {case.scenario.id!r} failed in DeepEval: {type(error).__name__}: {error}"
    return {"error": JudgeError.__name__, "problem": problem, "remedy": "Run the scenario again."}


async def read_frame(reader: asyncio.StreamReader) -> bytes | None:
    """The content of the next frame; None where there is none any more.

    Raises:
        ValueError: it is longer than ``MAX_FRAME`` bytes.
    """
    try:
        (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
        if length > MAX_FRAME:
            raise ValueError(f"a frame of {length} bytes")
        return await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
