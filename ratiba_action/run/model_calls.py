"""Everything of a run that calls a model: what answers the system, who judges, who plays the customer, who pays."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiba_action.errors import LedgerError
from ratiba_action.llm.chain import AnswerChain, keep_nothing
from ratiba_action.llm.recordings.folder import model_recordings
from ratiba_action.llm.recordings.lines import Recording
from ratiba_action.metrics.judging.voting_rule import noise_band
from ratiba_action.model.answer_origin import Llm, RecordingSource
from ratiba_action.model.measurement import Errored, Phase, ScenarioResult
from ratiba_action.model.model_request import ModelAnswer, ModelRequest
from ratiba_action.model.note import note_of
from ratiba_action.model.plan import BASE, HEAD, Trial
from ratiba_action.model.values import JsonObject, Usd
from ratiba_action.model.verdict import CrossChecking
from ratiba_action.money.budget import Ledger
from ratiba_action.money.forecast import Forecast, way_out, with_refused, without_paid
from ratiba_action.ports import ModelGateway, Prices, TurnBooks
from ratiba_action.run.cache_place import cache_folder
from ratiba_action.run.configuration_checks import require_usable_models, second_judge
from ratiba_action.run.estimating import ArmCosts, expected_models
from ratiba_action.run.inputs import ArmInputs, RunInputs, RunLog
from ratiba_action.run.judging import Judging
from ratiba_action.run.paid_run import (
    JournalPlace,
    PaidRun,
    open_paid_run,
    price_list,
    require_reachable_servers,
)
from ratiba_action.run.provider_keys import recording_remedy
from ratiba_action.run.services import Arms, Measured, RunServices, TrialCalls
from ratiba_action.run.simulated_customer import SimulatedCustomer
from ratiba_action.run.turn_payments import open_turn_books
from ratiba_action.tenancy.no_database import NoDatabase

if TYPE_CHECKING:
    from ratiba_action.metrics.judging.judging_processes import JudgingProcesses

_LEDGER_SECONDS = 3.0
"""A cancelled run waits no longer for the shared ledger: a runner kills it 10 seconds after the signal to end."""


class ModelCalls(TrialCalls):
    """The model calls of a run: each arm is answered from its own recordings, and judged from them.

    Args:
        paid: the way to live models; None when every answer is replayed.
        second: model and provider of the cross-check; None for none.
        costs: what trials are expected to cost; knows the first arm where models are paid.
        bands: see ``Judging``.
        deadline: see ``RunServices``; cross-checks are not waited for beyond it.
        judging: see ``Judging``.
    """

    def __init__(
        self,
        inputs: RunInputs,
        head: ArmInputs,
        *,
        ledger: Ledger,
        log: RunLog,
        prices: Prices,
        paid: PaidRun | None,
        turns: TurnBooks,
        second: tuple[str, str] | None,
        costs: ArmCosts,
        bands: Mapping[tuple[str, str], float],
        deadline: float | None,
        judging: "JudgingProcesses | None",
    ) -> None:
        from ratiba_action.llm.answers import AnswerRecorder
        from ratiba_action.llm.scripted_answers import ScenarioScripts, scripts_of
        from ratiba_action.observability.logged_ports import model_logger

        self._inputs, self._head, self._ledger, self._log = inputs, head, ledger, log
        self._prices, self._paid, self._costs, self._deadline = prices, paid, costs, deadline
        self._turns = turns
        self._forbidden = judge_models(inputs, second)
        self._recorder = AnswerRecorder()
        self._scripts = scripts_of(head.scenarios)
        self._answers: AnswerChain[ModelRequest, ModelAnswer] = AnswerChain(
            _handing_on(model_logger(prices, log.events), log.answered),
            keep=self._keep if inputs.llm == Llm.RECORD else keep_nothing,
            stays_live=True,
            asked=log.asked,
            scripted=ScenarioScripts(self._scripts).source,
        )
        self._free: frozenset[str] = frozenset()
        self._recorded: dict[str, dict[str, frozenset[int]]] = {}
        self._judging = Judging(
            head,
            prices,
            paid,
            second=second,
            fallback=inputs.llm is Llm.AUTO,
            cache=score_cache(inputs),
            bands=bands,
            ledger=ledger,
            log=log,
            processes=judging,
        )
        self._answer_arm(head)

    def services(self, gateway: ModelGateway) -> RunServices:
        """What trials need of it; systems and tenants are added to that."""
        configuration = self._inputs.configuration
        simulator = configuration.simulator
        return RunServices(
            arms=Arms(),
            tenants=NoDatabase(),
            gateway=gateway,
            metric=self._judging.metric,
            log=self._log,
            concurrency=self._inputs.at_once,
            deadline=self._deadline,
            calls=self,
            turns=self._turns,
            simulator=SimulatedCustomer(self._answers, simulator, configuration.wire_of(simulator.provider)),
            # What is recorded is one attempt, from its first answer to its last.
            retries=self._inputs.llm != Llm.RECORD,
        )

    def add_arm(self, arm: ArmInputs) -> None:
        """Let another arm's scenarios be answered and judged from now on.

        Raises:
            ConfigurationError: a model has no price.
        """
        self._prices.require(expected_models(arm))
        if self._paid is not None:
            self._costs.add(arm)
        self._answer_arm(arm)
        self._judging.add_arm(arm)

    @asynccontextmanager
    async def open_gateway(self) -> AsyncIterator[ModelGateway]:
        """The gateway that the system under test calls models through."""
        from ratiba_action.llm.access import listening_host

        # It loads aiohttp; the loop goes on meanwhile, so that the database starts and files are copied.
        await asyncio.to_thread(import_module, "ratiba_action.llm.server")
        from ratiba_action.llm.server import Gateway

        network = self._inputs.environment.get("RATIBA_CONTAINER_NETWORK", "")
        system = self._inputs.configuration.system
        gateway = Gateway(
            self._answers,
            forbidden_models=self._forbidden,
            prices=self._prices,
            routes=self._inputs.configuration.gateway_routes,
            scripts={scenario_id: len(steps) for scenario_id, steps in self._scripts.items()},
            host=listening_host(system.url if system.runs_elsewhere else None, network),
            refused=self._ledger.count_refusal,
        )
        try:
            await gateway.start()
            yield gateway
        finally:
            await gateway.close()

    def _keep(self, request: ModelRequest, answer: ModelAnswer) -> None:
        if request.arm == self._head.arm.name:  # what is recorded is the change's
            self._recorder.keep(request, answer)

    def _answer_arm(self, arm: ArmInputs) -> None:
        from ratiba_action.llm.answers import LiveAnswers, RecordingAdvice, ReplayAnswers

        name, lines, llm = arm.arm.name, model_recordings(arm.recordings), self._inputs.llm
        variant = "" if name in {HEAD, BASE} else name

        def remedy(request: ModelRequest, lead: str) -> str:
            declared = self._inputs.configuration.providers.get(request.provider)
            sources = {line.source for line in lines.get(request.scenario_id, ())}
            return recording_remedy(
                self._inputs.environment,
                request.provider,
                request.scenario_id,
                lead,
                variant,
                declared=declared,
                authored=sources == {RecordingSource.AUTHORED},
            )

        replay = ReplayAnswers(lines, self._ledger, self._prices, RecordingAdvice(arm.edited_prompts, remedy))
        live = LiveAnswers(self._paid.calls).answer if self._paid is not None else None
        recorded = replay.answer if llm in {Llm.REPLAY, Llm.AUTO} else None
        self._answers.add(name, recorded=recorded, live=live, never_live=arm.free)
        self._free |= frozenset(arm.free)
        self._recorded[name] = {
            scenario_id: frozenset(line.trial for line in lines[scenario_id]) for scenario_id in lines
        }

    def _calls_models(self, trial: Trial) -> bool:
        """Whether a trial is expected to cost money."""
        if self._inputs.llm is not Llm.AUTO:
            return True
        name = trial.scenario.id
        if name in self._free:
            return False
        return self._answers.went_live(name) or trial.number not in self._recorded[trial.arm.name].get(
            name, frozenset()
        )

    def admit(self, trial: Trial) -> AbstractAsyncContextManager[str]:
        """See ``TrialCalls``."""
        return self._paid.admissions.admit(trial) if self._paid is not None else super().admit(trial)

    def judge_of(self, trial: Trial) -> Callable[[Any], Awaitable[JsonObject]]:
        """See ``TrialCalls``."""
        return self._judging.of_test(trial)

    async def afford(self, trials: Sequence[Trial]) -> str | None:
        """Why the caps do not cover further trials, all of them; those that they cover are expected from now on."""
        if self._paid is None:
            return None
        admissions = self._paid.admissions
        fresh = [trial for trial in trials if not admissions.was_admitted(trial) and self._calls_models(trial)]
        try:
            rest = Forecast(await admissions.limits(), self._costs.expected(fresh))
        except LedgerError as error:
            return str(error)
        if rest.left_out:
            return way_out(rest)
        admissions.expect(trials)
        return None

    async def finish(self, measured: Measured, *, cancelled: bool) -> Measured:
        """Wait for the cross-checks and gather the rest; nothing besides its results of a run that pays nobody."""
        from ratiba_action.verdict.agreement import judges_agreement

        measured = replace(measured, reported_calls=self._turns.reported_calls)
        if self._paid is None:
            return measured
        checked = self._judging.cross_check
        await checked.finish(self._seconds(cancelled=cancelled))
        for note in checked.notes:
            self._log.note(note)
        agreement = judges_agreement(checked.pairs)
        checking = CrossChecking(self._judging.second_model, checked.status, agreement, self._why_no_cross_check())
        measured = replace(measured, cross_checking=checking, recorded=self._new_lines(), pairs=tuple(checked.pairs))
        try:
            async with asyncio.timeout(_LEDGER_SECONDS if cancelled else None):
                shared, left_undone = await self._paid.shared_spending(), await self._way_out(measured.results)
        except (LedgerError, TimeoutError) as error:
            late = "The shared ledger did not answer in time."
            self._log.note(note_of(error) if isinstance(error, LedgerError) else late)
            return measured
        return replace(measured, shared_spending=shared, way_out=left_undone)

    def _seconds(self, *, cancelled: bool) -> float | None:
        """How long cross-checks are waited for."""
        if cancelled:
            return 0.0
        return None if self._deadline is None else max(self._deadline - time.monotonic(), 0.0)

    async def _way_out(self, results: Sequence[ScenarioResult]) -> str | None:
        """What to do about the trials that were not run to their end for want of money."""
        if self._paid is None:
            return None
        admissions, ledger, expected = self._paid.admissions, self._ledger, self._costs.expected
        refused = [result.trial for result in results if admissions.was_refused(result.trial)]
        # A model without a price ends a trial too, and no budget would have covered it.
        unaffordable = [
            result.trial
            for result in results
            if isinstance(result, Errored)
            and result.phase is Phase.BUDGET
            and ledger.refused_on(result.trial.scenario.id) is not None
        ]
        if not refused and not unaffordable:
            return None
        undone = without_paid(expected(unaffordable, learned=True), ledger.calls)
        rest = (
            *expected(refused, learned=True),
            *(with_refused(conversation, ledger.refused_on(conversation.scenario_id)) for conversation in undone),
        )
        return way_out(Forecast(await admissions.limits(), rest))

    def _why_no_cross_check(self) -> str:
        """Why nothing was cross-checked; empty where it was."""
        described = self._inputs.configuration.judge.cross_check
        if self._judging.second_model:
            return ""
        if described is None or not described.share:
            return "the configuration has none"
        if self._inputs.llm == Llm.RECORD:
            return "a recorded score is judged once"
        return f"no key for {described.provider}" if described.provider not in self._inputs.keys else ""

    def _new_lines(self) -> dict[str, tuple[Recording, ...]]:
        """The new lines of each scenario's recording, by its id; empty unless the run records."""
        if self._inputs.llm != Llm.RECORD:
            return {}
        scores = self._judging.collector.recordings()
        recorded: dict[str, tuple[Recording, ...]] = {}
        for scenario in self._head.scenarios:
            trials = [self._recorder.recordings(scenario.id, number) for number in range(scenario.strategy.trials)]
            answers = (line for lines in trials for line in lines)
            recorded[scenario.id] = (*answers, *scores.get(scenario.id, ()))
        return recorded


def _handing_on(
    log: Callable[[ModelRequest, ModelAnswer], None], answered: Callable[[ModelRequest, ModelAnswer], None] | None
) -> Callable[[ModelRequest, ModelAnswer], None]:
    """Writes an answer down, and hands it to whoever wants to know of it."""
    if answered is None:
        return log

    def both(request: ModelRequest, answer: ModelAnswer) -> None:
        log(request, answer)
        answered(request, answer)

    return both


def judge_models(inputs: RunInputs, second: tuple[str, str] | None) -> tuple[str, ...]:
    """The models of a run's judges, which its system must not call."""
    return (inputs.configuration.judge.model, *([second[0]] if second else []))


def score_cache(inputs: RunInputs) -> Path | None:
    """Folder of the judge cache; None to judge everything anew."""
    # A replayed score costs nothing and an edited recording must show; what is recorded is asked for.
    used = inputs.cache and inputs.llm in {Llm.AUTO, Llm.LIVE}
    return cache_folder(inputs.environment, inputs.repository, inputs.decided.change.git) if used else None


@asynccontextmanager
async def open_model_calls(
    inputs: RunInputs,
    head: ArmInputs,
    *,
    ledger: Ledger,
    log: RunLog,
    journal: JournalPlace | None,
    deadline: float | None,
    judging: "JudgingProcesses | None" = None,
) -> AsyncIterator[tuple[ModelCalls, RunServices]]:
    """Start what answers the system under test and what judges it.

    Args:
        journal: where calls are written down; None for a run that cannot be resumed.
        deadline: seconds of ``time.monotonic``; see ``RunServices``.
        judging: see ``Judging``.

    Raises:
        ConfigurationError: a model has no price, or a judge would judge its own output.
        InfrastructureError: the gateway, the write-ahead journal or the shared ledger cannot be used.
    """
    require_reachable_servers(inputs.environment, inputs.settings.ledger_url if inputs.llm != Llm.REPLAY else "")
    prices, second = price_list(inputs.configuration, inputs.settings.base_urls), second_judge(inputs, log.note)
    require_usable_models(inputs, head, prices, second, log.note)
    costs, paid = ArmCosts(prices, ledger.costs_of), None
    async with AsyncExitStack() as stack:
        if inputs.llm != Llm.REPLAY:
            costs.add(head)
            opened = _paid_run(inputs, head, ledger=ledger, log=log, journal=journal, prices=prices, costs=costs)
            paid = await stack.enter_async_context(opened)
        judges = judge_models(inputs, second)
        opened_turns = open_turn_books(inputs, paid, ledger=ledger, prices=prices, judges=judges, log=log)
        calls = ModelCalls(
            inputs,
            head,
            ledger=ledger,
            log=log,
            prices=prices,
            paid=paid,
            turns=await stack.enter_async_context(opened_turns),
            second=second,
            costs=costs,
            bands=await _bands(inputs, head, paid, log),
            deadline=deadline,
            judging=judging,
        )
        gateway = await stack.enter_async_context(calls.open_gateway())
        yield calls, calls.services(gateway)


async def _bands(
    inputs: RunInputs, head: ArmInputs, paid: PaidRun | None, log: RunLog
) -> Mapping[tuple[str, str], float]:
    """Two standard deviations of the judge's noise by metric, as it was known when the run's first process began."""
    judge, history = inputs.configuration.judge, inputs.history
    if paid is None or history is None or judge.band is not None or judge.votes == 1 or not head.judged:
        return {}
    before = datetime.fromtimestamp(paid.began / 1e9, UTC) if paid.began else inputs.started_at
    repository = inputs.decided.change.subject.repository
    try:
        repeats = await history.repeats(repository, judge.model, before)
    except LedgerError as error:
        log.note(f"The judge's noise could not be read from earlier runs: {error.problem} Its band is 0.05.")
        return {}
    bands = {name: noise_band(scores) for name, scores in repeats.items()}
    return {name: band for name, band in bands.items() if band is not None}


def _paid_run(
    inputs: RunInputs,
    head: ArmInputs,
    *,
    ledger: Ledger,
    log: RunLog,
    journal: JournalPlace | None,
    prices: Prices,
    costs: ArmCosts,
) -> AbstractAsyncContextManager[PaidRun]:
    """What a run needs that may call models."""

    def estimate(trial: Trial) -> Usd:
        # As long as every recording fits, an automatic run costs nothing.
        free = inputs.llm is Llm.AUTO and not ledger.live_calls
        return Usd(0) if free else costs.maximum(trial)

    return open_paid_run(
        inputs.settings,
        inputs.configuration,
        subject=inputs.decided.change.subject,
        journal=journal,
        trials=head.plan.trials,
        estimate=estimate,
        ledger=ledger,
        prices=prices,
        environment=inputs.environment,
        warn=log.note,
        concurrency=inputs.at_once,
        events=log.events,
    )
