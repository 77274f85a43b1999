"""What a judge call costs the gate's own process, beside a bare loop of the same HTTP client.

The metrics are those that ``Judging`` makes for a live run, with all that is around and below them: pacing,
cross-check, cache, votes, DeepEval, budget, journal, HTTP. The stand-in for the providers runs in a process of its own.
Run: ``python -m benchmarks.judging``.
"""

import asyncio
import math
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path

import aiohttp

from benchmarks.provider_stand_in import stand_in
from ratiba_action.config.configuration import Configuration, CrossCheckBlock, JudgeBlock
from ratiba_action.config.system_block import SystemBlock
from ratiba_action.llm.providers.client import ProviderClient, ProviderRoute
from ratiba_action.llm.providers.metered import MeteredCalls
from ratiba_action.metrics.judging.deepeval_bridge import load_deepeval
from ratiba_action.model.measurement import Case
from ratiba_action.model.model_request import PaidAnswer, PaidRequest
from ratiba_action.model.plan import Arm, Trial
from ratiba_action.model.scenario import Assertion
from ratiba_action.money.admissions import Admissions
from ratiba_action.money.budget import Ledger
from ratiba_action.money.journal import begin_journal
from ratiba_action.money.prices import PriceList
from ratiba_action.money.reservations import RunReservations
from ratiba_action.ports import PaidCalls
from ratiba_action.run.inputs import ArmInputs, RunLog
from ratiba_action.run.judging import Judging
from ratiba_action.run.paid_run import PaidRun
from tests.support.cases import case, exchange
from tests.support.deepeval_settings import configure_deepeval
from tests.support.progress import RecordedProgress

CPU_LIMIT = 4.0  # milliseconds a judge call above the bare loop
GROWTH_LIMIT = 1.25  # of the cost a call at four times the cases
IDEAL_LIMIT = 1.10  # of the time that the provider's latency alone takes
LATENCY = 0.2  # seconds
CONCURRENCY = 20
TURNS = 4
SECOND = ("gpt-5.6", "openai")
ARM = Arm("head", "/")


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one loop: seconds of this process's CPU, seconds on the clock, calls that were answered."""

    cpu: float
    wall: float
    calls: int

    @property
    def milliseconds(self) -> float:
        """CPU a call."""
        return self.cpu / self.calls * 1_000


async def timed(work: Callable[[], Awaitable[int]]) -> Figures:
    """Run and time; ``work`` returns how many calls it made."""
    cpu, wall = time.process_time(), time.perf_counter()
    calls = await work()
    return Figures(time.process_time() - cpu, time.perf_counter() - wall, calls)


async def at_once(concurrency: int, jobs: Sequence[Callable[[], Awaitable[object]]]) -> None:
    """Do every job, so many at a time."""
    waiting = iter(jobs)

    async def work() -> None:
        for job in waiting:
            await job()

    await asyncio.gather(*(work() for _ in range(concurrency)))


def conversations(count: int) -> tuple[Case, ...]:
    """So many cases with four turns each, all different."""
    return tuple(
        case(
            *(
                exchange(
                    f"Habari, naomba kuhifadhi massage kesho saa nane mchana ({number}.{turn})",
                    f"Sawa Wanjiku, kesho saa nane mchana (14:00) iko wazi. Nikuwekee? ({number}.{turn})",
                )
                for turn in range(TURNS)
            ),
            scenario_id=f"case_{number}",
        )
        for number in range(count)
    )


class KeepingJudgeCalls:
    """Implements ``PaidCalls`` around others and keeps what was sent, for the bare loop to send the same."""

    def __init__(self, calls: PaidCalls, sent: list[PaidRequest]) -> None:
        self._calls = calls
        self._sent = sent

    async def call(self, request: PaidRequest) -> PaidAnswer:
        """Pass on."""
        self._sent.append(request)
        return await self._calls.call(request)


@asynccontextmanager
async def live_grading(
    url: str, folder: Path, cases: Sequence[Case], share: float, sent: list[PaidRequest]
) -> AsyncIterator[Judging]:
    """Grading as a live run has it: cache, budget, journal, one HTTP client."""
    ledger, prices = Ledger(Decimal(1_000_000)), PriceList()
    journal = begin_journal(folder / "journal.jsonl", "benchmark", Path(__file__).parents[1])
    reservations = RunReservations(ledger, journal, warn=print)
    trials = tuple(Trial(entry.scenario, ARM) for entry in cases)
    admissions = Admissions(trials, lambda _: Decimal("0.10"), ledger, journal)
    routes = (ProviderRoute("anthropic", "nobodys-key", url), ProviderRoute("openai", "nobodys-key", f"{url}/v1"))
    judge = JudgeBlock(cross_check=CrossCheckBlock(share=share))
    configuration = Configuration(system=SystemBlock(adapter="salon:open_system"), judge=judge)
    arm = ArmInputs(ARM, configuration, [entry.scenario for entry in cases])
    try:
        async with ProviderClient(routes, {}) as client:
            calls = KeepingJudgeCalls(MeteredCalls(client, reservations, prices, concurrency=CONCURRENCY), sent)
            paid = PaidRun(calls, reservations, admissions, None)
            yield Judging(
                arm,
                prices,
                paid,
                second=SECOND,
                fallback=False,
                cache=folder / "cache",
                ledger=ledger,
                log=RunLog(RecordedProgress()),
            )
    finally:
        journal.close()


async def judged(url: str, cases: Sequence[Case], share: float) -> tuple[Figures, list[PaidRequest]]:
    """Score every case with a live judge."""
    sent: list[PaidRequest] = []
    with tempfile.TemporaryDirectory() as name:
        async with live_grading(url, Path(name), cases, share, sent) as grading, grading.cross_check:

            async def work() -> int:
                await at_once(CONCURRENCY, [partial(_measured, grading, entry) for entry in cases])
                await grading.cross_check.finish()
                return len(sent)

            figures = await timed(work)
        assert grading.cross_check.status.compared == len(sent) - len(cases)
    return figures, sent


async def _measured(grading: Judging, case: Case) -> None:
    score = await grading.metric(Assertion("SwahiliFluencyMetric", 0.8)).measure(case, 0.8)
    assert score.passed
    assert not score.votes


async def bare(url: str, sent: Sequence[PaidRequest]) -> Figures:
    """Send the same bodies with nothing around the HTTP client."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def post(request: PaidRequest) -> None:
            async with session.post(f"{url}/v1/{request.endpoint}", json=request.body) as response:
                assert (await response.json())["usage"]

        async def work() -> int:
            await at_once(CONCURRENCY, [partial(post, request) for request in sent])
            return len(sent)

        return await timed(work)


async def cpu_is_within_limits() -> bool:
    """Whether a judge call costs little, and no more the more cases there are."""
    extras: list[float] = []
    with stand_in(0) as url:
        _, warm = await judged(url, conversations(50), 1)
        await bare(url, warm)
        for count in (500, 2_000):
            ours, sent = await judged(url, conversations(count), 0.10)
            plain = await bare(url, sent)
            extras.append(ours.milliseconds - plain.milliseconds)
            print(
                f"{count} cases of {TURNS} turns, {ours.calls} judge calls: {ours.milliseconds:.2f} ms CPU a call, "
                f"bare loop {plain.milliseconds:.2f} ms, so {extras[-1]:.2f} ms above it, limit {CPU_LIMIT:.0f} ms"
            )
    growth = extras[1] / extras[0]
    print(f"four times the cases cost {growth:.2f} times as much a call, limit {GROWTH_LIMIT}")
    return max(extras) <= CPU_LIMIT and growth <= GROWTH_LIMIT


async def time_is_within_limits() -> bool:
    """Whether the phase takes hardly longer than the provider."""
    with stand_in(LATENCY) as url:
        ours, sent = await judged(url, conversations(500), 0.10)
        plain = await bare(url, sent)
    ideal = math.ceil(ours.calls / CONCURRENCY) * LATENCY
    print(
        f"{ours.calls} judge calls of {LATENCY * 1_000:.0f} ms, {CONCURRENCY} at a time: {ours.wall:.2f} s, bare loop "
        f"{plain.wall:.2f} s, ideal {ideal:.2f} s: {ours.wall / ideal:.3f} of it, limit {IDEAL_LIMIT}"
    )
    return ours.wall <= IDEAL_LIMIT * ideal


def main() -> int:
    """Print all figures; 1 when one is beyond its limit."""
    with tempfile.TemporaryDirectory() as home:
        configure_deepeval(os.environ, Path(home))
        load_deepeval()
        within = [asyncio.run(cpu_is_within_limits()), asyncio.run(time_is_within_limits())]
    return 0 if all(within) else 1


if __name__ == "__main__":
    sys.exit(main())
