"""What is logged of calls: each answer of a model and of a judge becomes an event."""

from collections.abc import Callable

from ratiba_action.checks.conversation_events import place_of
from ratiba_action.errors import ConfigurationError
from ratiba_action.model.conversation import Party
from ratiba_action.model.event import Event, JudgeCalled, ModelCalled
from ratiba_action.model.measurement import Answer, Question
from ratiba_action.model.model_request import ModelAnswer, ModelRequest
from ratiba_action.model.values import Usd
from ratiba_action.ports import EventLog, Prices


class NoEvents:
    """Implements ``EventLog``: forgets everything."""

    run = ""
    path = None

    def emit(self, event: Event) -> None:
        """Forget it."""


def model_logger(prices: Prices, events: EventLog) -> Callable[[ModelRequest, ModelAnswer], None]:
    """Writes down each answer to the system or to a simulated customer.

    Args:
        prices: what an answer costs live; a scripted model has no price.
    """

    def log(request: ModelRequest, answer: ModelAnswer) -> None:
        price = list_price(prices, request.model, request.provider, answer)
        called = ModelCalled(
            party=request.party.value,
            model=request.model,
            usage=answer.usage,
            cost_usd=_paid(answer, price),
            list_price_usd=price,
            replayed=answer.replayed,
            provider=request.provider,
            answered_by=answer.answered_by,
        )
        events.emit(Event(called, place_of(request.arm, request.scenario_id, request.trial)))

    return log


def judge_logger(
    model: str, provider: str, party: Party, *, prices: Prices, events: EventLog
) -> Callable[[Question, Answer], None]:
    """Writes down each answer of a judge.

    Args:
        provider: of its model, for the price.
        party: ``Party.JUDGE`` or ``Party.CROSS_CHECK``.
    """

    def log(question: Question, answer: Answer) -> None:
        price = list_price(prices, model, provider, answer)
        metric, _, version = question.metric.partition(":")
        called = JudgeCalled(
            metric=metric,
            version=version,
            model=model,
            party=party.value,
            usage=answer.usage,
            cost_usd=_paid(answer, price),
            list_price_usd=price,
            replayed=answer.replayed,
            provider=provider,
            answered_by=answer.answered_by,
        )
        events.emit(Event(called, place_of(question.arm, question.scenario_id, question.trial)))

    return log


def list_price(prices: Prices, model: str, provider: str, answer: ModelAnswer | Answer) -> Usd | None:
    """What a call costs live; None where the model that answered has no price."""
    try:
        return prices.price_of_answer(model, provider, answer.usage, answer.answered_by)
    except ConfigurationError:
        return None


def _paid(answer: ModelAnswer | Answer, price: Usd | None) -> Usd | None:
    if answer.replayed:
        return Usd(0)
    return price if answer.usd is None else answer.usd
