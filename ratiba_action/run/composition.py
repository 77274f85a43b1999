"""Where ports meet adapters: the one module that knows which class stands behind which protocol.

Everything heavy is imported here, inside functions, so that ``decide`` and a skipped run never pay for it.
"""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ratiba_action.checks.custom_code import needs_custom_code
from ratiba_action.checks.turn_checks import DetectLanguage
from ratiba_action.config.configuration import Configuration
from ratiba_action.model.note import prefixed
from ratiba_action.model.plan import BASE, Arm
from ratiba_action.model.scenario import Scenario
from ratiba_action.money.pricing import parse_model_rates
from ratiba_action.ports import Prices, TenantProvisioner
from ratiba_action.run.aftermath import Conclude
from ratiba_action.run.answering import Answering, open_answering
from ratiba_action.run.bench import Bench
from ratiba_action.run.plan_loop import Arms
from ratiba_action.run.workshop import BaseOffer, Materials, Workshop
from ratiba_action.util.language_detection import LanguageDetection
from ratiba_action.util.persisted_credentials import in_job, persisted_credentials
from ratiba_action.verdict.trials import stop_reason

if TYPE_CHECKING:
    from ratiba_action.systems.choose import Surroundings
    from ratiba_action.systems.replay_system import ReplaySystem
    from ratiba_action.systems.setup_command import SharedSetups
    from ratiba_action.systems.worker_system import WorkerSystem


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run whose parts are started.

    Args:
        altered: a path of what set-up made for all sides of the run that one of them has changed; empty where none has.
    """

    arms: Arms
    conclude: Conclude
    altered: Callable[[], Awaitable[str]]


@asynccontextmanager
async def open_run(
    workshop: Workshop, materials: Materials, base: BaseOffer | str = "there is no base to compare with"
) -> AsyncIterator[OpenRun]:
    """Start everything that a run needs, and end it on every way out; the base when a plan asks for it.

    The database, the worker and DeepEval start beside each other: each takes about a second.

    Raises:
        InfrastructureError: one of them could not be started.
        ConfigurationError: a model has no price, or the database's address cannot work where the gate runs.
    """
    from ratiba_action.systems.setup_command import SharedSetups  # noqa: PLC0415 - not needed to decide

    ledger_url = workshop.payment.ledger_url if workshop.payment else ""
    database_url = workshop.database_url if workshop.configuration.system.has_database else ""
    require_reachable_servers(workshop.environment, database_url, ledger_url)
    prices = price_list(workshop.configuration)
    setups = SharedSetups()
    async with AsyncExitStack() as stack:
        system, custom = await _open_code(stack, workshop, materials, setups)
        answering = await stack.enter_async_context(open_answering(workshop, materials, prices))
        tenants, *_ = await asyncio.gather(
            stack.enter_async_context(open_tenants(workshop)),
            _start_all(system, *custom.values()),
            load_judging(workshop, materials),
        )
        await tenants.prepare(materials.arm, system.migrate)
        for warning in getattr(system, "warnings", ()):
            workshop.warn(warning)
        bench = Bench(
            systems={materials.arm.name: system},
            tenants=tenants,
            gateway=answering.gateway,
            metric=answering.metric,
            rows={materials.arm.name: workshop.configuration.rows},
            prompt_versions={materials.arm.name: materials.prompt_versions},
            progress=workshop.progress,
            concurrency=workshop.concurrency,
            deadline=workshop.deadline,
            admit=answering.admit,
            turns=answering.turns,
            custom=custom,
            declared_usd={materials.arm.name: workshop.configuration.system.price_per_turn_usd},
            captured=_captured(workshop, materials.arm),
            simulator=answering.simulator,
            detect_language=_language_detector(materials.scenarios),
            stop=partial(stop_reason, most_failed=workshop.configuration.suite.most_failed, day=materials.day),
            # What is recorded is one attempt, from its first answer to its last.
            retries=workshop.llm != "record",
            events=workshop.events,
        )
        start = None if isinstance(base, str) else partial(_start_base, stack, workshop, answering, base, setups=setups)
        no_base = base if isinstance(base, str) else ""
        arms = Arms(bench, materials.arm, start_base=start, no_base=no_base, afford=answering.afford)
        yield OpenRun(arms, answering.conclude, setups.altered)


async def _start_base(
    stack: AsyncExitStack,
    workshop: Workshop,
    answering: Answering,
    offer: BaseOffer,
    bench: Bench,
    *,
    setups: "SharedSetups",
) -> tuple[Arm, Bench]:
    """Fetch and start the base; whatever is started ends with the run, however far it came."""
    materials = await asyncio.to_thread(offer.fetch)
    arm, theirs = materials.arm, replace(workshop, configuration=offer.configuration)
    answering.add_base(offer.configuration, materials)
    system, custom = await _open_code(stack, theirs, materials, setups)
    await _start_all(system, *custom.values())
    await bench.tenants.prepare(arm, system.migrate)
    said = {warning for one in bench.systems.values() for warning in getattr(one, "warnings", ())}
    for warning in getattr(system, "warnings", ()):
        if warning not in said:
            workshop.warn(prefixed("On the base: ", warning))
    return arm, replace(
        bench,
        systems={**bench.systems, arm.name: system},
        rows={**bench.rows, arm.name: offer.configuration.rows},
        prompt_versions={**bench.prompt_versions, arm.name: materials.prompt_versions},
        custom={**bench.custom, **custom},
        declared_usd={**bench.declared_usd, arm.name: offer.configuration.system.price_per_turn_usd},
        captured=(*bench.captured, *_captured(theirs, arm)),
    )


async def _open_code(
    stack: AsyncExitStack, workshop: Workshop, materials: Materials, setups: "SharedSetups"
) -> tuple["WorkerSystem | ReplaySystem", dict[str, "WorkerSystem"]]:
    """An arm's system, and what runs its rules and metrics by the arm's name: none where none are asked for.

    The files of both are copied before anything of the change runs.
    """
    arm = materials.arm
    system = open_system(workshop, arm, setups)
    stack.push_async_callback(system.close)
    if not needs_custom_code(materials.scenarios):
        return system, {}
    from ratiba_action.systems.choose import choose_judges  # noqa: PLC0415 - not needed to decide

    judges = choose_judges(workshop.configuration.system, _surroundings(workshop, arm, setups))
    stack.push_async_callback(judges.close)
    await judges.copy()
    return system, {arm.name: judges}


async def _start_all(*code: "WorkerSystem | ReplaySystem") -> None:
    await asyncio.gather(*(one.start() for one in code))


def _captured(workshop: Workshop, arm: Arm) -> tuple[str, ...]:
    return (arm.name,) if workshop.configuration.system.replay is not None else ()


def _language_detector(scenarios: Sequence[Scenario]) -> DetectLanguage | None:
    """Tells apart every language that a turn expects, Swahili and English; None where none is expected."""
    expected = {turn.expect.language for scenario in scenarios for turn in scenario.turns} - {None}
    if not expected:
        return None
    languages = sorted({"sw", "en", *(language for language in expected if language is not None)})
    return LanguageDetection(languages).language_of


def require_reachable_servers(environment: Mapping[str, str], *urls: str) -> None:
    """Refuse addresses of databases that cannot work where the gate runs; empty ones are no addresses.

    Raises:
        ConfigurationError: says what to write instead.
    """
    from ratiba_action.tenancy.reachability import require_reachable  # noqa: PLC0415 - not needed to decide

    for url in urls:
        require_reachable(url, environment.get("RATIBA_CONTAINER_NETWORK", ""))


def price_list(configuration: Configuration) -> Prices:
    """List prices, with the configuration's own where it gives them.

    Raises:
        ConfigurationError: a configured price is wrong.
    """
    from ratiba_action.money.prices import PriceList  # noqa: PLC0415 - loads the price data

    given = {model: price.model_dump(exclude_none=True) for model, price in configuration.prices.items()}
    return PriceList(parse_model_rates(given))


@asynccontextmanager
async def open_tenants(workshop: Workshop) -> AsyncIterator[TenantProvisioner]:
    """Tenants on the given server, or on one that is started for the run; none for a system without a database."""
    if not workshop.configuration.system.has_database:
        from ratiba_action.tenancy.provisioner import NoDatabase  # noqa: PLC0415 - not needed to decide

        yield NoDatabase()
        return
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


def open_system(workshop: Workshop, arm: Arm, setups: "SharedSetups") -> "WorkerSystem | ReplaySystem":
    """The arm's system under test, not started; ``setups`` are those of every arm of the run."""
    from ratiba_action.systems.choose import choose_system  # noqa: PLC0415 - not needed to decide

    return choose_system(workshop.configuration.system, _surroundings(workshop, arm, setups))


def _surroundings(workshop: Workshop, arm: Arm, setups: "SharedSetups") -> "Surroundings":
    from ratiba_action.systems.choose import Surroundings  # noqa: PLC0415 - not needed to decide
    from ratiba_action.systems.scratch import Checkout  # noqa: PLC0415 - the same
    from ratiba_action.systems.workplace import places_of_job, private_places  # noqa: PLC0415 - the same

    job = in_job(workshop.environment)
    persisted = persisted_credentials(workshop.git, workshop.environment)
    # The base's files are those of its commit: what was written to them is a repository no more.
    checkout = Checkout(workshop.git, committed=arm.commit is not None, untracked=not job and arm.commit is None)
    return Surroundings(
        Path(arm.root),
        inherited=workshop.environment,
        scratch=workshop.scratch,
        checkout=None if arm.name == BASE else checkout,
        private=(
            *private_places(workshop.environment, workshop.report_dir),
            *_money_places(workshop),
            *_event_places(workshop, arm.root),
            *(places_of_job(workshop.git, workshop.environment) if job else ()),
            *persisted.files,
        ),
        secrets=workshop.secrets or bool(persisted.places),
        setups=setups,
    )


async def load_judging(workshop: Workshop, materials: Materials) -> None:
    """Import DeepEval in a thread, and only when something is judged."""
    if not materials.judged:
        return
    from ratiba_action.metrics.judging.deepeval_bridge import load_deepeval, prepare_deepeval  # noqa: PLC0415 - on demand

    prepare_deepeval(workshop.environment, workshop.scratch / "deepeval")
    await asyncio.to_thread(load_deepeval)


def _money_places(workshop: Workshop) -> tuple[str, ...]:
    """Folders of the journal and the judge cache: what the system said elsewhere is not for it to read or change."""
    journal = workshop.payment.journal if workshop.payment is not None else None
    folders = [journal.path.parent if journal is not None else None, workshop.cache]
    return tuple(str(folder.resolve()) for folder in folders if folder is not None)


def _event_places(workshop: Workshop, repository: str) -> tuple[str, ...]:
    """Folder of the events of all runs: the system is told of in it, and adds nothing to it itself."""
    directory = workshop.configuration.events.directory
    return () if directory is None else (os.path.realpath(Path(repository) / directory),)
