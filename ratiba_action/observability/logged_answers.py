"""Writes down each answer that a model, a recording or a script gives to the system under test or to its customer."""

from ratiba_action.checks.conversation_events import place_of
from ratiba_action.errors import ConfigurationError
from ratiba_action.model.conversation import Usage
from ratiba_action.model.event import Event, ModelCalled
from ratiba_action.model.model_request import ModelAnswer, ModelRequest
from ratiba_action.model.values import Usd
from ratiba_action.ports import AnswerSource, EventLog, Prices


class LoggedAnswers:
    """Implements ``AnswerSource`` around another one.

    Args:
        answers: who answers.
        prices: what an answer costs live; a scripted model has no price.
        events: where each answer is written down.
    """

    def __init__(self, answers: AnswerSource, prices: Prices, events: EventLog) -> None:
        self._answers = answers
        self._prices = prices
        self._events = events

    async def answer(self, request: ModelRequest) -> ModelAnswer:
        """The other source's answer; see ``AnswerSource.answer``."""
        answer = await self._answers.answer(request)
        price = list_price(self._prices, request.model, request.provider, answer.usage)
        called = ModelCalled(
            party=request.party.value,
            model=request.model,
            usage=answer.usage,
            cost_usd=Usd(0) if answer.replayed else price,
            list_price_usd=price,
            replayed=answer.replayed,
        )
        self._events.emit(Event(called, place_of(request.arm, request.scenario_id, request.trial)))
        return answer


def list_price(prices: Prices, model: str, provider: str, usage: Usage) -> Usd | None:
    """What a call costs live; None where the model has no price."""
    try:
        return prices.price(model, provider, usage)
    except ConfigurationError:
        return None
