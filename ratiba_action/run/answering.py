"""Where a run's answers come from: recordings, models, or models where no recording fits; and who judges them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ratiba_action.config.configuration import Configuration, JudgeBlock
from ratiba_action.config.model_limits import ModelsBlock
from ratiba_action.errors import ConfigurationError, LedgerError
from ratiba_action.llm.recordings.folder import model_recordings
from ratiba_action.metrics.judging.judge_independence import require_independent_judges
from ratiba_action.model.model_request import ModelRequest
from ratiba_action.model.plan import BASE, HEAD, Trial
from ratiba_action.model.scenario import Assertion
from ratiba_action.model.values import Usd
from ratiba_action.money.forecast import Forecast, way_out
from ratiba_action.money.reported_usage import FreeTurns, TurnPayments
from ratiba_action.ports import AnswerSource, CustomerSimulator, Metric, ModelGateway, Prices, TurnBooks
from ratiba_action.run.aftermath import Conclude, Conclusion
from ratiba_action.run.bench import admit_all
from ratiba_action.run.estimating import ArmCosts, expected_models
from ratiba_action.run.grading import Grading
from ratiba_action.run.paid_run import PaidRun, Payment, open_paid_run
from ratiba_action.run.paying import recording_remedy
from ratiba_action.run.simulated_customer import SimulatedCustomer
from ratiba_action.run.workshop import Materials, Workshop

if TYPE_CHECKING:
    from ratiba_action.llm.answers import FallbackAnswers, RecordingAnswers


class Sources:
    """The answers of a run, each arm's from its own recordings.

    Args:
        paid: the way to live models; None when every answer is replayed.
    """

    def __init__(self, workshop: Workshop, prices: Prices, paid: PaidRun | None) -> None:
        from ratiba_action.llm.answers import ArmAnswers  # noqa: PLC0415 - not needed to decide

        self._workshop, self._prices, self._paid = workshop, prices, paid
        self._answers = ArmAnswers()
        self._fallback: FallbackAnswers | None = None
        self._free: frozenset[str] = frozenset()
        self._recorded: dict[str, dict[str, frozenset[int]]] = {}
        self.recording: RecordingAnswers | None = None

    @property
    def answers(self) -> AnswerSource:
        """Answers every arm that was added."""
        return self._answers

    def add(self, materials: Materials) -> None:
        """Answer the conversations of an arm."""
        self._answers.add(materials.arm.name, self._source(materials))
        self._free |= frozenset(materials.free)
        lines = model_recordings(materials.recordings)
        self._recorded[materials.arm.name] = {name: frozenset(one.trial for one in lines[name]) for name in lines}

    def ask_models(self, trial: Trial) -> bool:
        """Whether a trial is expected to cost money."""
        if self._workshop.llm != "auto" or self._fallback is None:
            return True
        name = trial.scenario.id
        if name in self._free:
            return False
        left = any(scenario_id == name for scenario_id, _ in self._fallback.went_live)
        return left or trial.number not in self._recorded[trial.arm.name].get(name, frozenset())

    def _source(self, materials: Materials) -> AnswerSource:
        from ratiba_action.llm.answers import (  # noqa: PLC0415 - the same
            FallbackAnswers,
            LiveAnswers,
            RecordingAdvice,
            RecordingAnswers,
            ReplayAnswers,
        )

        variant = "" if materials.arm.name in {HEAD, BASE} else materials.arm.name

        def remedy(request: ModelRequest, lead: str) -> str:
            environment = self._workshop.environment
            return recording_remedy(environment, request.provider, request.scenario_id, lead, variant)

        advice = RecordingAdvice(materials.edited_prompts, remedy)
        lines = model_recordings(materials.recordings)
        replay = ReplayAnswers(lines, self._workshop.ledger, self._prices, advice)
        if self._paid is None:
            return replay
        live = LiveAnswers(self._paid.calls)
        if self._workshop.llm == "auto":
            source = FallbackAnswers(replay, live, like=self._fallback, never_live=materials.free)
            self._fallback = self._fallback or source
            return source
        if self._workshop.llm == "record":
            self.recording = RecordingAnswers(live)
            return self.recording
        return live


@dataclass(frozen=True, slots=True)
class Answering:
    """An open source of answers.

    Args:
        metric: a fresh metric by its name.
        admit: see ``Bench.admit``.
        afford: says why the caps do not hold some further trials; empty where they do, which are then waited for.
        add_base: lets the base's conversations be answered and graded from now on.
        turns: see ``Bench.turns``.
        simulator: plays the customers that scenarios leave to a model.
    """

    gateway: ModelGateway
    metric: Callable[[Assertion], Metric]
    admit: Callable[[Trial], AbstractAsyncContextManager[str]]
    turns: TurnBooks
    simulator: CustomerSimulator
    conclude: Conclude
    afford: Callable[[Sequence[Trial]], Awaitable[str]]
    add_base: Callable[[Configuration, Materials], None]


@asynccontextmanager
async def open_answering(workshop: Workshop, materials: Materials, prices: Prices) -> AsyncIterator[Answering]:
    """Start what answers the system under test and what judges it.

    Raises:
        ConfigurationError: a model has no price, or a judge would judge its own output.
        InfrastructureError: the gateway, the journal or the shared ledger cannot be used.
    """
    judge, second = workshop.configuration.judge, _second_judge(workshop)
    generators = expected_models(workshop.configuration, materials)
    with _told_of_the_base(workshop.from_base):
        _require_usable_models(workshop, materials, prices, generators, second)
    async with AsyncExitStack() as stack:
        costs = ArmCosts(prices)
        if workshop.payment is not None:
            costs.add(workshop.configuration, materials)
        paid = await _open_paid(stack, workshop, materials, prices, costs)
        sources = Sources(workshop, prices, paid)
        sources.add(materials)
        answers = sources.answers
        forbidden = [judge.model, *([second[0]] if second else [])]
        gateway = await stack.enter_async_context(_open_gateway(workshop, materials, prices, answers, forbidden))
        grading = Grading(workshop, materials, prices, paid, second)
        admit = paid.admissions.admit if paid is not None else admit_all
        declared = workshop.configuration.system.price_per_turn_usd
        turns = FreeTurns(declared) if paid is None else TurnPayments(paid.purse, prices, declared, forbidden)
        conclude = Conclusion(workshop, materials, costs, paid, grading, sources.recording, turns)
        player = SimulatedCustomer(_logged(answers, workshop, prices), workshop.configuration.simulator)

        def add_base(configuration: Configuration, base: Materials) -> None:
            prices.require(expected_models(configuration, base))
            if paid is not None:
                costs.add(configuration, base)
            sources.add(base)
            grading.add_arm(base)

        afford = partial(_afford, paid, costs, sources)
        yield Answering(gateway, grading.metric, admit, turns, player, conclude, afford, add_base)


@contextmanager
def _told_of_the_base(blocks: Sequence[str]) -> Iterator[None]:
    """Say of an error about the configuration which of its blocks are not those that the change can edit."""
    try:
        yield
    except ConfigurationError as error:
        if not blocks:
            raise
        names = " and ".join(f"`{name}`" for name in blocks)
        raise ConfigurationError(
            f"{error.problem} {error.remedy}".rstrip(),
            f"In this run {names} is from the base branch: change it there first, in a pull request of its own.",
        ) from error


def _require_usable_models(
    workshop: Workshop,
    materials: Materials,
    prices: Prices,
    generators: frozenset[tuple[str, str]],
    second: tuple[str, str] | None,
) -> None:
    """Check that every model that may be called has a price, a key and room to answer, and that none judges itself."""
    judge, simulator = workshop.configuration.judge, workshop.configuration.simulator
    if any(scenario.simulated_user is not None for scenario in materials.scenarios):
        prices.require({(simulator.model, simulator.provider)})
    judges: set[tuple[str, str]] = {(judge.model, judge.provider)} if materials.judged else set()
    judges |= {second} if second else set()
    prices.require(generators | judges)
    if workshop.payment is not None:
        if materials.judged:
            _require_judge_key(judge, workshop.payment)
        _require_room(workshop.payment.models, sorted(model for model, _ in judges))
    if materials.judged:
        models, replayed = {model for model, _ in generators}, workshop.payment is None
        notes = require_independent_judges(models, judge.model, second[0] if second else None, replayed=replayed)
        for note in notes:
            workshop.warn(note)


def _require_judge_key(judge: JudgeBlock, payment: Payment) -> None:
    """Check that the judge can be called, before the system's answers are paid for."""
    if judge.provider in payment.keys:
        return
    there = ", ".join(sorted(payment.keys)) or "no provider"
    raise ConfigurationError(
        f"The judge {judge.model!r} needs a key for {judge.provider!r}, and there is one for {there}.",
        f"Set judge.provider and judge.model in the configuration to a model that you have a key for, and "
        f"judge.cross_check to null where you have no second key; or give the input {judge.provider}-api-key "
        f"(RATIBA_{judge.provider.upper()}_API_KEY).",
    )


def _require_room(limits: ModelsBlock, judges: Sequence[str]) -> None:
    """Check that every judge may answer as long as it is asked to."""
    from ratiba_action.metrics.judging.answer import ANSWER_TOKENS  # noqa: PLC0415 - not needed to decide

    short = [model for model in judges if limits.output_of(model)[1] < ANSWER_TOKENS]
    if short:
        names = ", ".join(repr(model) for model in short)
        raise ConfigurationError(
            f"Judges are called for up to {ANSWER_TOKENS} tokens, and models.max_output_tokens allows {names} less.",
            f"Give models.overrides.<model>.max_output_tokens: {ANSWER_TOKENS} or more.",
        )


def _second_judge(workshop: Workshop) -> tuple[str, str] | None:
    """Model and provider of the cross-check; None where nothing is cross-checked in this run."""
    described, payment = workshop.configuration.judge.cross_check, workshop.payment
    if payment is None or workshop.llm == "record" or described is None or not described.share:
        return None
    if described.provider not in payment.keys:
        workshop.warn(f"Nothing is cross-checked: there is no key for {described.provider!r}.")
        return None
    return described.model, described.provider


async def _afford(paid: PaidRun | None, costs: ArmCosts, sources: Sources, trials: Sequence[Trial]) -> str:
    """Why the caps do not hold further trials, all of them together; those that they hold are expected from now on."""
    if paid is None:
        return ""
    begun = paid.admissions.was_admitted
    fresh = [trial for trial in trials if not begun(trial) and sources.ask_models(trial)]
    try:
        rest = Forecast(await paid.admissions.limits(), costs.expected(fresh))
    except LedgerError as error:
        return str(error)
    if rest.left_out:
        return way_out(rest)
    paid.admissions.expect(trials)
    return ""


async def _open_paid(
    stack: AsyncExitStack, workshop: Workshop, materials: Materials, prices: Prices, costs: ArmCosts
) -> PaidRun | None:
    if workshop.payment is None:
        return None
    ledger = workshop.ledger

    def estimate(trial: Trial) -> Usd:
        # As long as every recording fits, an automatic run costs nothing.
        free = workshop.llm == "auto" and not ledger.snapshot().live_calls
        return Usd(0) if free else costs.most(trial)

    opened = open_paid_run(
        workshop.payment,
        materials.plan.trials,
        estimate,
        ledger=ledger,
        prices=prices,
        environment=workshop.environment,
        warn=workshop.warn,
        concurrency=workshop.concurrency,
        events=workshop.events,
    )
    return await stack.enter_async_context(opened)


def _logged(answers: AnswerSource, workshop: Workshop, prices: Prices) -> AnswerSource:
    from ratiba_action.observability.logged_ports import LoggedAnswers  # noqa: PLC0415 - not needed to decide

    return LoggedAnswers(answers, prices, workshop.events)


@asynccontextmanager
async def _open_gateway(
    workshop: Workshop, materials: Materials, prices: Prices, answers: AnswerSource, forbidden: list[str]
) -> AsyncIterator[ModelGateway]:
    from ratiba_action.llm.access import listening_host  # noqa: PLC0415 - not needed to decide
    from ratiba_action.llm.scripted_answers import ScenarioScripts, scripts_of  # noqa: PLC0415 - the same
    from ratiba_action.llm.server import Gateway  # noqa: PLC0415 - loads aiohttp

    network = workshop.environment.get("RATIBA_CONTAINER_NETWORK", "")
    host = listening_host(workshop.configuration.system.url, network)
    scripts = scripts_of(materials.scenarios)
    gateway = Gateway(
        _logged(ScenarioScripts(scripts, answers), workshop, prices),
        forbidden_models=forbidden,
        prices=prices,
        scripts={scenario_id: len(steps) for scenario_id, steps in scripts.items()},
        host=host,
    )
    try:
        await gateway.start()
        yield gateway
    finally:
        await gateway.close()
