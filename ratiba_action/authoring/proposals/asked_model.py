"""Asks the configured model for proposals: out of the budget, through the same purse as every other call."""

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
from ratiba_action.observability.logged_ports import NoEvents
from ratiba_action.run.paid_run import open_paid_run, price_list, require_reachable_servers
from ratiba_action.settings.settings import Settings

_ANSWER_TOKENS = 8_192

Question = tuple[str, str, JsonObject]
"""Name, user message and schema."""


def require_another_model(configuration: Configuration) -> None:
    """Refuse a judge's own model: it would write what it scores afterwards.

    Raises:
        ConfigurationError: the model that plays customers is a judge's.
    """
    judge, model = configuration.judge, configuration.simulator.model
    judges = {judge.model, *([judge.cross_check.model] if judge.cross_check is not None else [])}
    if model in judges:
        raise ConfigurationError(
            f"simulator.model is {model!r}, which is a judge's: it would judge its own proposals.",
            "Name another model in the block `simulator`.",
        )


async def ask_for_proposals(
    questions: Sequence[Question],
    settings: Settings,
    configuration: Configuration,
    *,
    environment: Mapping[str, str],
    ledger: Ledger,
    warn: Callable[[str], None],
    take: Callable[[str, list[dict[str, Any]]], None],
) -> None:
    """Ask each question, one after the other.

    Args:
        questions: what is asked.
        settings: with keys and the shared ledger.
        configuration: names the model and its prices.
        environment: the process's own.
        ledger: the books.
        warn: told what could not be written down after a call.
        take: given each question's name and answer, as soon as it is there.

    Raises:
        BudgetError: the next call does not fit into the budget.
        JudgeError: an answer cannot be used, twice.
        ProviderError: the provider refused or could not be reached.
        ConfigurationError: the model has no price or no key.
    """
    described, prices = configuration.simulator, price_list(configuration)
    prices.require([(described.model, described.provider)])
    require_reachable_servers(environment, settings.ledger_url)
    tokens = min(_ANSWER_TOKENS, configuration.models.output_of(described.model)[1])
    async with open_paid_run(
        settings,
        configuration.models,
        ledger=ledger,
        prices=prices,
        environment=environment,
        warn=warn,
        concurrency=1,
        events=NoEvents(),
    ) as paid:
        asking = StructuredCalls(paid.calls, JudgeModel(described.provider, described.model, tokens), Party.SIMULATOR)
        for name, message, shape in questions:
            question = StructuredQuestion("proposals", 0, ("propose", name), INSTRUCTIONS, message, shape)
            answer, _ = await asking.ask(question, read_answer)
            take(name, answer)
