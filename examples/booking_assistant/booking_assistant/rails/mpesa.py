"""M-Pesa, simulated: an STK push to the customer's phone."""

from dataclasses import dataclass, field

from booking_assistant.rails.rail import PaymentRequest


@dataclass(slots=True)
class MpesaRail:
    """Accepts every push and reversal, and remembers them.

    Args:
        pushes: what was asked, in order.
        reversals: receipt and whole shillings given back, in order.
    """

    pushes: list[PaymentRequest] = field(default_factory=list)
    reversals: list[tuple[str, int]] = field(default_factory=list)

    async def request(self, request: PaymentRequest) -> str:
        """Push; the checkout request's id."""
        self.pushes.append(request)
        return f"ws_CO_{request.payment_id}"

    async def reverse(self, receipt: str, amount_kes: int) -> None:
        """Reverse the transaction of a receipt."""
        self.reversals.append((receipt, amount_kes))
