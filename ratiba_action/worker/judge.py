"""The judge of a repository's own metric: each question crosses to the gate, which calls the model and pays for it."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

from .lookup import AdapterError

if TYPE_CHECKING:
    import io
    import socket


class WorkerJudge:
    """Given to a metric that has a parameter ``judge``. Questions are sent one after another.

    Args:
        connection: where questions are written.
        lines: where answers are read.
        request: id of the request that the metric answers.
        allowed: the assertion says how many judge calls the metric makes.
    """

    def __init__(self, connection: socket.socket, lines: io.BufferedReader, request: int, *, allowed: bool) -> None:
        self._connection, self._lines, self._request, self.allowed = connection, lines, request, allowed
        self._one_at_a_time = threading.Lock()

    def score(self, prompt: str, schema: dict[str, Any] | None = None) -> dict[str, Any]:
        """The judge's answer.

        Args:
            prompt: the question, whole, with what is to be judged.
            schema: JSON Schema of the answer, an object; None for ``{"score": 0 to 1, "reason": text}``.

        Raises:
            AdapterError: the assertion does not say how many judge calls the metric makes.
            ConnectionError: the gate went away. What goes wrong with a judge call ends this process.
        """
        if not self.allowed:
            message = "it calls a judge: set `judge_calls` under `with`, the most judge calls of one measurement"
            raise AdapterError(message)
        frame = {"id": self._request, "judge": {"prompt": prompt, "schema": schema}}
        with self._one_at_a_time:
            self._connection.sendall(json.dumps(frame, allow_nan=False).encode("ascii") + b"\n")
            line = self._lines.readline()
        if not line:
            raise ConnectionError("the gate ended the measurement")
        answer: dict[str, Any] = json.loads(line)["judge"]
        return answer
