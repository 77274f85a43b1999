"""Ports that log: each model answer, each judge call and each payment becomes an event."""

from ratiba_action.checks.conversation_events import place_of
from ratiba_action.errors import BudgetError, ConfigurationError
from ratiba_action.model.conversation import KeptAnswer, Party, Reservation, Usage
from ratiba_action.model.event import BudgetAction, BudgetMoved, Event, JudgeCalled, ModelCalled, Place
from ratiba_action.model.measurement import Answer, Question
from ratiba_action.model.model_request import ModelAnswer, ModelRequest
from ratiba_action.model.values import Usd
from ratiba_action.money.budget import Ledger
from ratiba_action.ports import AnswerSource, EventLog, Judge, Prices, Purse


class LoggedPurse:
    """Implements ``Purse`` around another one.

    Args:
        purse: who pays.
        ledger: the run's books, which the other purse keeps.
        events: where each movement is written down.
    """

    def __init__(self, purse: Purse, ledger: Ledger, events: EventLog) -> None:
        self._purse = purse
        self._ledger = ledger
        self._events = events

    async def reserve(self, party: Party, scenario_id: str, model: str, upper: Usd) -> Reservation:
        """Set money aside; see ``Purse.reserve``."""
        try:
            reservation = await self._purse.reserve(party, scenario_id, model, upper)
        except BudgetError as error:
            self._tell(BudgetAction.REFUSED, party, scenario_id, model, upper, reason=error.problem)
            raise
        self._tell(BudgetAction.RESERVED, party, scenario_id, model, upper)
        return reservation

    async def settle(self, reservation: Reservation, usage: Usage, cost: Usd, answer: KeptAnswer | None = None) -> None:
        """Book what an attempt cost; see ``Purse.settle``."""
        await self._purse.settle(reservation, usage, cost, answer)
        self._close(BudgetAction.SETTLED, reservation, cost)

    async def keep(self, reservation: Reservation) -> None:
        """Count a whole reservation as spent; see ``Purse.keep``."""
        await self._purse.keep(reservation)
        self._close(BudgetAction.KEPT, reservation, reservation.upper)

    async def release(self, reservation: Reservation) -> None:
        """Give a reservation back; see ``Purse.release``."""
        await self._purse.release(reservation)
        self._close(BudgetAction.RELEASED, reservation, reservation.upper)

    def _close(self, action: BudgetAction, reservation: Reservation, amount: Usd) -> None:
        self._tell(action, reservation.party, reservation.scenario_id, reservation.model, amount)

    def _tell(
        self, action: BudgetAction, party: Party, scenario_id: str, model: str, amount: Usd, *, reason: str = ""
    ) -> None:
        books = self._ledger
        moved = BudgetMoved(action, party.value, model, amount, books.spent, books.reserved, books.cap, reason)
        self._events.emit(Event(moved, Place(scenario=scenario_id)))


class NoEvents:
    """Implements ``EventLog``: forgets everything."""

    run = ""
    path = None

    def emit(self, event: Event) -> None:
        """Forget it."""


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
