"""Measurements begin one after the other, so that each has sent its question before the next is worded.

Wording a question takes milliseconds of CPU. Twenty conversations that are answered at the same moment would word
all their next questions first and send them together: the provider waits for them, then they for it, round after
round. Begun one by one they stay apart, and the CPU works while the provider does.
"""

import asyncio

from ratiba_action.core.model.measurement import Case, Score
from ratiba_action.ports import Metric

_PASSES = 20
"""Turns of the event loop after which a question has been reserved, written down and sent."""


class PacedMetric:
    """Implements ``Metric`` around another one.

    Args:
        metric: what is measured.
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
            measuring = asyncio.ensure_future(self._metric.measure(case, threshold))
            try:
                for _ in range(_PASSES):
                    if measuring.done():
                        break
                    await asyncio.sleep(0)
            except asyncio.CancelledError:
                measuring.cancel()
                await asyncio.gather(measuring, return_exceptions=True)
                raise
        return await measuring
