"""Where ports meet adapters: the one module that knows which class stands behind which protocol.

Everything heavy is imported here, inside functions, so that ``decide`` and a skipped run never pay for it.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, MutableMapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from ratiba_action.configuration import Configuration
from ratiba_action.core.budget import Ledger
from ratiba_action.core.model.conversation import Usage
from ratiba_action.core.model.plan import Arm
from ratiba_action.core.model.scenario import Scenario
from ratiba_action.core.pricing import parse_model_rates
from ratiba_action.metrics.registry import is_judged, load_metric
from ratiba_action.ports import Judge, Metric, ModelGateway, Prices, Progress, SystemUnderTest, TenantProvisioner
from ratiba_action.recordings.folder import model_recordings, recorded_models
from ratiba_action.recordings.lines import JudgeRecording, Recording
from ratiba_action.runner import Bench


@dataclass(frozen=True, slots=True)
class Workshop:
    """What a run works with.

    Args:
        environment: the process's own; DeepEval's settings are written to it before it is loaded.
        scratch: a folder outside the workspace, removed when the run ends.
        cache: folder of the judge cache; None to judge everything anew.
        warn: told what a reader should know and what does not change the verdict.
        report_dir: as the settings name it; the system under test must not write there.
    """

    environment: MutableMapping[str, str]
    scratch: Path
    cache: Path | None
    database_url: str
    configuration: Configuration
    ledger: Ledger
    progress: Progress
    warn: Callable[[str], None]
    concurrency: int = 4
    deadline: float | None = None
    report_dir: str = "ratiba-report"


@dataclass(frozen=True, slots=True)
class Materials:
    """What a run evaluates; ``recordings`` are by scenario id."""

    arm: Arm
    scenarios: Sequence[Scenario]
    recordings: Mapping[str, Sequence[Recording]]
    prompt_versions: tuple[str, ...]

    @property
    def judged(self) -> bool:
        """Whether any scenario needs a judge."""
        return any(is_judged(entry.metric) for scenario in self.scenarios for entry in scenario.assertions)


@asynccontextmanager
async def open_bench(workshop: Workshop, materials: Materials) -> AsyncIterator[Bench]:
    """Start everything that a replayed run needs, and end it on every way out.

    The database, the worker and DeepEval start beside each other: each takes about a second.

    Raises:
        InfrastructureError: one of them could not be started.
        ConfigurationError: a model has no price, or the database's address cannot work where the gate runs.
    """
    from ratiba_action.tenancy.reachability import require_reachable  # noqa: PLC0415 - not needed to decide

    require_reachable(workshop.database_url, workshop.environment.get("RATIBA_CONTAINER_NETWORK", ""))
    prices = price_list(workshop.configuration)
    judge = workshop.configuration.judge
    judging = {(judge.model, judge.provider)} if materials.judged else set()
    prices.require(recorded_models(materials.recordings) | judging)
    async with AsyncExitStack() as stack:
        system = open_system(workshop, materials.arm)
        stack.push_async_callback(system.close)
        gateway = await stack.enter_async_context(_replay_gateway(workshop, materials, prices))
        tenants, *_ = await asyncio.gather(
            stack.enter_async_context(open_tenants(workshop)), system.start(), _load_judging(workshop, materials)
        )
        await tenants.prepare(materials.arm, system.migrate)
        for warning in getattr(system, "warnings", ()):
            workshop.warn(warning)
        yield Bench(
            systems={materials.arm.name: system},
            tenants=tenants,
            gateway=gateway,
            metric=_metrics(workshop, _replay_judge(workshop, materials, prices)),
            rows=workshop.configuration.rows,
            prompt_versions={materials.arm.name: materials.prompt_versions},
            progress=workshop.progress,
            concurrency=workshop.concurrency,
            deadline=workshop.deadline,
        )


def price_list(configuration: Configuration) -> Prices:
    """List prices, with the configuration's own where it gives them.

    Raises:
        ConfigurationError: a configured price is wrong.
    """
    from ratiba_action.prices import PriceList  # noqa: PLC0415 - loads the price data

    given = {model: price.model_dump(exclude_none=True) for model, price in configuration.prices.items()}
    return PriceList(parse_model_rates(given))


@asynccontextmanager
async def open_tenants(workshop: Workshop) -> AsyncIterator[TenantProvisioner]:
    """Tenants on the given server, or on one that is started for the run."""
    from ratiba_action.tenancy.provisioner import PostgresTenantProvisioner  # noqa: PLC0415 - loads psycopg
    from ratiba_action.tenancy.server import choose_server  # noqa: PLC0415 - the same

    provisioner = PostgresTenantProvisioner(choose_server(workshop.database_url or None), run_id=secrets.token_hex(8))
    try:
        await provisioner.start()
        yield provisioner
    finally:
        await provisioner.close()
        for warning in provisioner.warnings:
            workshop.warn(warning)


def open_system(workshop: Workshop, arm: Arm) -> SystemUnderTest:
    """The arm's system under test, not started."""
    from ratiba_action.systems.private_places import private_places  # noqa: PLC0415 - not needed to decide
    from ratiba_action.systems.worker_system import WorkerSystem  # noqa: PLC0415 - not needed to decide

    described = workshop.configuration.system
    return WorkerSystem(
        Path(arm.root) / described.root,
        described.adapter,
        inherited=workshop.environment,
        python=described.python,
        setup=described.setup,
        preload=described.preload,
        environment=described.environment,
        turn_timeout=described.turn_timeout_seconds,
        setup_timeout=described.setup_timeout_seconds,
        scratch=workshop.scratch,
        tracked_only=arm.commit is not None,
        private=private_places(workshop.environment, workshop.report_dir),
    )


@asynccontextmanager
async def _replay_gateway(workshop: Workshop, materials: Materials, prices: Prices) -> AsyncIterator[ModelGateway]:
    from ratiba_action.gateway.replay_answers import ReplayAnswers  # noqa: PLC0415 - not needed to decide
    from ratiba_action.gateway.server import Gateway  # noqa: PLC0415 - loads aiohttp

    answers = model_recordings(materials.recordings)
    judge = workshop.configuration.judge.model
    gateway = Gateway(ReplayAnswers(answers, workshop.ledger, prices), forbidden_models=[judge])
    try:
        await gateway.start()
        yield gateway
    finally:
        await gateway.close()


async def _load_judging(workshop: Workshop, materials: Materials) -> None:
    """Import DeepEval in a thread, and only when something is judged."""
    if not materials.judged:
        return
    from ratiba_action.judging.deepeval_bridge import load_deepeval, prepare_deepeval  # noqa: PLC0415 - on demand

    prepare_deepeval(workshop.environment, workshop.scratch / "deepeval")
    await asyncio.to_thread(load_deepeval)


def _replay_judge(workshop: Workshop, materials: Materials, prices: Prices) -> Judge:
    from ratiba_action.judging.booked_judge import BookedReplayJudge  # noqa: PLC0415 - on demand
    from ratiba_action.judging.replay_judge import RecordedGrade, ReplayJudge  # noqa: PLC0415 - on demand

    described = workshop.configuration.judge
    lines = [line for lines in materials.recordings.values() for line in lines if isinstance(line, JudgeRecording)]
    recorded = {line.key: RecordedGrade(line.score, line.reason) for line in lines}
    usages = {line.key: Usage(line.usage["input_tokens"], line.usage["output_tokens"]) for line in lines}
    replay = ReplayJudge(described.model, recorded)
    return BookedReplayJudge(replay, described.provider, usages, workshop.ledger, prices)


def _metrics(workshop: Workshop, judge: Judge) -> Callable[[str], Metric]:
    """A fresh metric by name; judged ones behind the cache when there is one."""
    from ratiba_action.judging.cache import JudgeCache  # noqa: PLC0415 - on demand
    from ratiba_action.judging.cached_metric import CachedMetric  # noqa: PLC0415 - on demand

    cache = JudgeCache(workshop.cache, workshop.warn) if workshop.cache is not None else None

    def fresh(name: str) -> Metric:
        metric = load_metric(name, judge)
        if cache is None or not metric.judged:
            return metric
        return CachedMetric(metric, cache, judge.model)

    return fresh
