"""Measures production conversations with the configured metrics and judges; no system is run."""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ratiba_action.config.configuration import Configuration
from ratiba_action.config.metrics_block import attach_metrics
from ratiba_action.config.system_block import SystemBlock
from ratiba_action.config.system_kinds import ReplayBlock
from ratiba_action.errors import ConfigurationError, WorkerError
from ratiba_action.metrics.judging.run_metric import MaskedMetric
from ratiba_action.metrics.registry import reads_documents
from ratiba_action.model.conversation import Document, Exchange, Reply, ToolCall
from ratiba_action.model.measurement import Case, ScenarioResult
from ratiba_action.model.plan import HEAD, Arm, Tenant
from ratiba_action.model.scenario import Assertion, Scenario, Turn
from ratiba_action.money.budget import Ledger
from ratiba_action.money.pricing import base_model
from ratiba_action.ports import Metric
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.conversation import CapturedConversation
from ratiba_action.run.inputs import ArmInputs, RunInputs, RunLog
from ratiba_action.run.judging_start import open_judging, ready_to_judge
from ratiba_action.run.model_calls import open_model_calls
from ratiba_action.run.services import Arms, ArmServices, Measured, RunServices
from ratiba_action.run.session import RunSession
from ratiba_action.systems.replay_system import ReplaySession


def masked_case(case: Case, redactor: Redactor) -> Case:
    """The case with every text, argument and document of its conversation masked.

    Args:
        redactor: knows the names in it.
    """
    exchanges = tuple(_exchange(exchange, redactor) for exchange in case.transcript.exchanges)
    return replace(
        case,
        scenario=replace(case.scenario, turns=tuple(exchange.turn for exchange in exchanges)),
        transcript=replace(case.transcript, exchanges=exchanges),
    )


def _exchange(exchange: Exchange, redactor: Redactor) -> Exchange:
    user = None if exchange.turn.user is None else redactor.text(exchange.turn.user)
    event = None if exchange.turn.event is None else redactor.value(exchange.turn.event)
    return replace(exchange, turn=Turn(user=user, event=event), reply=_reply(exchange.reply, redactor))


def _reply(reply: Reply, redactor: Redactor) -> Reply:
    return replace(
        reply,
        text=redactor.text(reply.text),
        tool_calls=tuple(
            ToolCall(call.name, redactor.value(dict(call.args)), redactor.value(call.output))
            for call in reply.tool_calls
        ),
        documents=tuple(
            Document(document.id, redactor.text(document.text), document.score) for document in reply.documents
        ),
        output=redactor.value(reply.output),
    )


class CapturedSystem:
    """Implements ``SystemUnderTest`` without running anything.

    Args:
        judges: judge models; they must not have generated the conversations.
    """

    def __init__(self, conversations: Sequence[CapturedConversation], judges: Collection[str]) -> None:
        self._conversations = {conversation.scenario.id: conversation for conversation in conversations}
        self._judges = {base_model(name): name for name in judges}
        self._sessions: list[ReplaySession] = []

    async def start(self) -> None:
        """Does nothing."""

    async def migrate(self, _dsn: str) -> None:
        """Does nothing: there are no tables."""

    async def open(self, scenario: Scenario, _tenant: Tenant, _environment: Mapping[str, str]) -> ReplaySession:
        """A session that replays the conversation.

        Raises:
            WorkerError: the conversation is unknown.
            ConfigurationError: a judge would judge its own output.
        """
        found = self._conversations.get(scenario.id)
        if found is None:
            raise WorkerError(f"nothing was captured of {scenario.id!r}.")
        own = sorted(self._judges.keys() & {base_model(model) for model in found.models})
        if own:
            raise ConfigurationError(
                f"The judge {self._judges[own[0]]!r} generated this conversation itself.", "Configure another judge."
            )
        session = ReplaySession(scenario.id, found.replies)
        self._sessions.append(session)
        return session

    async def close(self) -> None:
        """Close every session; may be called twice."""
        for session in self._sessions:
            await session.close()


def with_metrics(
    conversations: Sequence[CapturedConversation], configuration: Configuration
) -> tuple[tuple[CapturedConversation, ...], tuple[str, ...]]:
    """The conversations with the metrics of their system type and language.

    Metrics that need expected values from a scenario file are left out, and so are document metrics without documents.

    Returns:
        Conversations with a metric, and the ids of the others.
    """
    block = configuration.metrics
    measured = tuple(
        replace(conversation, scenario=_with(conversation, attach_metrics(conversation.scenario, block)))
        for conversation in conversations
    )
    return (
        tuple(conversation for conversation in measured if conversation.scenario.assertions),
        tuple(conversation.scenario.id for conversation in measured if not conversation.scenario.assertions),
    )


def _with(conversation: CapturedConversation, assertions: tuple[Assertion, ...]) -> Scenario:
    retrieved = any(reply.documents for reply in conversation.replies)
    assertions = tuple(assertion for assertion in assertions if retrieved or not reads_documents(assertion.metric))
    return replace(conversation.scenario, assertions=assertions)


def sampling_configuration(configuration: Configuration) -> Configuration:
    """The configuration without its system and database rows, since replies were captured, and a run's time limit."""
    system = SystemBlock(root=configuration.system.root, replay=ReplayBlock())
    suite = configuration.suite.model_copy(update={"timeout_seconds": None})
    return configuration.model_copy(update={"system": system, "rows": {}, "suite": suite})


def measure(
    conversations: Sequence[CapturedConversation],
    inputs: RunInputs,
    *,
    ledger: Ledger,
    log: RunLog,
    scratch: Path,
    redactors: Mapping[str, Redactor],
) -> tuple[tuple[ScenarioResult, ...], tuple[str, ...]]:
    """Measure every conversation; results are kept however the run ends.

    Args:
        inputs: with ``sampling_configuration``.
        scratch: a folder outside the workspace, removed when the run ends.
        redactors: with the names of each conversation, by its id.

    Returns:
        The results, and the signals that interrupted the run.

    Raises:
        ConfigurationError: a model has no price.
        InfrastructureError: the shared ledger cannot be used.
    """
    if not conversations:
        return (), ()
    scenarios = tuple(conversation.scenario for conversation in conversations)
    head = ArmInputs(Arm(HEAD, str(inputs.repository)), inputs.configuration, scenarios)
    judge = inputs.configuration.judge
    judges = {judge.model, *([judge.cross_check.model] if judge.cross_check is not None else [])}
    arms = Arms({HEAD: ArmServices(head.arm, CapturedSystem(conversations, judges), captured=True)})
    results: tuple[ScenarioResult, ...] = ()

    @asynccontextmanager
    async def open_services(inputs: RunInputs, head: ArmInputs, **given: Any) -> AsyncIterator[RunServices]:
        given = {name: given[name] for name in ("ledger", "log", "deadline")}
        async with (
            open_judging(inputs, head, scratch, given["log"].note) as judging,
            open_model_calls(inputs, head, journal=None, judging=judging, **given) as (_, services),
        ):
            await ready_to_judge(judging, head)
            yield replace(
                services, arms=arms, metric=partial(_masked_metric, services.metric, partial(_masked, redactors))
            )

    async def work(session: RunSession) -> None:
        nonlocal results
        results = tuple(await session.run(head.plan))
        await session.finish(Measured(results))

    session = RunSession(open_services, inputs, head, ledger=ledger, log=log, scratch=scratch)
    session.conduct(work)
    return results, tuple(session.interruptions)


def _masked_metric(
    metric_of: Callable[[Assertion], Metric], mask: Callable[[Case], Case], assertion: Assertion
) -> Metric:
    """A deterministic metric reads the original conversation; a judge gets it masked."""
    metric = metric_of(assertion)
    return MaskedMetric(metric, mask) if metric.judged else metric


def _masked(redactors: Mapping[str, Redactor], case: Case) -> Case:
    return masked_case(case, redactors[case.scenario.id])
