"""What stands between the run and its models, judges and money writes down what passes, and changes nothing."""

from decimal import Decimal

import pytest

from ratiba_action.errors import BudgetError
from ratiba_action.model.conversation import Party, Usage
from ratiba_action.model.event import BudgetAction, BudgetMoved, Event, JudgeCalled, ModelCalled, Place
from ratiba_action.model.measurement import Answer, Question
from ratiba_action.model.model_request import ModelAnswer, ModelRequest
from ratiba_action.model.values import Usd
from ratiba_action.money.budget import Ledger
from ratiba_action.money.prices import PriceList
from ratiba_action.money.pricing import parse_model_rates
from ratiba_action.money.reservations import RunReservations
from ratiba_action.observability.logged_ports import judge_logger, model_logger
from tests.support.event_logs import RecordedEvents

PRICES = PriceList(parse_model_rates({"a-model": {"input_per_million": Usd(1), "output_per_million": Usd(2)}}))
USAGE = Usage(1_000_000, 500_000)


def request(model: str, arm: str = "head") -> ModelRequest:
    return ModelRequest("spa", 1, Party.SYSTEM, 0, "anthropic", "messages", model, "key", 0, "system", "asked", {}, arm)


@pytest.mark.parametrize(
    ("model", "replayed", "cost", "price"),
    [
        ("a-model", False, Usd(2), Usd(2)),
        ("a-model", True, Usd(0), Usd(2)),
        ("a-script", True, Usd(0), None),
        ("a-script", False, None, None),
    ],
)
def test_a_model_answer_is_reported_with_what_it_cost(
    model: str, *, replayed: bool, cost: Usd | None, price: Usd | None
) -> None:
    events = RecordedEvents()
    model_logger(PRICES, events)(request(model, "base"), ModelAnswer({}, USAGE, replayed))
    called = ModelCalled("system", model, USAGE, cost, price, replayed, "anthropic")
    assert events.events == [Event(called, Place("base", "spa", 1))]


def test_a_judges_answer_is_reported_with_its_metric_and_a_variant_is_named() -> None:
    events = RecordedEvents()
    log = judge_logger("a-model", "anthropic", Party.CROSS_CHECK, prices=PRICES, events=events)
    asked = Question("spa", "Fluency:2", "digest", 0, "prompt", trial=1, arm="small")
    log(asked, Answer({"score": 1, "reason": ""}, usage=USAGE))
    called = JudgeCalled("Fluency", "2", "a-model", "cross-check", USAGE, Usd(2), Usd(2), provider="anthropic")
    assert events.events == [Event(called, Place("head", "spa", 1, variant="small"))]


async def test_every_movement_of_money_is_reported_and_adds_up() -> None:
    events, ledger = RecordedEvents(), Ledger(Usd(1))
    reservations = RunReservations(ledger, warn=lambda _: None, events=events)
    ask = (Party.SYSTEM, "spa", "a-model")
    await reservations.settle(await reservations.reserve(*ask, Decimal("0.5")), USAGE, Decimal("0.25"))
    await reservations.keep(await reservations.reserve(*ask, Decimal("0.25")))
    await reservations.release(await reservations.reserve(*ask, Decimal("0.5")))
    with pytest.raises(BudgetError):
        await reservations.reserve(*ask, Decimal(2))
    moved = [event.data for event in events.events]
    assert all(isinstance(one, BudgetMoved) for one in moved)
    reported = [(one.action, one.amount_usd, one.spent_usd, one.reserved_usd) for one in moved]  # type: ignore[union-attr]
    assert reported == [
        (BudgetAction.RESERVED, Decimal("0.5"), 0, Decimal("0.5")),
        (BudgetAction.SETTLED, Decimal("0.25"), Decimal("0.25"), 0),
        (BudgetAction.RESERVED, Decimal("0.25"), Decimal("0.25"), Decimal("0.25")),
        (BudgetAction.KEPT, Decimal("0.25"), Decimal("0.5"), 0),
        (BudgetAction.RESERVED, Decimal("0.5"), Decimal("0.5"), Decimal("0.5")),
        (BudgetAction.RELEASED, Decimal("0.5"), Decimal("0.5"), 0),
        (BudgetAction.REFUSED, Decimal(2), Decimal("0.5"), 0),
    ]
    assert {event.place for event in events.events} == {Place(scenario="spa")}
