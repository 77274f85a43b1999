"""A second judge scores a sample of what the first one scored; the verdict never depends on it."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Self

from ratiba_action.errors import BudgetError, RatibaError
from ratiba_action.metrics.judging.cache_key import metric_version
from ratiba_action.model.canonical import in_sample
from ratiba_action.model.comparison import CrossCheckStatus, ScorePair
from ratiba_action.model.measurement import Case, Score
from ratiba_action.ports import Metric


class CrossCheck:
    """The cross-check of one run; an async context manager that waits for its last answers when it is left in order.

    Scores are checked beside the run: a slow or failing second judge delays no scenario. When the run is cancelled,
    so are the checks in flight.

    A refused call of the second judge ends nothing here: what is settled or in the cache is compared all the same,
    and whoever pays for the calls refuses the others.

    Args:
        share: of the judged scores, 0 to 1, chosen by the hash of scenario, metric and transcript.
    """

    def __init__(self, share: float = 0.10) -> None:
        self._share = share
        self._sampled = 0
        self._cached = 0
        self._stopped = ""
        self._pairs: list[ScorePair] = []
        self._notes: list[str] = []
        self._running: set[asyncio.Task[None]] = set()

    @property
    def pairs(self) -> tuple[ScorePair, ...]:
        """What both judges scored, in an order that does not depend on who answered first."""
        return tuple(sorted(self._pairs, key=lambda pair: (pair.scenario_id, pair.metric, pair.transcript)))

    @property
    def notes(self) -> tuple[str, ...]:
        """Why single checks failed, sorted."""
        return tuple(sorted(self._notes))

    @property
    def status(self) -> CrossCheckStatus:
        """What became of it so far."""
        return CrossCheckStatus(self._share, self._sampled, len(self._pairs), self._stopped, self._cached)

    def offer(self, score: Score, case: Case, shown: str, second: Callable[[], Metric]) -> None:
        """Have a score checked if it falls into the sample; returns at once.

        Args:
            shown: digest of what the judge was shown of it.
            second: makes the metric that calls the second judge.
        """
        name = metric_version(score.metric, score.version)
        if not in_sample(self._share, case.scenario.id, name, shown):
            return
        self._sampled += 1
        pair = ScorePair(case.scenario.id, name, shown, score.threshold, score.value, score.value)
        task = asyncio.ensure_future(self._check(pair, case, second()))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def finish(self, seconds: float | None = None) -> None:
        """Wait for the checks in flight; those that take longer than ``seconds`` are cancelled and noted."""
        running = tuple(self._running)
        if not running:
            return
        _, late = await asyncio.wait(running, timeout=seconds)
        await _cancel(late)
        if late:
            self._notes.append(f"{len(late)} cross-checks were not answered in time.")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            await self.finish()
        await _cancel(set(self._running))

    async def _check(self, pair: ScorePair, case: Case, second: Metric) -> None:
        """Call the second judge; ``pair.second`` is not known yet."""
        try:
            other = await second.measure(case, pair.threshold)
        except BudgetError as error:
            self._stopped = self._stopped or str(error)
        except Exception as error:  # noqa: BLE001 - whatever breaks here must not reach a scenario
            problem = str(error) if isinstance(error, RatibaError) else f"{type(error).__name__}: {error}"
            self._notes.append(f"The cross-check of {pair.metric} for scenario {pair.scenario_id!r} failed: {problem}")
        else:
            self._pairs.append(replace(pair, second=other.value))
            self._cached += other.cached


async def _cancel(tasks: set[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
