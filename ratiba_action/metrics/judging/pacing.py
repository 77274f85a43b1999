"""One measurement begins per pass of the event loop, so that each has sent its question before the next is worded.

Wording a question takes milliseconds of CPU. Twenty conversations that are answered at the same moment would word
all their next questions first and send them together: the provider waits for them, then they for it, round after
round. Begun one by one they stay apart, and the CPU works while the provider does.
"""

import asyncio

from ratiba_action.model.measurement import Case, Score
from ratiba_action.ports import Metric


class PacedMetric:
    """Implements ``Metric`` around another one.

    Args:
        metric: what is measured. It should reach the wire without giving way before; where it cannot, as with a
            shared ledger, questions are sent later and nothing else changes.
        turn: one lock for the whole run.
    """

    def __init__(self, metric: Metric, turn: asyncio.Lock) -> None:
        self.name = metric.name
        self.version = metric.version
        self.judged: bool = metric.judged
        self._metric = metric
        self._turn = turn

    async def measure(self, case: Case, threshold: float) -> Score:
        """The other metric's score.

        Raises:
            JudgeError: a judge answered outside its contract.
            RecordingError: replaying, and no recording fits.
            BudgetError: a judge's call was refused.
        """
        async with self._turn:
            # The HTTP client writes in a task of its own, which this lets run before the next question is worded.
            await asyncio.sleep(0)
        return await self._metric.measure(case, threshold)
