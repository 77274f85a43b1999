"""What a payment rail does, and what it reports back."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from booking_assistant.memory import JsonObject


@dataclass(frozen=True, slots=True)
class PaymentRequest:
    """What a customer is asked to pay.

    Args:
        phone: in the form ``+254712345678``.
        amount_kes: whole Kenyan shillings.
    """

    payment_id: int
    phone: str
    amount_kes: int


class Result(StrEnum):
    """How a payment request ended."""

    SUCCESS = "success"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Callback:
    """A rail's report on a payment request.

    Args:
        receipt: of the rail; always there on success.
        amount_kes: what was charged, whole Kenyan shillings; always there on success.
    """

    rail: str
    result: Result
    receipt: str | None
    amount_kes: int | None


class PaymentRail(Protocol):
    """A way to be paid. These two are simulated: they answer, and no money moves."""

    async def request(self, request: PaymentRequest) -> str:
        """Ask the customer to pay; the rail's reference of the request."""
        ...

    async def reverse(self, receipt: str, amount_kes: int) -> None:
        """Give the money of a receipt back."""
        ...


def read_callback(event: JsonObject) -> Callback:
    """Read a callback as the rails deliver it, and trust none of it.

    Raises:
        ValueError: the rail or the result is unknown, or a success lacks its receipt or a whole, positive amount.
    """
    rail, receipt, amount = event.get("rail"), event.get("receipt"), event.get("amount_kes")
    if rail not in {"mpesa", "pesapal"}:
        raise ValueError(f"cannot read a callback from rail {rail!r}: use 'mpesa' or 'pesapal'")
    try:
        result = Result(event.get("result", ""))
    except ValueError:
        allowed = [known.value for known in Result]
        raise ValueError(f"cannot read a callback with result {event.get('result')!r}: use one of {allowed}") from None
    is_amount = isinstance(amount, int) and not isinstance(amount, bool) and amount > 0
    if amount is not None and not is_amount:
        raise ValueError(f"cannot read a callback of {amount!r} KES: use a whole number above 0")
    if result is Result.SUCCESS and not (isinstance(receipt, str) and receipt and is_amount):
        raise ValueError(f"cannot read a success callback with receipt {receipt!r} and amount {amount!r}: give both")
    return Callback(rail, result, receipt, amount)
