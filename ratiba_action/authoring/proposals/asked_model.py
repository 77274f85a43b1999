"""Requests proposals from the configured model, paid from the budget like every other call."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ratiba_action.authoring.proposals.asking import INSTRUCTIONS, read_answer
from ratiba_action.config.configuration import Configuration
from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.judging.answer import JudgeModel
from ratiba_action.metrics.judging.structured_calls import StructuredCalls, StructuredQuestion
from ratiba_action.model.conversation import Party
from ratiba_action.model.values import JsonObject
from ratiba_action.money.budget import Ledger
from ratiba_action.money.pricing import base_model
from ratiba_action.observability.logged_ports import NoEvents
from ratiba_action.run.paid_run import open_paid_run, price_list, require_reachable_servers
from ratiba_action.settings.settings import Settings

_ANSWER_TOKENS = 8_192

Question = tuple[str, str, JsonObject]
"""Name, user message and schema."""


def require_another_model(configuration: Configuration) -> None:
    """Refuse a model that is also a judge: it would score its own proposals.

    Raises:
        ConfigurationError: the simulator's model is a judge.
    """
    judge, model = configuration.judge, configuration.simulator.model
    judges = {judge.model, *([judge.cross_check.model] if judge.cross_check is not None else [])}
    if base_model(model) in {base_model(name) for name in judges}:
        raise ConfigurationError(
            f"simulator.model is {model!r}, which is also a judge: it would score its own proposals.",
            "Set another model as simulator.model.",
        )


async def request_proposals(
    questions: Sequence[Question],
    settings: Settings,
    configuration: Configuration,
    *,
    environment: Mapping[str, str],
    ledger: Ledger,
    warn: Callable[[str], None],
    take: Callable[[str, list[dict[str, Any]]], None],
) -> None:
    """Send the questions one after the other.

    Args:
        questions: to send.
        settings: with keys and the shared ledger.
        configuration: names the model and its prices.
        environment: of the process.
        ledger: of the budget.
        warn: called with what could not be recorded after a call.
        take: called with each question's name and answer as soon as it arrives.

    Raises:
        BudgetError: the next call does not fit into the budget.
        JudgeError: an answer is unusable twice.
        ProviderError: the provider refused or could not be reached.
        ConfigurationError: the model has no price or no key.
    """
    described, prices = configuration.simulator, price_list(configuration, settings.base_urls)
    prices.require([(described.model, described.provider)])
    require_reachable_servers(environment, settings.ledger_url)
    tokens = min(_ANSWER_TOKENS, configuration.models.output_of(described.model)[1])
    async with open_paid_run(
        settings,
        configuration,
        ledger=ledger,
        prices=prices,
        environment=environment,
        warn=warn,
        concurrency=1,
        events=NoEvents(),
    ) as paid:
        model = JudgeModel(described.provider, described.model, tokens, configuration.wire_of(described.provider))
        calls = StructuredCalls(paid.calls, model, Party.SIMULATOR)
        for name, message, shape in questions:
            question = StructuredQuestion("proposals", 0, ("propose", name), INSTRUCTIONS, message, shape)
            answer, _ = await calls.ask(question, read_answer)
            take(name, answer)
