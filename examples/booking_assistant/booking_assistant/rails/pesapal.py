"""PesaPal, simulated: an order that the customer pays by card or mobile money."""

from dataclasses import dataclass, field

from booking_assistant.rails.rail import PaymentRequest


@dataclass(slots=True)
class PesapalRail:
    """Accepts every order and refund, and remembers them.

    Args:
        orders: what was asked, in order.
        refunds: receipt and whole shillings given back, in order.
    """

    orders: list[PaymentRequest] = field(default_factory=list)
    refunds: list[tuple[str, int]] = field(default_factory=list)

    async def request(self, request: PaymentRequest) -> str:
        """Submit an order; its ``OrderTrackingId``."""
        self.orders.append(request)
        return f"order-{request.payment_id}"

    async def reverse(self, receipt: str, amount_kes: int) -> None:
        """Refund the order of a receipt."""
        self.refunds.append((receipt, amount_kes))
