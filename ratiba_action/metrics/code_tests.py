"""Does the code of a reply pass the scenario's tests? It runs in the worker, never in the gate."""

from typing import Annotated, Any

from pydantic import Field

from ratiba_action.errors import ConfigurationError, WorkerError
from ratiba_action.metrics.python_source import code_blocks
from ratiba_action.model.measurement import Case, Score
from ratiba_action.ports import CustomCode
from ratiba_action.util.text import clip
from ratiba_action.util.validation import StrictModel

__version__ = "1.0.0"

RUNNER = "ratiba_worker.code_tests:run_test"
"""The worker's own function; a process of its own for each test, bounded in time and memory."""

_SHOWN = 3


class CodeTestsMetric:
    """Implements ``CodeMetric`` without a judge: the share of the tests that the code passes.

    The code is that of the last reply with a block of Python; without one the score is 0.

    Args:
        code: runs them; given by the runner.
    """

    name = "CodeTestsMetric"
    version = __version__
    judged = False

    class Parameters(StrictModel):
        """What the scenario gives it."""

        tests: Annotated[
            list[Annotated[str, Field(min_length=1, max_length=20_000)]],
            Field(min_length=1, max_length=50, description="Python statements; each entry is one test"),
        ]
        seconds: Annotated[float, Field(gt=0, le=30, allow_inf_nan=False, description="time limit of one test")] = 5.0
        memory_mb: Annotated[int, Field(ge=32, le=2_048, description="memory limit of one test")] = 256

    def __init__(self, parameters: Parameters, code: CustomCode | None = None) -> None:
        self._parameters = parameters
        self._code = code

    def with_code(self, code: CustomCode) -> "CodeTestsMetric":
        """The same metric, with somebody to run the tests."""
        return CodeTestsMetric(self._parameters, code)

    async def measure(self, case: Case, threshold: float) -> Score:
        """Run every test against the code.

        Raises:
            ConfigurationError: nobody runs code here, or the worker could not.
        """
        code = _last_code(case)
        if code is None:
            reason = "no reply holds a block of python"
            return Score(self.name, self.version, 0.0, threshold, judged=False, reason=reason)
        failures = []
        for number, test in enumerate(self._parameters.tests, 1):
            failure = await self._failure(code, test)
            failures += [f"test {number}: {clip(failure)}"] if failure else []
        total = len(self._parameters.tests)
        reason = "; ".join(failures[:_SHOWN]) or f"{total} of {total} tests pass"
        return Score(self.name, self.version, 1 - len(failures) / total, threshold, judged=False, reason=reason)

    async def _failure(self, code: str, test: str) -> str:
        """Why a test fails, empty when it passes."""
        if self._code is None:
            raise ConfigurationError(f"{self.name} cannot run code with this system.", "Remove the metric.")
        bounds = {"seconds": self._parameters.seconds, "memory_mb": self._parameters.memory_mb}
        try:
            answer: Any = await self._code.run(RUNNER, {"code": code, "test": test, **bounds})
        except WorkerError as error:
            raise ConfigurationError(f"{self.name} could not run a test: {error.problem}", error.remedy) from error
        if not isinstance(answer, dict) or not isinstance(answer.get("failure"), str):
            raise ConfigurationError(f"{self.name} was answered {answer!r:.120}.", "The worker is not the gate's own.")
        return str(answer["failure"])


def _last_code(case: Case) -> str | None:
    for exchange in reversed(case.transcript.exchanges):
        blocks = code_blocks(exchange.reply.text, "python")
        if blocks:
            return "\n\n".join(blocks)
    return None
