"""Writes down each answer of a judge."""

from ratiba_action.checks.conversation_events import place_of
from ratiba_action.model.conversation import Party
from ratiba_action.model.event import Event, JudgeCalled
from ratiba_action.model.measurement import Answer, Question
from ratiba_action.model.values import Usd
from ratiba_action.observability.logged_answers import list_price
from ratiba_action.ports import EventLog, Judge, Prices


class LoggedJudge:
    """Implements ``Judge`` around another one.

    Args:
        judge: who answers.
        provider: of its model, for the price.
        party: ``Party.JUDGE`` or ``Party.CROSS_CHECK``.
        prices: what an answer costs live.
        events: where each answer is written down.
    """

    def __init__(self, judge: Judge, provider: str, party: Party, prices: Prices, events: EventLog) -> None:
        self._judge = judge
        self._provider = provider
        self._party = party
        self._prices = prices
        self._events = events

    @property
    def model(self) -> str:
        """Identifier of the model behind it."""
        return self._judge.model

    async def answer(self, question: Question) -> Answer:
        """The other judge's answer; see ``Judge.answer``."""
        answer = await self._judge.answer(question)
        price = list_price(self._prices, self.model, self._provider, answer.usage)
        metric, _, version = question.metric.partition(":")
        called = JudgeCalled(
            metric=metric,
            version=version,
            model=self.model,
            party=self._party.value,
            usage=answer.usage,
            cost_usd=Usd(0) if answer.replayed else price,
            list_price_usd=price,
            replayed=answer.replayed,
        )
        self._events.emit(Event(called, place_of(question.arm, question.scenario_id, question.trial)))
        return answer
