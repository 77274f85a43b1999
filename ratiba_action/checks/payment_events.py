"""How the payments of a turn changed, from what the system reports and what it was told."""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from ratiba_action.model.conversation import Exchange, Reply
from ratiba_action.model.event import PaymentChanged

_REPORTS = frozenset({"payment_state", "payment"})
_AMOUNT = re.compile(r"amount(?:_([a-z]{3}))?")
_NONE = "NONE"


def payment_changes(exchange: Exchange, before: Reply | None) -> Iterator[PaymentChanged]:
    """Every change that a turn's reply reports; of a system that reports none, the difference of its payment states.

    Rail, amount and receipt are looked for in the report, then in the callback that was delivered as the turn, then in
    the arguments of the turn's tool calls.

    Args:
        exchange: the turn with its reply.
        before: reply of the turn before it, None at the beginning.
    """
    turn, reply = exchange.turn, exchange.reply
    heard = [turn.event] if turn.event is not None else []
    asked = [call.args for call in reply.tool_calls if "rail" in call.args]
    told = [event.data for event in reply.events if event.type in _REPORTS]
    for data in told:
        yield _change(str(data.get("to", data.get("state"))), [data, *heard, *asked])
    last = (before.payment if before is not None else None) or _NONE
    if not told and reply.payment is not None and reply.payment != last:
        yield _change(reply.payment, [*heard, *asked])


def _change(state: str, sources: list[Mapping[str, Any]]) -> PaymentChanged:
    amount, currency = _amount(sources)
    return PaymentChanged(state, _text(sources, "rail"), amount, currency, _text(sources, "receipt"))


def _text(sources: list[Mapping[str, Any]], name: str) -> str:
    return next((str(one[name]) for one in sources if one.get(name) is not None), "")


def _amount(sources: list[Mapping[str, Any]]) -> tuple[Decimal | None, str]:
    for source in sources:
        for name, value in source.items():
            match = _AMOUNT.fullmatch(name)
            amount = _decimal(value) if match else None
            if match and amount is not None:
                return amount, (match[1] or str(source.get("currency", ""))).upper()
    return None, ""


def _decimal(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and abs(amount.adjusted()) < _DIGITS else None


_DIGITS = 15
"""No amount has more; what does is no amount, and would take long to print."""
